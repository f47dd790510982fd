"""A turn: what belongs to one question alone, and who works on it."""

import asyncio
import itertools
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

from appliance.operator.events import Listener, StreamingCallback
from appliance.operator.gate import Gate
from appliance.operator.limits import RunLimits
from appliance.operator.plain import copied
from appliance.operator.usage import added, tokens

_ENDS_WITHIN_S: Final = 2.0
_COUNTING: Final = threading.Lock()  # the work of one turn may go on in several threads


@dataclass(eq=False, slots=True)
class Errand:
    """One run of one junior within a turn."""

    settled: "asyncio.Future[None]"
    task: "asyncio.Task[Any] | None" = None
    stopped: bool = False

    def begun(self, task: "asyncio.Task[Any]") -> None:
        """Know the *task* that does it, and end it if it came too late."""
        self.task = task
        if self.stopped:
            task.cancel()

    def stop(self) -> None:
        """Have it end as failed."""
        self.stopped = True
        if self.task is not None:
            self.task.cancel()


@dataclass(eq=False, slots=True)
class Turn:
    """The budget, the numbers of the events, and the usage of one turn.

    A call by hand, outside of `run`, is one alone; it is not *asked* by a user, and no other waits for its end. Work may
    begin while it is *open*; the next turn, once it is *over*.
    """

    limits: RunLimits
    callback: StreamingCallback = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    asked: bool = False
    open: bool = True
    over: bool = False
    failed: bool = False
    commissions: int = 0
    instructs: int = 0
    usage: dict[str, Any] = field(default_factory=dict)
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    errands: set[Errand] = field(default_factory=set)

    def listener(self, callback: StreamingCallback = None) -> Listener:
        """Return who hears the events of one call: *callback*, or whoever listens to the turn."""
        heard = self.callback if callback is None else callback
        return Listener(heard, turn_id=self.id, numbers=self.numbers)

    def spent(self) -> str:
        """Return the sentence that says why no more work may begin, or ``""``."""
        if not self.open:
            return "The turn is over."
        most = self.limits.max_tokens
        if most is not None and tokens(self.usage) >= most:
            return f"This turn has used its {most} tokens."
        return ""

    def count_commission(self) -> str:
        """Count one commission; return the sentence that refuses it, or ``""``."""
        most = self.limits.max_commissions
        with _COUNTING:
            if most is not None and self.commissions >= most:
                return f"This turn has made its {most} commissions."
            if not (sentence := self.spent()):
                self.commissions += 1
        return sentence

    def count_instruct(self) -> str:
        """Count one instruction; return the sentence that refuses it, or ``""``."""
        most = self.limits.max_instructs
        with _COUNTING:
            if most is not None and self.instructs >= most:
                return f"This turn has given its {most} instructions."
            if not (sentence := self.spent()):
                self.instructs += 1
        return sentence

    def use(self, usage: Mapping[str, Any] | None) -> None:
        """Add what a run cost."""
        with _COUNTING:
            self.usage = added(self.usage, copied(usage))

    async def end(self, *, failed: bool = False) -> None:
        """Let no more work begin in it, and end what still runs."""
        self.open = False
        self.failed = failed
        if not self.errands:
            return
        loop = asyncio.get_running_loop()
        for errand in tuple(self.errands):
            with suppress(RuntimeError):  # a loop that was closed runs nothing any more
                errand.settled.get_loop().call_soon_threadsafe(errand.stop)
        if here := [errand.settled for errand in self.errands if errand.settled.get_loop() is loop]:
            await asyncio.wait(here, timeout=_ENDS_WITHIN_S)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        await self.end()


@dataclass(frozen=True, slots=True)
class Frame:
    """Who works: for which machine, in which turn, handed on how often, and within whose frame."""

    machine: object
    turn: Turn
    depth: int = 0
    seat: Gate | None = None
    above: "Frame | None" = None


_FRAME: ContextVar[Frame | None] = ContextVar("appliance.operator.frame", default=None)


def current() -> Frame | None:
    """Return the frame of whoever calls, None outside of any."""
    return _FRAME.get()


def within(machine: object) -> Frame | None:
    """Return the innermost frame of that *machine* around whoever calls."""
    frame = current()
    while frame is not None and frame.machine is not machine:
        frame = frame.above
    return frame


@contextmanager
def belonging(machine: object, turn: Turn | None) -> Iterator[None]:
    """Let what the block asks of *machine* belong to *turn* wherever it stands, while the turn lasts or if it failed."""
    above, here = current(), within(machine)
    if turn is None or not (turn.open or turn.failed) or (here is not None and here.turn is turn):
        yield
        return
    with entered(Frame(machine, turn, 0 if above is None else above.depth, None, above)):
        yield


@contextmanager
def entered(frame: Frame) -> Iterator[None]:
    """Let what the block calls find *frame*."""
    token = _FRAME.set(frame)
    try:
        yield
    finally:
        with suppress(ValueError):  # a coroutine that is thrown away ends in the context of whoever throws
            _FRAME.reset(token)
