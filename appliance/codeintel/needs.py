"""What code intelligence needs from its neighbours; `appliance.services` hands in the real ones."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from appliance.contracts.chat import ChatDelta, ChatRequest

Progress = Callable[[str, int, int | None], None]  # phase, done, total (None: not known yet)
Check = Callable[[], None]  # raises Cancelled once somebody asked the work to stop


class Embedder(Protocol):
    """Text to vectors."""

    @property
    def model(self) -> str:
        """Catalogue name: vectors of two models never meet."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    async def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one unit vector a text, shape (len(texts), dimensions); raise `EngineUnavailable`."""


class ChatModel(Protocol):
    """A model that writes."""

    @property
    def model(self) -> str:
        """Catalogue name."""

    @property
    def context(self) -> int:
        """Context window in tokens, prompt and completion together."""

    async def tokens(self, text: str) -> int:
        """Return how many tokens *text* is for this model."""

    def chat(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        """Stream a completion. Closing the iterator frees the slot. Raises `PromptTooLong`, `EngineUnavailable`."""
