"""Server-sent events: numbered, kept alive, and ended at the source when the listener goes."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from litestar.datastructures import Headers
from litestar.response import Stream

from appliance.api.problems import encoded
from appliance.errors import InvalidInput
from appliance.web.problems import log_failure, problem_of

MEDIA_TYPE: Final = "text/event-stream"
HEARTBEAT_S: Final = 15.0

_FIRST_S: Final = 2.0
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


def last_seen(headers: Headers) -> int:
    """Return the number of the event that a listener who comes back saw last, 0 for none; raise `InvalidInput`."""
    header = headers.get("last-event-id", "0")
    if not header.isascii() or not header.isdigit() or len(header) > 18:
        raise InvalidInput("The Last-Event-ID is not the number of an event.")
    return int(header)


class _End:
    """Put behind the last event."""


_Item = Event | Exception | _End


async def stream(
    events: Callable[[], AsyncGenerator[Event, None]], *, request_id: str, heartbeat: float = HEARTBEAT_S
) -> Stream:
    """Return the response that sends *events*; raise what they raise before the first, so that it gets its own status.

    While nothing happens a comment is sent each *heartbeat* seconds. An error on the way is the last event, ``error``,
    with the problem as its data. When the listener goes, the generator is cancelled at once.
    """
    ready: asyncio.Queue[_Item] = asyncio.Queue(_AHEAD)
    producer = asyncio.create_task(_produce(events, ready))
    try:
        first: _Item | None = await asyncio.wait_for(ready.get(), _FIRST_S)
    except TimeoutError:
        first = None
    except BaseException:
        producer.cancel()
        raise
    if isinstance(first, Exception):
        raise first
    chunks = _Chunks(ready, producer, first=first, request_id=request_id, heartbeat=heartbeat)
    return Stream(chunks, media_type=MEDIA_TYPE, headers=dict(_HEADERS))


class _Chunks(AsyncIterator[bytes]):
    """Events as bytes.

    They are made by a task of their own, which can clean up while the response is being torn down. It is an object and
    not a generator because a generator that was never started has no end at which the task could be cancelled.
    """

    def __init__(
        self,
        ready: "asyncio.Queue[_Item]",
        producer: "asyncio.Task[None]",
        *,
        first: _Item | None,
        request_id: str,
        heartbeat: float,
    ) -> None:
        self._ready = ready
        self._producer = producer
        self._first = first
        self._request_id = request_id
        self._heartbeat = heartbeat

    async def __anext__(self) -> bytes:
        try:
            item: _Item | None = self._first or await asyncio.wait_for(self._ready.get(), self._heartbeat)
        except TimeoutError:
            return b": still here\n\n"
        except BaseException:
            self._producer.cancel()
            raise
        self._first = None
        if item is None or isinstance(item, _End):
            raise StopAsyncIteration
        if isinstance(item, Exception):
            return self._failure(item).encoded()
        return item.encoded()

    def _failure(self, error: Exception) -> Event:
        problem = problem_of(error, request_id=self._request_id)
        log_failure("stream.failed", error, problem)
        return Event("error", encoded(problem).decode())

    def __del__(self) -> None:
        self._producer.cancel()


async def _produce(events: Callable[[], AsyncGenerator[Event, None]], ready: "asyncio.Queue[_Item]") -> None:
    try:
        async with contextlib.aclosing(events()) as source:
            async for event in source:
                await ready.put(event)
    except Exception as exc:  # noqa: BLE001 - the outermost loop of a stream: whoever listens is told
        await ready.put(exc)
    await ready.put(_End())
