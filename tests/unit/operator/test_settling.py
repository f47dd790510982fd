"""The claim that whatever agents do, and whenever it is cancelled, a turn ends with all settled and the next one works."""

import asyncio
import json
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.operator import (
    AgentRequest,
    AgentResult,
    RunLimits,
    StateMachine,
    StreamEvent,
    TurnLog,
    state_machine_to_json,
)
from tests.support.operating import Emit, Scripted, go, junior, machine

SIMPLE = st.sampled_from(["say", "raise", "pause", "forever", "cancel", "accept", "instruct", "instruct twice", "run"])
PLANS = st.recursive(
    st.lists(SIMPLE, min_size=1, max_size=3),
    lambda inner: st.lists(
        SIMPLE
        | st.fixed_dictionaries({"together": st.booleans(), "left": st.booleans(), "plans": st.lists(inner, max_size=3)}),
        min_size=1,
        max_size=3,
    ),
    max_leaves=8,
)
LIMITS = st.builds(
    RunLimits, max_parallel=st.sampled_from([None, 1, 2]), max_commissions=st.sampled_from([None, 4]), max_depth=st.just(3)
)
LONGEST = 300


class Follows:
    """What an agent does whose objective is a plan."""

    def __init__(self) -> None:
        self.machine: StateMachine
        self.left: list[asyncio.Task[Any]] = []

    async def __call__(self, request: AgentRequest, emit: Emit) -> AgentResult:
        for step in json.loads(request.objective):
            await emit(agent=request.agent, phase="token", detail=str(step))
            await (self.simple(step) if isinstance(step, str) else self.hands_on(step))
        return AgentResult(content="done", usage={"total_tokens": 1})

    async def simple(self, step: str) -> None:
        sm = self.machine
        match step:
            case "raise":
                raise ValueError(step)
            case "cancel":
                raise asyncio.CancelledError
            case "pause":
                await asyncio.sleep(0)
            case "forever":
                await asyncio.Event().wait()
            case "accept":
                sm.accept("scout", 1)
            case "instruct":
                await sm.instruct("scout", 1, "more")
            case "instruct twice":
                await asyncio.gather(sm.instruct("scout", 1, "a"), sm.instruct("scout", 1, "b"))
            case "run":
                assert await sm.run("") == ""

    async def hands_on(self, step: dict[str, Any]) -> None:
        work = (self.machine.commission("scout", json.dumps(plan)) for plan in step["plans"])
        if step["left"]:
            self.left += [asyncio.create_task(each) for each in work]
        elif step["together"]:
            await asyncio.gather(*work)
        else:
            for each in work:
                await each


async def take(plan: list[Any], limits: RunLimits, log: TurnLog, *, ticks: int) -> tuple[StateMachine, list[StreamEvent]]:
    follows = Follows()
    sm = follows.machine = machine(follows, junior(behaviour=follows), limits=limits, log=log)
    events: list[StreamEvent] = []
    turn = asyncio.create_task(sm.run(json.dumps(plan), streaming_callback=events.append))
    for _ in range(ticks):
        await asyncio.sleep(0)
    turn.cancel()
    await asyncio.wait([turn])
    assert (sm.active_agent, [slot.commission_id for slot in sm.agent("scout").slots if slot.status == "running"]) == (
        None,
        [],
    )
    await asyncio.gather(*follows.left, return_exceptions=True)
    assert await asyncio.wait_for(sm.run('["say"]'), 10) == "done"
    return sm, events


@settings(max_examples=50, deadline=None)
@given(plan=PLANS, limits=LIMITS, ticks=st.integers(min_value=0, max_value=LONGEST))
def test_whatever_agents_do_a_turn_ends_with_all_settled(plan: list[Any], limits: RunLimits, ticks: int) -> None:
    with tempfile.TemporaryDirectory() as folder, closing(TurnLog(Path(folder) / "turns.db")) as log:
        sm, events = go(take(plan, limits, log, ticks=ticks))
        assert all(slot.duration_ms is not None for slot in sm.agent("scout").slots)
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        ends = [event["phase"] for event in events if event["agent"] == "coordinator" and event["phase"] != "token"]
        assert ends in ([], ["start"], ["start", "done"], ["start", "fail"])
        bound = {"coordinator": Scripted(lambda _request, _emit: None), "scout": Scripted(lambda _request, _emit: None)}
        assert state_machine_to_json(StateMachine.from_log(log, runners=bound)) == state_machine_to_json(sm)
