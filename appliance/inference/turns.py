"""Turns at the chat model: as many at once as it has slots, a few more wait, and further ones are refused at once."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field

from appliance.contracts.chat import ChatDelta, ChatRequest
from appliance.errors import EngineUnavailable
from appliance.inference.client import EngineClient


@dataclass(slots=True, eq=False)
class _Turn:
    """One that waits, in its own event loop, until it is called."""

    loop: asyncio.AbstractEventLoop
    called: asyncio.Event = field(default_factory=asyncio.Event)
    admitted: bool = False

    def call(self) -> None:
        self.admitted = True
        with suppress(RuntimeError):  # its loop has ended, and so has whoever waited there
            self.loop.call_soon_threadsafe(self.called.set)


class Turns:
    """*slots* are served side by side, *waiting* more wait in the order in which they came; in any number of event loops."""

    def __init__(self, *, slots: int, waiting: int) -> None:
        self._slots = slots
        self._limit = waiting
        self._lock = threading.Lock()
        self._served = 0
        self._waiting: deque[_Turn] = deque()

    @property
    def ahead(self) -> int:
        """How many are before one that comes now; 0 where it is served at once, or refused."""
        with self._lock:
            waits = self._served >= self._slots and len(self._waiting) < self._limit
            return self._served + len(self._waiting) if waits else 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it for the length of the block; raise `EngineUnavailable` where too many wait already.

        Whoever is cancelled while waiting has left the queue.
        """
        turn = self._come()
        try:
            if not turn.admitted:
                await turn.called.wait()
            yield
        finally:
            self._leave(turn)

    def _come(self) -> _Turn:
        turn = _Turn(asyncio.get_running_loop())
        with self._lock:
            if self._served < self._slots:
                self._served += 1
                turn.admitted = True
            elif len(self._waiting) >= self._limit:
                wait = "1 question waits" if self._limit == 1 else f"{self._limit} questions wait"
                raise EngineUnavailable(f"the model is busy: {wait}; ask again, or use the evidence.")
            else:
                self._waiting.append(turn)
        return turn

    def _leave(self, turn: _Turn) -> None:
        with self._lock:
            if not turn.admitted:
                self._waiting.remove(turn)
            elif self._waiting:
                self._waiting.popleft().call()
            else:
                self._served -= 1


class ChatInTurn:
    """A chat model that is asked in turn; else as its client."""

    def __init__(self, client: EngineClient, turns: Turns) -> None:
        self._client = client
        self._turns = turns

    @property
    def model(self) -> str:
        """Catalogue name."""
        return self._client.model

    @property
    def context(self) -> int:
        """Context window in tokens, prompt and completion together."""
        return self._client.context

    async def tokens(self, text: str) -> int:
        """Return how many tokens *text* is for this model; that takes no turn."""
        return await self._client.tokens(text)

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta]:
        """Stream a completion once it is its turn. Closing the iterator frees the slot, or the place in the queue.

        Raise what the client raises, and `EngineUnavailable` where too many wait already.
        """
        async with self._turns.turn(), aclosing(self._client.chat(request)) as deltas:
            async for delta in deltas:
                yield delta
