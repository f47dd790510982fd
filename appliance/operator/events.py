"""Events of a turn, and how they reach whoever listens: stamped, in order, and never able to change an outcome."""

import asyncio
import inspect
import itertools
import logging
import time
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypedDict

from appliance.operator.plain import copied

_LOG: Final = logging.getLogger(__name__)
_MOST_DETAIL: Final = 500
_LISTENS_WITHIN_S: Final = 10.0
_ENDS_ALL: Final = (KeyboardInterrupt, SystemExit)


class StreamEvent(TypedDict, total=False):
    """One event. *duration_ms* is in milliseconds, *ts* in seconds since the epoch; *seq* grows within *turn_id*.

    *phase* is one of start, token, tool_start, tool_result, tool_error, commissioned, done and fail.
    """

    agent: str
    phase: str
    detail: str
    model: str
    objective: str
    commission_id: str
    status: str
    duration_ms: float
    index: int
    turn_id: str
    seq: int
    ts: float


StreamingCallback = Callable[[StreamEvent], None] | Callable[[StreamEvent], Awaitable[None]] | None
Event = StreamEvent | dict[str, Any]


class _Nothing:
    """What a callback that does not wait returns: it may be awaited or not."""

    def __await__(self) -> Generator[None]:
        yield from ()


_NOTHING: Final = _Nothing()


async def emit_stream(callback: StreamingCallback, event: Event) -> None:
    """Give *event* to *callback*, and wait for it if it is async, 10 seconds at most. None is a no-op.

    An error of the callback, its own cancellation too, is logged and goes no further.
    """
    if callback is None:
        return
    try:
        answer: object = callback(event)  # type: ignore[arg-type]
    except _ENDS_ALL:
        raise
    except BaseException as exc:  # noqa: BLE001 - whoever listens must not decide what happens
        _failed(exc)
        return
    if answer is not None and answer is not _NOTHING and inspect.isawaitable(answer):
        await _heard(answer)


async def _heard(answer: Awaitable[object]) -> None:
    try:
        async with asyncio.timeout(_LISTENS_WITHIN_S):
            await answer
    except (*_ENDS_ALL, GeneratorExit):
        raise
    except BaseException as exc:
        if isinstance(exc, asyncio.CancelledError) and (task := asyncio.current_task()) and task.cancelling():
            raise  # it is not the callback that was cancelled, but whoever waits for it
        _failed(exc)


def _failed(exc: BaseException) -> None:
    _LOG.warning("A streaming callback failed with %s; the work goes on.", type(exc).__name__)


@dataclass(slots=True)
class _Hearing:
    """That *callback* is at an event. A task that it leaves behind sees that it no longer is."""

    callback: object
    above: "_Hearing | None"
    still: bool = True


_HEARING: Final[ContextVar[_Hearing | None]] = ContextVar("appliance.operator.hearing", default=None)


def _hears(callback: object) -> bool:
    """Whether *callback* itself asks for what would be told to it."""
    hearing = _HEARING.get()
    while hearing is not None and not (hearing.still and hearing.callback == callback):
        hearing = hearing.above
    return hearing is not None


@contextmanager
def _hearing(callback: object) -> Iterator[None]:
    hearing = _Hearing(callback, _HEARING.get())
    token = _HEARING.set(hearing)
    try:
        yield
    finally:
        hearing.still = False
        with suppress(ValueError):  # a coroutine that is thrown away ends in the context of whoever throws
            _HEARING.reset(token)


async def _heard_by(callback: object, answer: Awaitable[object]) -> None:
    with _hearing(callback):
        await _heard(answer)


class Listener:
    """One callback for as long as its call lasts. A runner gets it as its ``streaming_callback``.

    What it returns may be awaited also where the callback is a plain function. What the callback itself asks of a machine
    is not told to it, or it would never end.
    """

    def __init__(self, callback: StreamingCallback, *, turn_id: str, numbers: "itertools.count[int]") -> None:
        self._callback = callback
        self._turn_id = turn_id
        self._numbers = numbers

    @property
    def for_runner(self) -> StreamingCallback:
        """What to give a runner: None where nobody listens."""
        return None if self._callback is None else self

    def __call__(self, event: Event) -> Awaitable[None]:
        """Stamp a copy of *event* and hand it on; after `close` do nothing."""
        if (callback := self._callback) is None or _hears(callback):
            return _NOTHING
        try:
            stamped = {**copied(event), "turn_id": self._turn_id, "seq": next(self._numbers), "ts": time.time()}
            with _hearing(callback):
                answer: object = callback(stamped)  # type: ignore[arg-type]
        except _ENDS_ALL:
            raise
        except BaseException as exc:  # noqa: BLE001 - as above
            _failed(exc)
            return _NOTHING
        return _heard_by(callback, answer) if inspect.isawaitable(answer) else _NOTHING

    async def emit(self, **event: object) -> None:
        """Hand on an event of the machine itself; its detail is cut at 500 characters."""
        if self._callback is not None:
            event["detail"] = str(event.get("detail", ""))[:_MOST_DETAIL]
            await emit_stream(self, event)

    def close(self) -> None:
        """Hand on nothing from now on."""
        self._callback = None
