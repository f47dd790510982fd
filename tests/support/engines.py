"""An engine that says what it is told to, behind the same door as the real ones; and ways to have one running."""

import asyncio
import contextlib
import hashlib
import importlib.util
import math
import re
import sys
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from appliance.base import proc
from appliance.contracts.chat import Candidate, ChatDelta, ChatRequest
from appliance.errors import ApplianceError, InvalidInput, PromptTooLong
from appliance.inference.client import EngineClient
from appliance.inference.engines.base import Capabilities, EngineHealth, EngineInfo, Priority
from appliance.inference.engines.program import serving

_TOKEN = re.compile(r"\s*\w+|\s*[^\w\s]|\s+")
_PATIENCE_S = 60.0
Outputs = Sequence[str] | Callable[[ChatRequest], str]
Candidates = Callable[[str], Sequence[Candidate]]


def likely(token: str) -> list[Candidate]:
    """Give the token itself nine parts in ten and another one the tenth: for ``true`` that is ``false``, and the reverse."""
    bare = token.strip()
    other = {"true": "false", "false": "true"}.get(bare, "else")
    return [Candidate(token, math.log(0.9)), Candidate(token.replace(bare, other) if bare else other, math.log(0.1))]


def odds(true: float) -> Candidates:
    """Make the probability of ``true`` at every ``true`` or ``false`` token *true*, whichever was written."""

    def of(token: str) -> list[Candidate]:
        if token.strip() not in {"true", "false"}:
            return likely(token)
        pair = [Candidate(" true", math.log(true)), Candidate(" false", math.log(1 - true))]
        return sorted(pair, key=lambda c: c.logprob, reverse=True)

    return of


@dataclass
class ScriptedEngine:
    """Answers with *outputs*: in turn, the last for ever; or what a function makes of the request.

    *pace* is tokens per second (None: as fast as they are read). *failure* is raised before the first token, or after
    *fail_after* tokens. *ready* false keeps it loading. With *dimensions* it is an embedder: by a hash, a unit
    vector a text.
    """

    outputs: Outputs = ("ok",)
    model: str = "scripted"
    context: int = 4096
    dimensions: int = 0
    pace: float | None = None
    candidates: Candidates = likely
    failure: ApplianceError | None = None
    fail_after: int = 0
    ready: bool = True
    requests: list[ChatRequest] = field(default_factory=list)
    priorities: list[Priority] = field(default_factory=list)  # of what was to be embedded
    cancelled: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)  # a request came
    let_go: asyncio.Event = field(default_factory=asyncio.Event)  # a client went away before the end
    _last_prompt: list[str] = field(default_factory=list)
    _slot: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def info(self) -> EngineInfo:
        return EngineInfo("embed" if self.dimensions else "chat", self.model, self.context, self.dimensions)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(embed=True) if self.dimensions else Capabilities(chat=True, schema=True, candidates=True)

    @property
    def health(self) -> EngineHealth:
        return EngineHealth("ready" if self.ready else "loading", "", self.model)

    async def start(self) -> None:
        """Be there."""

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta]:
        if self.dimensions:
            raise InvalidInput("This engine makes vectors and does not write.")
        self.requests.append(request)
        self.asked.set()
        prompt = [token for message in request.messages for token in _TOKEN.findall(message.content)]
        if len(prompt) > self.context:
            raise PromptTooLong("Too long.", prompt_tokens=len(prompt), limit=self.context, model=self.model)
        async with self._slot:
            cached = _shared(prompt, self._last_prompt)
            self._last_prompt = prompt
            try:
                async for delta in self._tokens(request, prompt=len(prompt), cached=cached):
                    yield delta
            except (GeneratorExit, asyncio.CancelledError):
                self.cancelled += 1
                self.let_go.set()
                raise

    async def embed(self, texts: Sequence[str], *, priority: Priority = "interactive") -> npt.NDArray[np.float32]:
        self.priorities.append(priority)
        if not self.dimensions:
            raise InvalidInput("This engine makes no vectors.")
        await asyncio.sleep(0)
        return np.array([_hashed(text, self.dimensions) for text in texts], dtype=np.float32).reshape(-1, self.dimensions)

    async def tokenize(self, text: str) -> list[int]:
        await asyncio.sleep(0)
        return [hash(token) & 0xFFFF for token in _TOKEN.findall(text)]

    async def broken(self) -> str:
        never: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        return await never

    async def close(self) -> None:
        """Be gone."""

    async def _tokens(self, request: ChatRequest, *, prompt: int, cached: int) -> AsyncGenerator[ChatDelta]:
        tokens = _TOKEN.findall(self._output(request))
        if self.failure is not None and not self.fail_after:
            raise self.failure
        said = tokens[: request.max_tokens]
        for count, token in enumerate(said):
            await asyncio.sleep(1 / self.pace if self.pace else 0)
            if self.failure is not None and count >= self.fail_after:
                raise self.failure
            yield ChatDelta(token, tuple(self.candidates(token))[: request.top])
        finish = "length" if len(said) < len(tokens) else "stop"
        yield ChatDelta("", (), "length" if finish == "length" else "stop", prompt, len(said), cached)

    def _output(self, request: ChatRequest) -> str:
        if callable(self.outputs):
            return self.outputs(request)
        return self.outputs[min(len(self.requests), len(self.outputs)) - 1]


