"""Server-sent events: numbered, kept alive, and ended at the source when the listener goes."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from litestar.response import Stream

from appliance.api.problems import encoded, problem_of
from appliance.base import log

_log = log.get("http")

MEDIA_TYPE: Final = "text/event-stream"
HEARTBEAT_S: Final = 15.0

_AHEAD: Final = 64  # events made before the listener has taken them
_HEADERS: Final[Mapping[str, str]] = {"cache-control": "no-store", "x-accel-buffering": "no"}


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its ``name``, one line of JSON, and an ``id`` if the listener may come back after it."""

    name: str
    data: str
    id: int | None = None

    def encoded(self) -> bytes:
        """Return the event on the wire."""
        head = "" if self.id is None else f"id: {self.id}\n"
        return f"{head}event: {self.name}\ndata: {self.data}\n\n".encode()


class _End:
    """Put behind the last event."""


def stream(events: Callable[[], AsyncGenerator[Event, None]], *, request_id: str, heartbeat: float = HEARTBEAT_S) -> Stream:
    """Return the response that sends *events*.

    While nothing happens a comment is sent each *heartbeat* seconds. An error on the way is the last event, ``error``,
    with the problem as its data. When the listener goes, the generator is cancelled at once.
    """
    return Stream(_chunks(events, request_id=request_id, heartbeat=heartbeat), media_type=MEDIA_TYPE, headers=dict(_HEADERS))


async def _chunks(
    events: Callable[[], AsyncGenerator[Event, None]], *, request_id: str, heartbeat: float
) -> AsyncGenerator[bytes, None]:
    # The source runs in a task of its own: cancelling it lets it clean up even while this response is being torn down.
    ready: asyncio.Queue[Event | _End] = asyncio.Queue(_AHEAD)
    producer = asyncio.create_task(_produce(events, ready, request_id=request_id))
    try:
        while True:
            try:
                event = await asyncio.wait_for(ready.get(), heartbeat)
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if isinstance(event, _End):
                return
            yield event.encoded()
    finally:
        producer.cancel()


async def _produce(
    events: Callable[[], AsyncGenerator[Event, None]], ready: "asyncio.Queue[Event | _End]", *, request_id: str
) -> None:
    try:
        async with contextlib.aclosing(events()) as source:
            async for event in source:
                await ready.put(event)
    except Exception as exc:  # noqa: BLE001 - the outermost loop of a stream: its status has gone out already
        problem = problem_of(exc, request_id=request_id)
        _log.warning("stream.failed", request=request_id, code=problem.code, exc_info=problem.status >= 500)
        await ready.put(Event("error", encoded(problem).decode()))
    await ready.put(_End())
