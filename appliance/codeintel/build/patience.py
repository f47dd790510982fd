"""An embedding engine, asked patiently: again after a failure, then text by text, and never without saying what is lost."""

import asyncio
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from appliance.codeintel.needs import Check, Embedder
from appliance.errors import ApplianceError, EngineUnavailable

_TRIES = 3
_PAUSE_S = 0.5  # after a first failure; doubled after each further one
_HARMLESS = "a"

Vectors = npt.NDArray[np.float32]


class PatientEmbedder:
    """Asks *embedder* from a thread that has no event loop. *check* may raise between two tries."""

    def __init__(self, embedder: Embedder, *, pause: Callable[[float], None], check: Check) -> None:
        self._embedder = embedder
        self._pause = pause
        self._check = check
        self._runner = asyncio.Runner()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one vector a text; a row of nan for a text that the engine refuses, even alone.

        Raise `EngineUnavailable` when the engine is away: then no text is to blame, and all of them are for later.
        """
        try:
            return self._patiently(texts)
        except ApplianceError:
            return np.concatenate([self._alone(text) for text in texts])

    def close(self) -> None:
        """End the event loop."""
        self._runner.close()

    def _patiently(self, texts: Sequence[str]) -> Vectors:
        for attempt in range(1, _TRIES):
            try:
                return self._once(texts)
            except ApplianceError as exc:
                if not exc.retryable:
                    raise
            self._pause(_PAUSE_S * 2 ** (attempt - 1))
            self._check()
        return self._once(texts)

    def _alone(self, text: str) -> Vectors:
        self._check()
        try:
            return self._patiently([text])
        except EngineUnavailable:
            self._once([_HARMLESS])  # raises as well when the engine is away, as after a restart; else it is the text
            return self._nothing(1)
        except ApplianceError:
            return self._nothing(1)

    def _once(self, texts: Sequence[str]) -> Vectors:
        vectors = self._runner.run(self._embedder.embed(texts))
        if vectors.shape != (len(texts), self._embedder.dimensions):
            raise EngineUnavailable(
                f"The engine for {self._embedder.model} returned vectors of shape {vectors.shape} for {len(texts)} texts.",
                remedy="Verify the model: `skellig model verify`.",
            )
        return vectors.astype(np.float32, copy=False)

    def _nothing(self, count: int) -> Vectors:
        return np.full((count, self._embedder.dimensions), np.nan, dtype=np.float32)
