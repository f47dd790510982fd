"""Embedders without a model: the same text gives the same vector, and failures come when a test says so."""

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from appliance.errors import EngineUnavailable, InvalidInput


class FakeEmbedder:
    """Keeps every text that it was given. A text for which *refuses* is true makes its whole batch fail."""

    def __init__(
        self, *, model: str = "fake", dimensions: int = 8, refuses: Callable[[str], bool] = lambda _text: False
    ) -> None:
        self._model = model
        self._dimensions = dimensions
        self.refuses = refuses
        self.down = 0  # calls that fail before the engine is back; -1: it never is
        self.texts: list[str] = []

    @property
    def model(self) -> str:
        return self._model

    @property
    def dimensions(self) -> int:
        return self._dimensions

    async def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        if self.down:
            self.down -= 1
            raise EngineUnavailable("The engine for embeddings does not answer.")
        if any(self.refuses(text) for text in texts):
            raise InvalidInput("The engine refuses a text.")
        self.texts += texts
        return np.stack([self.vector(text) for text in texts])

    def vector(self, text: str) -> npt.NDArray[np.float32]:
        """Return the unit vector of *text*."""
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
        row = np.random.default_rng(seed).standard_normal(self._dimensions).astype(np.float32)
        row /= np.linalg.norm(row)
        return row
