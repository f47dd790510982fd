"""Claims about events: in order, to whoever asked for them, and never able to change an outcome."""

import asyncio
import logging
from typing import Any

import pytest

from appliance.operator import AgentRequest, AgentResult, StreamEvent, StreamingCallback, emit_stream
from tests.support.operating import (
    Behaviour,
    Emit,
    Scripted,
    breaks,
    commissions,
    echo,
    go,
    junior,
    machine,
    steps,
    tools_of,
)

PHASES = ["start", "token", "tool_start", "tool_result", "tool_error", "commissioned", "done", "fail"]


async def streams(_request: AgentRequest, emit: Emit) -> AgentResult:
    for phase in ("token", "tool_start", "tool_result", "tool_error"):
        await emit(agent="scout", phase=phase, detail="d")
    return AgentResult(content="r")


def test_the_events_of_a_turn_come_in_their_order() -> None:
    seen: list[StreamEvent] = []
    go(machine(commissions, junior(behaviour=streams, model="m")).run("q", streaming_callback=seen.append))
    assert steps(seen) == [
        ("coordinator", "start"),
        ("scout", "commissioned"),
        ("scout", "start"),
        ("scout", "token"),
        ("scout", "tool_start"),
        ("scout", "tool_result"),
        ("scout", "tool_error"),
        ("scout", "done"),
        ("coordinator", "done"),
    ]
    done = seen[7]
    assert (done["status"], done["commission_id"], done["index"], done["model"]) == ("staged", "scout-1", 1, "m")
    assert (done["objective"], done["detail"]) == ("q", "r")
    assert done["duration_ms"] >= 0
    assert "objective" not in seen[0]


def test_events_carry_one_turn_growing_numbers_and_the_time() -> None:
    seen: list[StreamEvent] = []
    sm = machine(commissions, junior(behaviour=streams))
    go(sm.run("q", streaming_callback=seen.append))
    assert sm.last_turn is not None
    assert {event["turn_id"] for event in seen} == {sm.last_turn.turn_id}
    assert [event["seq"] for event in seen] == list(range(1, 10))
    assert all(abs(event["ts"] - sm.last_turn.began) < 60 for event in seen)


def test_an_instruction_is_not_announced_as_a_commission() -> None:
    seen: list[StreamEvent] = []
    sm = machine()
    go(sm.commission("scout", "o"))
    go(sm.instruct("scout", 1, "m", streaming_callback=seen.append))
    assert steps(seen) == [("scout", "start"), ("scout", "done")]


def test_callbacks_may_be_async_and_the_machine_s_own_hears_what_has_none() -> None:
    async def later(event: StreamEvent) -> None:
        await asyncio.sleep(0)
        seen.append(event["phase"])

    seen: list[str] = []
    sm = machine()
    sm.set_streaming_callback(later)
    go(sm.commission("scout", "dig"))
    assert seen == ["commissioned", "start", "done"]
    sm.set_streaming_callback(None)
    go(sm.commission("scout", "dig"))
    assert len(seen) == 3
    go(emit_stream(None, {"phase": "x"}))


def test_long_details_are_cut_in_events_alone() -> None:
    seen: list[StreamEvent] = []
    said = go(machine().commission("scout", "x" * 1000, streaming_callback=seen.append))
    assert [len(event["detail"]) for event in (seen[0], seen[-1])] == [500, 500]
    assert len(said["summary"]) == 1005


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("behaviour", [streams, breaks])
def test_a_callback_that_raises_never_changes_the_outcome(
    phase: str,
    behaviour: Behaviour,
    caplog: pytest.LogCaptureFixture,
    *,
    is_async: bool,
) -> None:
    def observer(event: StreamEvent) -> None:
        if event["phase"] == phase:
            raised.append(event)
            raise RuntimeError("secret of the observer")

    async def async_observer(event: StreamEvent) -> None:
        observer(event)

    raised: list[StreamEvent] = []
    outcome = []
    for callback in (None, async_observer if is_async else observer):
        sm = machine(commissions, junior(behaviour=behaviour))
        reply = go(sm.run("q", streaming_callback=callback))
        slot = sm.agent("scout")[1]
        outcome.append((reply, slot.status, slot.agent_message, sm.active_agent, sm.coordinator_messages.to_list()))
    assert outcome[0] == outcome[1]
    warned = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warned) == len(raised)
    assert "secret" not in caplog.text


class _Odd(BaseException):
    """An error that is no `Exception`."""


@pytest.mark.parametrize("error", [asyncio.CancelledError, _Odd, RecursionError])
@pytest.mark.parametrize("is_async", [True, False])
def test_a_callback_that_ends_in_any_way_never_changes_the_outcome(error: type[BaseException], *, is_async: bool) -> None:
    """A socket that was closed cancels what waits at it, which is not the turn."""

    def observer(_event: StreamEvent) -> None:
        raise error

    async def async_observer(event: StreamEvent) -> None:
        observer(event)

    sm = machine(commissions)
    assert go(sm.run("q", streaming_callback=async_observer if is_async else observer)) == "did: q"


