"""A gate that lets so many through at a time, first come, first served, from whatever event loops and threads."""

import asyncio
import threading
from collections import OrderedDict
from types import TracebackType
from typing import Self

Call = asyncio.Future[None]


class Gate:
    """``async with gate`` waits for one of its places.

    asyncio's own locks belong to the first loop that waits at them; a machine may be used by one loop after another.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: OrderedDict[Call, None] = OrderedDict()
        self._called: set[Call] = set()  # who has a place that they have not taken yet
        self._guard = threading.Lock()

    async def __aenter__(self) -> Self:
        with self._guard:
            if self._free and not self._waiting:
                self._free -= 1
                return self
            call = asyncio.get_running_loop().create_future()
            self._waiting[call] = None
        try:
            await call
        except BaseException:
            self._give_up(call)
            raise
        self._called.discard(call)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        with self._guard:
            self._pass_on()

    def _give_up(self, call: Call) -> None:
        with self._guard:
            self._waiting.pop(call, None)
            if call in self._called:
                self._called.discard(call)
                self._pass_on()

    def _pass_on(self) -> None:
        while self._waiting:
            call, _ = self._waiting.popitem(last=False)
            try:
                call.get_loop().call_soon_threadsafe(_come, call)
            except RuntimeError:  # that loop was closed, and nobody waits there
                continue
            self._called.add(call)
            return
        self._free += 1


def _come(call: Call) -> None:
    if not call.done():
        call.set_result(None)
