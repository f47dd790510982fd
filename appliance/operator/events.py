"""Events of a turn, and how they reach whoever listens: stamped, in order, and never able to change an outcome."""

import asyncio
import inspect
import itertools
import logging
import time
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Final, TypedDict

from appliance.operator.plain import copied

_LOG: Final = logging.getLogger(__name__)
_MOST_DETAIL: Final = 500
_LISTENS_WITHIN_S: Final = 10.0


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

    An error of the callback is logged and goes no further.
    """
    if callback is None:
        return
    try:
        answer: object = callback(event)  # type: ignore[arg-type]
    except Exception as exc:  # noqa: BLE001 - whoever listens must not decide what happens
        _failed(exc)
        return
    if answer is not None and answer is not _NOTHING and inspect.isawaitable(answer):
        await _heard(answer)


async def _heard(answer: Awaitable[object]) -> None:
    try:
        async with asyncio.timeout(_LISTENS_WITHIN_S):
            await answer
    except Exception as exc:  # noqa: BLE001 - as above
        _failed(exc)


def _failed(exc: Exception) -> None:
    _LOG.warning("A streaming callback failed with %s; the work goes on.", type(exc).__name__)


class Listener:
    """One callback for as long as its call lasts. A runner gets it as its ``streaming_callback``.

    What it returns may be awaited also where the callback is a plain function.
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
        if (callback := self._callback) is None:
            return _NOTHING
        try:
            stamped = {**copied(event), "turn_id": self._turn_id, "seq": next(self._numbers), "ts": time.time()}
            answer: object = callback(stamped)  # type: ignore[arg-type]
        except Exception as exc:  # noqa: BLE001 - as above
            _failed(exc)
            return _NOTHING
        return _heard(answer) if inspect.isawaitable(answer) else _NOTHING

    async def emit(self, **event: object) -> None:
        """Hand on an event of the machine itself; its detail is cut at 500 characters."""
        if self._callback is not None:
            event["detail"] = str(event.get("detail", ""))[:_MOST_DETAIL]
            await emit_stream(self, event)

    def close(self) -> None:
        """Hand on nothing from now on."""
        self._callback = None
