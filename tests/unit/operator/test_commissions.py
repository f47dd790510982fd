"""Claims about commissions: what a junior is asked, and how its work ends."""

import asyncio
import sys
from typing import Any

import pytest

from appliance.operator import AgentRequest, AgentResult, StreamEvent
from tests.support.operating import (
    Emit,
    Forever,
    asked,
    breaks,
    echo,
    go,
    junior,
    machine,
    one_by_one,
    roles,
    says,
    steps,
)


def test_a_report_is_staged_whole() -> None:
    long = "line\n" * 5000
    sm = machine(None, junior(behaviour=says(long), model="m"))
    said = go(sm.commission("scout", "dig"))
    slot = sm.agent("scout")[1]
    assert list(said) == ["status", "agent", "index", "commission_id", "summary", "hint", "duration_ms", "model"]
    assert said["summary"] == slot.agent_message == long.strip()
    assert (said["status"], said["agent"], said["index"], said["commission_id"]) == ("staged", "scout", 1, "scout-1")
    assert (slot.status, said["model"]) == ("staged", "m")
    assert said["duration_ms"] >= 0


def test_a_junior_is_asked_with_its_brief() -> None:
    spec = junior(model="small", metadata={"repo": "r"})
    go(machine(None, spec).commission("scout", " dig ", ["a", " ", "b"], {"depth": 2}))
    (request,) = asked(spec)
    assert (request.agent, request.objective, request.model, request.skill) == ("scout", "dig", "small", spec.skill)
    assert (request.checklist, request.agent_props, request.metadata) == (["a", " ", "b"], {"depth": 2}, {"repo": "r"})
    brief = "Objective:\ndig\n\nChecklist:\n- a\n- b\n\nAgent props:\n- depth: 2"
    assert request.messages == [{"role": "system", "content": "Report facts."}, {"role": "user", "content": brief}]


@pytest.mark.parametrize("nothing", [None, "", " ", "null", " null "])
def test_what_is_not_given_is_none_in_the_request(nothing: str | None) -> None:
    spec = junior()
    sm = machine(None, spec)
    go(sm.commission("scout", "dig", nothing, nothing))
    assert (asked(spec)[0].checklist, asked(spec)[0].agent_props) == (None, None)
    assert (sm.agent("scout")[1].checklist, sm.agent("scout")[1].agent_props) == ([], {})


@pytest.mark.parametrize("objective", ["", "  ", None])
def test_an_objective_that_is_missing_is_answered_and_makes_no_slot(objective: str | None) -> None:
    sm = machine()
    assert go(sm.commission("scout", objective))["error"] == "missing_objective"
    assert len(sm.agent("scout")) == 0


@pytest.mark.parametrize(
    ("given", "items"),
    [('["a", 2]', ["a", "2"]), (["a", None, 3, True], ["a", "3", "True"]), ("[]", []), ([{"k": 1}], ["{'k': 1}"])],
)
def test_a_checklist_is_understood_as_models_write_it(given: Any, items: list[str]) -> None:  # noqa: ANN401 - of any shape
    sm = machine()
    go(sm.commission("scout", "dig", given))
    assert sm.agent("scout")[1].checklist == items


DEEP: list[Any] = []
for _ in range(40):
    DEEP = [DEEP]
UNUSABLE = [5, True, {"a": 1}, '{"a": 1}', "a, b", "{", '"a"', "[" * 100_000, "[NaN]", DEEP]


@pytest.mark.parametrize("checklist", UNUSABLE, ids=range(len(UNUSABLE)))
def test_an_unusable_checklist_is_answered_and_makes_no_slot(checklist: Any) -> None:  # noqa: ANN401 - of any shape
    sm = machine()
    said = go(sm.commission("scout", "dig", checklist))
    assert said["error"] == "bad_args"
    assert "checklist" in said["detail"]
    assert len(said["detail"]) < 500
    assert len(sm.agent("scout")) == 0


BAD_PROPS = [5, True, [1], "[1]", "x", "{", {1: 2}, '{"a": Infinity}', {"a": DEEP}, '{"a":' * 50_000]


@pytest.mark.parametrize("props", BAD_PROPS, ids=range(len(BAD_PROPS)))
def test_unusable_props_are_answered_and_make_no_slot(props: Any) -> None:  # noqa: ANN401 - of any shape
    sm = machine()
    said = go(sm.commission("scout", "dig", None, props))
    assert said["error"] == "bad_args"
    assert "agent_props" in said["detail"]
    assert len(sm.agent("scout")) == 0


def test_props_are_understood_as_models_write_them() -> None:
    sm = machine()
    go(sm.commission("scout", "dig", None, '{"k": [1]}'))
    assert sm.agent("scout")[1].agent_props == {"k": [1]}


def test_a_junior_that_changes_its_request_changes_nothing_else() -> None:
    def vandal(request: AgentRequest, _emit: Emit) -> AgentResult:
        assert request.agent_props is not None
        request.agent_props["k"].append("changed")
        request.metadata["k"].append("changed")
        request.messages[0]["content"] = "changed"
        assert request.checklist is not None
        request.checklist.clear()
        return AgentResult(content="ok")

    props, metadata = {"k": [1]}, {"k": [1]}
    sm = machine(None, junior(behaviour=vandal, metadata=metadata))
    go(sm.commission("scout", "dig", ["a"], props))
    props["k"].append(2)
    metadata["k"].append(2)
    slot = sm.agent("scout")[1]
    assert (slot.agent_props, slot.checklist, slot.messages[0]["content"]) == ({"k": [1]}, ["a"], "Report facts.")
    assert sm.agent("scout").spec.metadata == {"k": [1]}


