"""A stand-in for ``vllm serve``: its command line, wire and last words as seen of vLLM 0.32, and no model.

Strict where vLLM is lax: an option or a field that it was not seen with is refused, so that a test finds a misspelt one.
"""

import argparse
import asyncio
import json
import re
import signal
import stat
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from granian.constants import Interfaces
from granian.server.embed import Server

Event = MutableMapping[str, object]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]

_TOKEN = re.compile(r"\s*\w+|\s*[^\w\s]|\s+")
_BLOCK = 16  # tokens of a prompt that are kept together
_PACE_S = 1 / 2000
_IMPOSSIBLE = -9999.0  # how vLLM writes minus infinity
_FIELDS = {
    "messages", "model", "max_tokens", "temperature", "seed", "stop", "stream", "stream_options", "logprobs", "top_logprobs",
    "response_format",
}  # fmt: skip
_ROOT = Path(__file__).resolve().parents[2]
# What vLLM says before it ends, by what is wrong.
LAST_WORDS = {
    "gpu": (
        "RuntimeError: Failed to infer device type, please set the environment variable `VLLM_LOGGING_LEVEL=DEBUG` to turn "
        "on verbose logging to help debug the issue."
    ),
    "memory": (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 11.76 GiB of "
        "which 1.35 GiB is free."
    ),
    "free": (
        "ValueError: Free memory on device cuda:0 (3.1/11.8 GiB) on startup is less than desired GPU memory utilization "
        "(0.92, 10.8 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes."
    ),
    "cache": (
        "ValueError: To serve at least one request with the models's max seq len (131072), 14.0 GiB KV cache is needed, "
        "which is larger than the available KV cache memory (3.2 GiB)."
    ),
    "context": (
        "Value error, User-specified max_model_len (131072) is greater than the derived max_model_len (8192). "
        "This may lead to incorrect model outputs or CUDA errors."
    ),
    "architecture": "ValueError: Model architectures ['NoSuchForCausalLM'] are not supported for now.",
    "weights": "RuntimeError: Cannot find any model weights with `/run/model`",
    "header": "safetensors_rust.SafetensorError: Error while deserializing header: header too large",
    "socket": "OSError: [Errno 98] Address already in use",
    "option": "vllm: error: unrecognized arguments: --no-such-option",
}


def install(folder: Path, *, says: str = "", status: int = 1, kills: int = 0) -> Path:
    """Make *folder* a place for ``PATH`` with a program ``vllm``: this one, or one that ends with those words."""
    folder.mkdir()
    program = folder / "vllm"
    start = f"import sys; sys.path.insert(0, {str(_ROOT)!r}); from tests.support import vllm_stand_in as it"
    program.write_text(f"#!{sys.executable} -P\n{start}\nit.main(says={says!r}, status={status}, kills={kills})\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return folder


def main(*, says: str, status: int, kills: int) -> None:
    """Serve as the command line says; with *says* or *kills*, end as vLLM does instead."""
    asked = _parser().parse_args()
    if kills:
        signal.raise_signal(kills)
    if says:
        sys.stderr.write(f"(APIServer pid=1) Traceback (most recent call last):\n(APIServer pid=1) {says}\n\n")
        sys.exit(status)
    given = sorted(path.name for path in Path(asked.folder).iterdir())
    assert "config.json" in given, given
    asyncio.run(_serve(asked))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="vllm", allow_abbrev=False)
    serve = parser.add_subparsers(required=True).add_parser("serve", allow_abbrev=False)
    serve.add_argument("folder")
    for name in ("--served-model-name", "--uds", "--load-format", "--generation-config", "--structured-outputs-config"):
        serve.add_argument(name, required=True)
    for name in ("--max-model-len", "--max-num-seqs", "--max-logprobs"):
        serve.add_argument(name, required=True, type=int)
    for name in ("--enable-prompt-tokens-details", "--enable-prefix-caching", "--disable-uvicorn-access-log"):
        serve.add_argument(name, action="store_true")
    for name in ("--no-enable-log-requests", "--disable-fastapi-docs"):
        serve.add_argument(name, action="store_true")
    return parser


async def _serve(asked: argparse.Namespace) -> None:
    app = _Wire(asked.served_model_name, asked.max_model_len, asyncio.Semaphore(asked.max_num_seqs))
    server = Server(app, uds=Path(asked.uds), interface=Interfaces.ASGINL, websockets=False, log_enabled=False)
    await server.serve()


@dataclass
class _Refused(Exception):
    status: int
    kind: str
    message: str
    param: str | None = None


