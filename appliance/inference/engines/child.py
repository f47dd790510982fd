"""What all engines share whose model is served by a child process, which speaks OpenAI's shapes on a unix socket of its own.

So the engine holds no lock while the model loads, a crash is a sentence and not a silence, and a request that is given up
frees its slot while the prompt is still being read.
"""

import asyncio
import collections
import contextlib
import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import httpx2
import msgspec
import numpy as np
import numpy.typing as npt

from appliance.base import proc
from appliance.base.budget import Deadline
from appliance.contracts.chat import ChatDelta, ChatRequest
from appliance.errors import ApplianceError, DeadlineExceeded, EngineUnavailable, InvalidInput
from appliance.inference import wire
from appliance.inference.engines.base import (
    LOAD_SECONDS,
    PROBE,
    Capabilities,
    EngineHealth,
    EngineInfo,
    Priority,
    Stated,
    seen,
)
from appliance.inference.engines.program import OFFLINE
from appliance.inference.unix import connected, event_data

_SILENCE_S = 600.0
_POLL_S = 0.05
_KEPT_LINES = 400
_LAST_WORDS_S = 2.0  # to read what a child said that has ended


class _Tokens(msgspec.Struct):
    tokens: list[int]


class ChildEngine(Stated, ABC):
    """One model in a child. A kind of engine says how its child is started, asked and understood.

    *socket* is the engine's own; the child's lies beside it.
    """

    server: ClassVar[str]  # the child's name in sentences
    load_seconds: ClassVar[float] = LOAD_SECONDS
    remedy: ClassVar[str] = "`skellig model verify` checks its file."

    def __init__(self, info: EngineInfo, *, socket: Path) -> None:
        super().__init__(info)
        self._socket = socket.with_suffix(".child.sock")
        self._child: subprocess.Popen[bytes] | None = None
        self._listener: threading.Thread | None = None
        self._said: collections.deque[str] = collections.deque(maxlen=_KEPT_LINES)

    async def start(self) -> None:
        """Start the child, wait until the model is loaded, and probe it."""
        self._socket.unlink(missing_ok=True)
        self._child = self._spawn()
        self._listener = threading.Thread(target=self._listen, args=(self._child,), daemon=True)
        self._listener.start()
        await self._loaded(self._child)
        self._capabilities = await self._probe()
        self._health = EngineHealth("ready", "", self._info.model)

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta]:
        """Stream a completion; closing the iterator frees the slot, also while the prompt is being read."""
        async with connected(self._socket, silence=_SILENCE_S) as client:
            json = {"content-type": "application/json"}
            call = client.stream("POST", "/v1/chat/completions", content=self._asking(request), headers=json)
            async with call as response:
                if response.status_code != httpx2.codes.OK:
                    raise self._refusal(await response.aread())
                async with (
                    contextlib.aclosing(event_data(response)) as events,
                    contextlib.aclosing(wire.deltas(events, refusal=self._refusal)) as deltas,
                ):
                    async for delta in deltas:
                        yield delta

    async def embed(self, texts: Sequence[str], *, priority: Priority = "interactive") -> npt.NDArray[np.float32]:
        """Refuse: a chat model makes no vectors."""
        del priority
        raise InvalidInput(f"{self._info.model} is a chat model and makes no vectors.", texts=len(texts))

    async def tokenize(self, text: str) -> list[int]:
        """Return the model's token ids for *text*."""
        return msgspec.json.decode(await self._post("/tokenize", self._tokenizing(text)), type=_Tokens).tokens

    async def broken(self) -> str:
        """Wait until the child has ended, and return how."""
        if self._child is not None:
            await asyncio.to_thread(self._child.wait)
        reason = self._ended()
        self._health = EngineHealth("failed", reason, self._info.model)
        return reason

    async def close(self) -> None:
        """End the child at once: it holds nothing that must be saved."""
        if self._child is not None:
            await asyncio.to_thread(proc.end_group, self._child, grace=0)
        self._socket.unlink(missing_ok=True)

    @abstractmethod
    def _command(self) -> list[str]:
        """Return the child's command line."""

    def _environment(self) -> Mapping[str, str]:
        return OFFLINE

    def _asking(self, request: ChatRequest) -> bytes:
        return wire.request_body(request, model=self._info.model)

    def _tokenizing(self, text: str) -> bytes:
        return msgspec.json.encode({"content": text, "add_special": False, "parse_special": False})

    @abstractmethod
    def _refusal(self, body: bytes) -> ApplianceError:
        """Return the error that an answer other than 200 tells of, or an event in the middle of one."""

    def _explained(self, said: Sequence[str]) -> str:
        """Return why the child ended, from the lines that it *said*."""
        return next((line for line in reversed(said) if line), "it said nothing")[:300]

    async def _probe(self) -> Capabilities:
        return seen([delta async for delta in self.chat(PROBE)])

    async def _post(self, path: str, body: bytes) -> bytes:
        async with connected(self._socket, silence=_SILENCE_S) as client:
            response = await client.post(path, content=body, headers={"content-type": "application/json"})
            if response.status_code != httpx2.codes.OK:
                raise self._refusal(response.content)
            return response.content

    def _spawn(self) -> "subprocess.Popen[bytes]":
        environment = self._environment()
        return proc.spawn(self._command(), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, apart=False)

    def _listen(self, child: "subprocess.Popen[bytes]") -> None:
        if child.stdout is None:
            return
        with contextlib.suppress(ValueError):  # closed under us when the engine is
            for line in child.stdout:
                self._said.append(line.decode("utf-8", "replace").strip())

    async def _loaded(self, child: "subprocess.Popen[bytes]") -> None:
        deadline = Deadline(self.load_seconds, what=f"Loading {self._info.model}")
        while child.poll() is None:
            deadline.check()
            if self._socket.exists() and await self._answers():
                return
            await asyncio.sleep(_POLL_S)
        raise self._fail(self._ended())

    async def _answers(self) -> bool:
        try:
            async with connected(self._socket, silence=self.load_seconds) as client:
                return (await client.get("/health")).status_code == httpx2.codes.OK
        except (EngineUnavailable, DeadlineExceeded):
            return False

    def _fail(self, reason: str) -> EngineUnavailable:
        self._health = EngineHealth("failed", reason, self._info.model)
        return EngineUnavailable(reason, remedy=self.remedy)

    def _ended(self) -> str:
        if self._listener is not None:
            self._listener.join(_LAST_WORDS_S)  # the sentence that matters is among the last ones
        code = self._child.poll() if self._child is not None else None
        how = f"signal {-code}" if code is not None and code < 0 else f"status {code}"
        return f"{self.server} ended with {how}: {self._explained(list(self._said))}"