@asynccontextmanager
async def served(engine: ScriptedEngine, folder: Path) -> AsyncIterator[EngineClient]:
    """Serve *engine* from the running event loop, and give its client."""
    socket = folder / "engine.sock"
    async with serving(engine, socket=socket):
        yield EngineClient(socket, expected=engine.info)


@contextmanager
def served_in_thread(engine: ScriptedEngine, socket: Path) -> Iterator[EngineClient]:
    """Serve *engine* on *socket* from a thread of its own, for tests that do not run a loop or that start processes."""
    up, down = threading.Event(), threading.Event()

    async def run() -> None:
        async with serving(engine, socket=socket):
            up.set()
            await asyncio.to_thread(down.wait)

    thread = threading.Thread(target=asyncio.run, args=(run(),), daemon=True)
    thread.start()
    assert up.wait(_PATIENCE_S)
    try:
        yield EngineClient(socket, expected=engine.info)
    finally:
        down.set()
        thread.join(_PATIENCE_S)


@contextmanager
def program(
    kind: str,
    *,
    name: str,
    files: Sequence[Path],
    socket: Path,
    options: Sequence[str] = (),
    patience: float = _PATIENCE_S,
) -> Iterator[EngineClient]:
    """Run the real engine program *kind* until the end of the block, and give its client once it is ready."""
    models = [part for path in files for part in ("--model", str(path))]
    module = f"appliance.inference.engines.{kind}"
    child = proc.spawn([sys.executable, "-m", module, "--name", name, *models, "--socket", str(socket), *options])
    client = EngineClient(socket, expected=EngineInfo("chat", name, 0))
    try:
        wait_ready(client, seconds=patience)
        yield client
    finally:
        child.terminate()
        with contextlib.suppress(Exception):
            child.wait(10)
        proc.end_group(child, grace=0)


def wait_ready(client: EngineClient, *, seconds: float = _PATIENCE_S) -> None:
    """Poll until the engine answers that it is ready; fail with its own words when it says that it never will be."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        health = asyncio.run(client.health())
        assert health.state != "failed", health.detail
        if health.state == "ready":
            return
        time.sleep(0.05)
    raise AssertionError(f"not ready after {seconds:g} s: {health}")


def _hashed(text: str, dimensions: int) -> npt.NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    vector = np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)
    unit: npt.NDArray[np.float32] = vector / np.linalg.norm(vector)
    return unit


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def needed_package(kind: str) -> None:
    """Skip the test where the engine *kind* needs an optional package that is not installed."""
    if kind == "llama_cpp_python" and importlib.util.find_spec("llama_cpp") is None:
        pytest.skip("llama-cpp-python is not installed: `.venv/bin/pip install $(.ci/wheels)` builds and installs it")
