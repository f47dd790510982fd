"""The thin door around an engine: OpenAI's shapes over ASGI, for one appliance and on its unix socket only."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, MutableMapping
from typing import Annotated, Literal, TypeVar

import msgspec

from appliance.base import log
from appliance.contracts.chat import ChatDelta, ChatRequest
from appliance.errors import ApplianceError, EngineUnavailable, InvalidInput, LimitExceeded, NotFound
from appliance.inference import wire
from appliance.inference.engines.base import Engine, Priority

Scope = MutableMapping[str, object]
Event = MutableMapping[str, object]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]

MAX_BODY = 4 << 20
MAX_TEXTS = 512
_JSON = b"application/json"
_STREAM = b"text/event-stream"
_GONE = "The client went away."


class _Embed(msgspec.Struct):
    input: str | Annotated[list[str], msgspec.Meta(min_length=1, max_length=MAX_TEXTS)]
    encoding_format: Literal["float", "base64"] = "float"
    priority: Priority = "interactive"


class _Tokenize(msgspec.Struct):
    content: str


_Asked = TypeVar("_Asked", _Embed, _Tokenize)
_Made = TypeVar("_Made")


class EngineApp:
    """Serves ``/health``, ``/v1/chat/completions``, ``/v1/embeddings`` and ``/tokenize`` of one engine.

    A client that goes away ends its own work at once, also before the first token.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._log = log.get("engine")
        self._routes: dict[tuple[object, object], Callable[[Receive, Send], Awaitable[None]]] = {
            ("GET", "/health"): self._health,
            ("POST", "/v1/chat/completions"): self._chat,
            ("POST", "/v1/embeddings"): self._embed,
            ("POST", "/tokenize"): self._tokenize,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; whatever goes wrong is told in the body, with a status other than 200."""
        if scope["type"] != "http":
            return
        route = self._routes.get((scope["method"], scope["path"]))
        try:
            await (route or _nowhere)(receive, send)
        except ApplianceError as exc:
            await _answer(send, wire.error_body(exc), status=wire.error_status(exc))
        except Exception:  # noqa: BLE001 - the request loop: one broken request ends no engine
            self._log.exception("request.failed", path=scope["path"])
            broken = EngineUnavailable("The engine failed on this request.")
            await _answer(send, wire.error_body(broken), status=500)

    async def _health(self, receive: Receive, send: Send) -> None:
        del receive
        health, info = self._engine.health, self._engine.info
        told = {
            "status": health.state,
            "detail": health.detail,
            "model": info.model,
            "context": info.context,
            "dimensions": info.dimensions,
            "capabilities": self._engine.capabilities,
        }
        await _answer(send, msgspec.json.encode(told), status=200 if health.state == "ready" else 503)

    async def _chat(self, receive: Receive, send: Send) -> None:
        self._ready()
        request, streamed = wire.read_request(await _body(receive))
        model = self._engine.info.model
        async with contextlib.aclosing(_until_gone(self._engine, request, receive)) as deltas:
            if streamed:
                await _stream(deltas, send, model=model)
            else:
                whole = [delta async for delta in deltas]
                if whole and whole[-1].finish:
                    await _answer(send, wire.completion(whole, model=model))

    async def _embed(self, receive: Receive, send: Send) -> None:
        self._ready()
        asked = _decoded(await _body(receive), _Embed)
        texts = [asked.input] if isinstance(asked.input, str) else asked.input
        vectors = await _unless_gone(self._engine.embed(texts, priority=asked.priority), receive)
        plain = asked.encoding_format == "float"
        data = [
            {
                "object": "embedding",
                "index": index,
                "embedding": vector.tolist() if plain else base64.b64encode(vector.astype("<f4").tobytes()).decode(),
            }
            for index, vector in enumerate(vectors)
        ]
        await _answer(send, msgspec.json.encode({"object": "list", "model": self._engine.info.model, "data": data}))

    async def _tokenize(self, receive: Receive, send: Send) -> None:
        self._ready()
        asked = _decoded(await _body(receive), _Tokenize)
        await _answer(send, msgspec.json.encode({"tokens": await self._engine.tokenize(asked.content)}))

    def _ready(self) -> None:
        health = self._engine.health
        if health.state != "ready":
            why = "is still loading its model" if health.state == "loading" else f"has failed: {health.detail}"
            raise EngineUnavailable(f"The engine {why}.", remedy="`skellig status` says when it is ready.")


async def _nowhere(receive: Receive, send: Send) -> None:
    del receive, send
    raise NotFound("The engine has no such path.")


async def _stream(deltas: AsyncIterator[ChatDelta], send: Send, *, model: str) -> None:
    begun = False
    try:
        async for delta in deltas:
            if not begun:
                await _begin(send, status=200, kind=_STREAM)
                begun = True
            for event in wire.chunks(delta, model=model):
                await send({"type": "http.response.body", "body": event.encode(), "more_body": True})
    except ApplianceError as exc:
        if not begun:
            raise
        body = b"data: " + wire.error_body(exc) + b"\n\n"
        await send({"type": "http.response.body", "body": body, "more_body": True})
    if begun:  # else the client was gone before the first token
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(engine: Engine, request: ChatRequest, receive: Receive) -> AsyncGenerator[ChatDelta]:
    """Give the engine's deltas for as long as the client is there, and close the engine's iterator in every case."""
    gone = asyncio.ensure_future(_disconnected(receive))
    deltas = engine.chat(request)
    step: asyncio.Future[ChatDelta] | None = None
    try:
        while True:
            step = asyncio.ensure_future(anext(deltas))
            await asyncio.wait({step, gone}, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                return
            try:
                delta = step.result()
            except StopAsyncIteration:
                return
            yield delta
    finally:
        gone.cancel()
        if step is not None and not step.done():
            step.cancel()
            await asyncio.wait({step})
        if step is not None and not step.cancelled():
            step.exception()  # seen: nobody is left to be told
        await deltas.aclose()


async def _unless_gone(work: Coroutine[object, object, _Made], receive: Receive) -> _Made:
    """Return what *work* makes; end it once the client is gone: a search waits for 80 ms, then nobody reads it."""
    gone = asyncio.ensure_future(_disconnected(receive))
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise InvalidInput(_GONE)
        return task.result()
    finally:
        gone.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _body(receive: Receive) -> bytes:
    body = bytearray()
    more = True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise InvalidInput(_GONE)
        part = event.get("body", b"")
        body += part if isinstance(part, bytes) else b""
        if len(body) > MAX_BODY:
            raise LimitExceeded(f"The body is larger than {MAX_BODY:,} bytes.", limit=MAX_BODY)
        more = bool(event.get("more_body", False))
    return bytes(body)


def _decoded(body: bytes, kind: type[_Asked]) -> _Asked:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, RecursionError) as exc:
        raise InvalidInput(f"The body is not what this call takes: {exc}.") from exc


async def _answer(send: Send, body: bytes, *, status: int = 200) -> None:
    await _begin(send, status=status, kind=_JSON)
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def _begin(send: Send, *, status: int, kind: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
