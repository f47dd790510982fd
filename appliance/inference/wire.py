"""The OpenAI shape on the wire, read and written in one place for engines and their clients."""

from collections.abc import AsyncGenerator, AsyncIterable, Callable
from typing import Annotated, Literal

import msgspec

from appliance.contracts.chat import Candidate, ChatDelta, ChatRequest, Message
from appliance.errors import (
    ApplianceError,
    Cancelled,
    DeadlineExceeded,
    EngineUnavailable,
    InvalidInput,
    LimitExceeded,
    NotFound,
    PromptTooLong,
)

MAX_TOP = 20
DONE = "[DONE]"
_STATUS: dict[str, int] = {
    PromptTooLong.code: 400,
    InvalidInput.code: 400,
    NotFound.code: 404,
    LimitExceeded.code: 413,
    EngineUnavailable.code: 503,
    DeadlineExceeded.code: 504,
}
_ERRORS: dict[str, type[ApplianceError]] = {
    kind.code: kind for kind in (PromptTooLong, InvalidInput, LimitExceeded, EngineUnavailable, DeadlineExceeded, Cancelled)
}
_CONTEXT = ("prompt_tokens", "limit", "model")  # what PromptTooLong promises to carry


class _Message(msgspec.Struct):
    role: Literal["system", "user", "assistant"]
    content: str


class _JsonSchema(msgspec.Struct):
    schema: dict[str, object]
    name: str = "output"
    strict: bool = True


class _ResponseFormat(msgspec.Struct, omit_defaults=True):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: _JsonSchema | None = None


class _StreamOptions(msgspec.Struct):
    include_usage: bool = True


class _Body(msgspec.Struct, omit_defaults=True):
    messages: Annotated[list[_Message], msgspec.Meta(min_length=1)]
    model: str = ""
    max_tokens: Annotated[int, msgspec.Meta(ge=1)] = 512
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] = 1.0  # OpenAI's default; we always write ours
    seed: int = 0
    stop: list[str] | str | None = None
    stream: bool = False
    stream_options: _StreamOptions | None = None
    logprobs: bool = False
    top_logprobs: Annotated[int, msgspec.Meta(ge=0, le=MAX_TOP)] = 0
    response_format: _ResponseFormat | None = None


class _GrammarBody(_Body, omit_defaults=True):
    grammar: str = ""  # what only some engines know


class _Candidate(msgspec.Struct):
    token: str
    logprob: float | None = None


class _Token(msgspec.Struct):
    token: str = ""
    top_logprobs: list[_Candidate] = []


class _Logprobs(msgspec.Struct):
    content: list[_Token] | None = None


class _Delta(msgspec.Struct, omit_defaults=True):
    role: str = ""
    content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta
    index: int = 0
    logprobs: _Logprobs | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int = 0


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    prompt_tokens_details: _Details | None = None


class _Chunk(msgspec.Struct, omit_defaults=True):
    choices: list[_Choice]
    object: str = ""
    model: str = ""
    usage: _Usage | None = None


class _Whole(msgspec.Struct):
    role: str
    content: str


class _WholeChoice(msgspec.Struct):
    index: int
    message: _Whole
    logprobs: _Logprobs | None
    finish_reason: str


class _Completion(msgspec.Struct):
    object: str
    model: str
    choices: list[_WholeChoice]
    usage: _Usage


_encoder = msgspec.json.Encoder()
_read_body = msgspec.json.Decoder(_Body)
_read_chunk = msgspec.json.Decoder(_Chunk)


def request_body(request: ChatRequest, *, model: str, grammar: str = "") -> bytes:
    """Return *request* as the body of a streaming ``/v1/chat/completions``, under *grammar* in place of its schema."""
    form = None
    if request.schema is not None and not grammar:
        form = _ResponseFormat("json_schema", _JsonSchema(dict(request.schema)))
    return _encoder.encode(
        _GrammarBody(
            grammar=grammar,
            messages=[_Message(m.role, m.content) for m in request.messages],
            model=model,
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            seed=request.seed,
            stop=list(request.stop) or None,
            stream=True,
            stream_options=_StreamOptions(),
            logprobs=request.top > 0,
            top_logprobs=request.top,
            response_format=form,
        )
    )


def read_request(body: bytes) -> tuple[ChatRequest, bool]:
    """Return the request that *body* asks for, and whether it is to be streamed; raise `InvalidInput`."""
    try:
        asked = _read_body.decode(body)
    except (msgspec.DecodeError, RecursionError) as exc:
        raise InvalidInput(f"The body is not a chat completion request: {exc}.") from exc
    schema: dict[str, object] | None = None
    if asked.response_format is not None:
        if asked.response_format.type == "json_schema":
            if asked.response_format.json_schema is None:
                raise InvalidInput("response_format says json_schema and has none.")
            schema = asked.response_format.json_schema.schema
        elif asked.response_format.type == "json_object":
            schema = {"type": "object"}
    stop = [asked.stop] if isinstance(asked.stop, str) else (asked.stop or [])
    request = ChatRequest(
        messages=tuple(Message(m.role, m.content) for m in asked.messages),
        max_tokens=asked.max_tokens,
        temperature=asked.temperature,
        schema=schema,
        top=asked.top_logprobs if asked.logprobs else 0,
        seed=asked.seed,
        stop=tuple(stop),
    )
    return request, asked.stream