def test_a_callback_does_not_hear_what_it_does_itself() -> None:
    """It would hear of that too, and so on without end. What it leaves behind for later it does hear."""

    async def observer(event: StreamEvent) -> None:
        heard.append((event["objective"], event["phase"]))
        await sm.commission("scout", "at once", streaming_callback=observer)
        if not left:
            left.append(asyncio.create_task(sm.commission("scout", "later", streaming_callback=observer)))

    async def scenario() -> None:
        await sm.commission("scout", "first", streaming_callback=observer)
        await asyncio.gather(*left)

    heard: list[tuple[str, str]] = []
    left: list[asyncio.Task[dict[str, Any]]] = []
    sm = machine()
    go(scenario())
    assert sorted(heard) == [(name, phase) for name in ("first", "later") for phase in ("commissioned", "done", "start")]
    assert len(sm.agent("scout")) == 2 + len(heard)


def test_a_turn_within_a_callback_of_the_same_machine_is_refused_and_does_not_hang() -> None:
    async def observer(_event: StreamEvent) -> None:
        try:
            await sm.run("inner")
        except RuntimeError:
            refused.append(1)

    refused: list[int] = []
    sm = machine(echo)
    go(sm.run("q", streaming_callback=observer))
    assert len(refused) == 2, "at its start, and at its end"


def fails(_event: StreamEvent) -> None:
    raise RuntimeError("observer")


async def fails_later(event: StreamEvent) -> None:
    fails(event)


@pytest.mark.parametrize(("callback", "waits"), [(fails, False), (fails, True), (fails_later, True)])
def test_a_runner_that_calls_its_callback_directly_is_safe_too(callback: StreamingCallback, *, waits: bool) -> None:
    class Direct:
        async def run(self, _request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
            assert streaming_callback is not None
            for event in ({"phase": "token"}, "no event"):
                answer: Any = streaming_callback(event)  # type: ignore[arg-type]
                if waits:
                    await answer
            return AgentResult(content="x")

    sm = machine(None, junior())
    sm.agent("scout").spec.runner = Direct()
    assert go(sm.commission("scout", "o", streaming_callback=callback))["status"] == "staged"


def test_a_callback_of_one_call_hears_nothing_after_it() -> None:
    kept: list[StreamingCallback] = []

    class Keeps(Scripted):
        async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
            kept.append(streaming_callback)
            return await super().run(request, streaming_callback=streaming_callback)

    async def later() -> None:
        await sm.commission("scout", "o")
        for callback in kept:
            await emit_stream(callback, {"phase": "token"})

    seen: list[StreamEvent] = []
    sm = machine(commissions)
    sm.agent("scout").spec.runner = Keeps(echo)
    sm.coordinator.runner = Keeps(commissions)
    go(sm.run("q", streaming_callback=seen.append))
    heard = len(seen)
    go(later())
    assert len(kept) == 3
    assert kept[2] is None
    assert len(seen) == heard


def test_a_callback_of_a_call_within_a_turn_hears_that_call() -> None:
    async def turn(_request: AgentRequest, _emit: Emit) -> AgentResult:
        await sm.commission("scout", "o", streaming_callback=inner.append)
        return AgentResult(content="x")

    inner: list[StreamEvent] = []
    outer: list[StreamEvent] = []
    sm = machine(turn)
    go(sm.run("q", streaming_callback=outer.append))
    assert [event["phase"] for event in inner] == ["commissioned", "start", "done"]
    assert [event["phase"] for event in outer] == ["start", "done"]
    assert {event["turn_id"] for event in inner} == {event["turn_id"] for event in outer}


def test_what_a_callback_does_to_an_event_reaches_nobody() -> None:
    async def turn(_request: AgentRequest, emit: Emit) -> AgentResult:
        await emit(**event)
        return AgentResult(content="x")

    def vandal(heard: StreamEvent) -> None:
        if heard["phase"] == "token":
            heard["more"]["list"].append("changed")  # type: ignore[typeddict-item]

    event: dict[str, Any] = {"phase": "token", "more": {"list": []}}
    go(machine(turn).run("q", streaming_callback=vandal))
    assert event == {"phase": "token", "more": {"list": []}}


def test_events_of_a_machine_within_another_s_turn_are_that_turn_s() -> None:
    class Nests:
        async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
            return AgentResult(content=await inner.run(request.objective, streaming_callback=streaming_callback))

    seen: list[StreamEvent] = []
    inner, outer = machine(commissions, junior("inner")), machine(commissions, junior("outer"))
    outer.agent("outer").spec.runner = Nests()
    assert go(outer.run("q", streaming_callback=seen.append)) == "did: q"
    assert len({event["turn_id"] for event in seen}) == 1
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))


def test_tools_used_outside_of_their_turn_s_task_still_belong_to_it() -> None:
    async def turn(request: AgentRequest, _emit: Emit) -> AgentResult:
        await asyncio.to_thread(go, tools_of(request)["commission"]("scout", "o"))
        return AgentResult(content="x")

    seen: list[StreamEvent] = []
    go(machine(turn).run("q", streaming_callback=seen.append))
    assert len({event["turn_id"] for event in seen}) == 1
    assert ("scout", "done") in steps(seen)
