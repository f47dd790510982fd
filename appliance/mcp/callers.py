"""Whoever makes calls over HTTP: whether they still listen, and how many of theirs are worked on at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from appliance.errors import Throttled

MOST_CALLS: Final = 32  # of one key at a time: else one client could keep those of all other keys waiting
MOST_WAITING: Final = 256

_RETRY_S: Final = 1


class Turns:
    """The calls of one key: *most* at a time, *waiting* in line, in the order in which they came."""

    def __init__(self, *, most: int = MOST_CALLS, waiting: int = MOST_WAITING) -> None:
        self._free = asyncio.Semaphore(most)
        self._room = waiting

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn and keep it for the block; raise `Throttled` when too many wait already."""
        if self._free.locked() and not self._room:
            raise Throttled(
                "Too many calls of this key wait already.", remedy="Wait for some of them.", retry_after=_RETRY_S
            )
        self._room -= 1
        try:
            await self._free.acquire()
        finally:
            self._room += 1
        try:
            yield
        finally:
            self._free.release()


@dataclass(frozen=True, slots=True)
class Caller:
    """Who made one request: *gone* once they no longer listen."""

    turns: Turns
    gone: asyncio.Event = field(default_factory=asyncio.Event)