def chunks(delta: ChatDelta, *, model: str) -> list[str]:
    """Return the events for one delta; the last delta also gives the usage and the end mark."""
    choice = _Choice(_Delta(content=delta.text), logprobs=_logprobs([delta]), finish_reason=delta.finish or None)
    events = [_event(_Chunk([choice], "chat.completion.chunk", model))]
    if delta.finish:
        events += [_event(_Chunk([], "chat.completion.chunk", model, _usage(delta))), f"data: {DONE}\n\n"]
    return events


def completion(deltas: list[ChatDelta], *, model: str) -> bytes:
    """Return a whole completion as one body."""
    last = deltas[-1]
    text = "".join(delta.text for delta in deltas)
    choice = _WholeChoice(0, _Whole("assistant", text), _logprobs(deltas), last.finish)
    return _encoder.encode(_Completion("chat.completion", model, [choice], _usage(last)))


def read_error(body: bytes | str) -> ApplianceError:
    """Return the error that *body* tells of; what cannot be read is an `EngineUnavailable`."""
    try:
        told = msgspec.json.decode(body, type=dict[str, dict[str, object]])["error"]
    except (msgspec.DecodeError, KeyError, RecursionError):
        return EngineUnavailable("The engine answered with something that is not its protocol.")
    kind = _ERRORS.get(str(told.get("code")), EngineUnavailable)
    context = {name: told[name] for name in _CONTEXT if name in told}
    return kind(str(told.get("message", "The engine failed.")), remedy=str(told.get("remedy", "")), **context)


async def deltas(
    events: AsyncIterable[str], *, refusal: Callable[[bytes], ApplianceError] = read_error
) -> AsyncGenerator[ChatDelta]:
    """Turn the data of server-sent events back into deltas; a stream that ends early raises `EngineUnavailable`.

    What is no delta raises the error that *refusal* reads in it.
    """
    finish = ""
    usage = _Usage()
    async for data in events:
        if data == DONE:
            details = usage.prompt_tokens_details or _Details()
            counts = (usage.prompt_tokens, usage.completion_tokens, details.cached_tokens)
            yield ChatDelta("", (), _finish(finish), *counts)
            return
        chunk = _decode(data, refusal)
        usage = chunk.usage or usage
        for choice in chunk.choices:
            finish = choice.finish_reason or finish
            for delta in _pieces(choice):
                yield delta
    raise EngineUnavailable("The engine broke off in the middle of its answer.", remedy="Ask again.")


def error_body(error: ApplianceError) -> bytes:
    """Return *error* as a JSON body, with its stable code and its context."""
    context = {name: error.context[name] for name in _CONTEXT if name in error.context}
    return _encoder.encode({"error": {"code": error.code, "message": error.message, "remedy": error.remedy, **context}})


def error_status(error: ApplianceError) -> int:
    """Return the HTTP status of *error*."""
    return _STATUS.get(error.code, 500)


def _decode(data: str, refusal: Callable[[bytes], ApplianceError]) -> _Chunk:
    try:
        return _read_chunk.decode(data)
    except (msgspec.DecodeError, RecursionError) as exc:
        raise refusal(data.encode()) from exc


def _pieces(choice: _Choice) -> list[ChatDelta]:
    text = choice.delta.content or ""
    tokens = (choice.logprobs.content if choice.logprobs else None) or []
    tops = [tuple(Candidate(c.token, c.logprob) for c in t.top_logprobs if c.logprob is not None) for t in tokens]
    first = ChatDelta(text, tops[0] if tops else ())
    found = [first, *(ChatDelta("", top) for top in tops[1:])]
    return [delta for delta in found if delta.text or delta.top]


def _finish(reason: str) -> Literal["stop", "length", "cancelled"]:
    if reason == "length":
        return "length"
    return "cancelled" if reason == "cancelled" else "stop"


def _logprobs(said: list[ChatDelta]) -> _Logprobs | None:
    tokens = [_Token(d.text, [_Candidate(c.text, c.logprob) for c in d.top]) for d in said if d.top]
    return _Logprobs(tokens) if tokens else None


def _usage(last: ChatDelta) -> _Usage:
    total = last.prompt_tokens + last.completion_tokens
    return _Usage(last.prompt_tokens, last.completion_tokens, total, _Details(last.cached_tokens))


def _event(chunk: _Chunk) -> str:
    return f"data: {_encoder.encode(chunk).decode()}\n\n"
