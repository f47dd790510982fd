"""A client that stops waiting for vectors: nobody reads them, so nobody makes them."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from appliance.inference.engines.base import Priority
from tests.support.engines import ScriptedEngine, served


class Slow(ScriptedEngine):
    """Never done, and knows whether it was let go."""

    async def embed(self, texts: Sequence[str], *, priority: Priority = "interactive") -> npt.NDArray[np.float32]:
        del priority
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.let_go.set()
        return np.zeros((len(texts), self.dimensions), dtype=np.float32)


def test_a_client_that_goes_away_ends_its_embedding(folder: Path) -> None:
    async def scenario() -> None:
        engine = Slow(dimensions=8)
        async with served(engine, folder) as client:
            asking = asyncio.ensure_future(client.embed(["a text"]))
            async with asyncio.timeout(10):
                await engine.asked.wait()
                asking.cancel()
                await engine.let_go.wait()

    asyncio.run(scenario())