@dataclass
class _Wire:
    model: str
    context: int
    slots: asyncio.Semaphore
    kept: list[str] = field(default_factory=list)

    async def __call__(self, scope: Event, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] == "/health":
            await _answer(send, b"", status=200)
            return
        asked = json.loads(await _body(receive))
        try:
            self._known(asked.get("model"))
            if scope["path"] == "/tokenize":
                await self._tokenize(asked, send)
            else:
                await self._chat(asked, receive, send)
        except _Refused as exc:
            told = {"message": exc.message, "type": exc.kind, "param": exc.param, "code": exc.status}
            await _answer(send, json.dumps({"error": told}).encode(), status=exc.status)

    def _known(self, model: object) -> None:
        if model != self.model:
            raise _Refused(404, "NotFoundError", f"The model `{model}` does not exist.", "model")

    async def _tokenize(self, asked: dict[str, object], send: Send) -> None:
        text = _rendered(asked["messages"]) if "messages" in asked else str(asked["prompt"])
        tokens = [hash(token) & 0xFFFF for token in _TOKEN.findall(text)]
        told = {"count": len(tokens), "max_model_len": self.context, "tokens": tokens, "token_strs": None}
        await _answer(send, json.dumps(told).encode(), status=200)

    async def _chat(self, asked: dict[str, object], receive: Receive, send: Send) -> None:
        if unknown := asked.keys() - _FIELDS:
            raise _Refused(400, "BadRequestError", f"unknown fields {sorted(unknown)}")
        prompt = _TOKEN.findall(_rendered(asked["messages"]))
        limit = int(str(asked["max_tokens"]))
        if len(prompt) + limit > self.context:
            raise _Refused(
                400,
                "BadRequestError",
                f"This model's maximum context length is {self.context} tokens. However, you requested {limit} output "
                f"tokens and your prompt contains {len(prompt)} input tokens, for a total of {len(prompt) + limit} tokens. "
                "Please reduce the length of the input prompt or the number of requested output tokens.",
                "input_tokens",
            )
        said = _said(asked.get("response_format"))
        gone = asyncio.ensure_future(_disconnected(receive))
        async with self.slots:
            cached = _shared(prompt, self.kept) // _BLOCK * _BLOCK
            self.kept = prompt
            writing = asyncio.ensure_future(self._stream(asked, said, len(prompt), limit, cached, send))
            await asyncio.wait({writing, gone}, return_when=asyncio.FIRST_COMPLETED)
            for task in (writing, gone):
                task.cancel()
            await asyncio.gather(writing, gone, return_exceptions=True)

    async def _stream(
        self, asked: dict[str, object], said: Sequence[str], prompt: int, limit: int, cached: int, send: Send
    ) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        if not said:  # seen of vLLM 0.32: the status is 200 by then
            error = {
                "message": "Grammar error: Invalid type: nonsense",
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            }
            body = f"data: {json.dumps({'error': error})}\n\ndata: [DONE]\n\n".encode()
            await send({"type": "http.response.body", "body": body, "more_body": False})
            return
        await self._event(send, [{"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None}])
        shown = said[:limit]
        for token in shown:
            await asyncio.sleep(_PACE_S)
            logprobs = _logprobs(token, int(str(asked.get("top_logprobs", 0))), forced="response_format" in asked)
            choice = {"index": 0, "delta": {"content": token}, "logprobs": logprobs, "finish_reason": None}
            await self._event(send, [choice])
        finish = "length" if len(shown) < len(said) else "stop"
        last = {"index": 0, "delta": {"content": ""}, "logprobs": None, "finish_reason": finish, "stop_reason": None}
        await self._event(send, [last])
        usage = {"prompt_tokens": prompt, "total_tokens": prompt + len(shown), "completion_tokens": len(shown)}
        await self._event(send, [], usage={**usage, "prompt_tokens_details": {"cached_tokens": cached}})
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n", "more_body": False})

    async def _event(self, send: Send, choices: list[dict[str, object]], **more: object) -> None:
        head = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": int(time.time()), "model": self.model}
        body = b"data: " + json.dumps({**head, "choices": choices, **more}).encode() + b"\n\n"
        await send({"type": "http.response.body", "body": body, "more_body": True})


def _rendered(messages: object) -> str:
    assert isinstance(messages, list)
    turns = [f"<|im_start|> {message['role']}\n{message['content']}" for message in messages]
    return "".join([*turns, "<|im_start|> assistant"])


def _said(form: object) -> list[str]:
    """Return the tokens of the answer under *form*; none for a schema that only the grammar's compiler finds wrong."""
    if form is None:
        return _TOKEN.findall("a word and another word, " * 200)
    assert isinstance(form, dict)
    values = form["json_schema"]["schema"].get("enum", [])
    if values == []:
        return []
    if not isinstance(values, list):
        raise _Refused(400, "BadRequestError", "Failed to convert the grammar from JSON: enum must be an array")
    return _TOKEN.findall(json.dumps(values[0], ensure_ascii=False))


def _logprobs(token: str, count: int, *, forced: bool) -> dict[str, object] | None:
    if not count:
        return None
    pairs = [
        (token, 0.0 if forced else -0.1),
        *((f" other{n}", _IMPOSSIBLE if forced else -2.5 - n) for n in range(count - 1)),
    ]
    tops = [{"token": text, "logprob": value, "bytes": list(text.encode())} for text, value in pairs]
    return {"content": [{**tops[0], "top_logprobs": tops}]}


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    differ = (at for at, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs)
    return next(differ, min(len(one), len(other)))


async def _body(receive: Receive) -> bytes:
    body = b""
    more = True
    while more:
        event = await receive()
        part = event.get("body", b"")
        body += part if isinstance(part, bytes) else b""
        more = bool(event.get("more_body", False))
    return body


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _answer(send: Send, body: bytes, *, status: int) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": body, "more_body": False})
