"""Claims about the gate: as many as may, in order, and no place is ever lost."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from appliance.operator.gate import Gate
from tests.support.operating import go, until


async def held(gate: Gate, let_go: asyncio.Event, order: list[int], number: int) -> None:
    async with gate:
        order.append(number)
        await let_go.wait()


def test_as_many_as_may_go_through_in_the_order_in_which_they_came() -> None:
    async def scenario() -> None:
        gate, let_go, order = Gate(2), asyncio.Event(), list[int]()
        tasks = [asyncio.create_task(held(gate, let_go, order, number)) for number in range(5)]
        for _ in range(5):
            await asyncio.sleep(0)
        assert order == [0, 1]
        let_go.set()
        await asyncio.gather(*tasks)
        assert order == [0, 1, 2, 3, 4]

    go(scenario())


def test_one_that_is_cancelled_as_its_turn_comes_passes_it_on() -> None:
    async def scenario() -> None:
        gate, let_go, order = Gate(1), asyncio.Event(), list[int]()
        tasks = [asyncio.create_task(held(gate, let_go, order, number)) for number in range(4)]
        await until(lambda: order)
        for _ in range(3):
            await asyncio.sleep(0)
        tasks[2].cancel()
        let_go.set()
        await tasks[0]
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert order[-1] == 3
        async with gate:
            order.append(9)
        assert order[-1] == 9

    go(asyncio.wait_for(scenario(), 10))


def test_whoever_waits_in_a_loop_that_was_closed_neither_keeps_a_place_nor_gives_one() -> None:
    def waits_and_is_closed(gate: Gate) -> None:
        loop = asyncio.new_event_loop()
        waiting = held(gate, asyncio.Event(), [], 1)
        loop.run_until_complete(begins(waiting))
        loop.close()
        abandoned.append(waiting)

    async def begins(waiting: Coroutine[Any, Any, None]) -> None:
        waiting.send(None)

    async def scenario() -> None:
        gate, let_go, order = Gate(1), asyncio.Event(), list[int]()
        async with gate:
            await asyncio.to_thread(waits_and_is_closed, gate)
        abandoned[0].close()
        tasks = [asyncio.create_task(held(gate, let_go, order, number)) for number in range(2)]
        for _ in range(3):
            await asyncio.sleep(0)
        assert order == [0]
        let_go.set()
        await asyncio.gather(*tasks)

    abandoned: list[Coroutine[Any, Any, None]] = []
    go(asyncio.wait_for(scenario(), 10))