def test_a_junior_that_changes_a_nested_message_changes_nothing_else() -> None:
    def vandal(request: AgentRequest, _emit: Emit) -> AgentResult:
        request.messages[0]["tool_calls"][0]["id"] = "changed"
        return AgentResult(content="ok")

    own = says("x", messages=[{"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}])
    sm = machine(None, junior(behaviour=one_by_one(own, vandal)))
    go(sm.commission("scout", "dig"))
    go(sm.instruct("scout", 1, "more"))
    assert sm.agent("scout")[1].messages[0]["tool_calls"] == [{"id": "1"}]


def test_a_failing_junior_is_a_result_and_not_an_exception() -> None:
    seen: list[StreamEvent] = []
    sm = machine(None, junior(behaviour=breaks))
    said = go(sm.commission("scout", "dig", streaming_callback=seen.append))
    slot = sm.agent("scout")[1]
    assert said["summary"] == said["report"] == slot.agent_message == "ZeroDivisionError: division by nothing"
    assert said["status"] == slot.status == "failed"
    assert steps(seen) == [("scout", "commissioned"), ("scout", "start"), ("scout", "fail")]
    assert roles(slot.messages) == ["system", "user"]
    assert sm.active_agent is None


@pytest.mark.parametrize("report", ["", "  \n"])
def test_a_blank_report_has_a_placeholder(report: str) -> None:
    assert go(machine(None, junior(behaviour=says(report))).commission("scout", "dig"))["summary"] == "(empty report)"


def test_commissions_run_beside_each_other() -> None:
    async def meets(request: AgentRequest, _emit: Emit) -> AgentResult:
        inside.append(request.agent)
        if len(inside) == 6:
            all_in.set()
        await asyncio.wait_for(all_in.wait(), 10)
        return AgentResult(content=request.objective)

    async def scenario() -> list[dict[str, Any]]:
        work = [sm.commission(name, f"{name}{number}") for name in "ab" for number in range(3)]
        return list(await asyncio.gather(*work))

    inside: list[str] = []
    all_in = asyncio.Event()
    sm = machine(None, junior("a", meets), junior("b", meets))
    said = go(scenario())
    assert [each["summary"] for each in said] == ["a0", "a1", "a2", "b0", "b1", "b2"]
    assert [(each["agent"], each["index"]) for each in said] == [(name, n) for name in "ab" for n in (1, 2, 3)]
    assert sm.active_agent is None


def test_commissions_from_several_threads_have_indices_of_their_own() -> None:
    def several() -> None:
        for number in range(60):
            go(sm.commission("scout", f"{number}"))

    async def scenario() -> None:
        await asyncio.gather(*(asyncio.to_thread(several) for _ in range(4)))

    sm = machine()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        go(scenario())
    finally:
        sys.setswitchinterval(before)
    assert [slot.index for slot in sm.agent("scout").slots] == list(range(1, 241))


def test_a_commission_that_is_given_up_from_outside_is_settled() -> None:
    async def scenario() -> None:
        async def runs_out_of_time(request: AgentRequest, emit: Emit) -> AgentResult:
            limit.reschedule(asyncio.get_running_loop().time())
            return await forever(request, emit)

        forever = Forever()
        sm = machine(None, junior(behaviour=runs_out_of_time))
        seen: list[StreamEvent] = []
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(None) as limit:
                await sm.commission("scout", "o", streaming_callback=seen.append)
        slot = sm.agent("scout")[1]
        assert (slot.status, slot.agent_message, sm.active_agent) == ("failed", "CancelledError: cancelled", None)
        assert slot.duration_ms is not None
        assert steps(seen)[-1] == ("scout", "fail")
        assert forever.cancelled
        sm.agent("scout").spec.runner.behaviour = echo  # type: ignore[attr-defined]
        assert (await sm.instruct("scout", 1, "again"))["status"] == "staged"

    go(scenario())


def test_a_commission_whose_coroutine_is_thrown_away_is_settled() -> None:
    async def scenario() -> None:
        sm = machine(None, junior(behaviour=Forever()))
        commission = sm.commission("scout", "o")
        commission.send(None)
        commission.close()
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert (sm.agent("scout")[1].status, sm.active_agent) == ("failed", None)

    go(scenario())


def test_a_junior_may_own_its_transcript() -> None:
    own = [{"role": "user", "content": "q"}, {"role": "tool", "content": "r", "tool_call_id": "t"}]
    sm = machine(None, junior(behaviour=says("x", messages=own)))
    go(sm.commission("scout", "dig"))
    own[1]["content"] = "changed"
    assert sm.agent("scout")[1].messages == [
        {"role": "user", "content": "q"},
        {"role": "tool", "content": "r", "tool_call_id": "t"},
    ]


def test_the_cost_of_an_objective_is_summed_over_its_runs() -> None:
    reports = [{"total_tokens": 7, "model": "m"}, None, {"total_tokens": 5, "seconds": 0.5}]
    sm = machine(None, junior(behaviour=lambda _request, _emit: AgentResult(content="x", usage=reports.pop(0))))
    go(sm.commission("scout", "o"))
    for _ in range(2):
        go(sm.instruct("scout", 1, "more"))
    assert sm.agent("scout")[1].usage == {"total_tokens": 12, "model": "m", "seconds": 0.5}
