"""The appliance's side of an engine: what code intelligence calls a chat model or an embedder."""

import base64
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import httpx2
import msgspec
import numpy as np
import numpy.typing as npt

from appliance.contracts.chat import ChatDelta, ChatRequest
from appliance.errors import DeadlineExceeded, EngineUnavailable
from appliance.inference import wire
from appliance.inference.card import Card, read_card
from appliance.inference.engines.base import EngineHealth, EngineInfo, Priority
from appliance.inference.unix import connected, event_data

CHAT_SILENCE_S = 300.0  # a full prompt on one busy core takes minutes before the first token
EMBED_SILENCE_S = 300.0  # a full batch, on a machine that indexes beside it
HEALTH_SILENCE_S = 3.0
_REMEDY = "`skellig status` says what the engines do; `skellig up` starts them."


class _Vector(msgspec.Struct):
    embedding: str
    index: int


class _Vectors(msgspec.Struct):
    data: list[_Vector]


class _Tokens(msgspec.Struct):
    tokens: list[int]


class _Health(msgspec.Struct):
    status: str
    model: str = ""
    detail: str = ""


_Told = TypeVar("_Told", _Vectors, _Tokens, _Health)


class EngineClient:
    """One engine, behind its socket. Holds no connection: it may be used from any event loop, and from several.

    *expected* says what is (or will be) loaded as long as the engine itself has not said it. *priority* is that of the
    texts to embed.
    """

    def __init__(self, socket: Path, *, expected: EngineInfo, priority: Priority = "interactive") -> None:
        self._socket = socket
        self._expected = expected
        self._priority: Priority = priority

    @property
    def socket(self) -> Path:
        """Where the engine listens."""
        return self._socket

    @property
    def info(self) -> EngineInfo:
        """What the engine serves, as it announced when it started."""
        return self._card.info

    @property
    def model(self) -> str:
        """Catalogue name."""
        return self.info.model

    @property
    def context(self) -> int:
        """Context window in tokens, prompt and completion together."""
        return self.info.context

    @property
    def dimensions(self) -> int:
        """Length of a vector; 0 for a chat model."""
        return self.info.dimensions

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta]:
        """Stream a completion. Closing the iterator frees the slot.

        Raise `PromptTooLong`, `EngineUnavailable`, or `DeadlineExceeded` when the engine falls silent.
        """
        body = wire.request_body(request, model=self.model)
        async with connected(self._socket, silence=CHAT_SILENCE_S, remedy=_REMEDY) as client:
            call = client.stream("POST", "/v1/chat/completions", content=body, headers={"content-type": "application/json"})
            async with call as response:
                await _refuse(response)
                async with (
                    contextlib.aclosing(event_data(response)) as events,
                    contextlib.aclosing(wire.deltas(events)) as deltas,
                ):
                    async for delta in deltas:
                        yield delta

    async def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one unit vector a text, shape (len(texts), dimensions); raise `EngineUnavailable`."""
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        asked = {"input": list(texts), "model": self.model, "encoding_format": "base64", "priority": self._priority}
        raw = await self._post("/v1/embeddings", asked, silence=EMBED_SILENCE_S)
        vectors = sorted(_decoded(raw, _Vectors).data, key=lambda vector: vector.index)
        if len(vectors) != len(texts):
            raise EngineUnavailable(f"The engine gave {len(vectors)} vectors for {len(texts)} texts.")
        return np.stack([np.frombuffer(base64.b64decode(vector.embedding), dtype="<f4") for vector in vectors])

    async def tokens(self, text: str) -> int:
        """Return how many tokens *text* is for this model."""
        raw = await self._post("/tokenize", {"content": text}, silence=EMBED_SILENCE_S)
        return len(_decoded(raw, _Tokens).tokens)

    async def health(self) -> EngineHealth:
        """Ask the engine how it is; never raises for an engine that does not answer."""
        try:
            async with connected(self._socket, silence=HEALTH_SILENCE_S) as client:
                told = _decoded((await client.get("/health")).content, _Health)
        except DeadlineExceeded:
            slow = f"It listens, and has not answered for {HEALTH_SILENCE_S:g} s."
            return EngineHealth("loading", slow, self.model)
        except EngineUnavailable as exc:
            card = self._card
            if card.failure:
                return EngineHealth("failed", card.failure, card.info.model)
            return EngineHealth("down", exc.message, card.info.model)
        if told.status == "ready":
            return EngineHealth("ready", told.detail, told.model)
        return EngineHealth("loading" if told.status == "loading" else "failed", told.detail, told.model)

    @property
    def _card(self) -> Card:
        return read_card(self._socket) or Card(self._expected)

    async def _post(self, path: str, body: Mapping[str, object], *, silence: float) -> bytes:
        async with connected(self._socket, silence=silence, remedy=_REMEDY) as client:
            response = await client.post(
                path, content=msgspec.json.encode(body), headers={"content-type": "application/json"}
            )
            await _refuse(response)
            return response.content


async def _refuse(response: httpx2.Response) -> None:
    if response.status_code != httpx2.codes.OK:
        raise wire.read_error(await response.aread())


def _decoded(raw: bytes, kind: type[_Told]) -> _Told:
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, RecursionError) as exc:
        raise EngineUnavailable("The engine answered with something that is not its protocol.") from exc
