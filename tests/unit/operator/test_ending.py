"""Claims about turns that end before their time: by an error, a limit, a cancellation, or with work left behind."""

import asyncio

import pytest

from appliance.operator import AgentRequest, AgentResult, Messages, RunLimits, StreamEvent
from tests.support.operating import (
    Emit,
    Forever,
    asked,
    breaks,
    commissions,
    echo,
    go,
    junior,
    machine,
    one_by_one,
    roles,
    steps,
    tools_of,
    until,
)


def test_a_question_that_failed_and_is_asked_again_stands_in_the_thread_once() -> None:
    sm = machine(one_by_one(breaks, echo))
    with pytest.raises(ZeroDivisionError):
        go(sm.run("q"))
    assert roles(sm.coordinator_messages.to_list()) == ["system"]
    go(sm.run("q"))
    assert roles(sm.coordinator_messages.to_list()) == ["system", "user", "assistant"]


def test_a_failed_turn_takes_back_what_its_runner_did_to_the_thread() -> None:
    def meddles(request: AgentRequest, emit: Emit) -> AgentResult:
        sm.coordinator_messages.assistant("half")
        sm.coordinator.skill = "Another."
        sm.coordinator_messages = Messages().user("another thread")
        return breaks(request, emit)

    sm = machine(meddles)
    before = sm.coordinator_messages.to_list()
    with pytest.raises(ZeroDivisionError):
        go(sm.run("q"))
    assert sm.coordinator_messages.to_list() == [before[0] | {"content": "Another."}, *before[1:]]


def test_a_turn_that_takes_too_long_ends_with_all_settled() -> None:
    async def scenario() -> None:
        forever = Forever()
        sm = machine(commissions, junior(behaviour=forever), limits=RunLimits(turn_timeout_s=0.3))
        before = sm.coordinator_messages.to_list()
        seen: list[StreamEvent] = []
        with pytest.raises(TimeoutError, match="timeout"):
            await sm.run("q", streaming_callback=seen.append)
        assert steps(seen)[-2:] == [("scout", "fail"), ("coordinator", "fail")]
        assert (sm.agent("scout")[1].status, sm.active_agent) == ("failed", None)
        assert forever.cancelled
        assert sm.coordinator_messages.to_list() == before

    go(scenario())


def test_a_cancelled_turn_leaves_nothing_running() -> None:
    async def scenario() -> None:
        forever = Forever()
        sm = machine(commissions, junior(behaviour=forever))
        seen: list[StreamEvent] = []
        task = asyncio.create_task(sm.run("q", streaming_callback=seen.append))
        await forever.begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        slot = sm.agent("scout")[1]
        assert (slot.status, sm.active_agent, forever.cancelled) == ("failed", None, True)
        assert slot.duration_ms is not None
        assert steps(seen)[-2:] == [("scout", "fail"), ("coordinator", "fail")]
        assert roles(sm.coordinator_messages.to_list()) == ["system"]

    go(scenario())


@pytest.mark.parametrize("watched", [False, True])
def test_a_turn_cancelled_at_any_step_leaves_a_machine_that_goes_on(*, watched: bool) -> None:
    """Cancelled after each number of steps of the event loop until a turn ends by itself."""

    async def slow_observer(event: StreamEvent) -> None:
        seen.append(event["phase"])
        await asyncio.sleep(0)

    async def scenario(ticks: int) -> bool:
        seen.clear()
        sm = machine(commissions, junior(), limits=RunLimits(max_parallel=1, turn_timeout_s=60))
        task = asyncio.create_task(sm.run("q", streaming_callback=slow_observer if watched else None))
        for _ in range(ticks):
            await asyncio.sleep(0)
        ended = task.done()
        task.cancel()
        outcome = (await asyncio.gather(task, return_exceptions=True))[0]
        assert sm.active_agent is None
        assert all(slot.status in {"failed", "staged", "accepted"} for slot in sm.agent("scout").objectives())
        kept = roles(sm.coordinator_messages.to_list())[1:]
        assert kept == ([] if isinstance(outcome, asyncio.CancelledError) else ["user", "assistant"])
        assert not seen or seen[-1] == ("fail" if isinstance(outcome, asyncio.CancelledError) else "done")
        assert await asyncio.wait_for(sm.run("again"), 10) == "did: again"
        return ended

    seen: list[str] = []
    ticks = 0
    while not go(scenario(ticks)):
        ticks += 1
    assert ticks > 5


