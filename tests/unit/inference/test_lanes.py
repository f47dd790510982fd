import asyncio
import os
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from appliance.inference.engines.base import Priority
from appliance.inference.engines.lanes import BACKGROUND_NICENESS, Lanes


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    lanes = Lanes()
    yield lanes
    lanes.close()


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def test_who_waits_overtakes_a_background_that_is_busy_and_full(lanes: Lanes) -> None:
    done: list[str] = []
    began, release = threading.Event(), threading.Event()

    def slow(name: str) -> None:
        began.set()
        assert release.wait(30)
        done.append(name)

    async def scenario() -> None:
        behind = [asyncio.ensure_future(lanes.run(partial(slow, f"text {n}"), priority="background")) for n in range(5)]
        assert await asyncio.to_thread(began.wait, 30)
        await lanes.run(partial(done.append, "query"))
        release.set()
        await asyncio.gather(*behind)

    asyncio.run(asyncio.wait_for(scenario(), 60))
    assert done == ["query", *(f"text {n}" for n in range(5))]


def test_only_the_background_gives_way_on_the_cores(lanes: Lanes) -> None:
    async def both() -> tuple[int, int]:
        background = await lanes.run(niceness, priority="background")
        return background, await lanes.run(niceness)

    ours = niceness()
    assert asyncio.run(both()) == (max(BACKGROUND_NICENESS, ours), ours)
    assert niceness() == ours


@pytest.mark.parametrize("priority", ["interactive", "background"])
def test_a_lane_does_one_thing_after_the_other(lanes: Lanes, priority: Priority) -> None:
    async def threads() -> set[int]:
        work = (lanes.run(threading.get_native_id, priority=priority) for _ in range(4))
        return set(await asyncio.gather(*work))

    assert len(asyncio.run(threads())) == 1


def test_what_nobody_waits_for_any_more_is_not_done(lanes: Lanes) -> None:
    done: list[str] = []
    began, release = threading.Event(), threading.Event()

    def slow() -> None:
        began.set()
        assert release.wait(30)

    async def scenario() -> None:
        first = asyncio.ensure_future(lanes.run(slow))
        assert await asyncio.to_thread(began.wait, 30)
        second = asyncio.ensure_future(lanes.run(partial(done.append, "given up")))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait({second})
        release.set()
        await first
        await lanes.run(partial(done.append, "last"))

    asyncio.run(asyncio.wait_for(scenario(), 60))
    assert done == ["last"]
