"""What every embedding engine promises, asked of each through its socket."""

import asyncio

import numpy as np
import numpy.typing as npt
import pytest

from appliance.contracts.chat import ChatRequest, Message
from appliance.errors import InvalidInput
from appliance.inference.client import EngineClient

TEXTS = [f"def function_{number}():" + " pass" * (number * 3) for number in range(9)]


def test_one_unit_vector_a_text(embedder: EngineClient) -> None:
    vectors = asyncio.run(embedder.embed(TEXTS))
    assert vectors.shape == (len(TEXTS), embedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)


def test_text_has_the_same_vector_alone_and_in_company(embedder: EngineClient) -> None:
    """Else a chunk would be found or not by what else was indexed with it; and the order is that of the texts."""
    together = asyncio.run(embedder.embed(TEXTS))
    for number in (0, 5, 8):
        assert np.array_equal(together[number], asyncio.run(embedder.embed([TEXTS[number]]))[0])


def test_requests_side_by_side_keep_their_own_vectors(embedder: EngineClient) -> None:
    async def both() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        return await asyncio.gather(embedder.embed(TEXTS[:3]), embedder.embed(TEXTS[3:6]))

    first, second = asyncio.run(both())
    assert np.array_equal(np.vstack([first, second]), asyncio.run(embedder.embed(TEXTS[:6])))


def test_text_has_the_same_vector_in_the_background(embedder: EngineClient) -> None:
    """Chunks are embedded there and queries are not, and they must meet; also while both are at work."""
    background = EngineClient(embedder.socket, expected=embedder.info, priority="background")

    async def both() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        return await asyncio.gather(background.embed(TEXTS), embedder.embed(TEXTS))

    behind, before = asyncio.run(both())
    assert np.array_equal(behind, before)


def test_no_text_gives_no_vector(embedder: EngineClient) -> None:
    assert asyncio.run(embedder.embed([])).shape == (0, embedder.dimensions)


@pytest.mark.parametrize(
    "text",
    ["", " ", "\0", "\U0001f600 ☃ é", "word " * 100_000, "x" * 300_000],
    ids=["empty", "space", "nul", "symbols", "many words", "one word"],
)
def test_any_text_has_a_vector(embedder: EngineClient, text: str) -> None:
    assert np.isfinite(asyncio.run(embedder.embed([text]))).all()


def test_embedder_does_not_write(embedder: EngineClient) -> None:
    async def ask() -> None:
        async for _ in embedder.chat(ChatRequest([Message("user", "Hello")])):
            pass

    with pytest.raises(InvalidInput):
        asyncio.run(ask())


def test_health_says_ready(embedder: EngineClient) -> None:
    assert asyncio.run(embedder.health()).state == "ready"
