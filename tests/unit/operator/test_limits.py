"""Claims about limits: no turn goes on for ever, however its agents call each other."""

import asyncio
from typing import Any

import pytest

from appliance.operator import AgentRequest, AgentResult, RunLimits, StateMachine
from tests.support.operating import Emit, Forever, go, junior, machine, one_by_one, says, tools_of


def greedy(tool: str, *arguments: object, times: int = 5) -> Any:  # noqa: ANN401 - a behaviour
    async def turn(request: AgentRequest, _emit: Emit) -> AgentResult:
        tools = tools_of(request)
        await tools["commission"]("scout", "first")
        said = [await tools[tool](*arguments) for _ in range(times)]
        return AgentResult(content=",".join(each.get("error", "ok") for each in said))

    return turn


def test_commissions_of_a_turn_are_counted_and_the_next_turn_starts_afresh() -> None:
    sm = machine(greedy("commission", "scout", "o"), limits=RunLimits(max_commissions=3))
    for _ in range(2):
        assert go(sm.run("q")) == "ok,ok,budget_exhausted,budget_exhausted,budget_exhausted"
    assert len(sm.agent("scout")) == 6


def test_instructions_of_a_turn_are_counted() -> None:
    sm = machine(greedy("instruct_agent", "scout", 1, "m", times=3), limits=RunLimits(max_instructs=2))
    assert go(sm.run("q")) == "ok,ok,budget_exhausted"


def test_a_call_that_begins_nothing_is_not_counted() -> None:
    sm = machine(greedy("commission", "nobody", "o"), limits=RunLimits(max_commissions=2))
    go(sm.run("q"))
    assert sm.last_turn is not None
    assert sm.last_turn.commissions == 1


def test_no_work_begins_once_the_tokens_are_used() -> None:
    scout = junior(behaviour=says("r", usage={"prompt_tokens": 30, "completion_tokens": 20}))
    sm = machine(greedy("commission", "scout", "o", times=3), scout, limits=RunLimits(max_tokens=100))
    assert go(sm.run("q")) == "ok,budget_exhausted,budget_exhausted"


@pytest.mark.parametrize(
    "told",
    [-100, float("nan"), float("inf"), True, "many", 10**400, 10**5000, {"a": 1}, [1], None],
    ids=lambda each: type(each).__name__,
)
def test_no_report_makes_what_was_used_less(told: Any) -> None:  # noqa: ANN401 - of any shape
    """Whoever reports such a thing would else work on without end."""
    reports = one_by_one(*(says("r", usage={"total_tokens": each}) for each in (60, told, 60, 1)))
    sm = machine(greedy("commission", "scout", "o", times=3), junior(behaviour=reports), limits=RunLimits(max_tokens=100))
    assert go(sm.run("q")) == "ok,ok,budget_exhausted"
    assert sm.last_turn is not None
    assert sm.last_turn.usage["total_tokens"] == 120


def test_calls_by_hand_are_turns_of_their_own() -> None:
    sm = machine(limits=RunLimits(max_commissions=1, max_tokens=1))
    assert [go(sm.commission("scout", "o"))["status"] for _ in range(3)] == ["staged"] * 3


def test_the_one_that_hangs_fails_in_time_and_no_more_run_than_may() -> None:
    async def counts(request: AgentRequest, emit: Emit) -> AgentResult:
        inside.append(request.objective)
        most.append(len(inside))
        try:
            await asyncio.sleep(0)
            return await Forever()(request, emit) if request.objective == "hangs" else AgentResult(content="r")
        finally:
            inside.remove(request.objective)

    async def scenario() -> list[dict[str, Any]]:
        return list(await asyncio.gather(*(sm.commission("scout", objective) for objective in objectives)))

    inside: list[str] = []
    most: list[int] = []
    objectives = ["hangs", "a", "b", "c", "d"]
    sm = machine(None, junior(behaviour=counts), limits=RunLimits(commission_timeout_s=0.5, max_parallel=2))
    said = go(scenario())
    assert [each["status"] for each in said] == ["failed", *["staged"] * 4]
    assert "timeout" in said[0]["summary"]
    assert max(most) == 2


