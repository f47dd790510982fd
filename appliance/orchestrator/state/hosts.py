"""What is kept for each host beside it, as long as it lives: one lock, and how often batches have changed its state."""

import asyncio
import threading
import weakref
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

from appliance.errors import Conflict, InvalidInput

_Waiter = tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]
_within: Final[ContextVar[tuple[object, ...]]] = ContextVar("_within", default=())


class HostLock:
    """A lock that coroutines of any event loop, in any thread, get in the order in which they asked."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locked = False
        self._turn: object | None = None  # of whoever holds it
        self._waiting: deque[_Waiter] = deque()

    @asynccontextmanager
    async def held(self) -> AsyncGenerator[None]:
        """Hold the lock. Whoever asks from within what holds it, a tool of a batch for instance, gets a `Conflict`."""
        if self._turn is not None and self._turn in _within.get():
            raise Conflict(
                "Transitions were applied from within a batch on the same host, which would wait for itself.",
                remedy="Return them from the tool, and apply them once the batch has ended.",
            )
        await self._acquire()
        self._turn = turn = object()
        token = _within.set((*_within.get(), turn))
        try:
            yield
        finally:
            _within.reset(token)
            self._turn = None
            self._release()

    async def _acquire(self) -> None:
        loop = asyncio.get_running_loop()
        with self._guard:
            if not self._locked:
                self._locked = True
                return
            waiter = (loop, loop.create_future())
            self._waiting.append(waiter)
        try:
            await waiter[1]
        except asyncio.CancelledError:
            with self._guard:
                waits = waiter in self._waiting
                if waits:
                    self._waiting.remove(waiter)
            if not waits:  # it was this one's turn already
                self._release()
            raise

    def _release(self) -> None:
        with self._guard:
            while self._waiting:
                loop, future = self._waiting.popleft()
                try:
                    loop.call_soon_threadsafe(_wake, future)
                except RuntimeError:  # its loop was closed
                    continue
                return
            self._locked = False


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


@dataclass(slots=True)
class HostRecord:
    """What is kept for a host."""

    lock: HostLock = field(default_factory=HostLock)
    version: int = 0


_records: Final[dict[int, tuple[weakref.ref[object], HostRecord]]] = {}
_guard: Final = threading.RLock()  # again, since the end of a host may fall into looking for another


def record_of(host: object) -> HostRecord:
    """Return what is kept for *host*; raise `InvalidInput` for an object that cannot be referred to weakly."""
    with _guard:
        known = _known(host)
        if known is not None:
            return known
        key = id(host)
        try:
            reference = weakref.ref(host, lambda gone: _forget(key, gone))
        except TypeError as exc:
            raise InvalidInput(
                f"A {type(host).__name__} cannot be a host: it cannot be referred to weakly.",
                remedy="Add `__weakref__` to its `__slots__`.",
            ) from exc
        record = HostRecord()
        _records[key] = (reference, record)
        return record


def version_of(host: object) -> int:
    """Return how often the state of *host* has changed: by its own count, or by that of the batches applied to it."""
    own = own_version(host)
    if own is not None:
        return own
    with _guard:
        known = _known(host)
    return 0 if known is None else known.version


def own_version(host: object) -> int | None:
    """Return the host's own count of its changes, None where it keeps none."""
    own = getattr(host, "state_version", None)
    return own if isinstance(own, int) and not isinstance(own, bool) else None


def _known(host: object) -> HostRecord | None:
    entry = _records.get(id(host))
    return entry[1] if entry is not None and entry[0]() is host else None


def _forget(key: int, gone: weakref.ref[object]) -> None:
    with _guard:
        entry = _records.get(key)
        if entry is not None and entry[0] is gone:
            del _records[key]