def test_work_that_a_runner_leaves_behind_ends_with_its_turn() -> None:
    async def leaves(request: AgentRequest, _emit: Emit) -> AgentResult:
        left.append(asyncio.create_task(tools_of(request)["commission"]("scout", "o")))
        await forever.begun.wait()
        return AgentResult(content="done")

    async def scenario() -> None:
        assert await sm.run("q", streaming_callback=seen.append) == "done"
        assert (await left[0])["status"] == "failed"

    forever = Forever()
    left: list[asyncio.Task[dict[str, object]]] = []
    seen: list[StreamEvent] = []
    sm = machine(leaves, junior(behaviour=forever))
    go(scenario())
    assert steps(seen)[-2:] == [("scout", "fail"), ("coordinator", "done")]
    assert (sm.agent("scout")[1].status, forever.cancelled) == ("failed", True)


def test_work_whose_turn_ends_as_it_starts_does_not_start() -> None:
    async def leaves(request: AgentRequest, _emit: Emit) -> AgentResult:
        left.append(asyncio.create_task(tools_of(request)["commission"]("scout", "o")))
        await starting.wait()
        return AgentResult(content="done")

    async def slow_observer(event: StreamEvent) -> None:
        if (event["agent"], event["phase"]) == ("scout", "start"):
            starting.set()
            await until(lambda: sm.active_agent == "scout" and len(sm.coordinator_messages) == 3)
            for _ in range(5):
                await asyncio.sleep(0)

    async def scenario() -> None:
        await sm.run("q", streaming_callback=slow_observer)
        assert (await left[0])["status"] == "failed"

    starting = asyncio.Event()
    left: list[asyncio.Task[dict[str, object]]] = []
    spec = junior()
    sm = machine(leaves, spec)
    go(scenario())
    assert asked(spec) == []


def test_what_a_turn_left_behind_begins_nothing_more() -> None:
    """Else work would go on outside of every budget, for as long as it makes more of itself."""

    async def leaves(request: AgentRequest, _emit: Emit) -> AgentResult:
        left.append(asyncio.create_task(begins_later(request)))
        return AgentResult(content="done")

    async def begins_later(request: AgentRequest) -> list[dict[str, object]]:
        await until(lambda: sm.active_agent is None)
        return [await sm.commission("scout", "by hand"), await tools_of(request)["commission"]("scout", "by tool")]

    async def scenario() -> None:
        await sm.run("q")
        assert [said["error"] for said in await left[0]] == ["budget_exhausted"] * 2
        assert (await sm.commission("scout", "from outside"))["status"] == "staged"

    left: list[asyncio.Task[list[dict[str, object]]]] = []
    sm = machine(leaves)
    go(scenario())
    assert [slot.objective for slot in sm.agent("scout").slots] == ["from outside"]


def test_work_that_a_call_by_hand_leaves_behind_ends_with_it() -> None:
    async def leaves(request: AgentRequest, emit: Emit) -> AgentResult:
        if request.objective == "inner":
            return await forever(request, emit)
        left.append(asyncio.create_task(sm.commission("scout", "inner")))
        await forever.begun.wait()
        return AgentResult(content="done")

    async def scenario() -> None:
        assert (await sm.commission("scout", "outer"))["summary"] == "done"
        assert [slot.status for slot in sm.agent("scout").slots] == ["staged", "failed"]
        assert (await left[0])["status"] == "failed"

    forever = Forever()
    left: list[asyncio.Task[dict[str, object]]] = []
    sm = machine(None, junior(behaviour=leaves))
    go(scenario())


def test_the_tools_of_a_turn_that_failed_begin_nothing() -> None:
    sm = machine(breaks)
    with pytest.raises(ZeroDivisionError):
        go(sm.run("q"))
    commission = tools_of(asked(sm.coordinator)[0])["commission"]
    assert go(commission("scout", "o")) == {"error": "budget_exhausted", "detail": "The turn is over."}
    assert len(sm.agent("scout")) == 0


def test_turns_that_are_cancelled_while_they_wait_take_nobody_s_place() -> None:
    async def scenario() -> None:
        tasks = [asyncio.create_task(sm.run(f"q{number}")) for number in range(50)]
        await until(lambda: sm.active_agent == "coordinator")
        for task in tasks[1::2]:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(each, asyncio.CancelledError) for each in done] == [False, True] * 25

    sm = machine(lambda request, _emit: AgentResult(content=request.objective))
    go(scenario())
    asked_for = [message["content"] for message in sm.coordinator_messages if message["role"] == "user"]
    assert asked_for == [f"q{number}" for number in range(0, 50, 2)]