def test_the_time_in_which_a_seat_is_waited_for_is_not_that_of_the_work() -> None:
    async def slow(request: AgentRequest, _emit: Emit) -> AgentResult:
        await asyncio.sleep(0.1 if request.objective == "slow" else 0)
        return AgentResult(content="r")

    async def scenario() -> list[dict[str, Any]]:
        return list(await asyncio.gather(sm.commission("scout", "slow"), sm.commission("scout", "quick")))

    sm = machine(None, junior(behaviour=slow), limits=RunLimits(max_parallel=1))
    first, second = go(scenario())
    assert second["duration_ms"] < first["duration_ms"]


def test_a_seat_is_given_back_by_whoever_is_cancelled_while_waiting_for_it() -> None:
    async def scenario() -> None:
        forever = Forever()
        sm = machine(None, junior(), junior("sleeper", forever), limits=RunLimits(max_parallel=1))
        first = asyncio.create_task(sm.commission("sleeper", "o"))
        await forever.begun.wait()
        waiting = [asyncio.create_task(sm.commission("scout", "o")) for _ in range(3)]
        for _ in range(3):
            await asyncio.sleep(0)
        assert sm.accept("scout", 1)["error"] == "not_staged"
        assert (await sm.instruct("scout", 1, "m"))["error"] == "busy"
        waiting[0].cancel()
        first.cancel()
        said = await asyncio.gather(*waiting, return_exceptions=True)
        assert isinstance(said[0], asyncio.CancelledError)
        assert [slot.status for slot in sm.agent("scout").objectives()] == ["failed", "staged", "staged"]

    go(scenario())


@pytest.mark.parametrize("limits", [None, RunLimits(max_parallel=1)])
def test_work_that_goes_round_in_circles_ends(limits: RunLimits | None) -> None:
    """Each junior hands on to the other, as two models would that each hold the other for the expert."""

    async def hands_on(request: AgentRequest, _emit: Emit) -> AgentResult:
        said = await sm.commission("b" if request.agent == "a" else "a", request.objective)
        return AgentResult(content=said.get("summary") or said["detail"])

    sm = machine(None, junior("a", hands_on), junior("b", hands_on), limits=limits)
    said = go(asyncio.wait_for(sm.commission("a", "o"), 10))
    assert "8 times" in said["summary"]
    assert (len(sm.agent("a")), len(sm.agent("b")), sm.active_agent) == (4, 4, None)


def test_work_that_goes_round_through_several_machines_ends() -> None:
    async def hands_on(_request: AgentRequest, _emit: Emit) -> AgentResult:
        machines.append(machine(None, junior(behaviour=hands_on), limits=RunLimits(max_depth=3)))
        said = await machines[-1].commission("scout", "o")
        return AgentResult(content=said.get("error") or said["summary"])

    machines: list[StateMachine] = [machine(None, junior(behaviour=hands_on))]
    assert go(machines[0].commission("scout", "o"))["summary"] == "budget_exhausted"
    assert len(machines) == 4


def test_what_a_junior_hands_on_runs_in_its_place() -> None:
    """Else the juniors that wait for those they commissioned would hold all places, and nobody could ever go on."""

    async def hands_on(request: AgentRequest, _emit: Emit) -> AgentResult:
        said = await asyncio.gather(*(sm.commission("worker", request.objective) for _ in range(3)))
        return AgentResult(content=",".join(each["summary"] for each in said))

    async def works(_request: AgentRequest, _emit: Emit) -> AgentResult:
        inside.append(1)
        most.append(len(inside))
        await asyncio.sleep(0)
        inside.pop()
        return AgentResult(content="w")

    async def scenario() -> list[dict[str, Any]]:
        return list(await asyncio.gather(*(sm.commission("lead", f"o{number}") for number in range(4))))

    inside: list[int] = []
    most: list[int] = []
    sm = machine(None, junior("lead", hands_on), junior("worker", works), limits=RunLimits(max_parallel=2))
    assert [each["summary"] for each in go(asyncio.wait_for(scenario(), 10))] == ["w,w,w"] * 4
    assert max(most) <= 2


@pytest.mark.parametrize(
    "given",
    [
        {"max_commissions": -1},
        {"max_parallel": 0},
        {"commission_timeout_s": 0},
        {"turn_timeout_s": float("inf")},
        {"max_depth": 0},
        {"max_comissions": 3},
        {"max_tokens": "many"},
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(given))):
        RunLimits(**given)
