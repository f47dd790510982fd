"""A gate that lets so many through at a time, first come, first served, from whatever event loops and threads."""

import asyncio
import threading
from collections import OrderedDict
from types import TracebackType
from typing import Self


class Gate:
    """``async with gate`` waits for one of its places.

    asyncio's own locks belong to the first loop that waits at them; a machine may be used by one loop after another.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: OrderedDict[asyncio.Future[None], None] = OrderedDict()
        self._guard = threading.Lock()

    async def __aenter__(self) -> Self:
        with self._guard:
            if self._free and not self._waiting:
                self._free -= 1
                return self
            turn = asyncio.get_running_loop().create_future()
            self._waiting[turn] = None
        try:
            await turn
        except BaseException:
            with self._guard:
                waits = turn in self._waiting
                self._waiting.pop(turn, None)
            if not waits:
                self._leave()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._leave()

    def _leave(self) -> None:
        with self._guard:
            while self._waiting:
                turn, _ = self._waiting.popitem(last=False)
                try:
                    turn.get_loop().call_soon_threadsafe(_let_in, turn)
                except RuntimeError:  # that loop was closed, and nobody waits there
                    continue
                return
            self._free += 1


def _let_in(turn: "asyncio.Future[None]") -> None:
    if not turn.done():
        turn.set_result(None)
