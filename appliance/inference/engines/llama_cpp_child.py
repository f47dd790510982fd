"""llama-cpp-python's model behind our own door, in a process of its own: what crashes it takes nothing else with it.

Started by `llama_cpp_python` with its parameters as one JSON argument, and an environment set before the library is loaded.
"""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from appliance.base import log, proc
from appliance.contracts.chat import ChatDelta, ChatRequest
from appliance.errors import ApplianceError, EngineUnavailable, InvalidInput
from appliance.inference.engines.base import PROBE, Capabilities, EngineHealth, EngineInfo, Priority, Stated, seen
from appliance.inference.engines.lanes import Lanes
from appliance.inference.engines.llama_cpp_model import LlamaModel
from appliance.inference.engines.llama_parameters import FAULT, Parameters
from appliance.inference.engines.program import leave, run


class LlamaCpp(Stated):
    """One model, asked by one request at a time; further ones wait in the order in which they came.

    An embedder is loaded once for each lane, its weights shared: a query never waits for an indexer's text.
    """

    def __init__(self, asked: Parameters) -> None:
        self._asked = asked
        super().__init__(EngineInfo("embed" if asked.dimensions else "chat", asked.alias, asked.context, asked.dimensions))
        self._lanes = Lanes()
        self._turn = asyncio.Lock()
        self._models: dict[Priority, LlamaModel] = {}

    async def start(self) -> None:
        """Load the model and probe it; raise `EngineUnavailable` or `HostUnfit` when it cannot work here."""
        priorities: list[Priority] = ["interactive", "background"] if self._info.dimensions else ["interactive"]
        for priority in priorities:
            self._models[priority] = await self._lanes.run(self._load, priority=priority)
        if self._info.dimensions:
            made = (await self.embed(["def main() -> None: ..."])).shape[1]
            if made != self._info.dimensions:
                raise EngineUnavailable(f"{self._info.model} makes vectors of {made}, not {self._info.dimensions}, numbers.")
            self._capabilities = Capabilities(embed=True)
        else:
            self._capabilities = seen([delta async for delta in self.chat(PROBE)])
        self._health = EngineHealth("ready", "", self._info.model)

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta]:
        """Stream a completion; closing the iterator ends the work after the token, or the piece of prompt, in hand."""
        if self._info.dimensions:
            raise InvalidInput(f"{self._info.model} makes vectors and does not write.", messages=len(request.messages))
        async with self._turn:
            steps = self._models["interactive"].write(request)
            try:
                while (step := await self._lanes.run(partial(_next, steps))) is not _END:
                    if isinstance(step, ChatDelta):
                        yield step
            finally:  # in the same lane, so after the step in hand and before those of the next request
                await asyncio.shield(self._lanes.run(steps.close))

    async def embed(self, texts: Sequence[str], *, priority: Priority = "interactive") -> npt.NDArray[np.float32]:
        """Return one unit vector a text, in the order of *texts*."""
        if not self._info.dimensions:
            raise InvalidInput(f"{self._info.model} is a chat model and makes no vectors.", texts=len(texts))
        if not texts:
            return np.zeros((0, self._info.dimensions), dtype=np.float32)
        made = [await self._lanes.run(partial(self._models[priority].vector, text), priority=priority) for text in texts]
        return np.stack(made)

    async def tokenize(self, text: str) -> list[int]:
        """Return the model's token ids for *text*."""
        return await asyncio.to_thread(self._models["interactive"].tokens, text)

    async def broken(self) -> str:
        """Never return: what breaks here ends the process."""
        never: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        return await never

    async def close(self) -> None:
        """Let go of what waits; the parent ends the process."""
        self._lanes.close()

    def _load(self) -> LlamaModel:
        asked = self._asked
        return LlamaModel(
            Path(asked.model),
            name=asked.alias,
            context=asked.context,
            threads=(asked.threads, asked.prompt_threads),
            vectors=bool(asked.dimensions),
            gpu=asked.gpu,
        )


_END = object()


def _next(steps: Iterator[ChatDelta | None]) -> object:
    return next(steps, _END)


def main() -> int:
    """Load the model, then serve until killed; return 1 with a sentence when it cannot be loaded."""
    asked = msgspec.json.decode(sys.argv[1], type=Parameters)
    proc.end_with(asked.parent, number=signal.SIGKILL)
    log.configure(level="warning", json=True)
    try:
        asyncio.run(run(LlamaCpp(asked), socket=Path(asked.socket)))
    except ApplianceError as exc:
        sys.stderr.write(f"{FAULT}{exc}\n")
        return 1
    return 0


if __name__ == "__main__":
    leave(main())
