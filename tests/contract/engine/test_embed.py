"""What every embedding engine promises, asked of each through its socket."""

import asyncio

import numpy as np
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


def test_vectors_come_in_the_order_of_the_texts(embedder: EngineClient) -> None:
    """They are made by length, in batches: each must find its way back, whatever it was padded with."""
    together = asyncio.run(embedder.embed(TEXTS))
    for number in (0, 5, 8):
        alone = asyncio.run(embedder.embed([TEXTS[number]]))[0]
        assert float(together[number] @ alone) > 0.98


def test_no_text_gives_no_vector(embedder: EngineClient) -> None:
    assert asyncio.run(embedder.embed([])).shape == (0, embedder.dimensions)


@pytest.mark.parametrize("text", ["", " ", "\0", "\ud83d\ude00 ☃ é", "word " * 100_000, "x" * 300_000], ids=repr)
def test_any_text_has_a_vector(embedder: EngineClient, text: str) -> None:
    text = text.encode("utf-16", "surrogatepass").decode("utf-16")
    assert np.isfinite(asyncio.run(embedder.embed([text]))).all()


def test_embedder_does_not_write(embedder: EngineClient) -> None:
    async def ask() -> None:
        async for _ in embedder.chat(ChatRequest([Message("user", "Hello")])):
            pass

    with pytest.raises(InvalidInput):
        asyncio.run(ask())


def test_health_says_ready(embedder: EngineClient) -> None:
    assert asyncio.run(embedder.health()).state == "ready"
