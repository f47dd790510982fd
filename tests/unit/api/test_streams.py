"""Streams live as long as their listener, and not a second longer."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from litestar.response import Stream
from litestar.types import HTTPReceiveMessage

from appliance.api import sse
from appliance.errors import Cancelled, EngineUnavailable
from appliance.web.listening import while_listening


class Source:
    """Says *events*, then waits for ever or raises *error*; knows whether it was let go."""

    def __init__(self, *events: str, error: Exception | None = None, ends: bool = False) -> None:
        self.closed = asyncio.Event()
        self._events = events
        self._error = error
        self._ends = ends

    async def __call__(self) -> AsyncGenerator[sse.Event, None]:
        try:
            for number, event in enumerate(self._events, start=1):
                yield sse.Event("token", event, id=number)
            if self._error:
                raise self._error
            if not self._ends:
                await asyncio.Event().wait()
        finally:
            self.closed.set()


async def opened(source: Source, *, heartbeat: float = 15) -> AsyncGenerator[bytes, None]:
    response = await sse.stream(source.__call__, request_id="r", heartbeat=heartbeat)
    assert isinstance(response, Stream)
    chunks: AsyncGenerator[bytes, None] = response.iterator  # type: ignore[assignment]
    return chunks


def test_events_are_numbered_and_the_stream_ends_after_the_last() -> None:
    async def scenario() -> list[bytes]:
        return [chunk async for chunk in await opened(Source("1", "2", ends=True))]

    assert asyncio.run(scenario()) == [b"id: 1\nevent: token\ndata: 1\n\n", b"id: 2\nevent: token\ndata: 2\n\n"]


def test_while_nothing_happens_a_comment_keeps_the_connection() -> None:
    async def scenario() -> list[bytes]:
        chunks = await opened(Source("1"), heartbeat=0.01)
        return [await anext(chunks) for _ in range(3)]

    assert asyncio.run(scenario())[1:] == [b": still here\n\n"] * 2


def test_an_error_on_the_way_is_the_last_event() -> None:
    async def scenario() -> list[bytes]:
        return [chunk async for chunk in await opened(Source("1", error=EngineUnavailable("It broke off.")))]

    last = asyncio.run(scenario())[-1]
    assert last.startswith(b'event: error\ndata: {"type":"urn:skellig:error:engine_unavailable"')


def test_an_error_before_the_first_event_has_its_own_status() -> None:
    with pytest.raises(EngineUnavailable):
        asyncio.run(opened(Source(error=EngineUnavailable("It is away."))))


def test_a_listener_that_is_cancelled_while_waiting_frees_the_source() -> None:
    async def scenario() -> None:
        source = Source("1")
        chunks = await opened(source)
        await anext(chunks)
        waiting = asyncio.create_task(chunks.__anext__())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait_for(source.closed.wait(), 1)

    asyncio.run(scenario())


def test_a_response_that_was_never_sent_frees_the_source() -> None:
    """The client may be gone before the first byte."""

    async def scenario() -> None:
        source = Source("1")
        response = await sse.stream(source.__call__, request_id="r")
        del response
        await asyncio.wait_for(source.closed.wait(), 1)

    asyncio.run(scenario())


def test_a_slow_listener_holds_the_source_back() -> None:
    async def scenario() -> int:
        made = 0

        async def events() -> AsyncGenerator[sse.Event, None]:
            nonlocal made
            while True:
                made += 1
                yield sse.Event("token", "x")

        response = await sse.stream(events, request_id="r")
        for _ in range(1000):
            await asyncio.sleep(0)
        del response
        return made

    assert asyncio.run(scenario()) < 100


def test_work_nobody_waits_for_is_cancelled() -> None:
    async def scenario() -> None:
        hung_up, freed = asyncio.Event(), asyncio.Event()

        async def receive() -> HTTPReceiveMessage:
            await hung_up.wait()
            return {"type": "http.disconnect"}

        async def work() -> None:
            try:
                hung_up.set()
                await asyncio.Event().wait()
            finally:
                freed.set()

        with pytest.raises(Cancelled):
            await while_listening(receive, work())
        assert freed.is_set()

    asyncio.run(scenario())


def test_work_that_ends_is_returned_and_the_ear_is_closed() -> None:
    async def scenario() -> int:
        async def receive() -> HTTPReceiveMessage:
            await asyncio.Event().wait()
            raise AssertionError

        async def work() -> int:
            return 7

        return await while_listening(receive, work())

    assert asyncio.run(scenario()) == 7
