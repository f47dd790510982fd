"""Claims about snapshots: exact, of version 1, without anything that lives, and refused where they contradict themselves."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from appliance.operator import (
    AgentHandleModel,
    Coordinator,
    Messages,
    SnapshotError,
    StateMachine,
    StreamEvent,
    agent_handle_from_model,
    agent_handle_to_model,
    agent_spec_from_model,
    agent_spec_to_model,
    coordinator_from_model,
    coordinator_to_model,
    messages_from_model,
    messages_to_model,
    state_machine_from_json,
    state_machine_from_model,
    state_machine_to_json,
    state_machine_to_model,
)
from tests.support.operating import (
    Scripted,
    commissions,
    go,
    junior,
    machine,
    runners,
    says,
)


def worked() -> StateMachine:
    sm = machine(commissions, junior(model="m", metadata={"k": [1]}), metadata={"z": 1})
    go(sm.run("q"))
    sm.coordinator_messages.assistant("", tool_calls=[{"id": "c", "function": {"name": "f"}}])
    sm.coordinator_messages.append({"role": "assistant", "tool_calls": [{"id": "d"}]})
    return sm


def test_a_snapshot_comes_back_exactly() -> None:
    sm = worked()
    blob = state_machine_to_json(sm)
    data = json.loads(blob)
    assert data["schema_version"] == 1
    assert list(data) == ["schema_version", "coordinator", "coordinator_messages", "active_agent", "agents"]
    again = state_machine_from_json(blob, runners=runners("coordinator", "scout"))
    assert state_machine_to_json(again) == blob
    assert json.loads(state_machine_to_model(again).model_dump_json()) == data
    assert again.coordinator_messages.to_list() == sm.coordinator_messages.to_list()
    assert again.agent("scout")[1].model_dump() == sm.agent("scout")[1].model_dump()


def test_runners_and_raw_answers_never_appear() -> None:
    class Secret:
        def __repr__(self) -> str:
            return "SECRET"

    sm = machine(says("x", raw=Secret()), junior(behaviour=says("y", raw=Secret())))
    go(sm.run("q"))
    go(sm.commission("scout", "o"))
    blob = state_machine_to_json(sm)
    assert "SECRET" not in blob
    assert "raw" not in blob
    assert set(json.loads(blob)["agents"][0]["spec"]) == {"name", "description", "skill", "runner_id", "model", "metadata"}


def test_a_missing_runner_is_named() -> None:
    blob = state_machine_to_json(machine(commissions))
    for given, missing in (("scout", "coordinator"), ("coordinator", "scout")):
        with pytest.raises(KeyError, match=missing):
            state_machine_from_json(blob, runners=runners(given))


def test_the_coordinator_s_runner_can_be_given_apart() -> None:
    blob = state_machine_to_json(machine(commissions))
    sm = state_machine_from_json(blob, runners=runners("scout"), coordinator_runner=Scripted(says("mine")))
    assert go(sm.run("q")) == "mine"


def test_runners_are_bound_by_their_ids() -> None:
    sm = machine(None, junior(runner_id="pool-7"))
    again = StateMachine.from_model(sm.to_model(), runners=runners("pool-7"))
    assert again.agent("scout").spec.runner_id == "pool-7"
    assert again.coordinator.runner is None


def test_a_coordinator_s_own_id_falls_back_to_the_usual_one() -> None:
    model = coordinator_to_model(Coordinator(runner=Scripted(says("x")), runner_id="mine"))
    given = runners("coordinator", "mine")
    assert coordinator_from_model(model, runners=given).runner is given["mine"]
    del given["mine"]
    assert coordinator_from_model(model, runners=given).runner is given["coordinator"]


def test_a_runner_that_was_set_later_is_bound_as_well() -> None:
    sm = machine()
    sm.coordinator.runner = Scripted(says("x"))
    with pytest.raises(KeyError, match="coordinator"):
        state_machine_from_model(sm.to_model(), runners=runners("scout"))


def test_objectives_that_run_come_back_as_they_were_until_they_are_recovered() -> None:
    sm = machine()
    for _ in range(2):
        go(sm.commission("scout", "o"))
    sm.agent("scout")[1].status = "running"
    again = StateMachine.from_model(sm.to_model(), runners=runners("scout"))
    assert [slot.status for slot in again.agent("scout").objectives()] == ["running", "staged"]
    assert again.accept("scout", 1)["error"] == "not_staged"
    assert again.recover() == ["scout-1"]
    assert again.agent("scout")[1].status == "failed"
    assert "interrupted" in str(again.agent("scout")[1].agent_message)
    assert again.recover() == []
    assert go(again.instruct("scout", 1, "go on"))["status"] == "staged"


def test_a_machine_that_was_brought_back_goes_on() -> None:
    sm = machine(commissions)
    go(sm.commission("scout", "first"))
    seen: list[StreamEvent] = []
    given = {"coordinator": Scripted(commissions), "scout": Scripted(says("r"))}
    again = state_machine_from_json(state_machine_to_json(sm), runners=given, streaming_callback=seen.append)
    assert go(again.instruct("scout", 1, "more"))["status"] == "staged"
    assert go(again.commission("scout", "second"))["index"] == 2
    assert seen[0]["phase"] == "start"
    assert go(again.run("third")) == "r"


def newer(data: dict[str, Any]) -> None:
    data["schema_version"] = 999


def odd_status(data: dict[str, Any]) -> None:
    data["agents"][0]["slots"][0]["status"] = "sideways"


def twice(data: dict[str, Any]) -> None:
    data["agents"] *= 2


def elsewhere(data: dict[str, Any]) -> None:
    data["agents"][0]["slots"][0]["index"] = 7


def of_another(data: dict[str, Any]) -> None:
    data["agents"][0]["slots"][0]["agent"] = "other"


def nameless(data: dict[str, Any]) -> None:
    data["agents"][0]["spec"]["name"] = "coordinator"


def without_role(data: dict[str, Any]) -> None:
    del data["coordinator_messages"][0]["role"]


def without_coordinator(data: dict[str, Any]) -> None:
    del data["coordinator"]


@pytest.mark.parametrize(
    "change", [newer, odd_status, twice, elsewhere, of_another, nameless, without_role, without_coordinator]
)
def test_a_snapshot_that_contradicts_itself_is_refused(change: Callable[[dict[str, Any]], None]) -> None:
    data = json.loads(state_machine_to_json(worked()))
    change(data)
    with pytest.raises(ValueError, match=r"."):
        state_machine_from_json(json.dumps(data), runners=runners("coordinator", "scout", "other"))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "1", "[" * 100_000])
def test_what_is_no_snapshot_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        state_machine_from_json(text, runners={})


def test_a_snapshot_of_the_first_kind_is_read_and_ours_holds_all_that_it_holds() -> None:
    """Version 1 as other programs write it has no usage, may lack its number, and may hold what nobody knows."""
    data = json.loads(state_machine_to_json(worked()))
    old = copy.deepcopy(data)
    del old["schema_version"], old["agents"][0]["slots"][0]["usage"]
    old["from_elsewhere"] = {"x": 1}
    again = state_machine_from_json(json.dumps(old), runners=runners("coordinator", "scout"))
    assert json.loads(state_machine_to_json(again)) == data


@pytest.mark.parametrize(
    ("spoil", "place"),
    [
        (lambda sm: sm.coordinator.metadata.update(live=object()), r"coordinator\.metadata\.live"),
        (lambda sm: sm.agent("scout").spec.metadata.update(a=[1, object()]), r"agents\[0\]\.spec\.metadata\.a\[1\]"),
        (lambda sm: sm.agent("scout")[1].agent_props.update(p=object()), r"agents\[0\]\.slots\[0\]\.agent_props\.p"),
        (lambda sm: sm.coordinator_messages.append({"role": "user", "o": object()}), r"coordinator_messages\[5\]\.o"),
        (lambda sm: sm.coordinator_messages.append({"content": "x"}), r"coordinator_messages\[5\] has no role"),
    ],
)
def test_what_json_cannot_hold_is_named_by_its_place(spoil: Callable[[StateMachine], None], place: str) -> None:
    sm = worked()
    spoil(sm)
    with pytest.raises(SnapshotError, match=place):
        state_machine_to_json(sm)


def test_half_a_character_that_a_model_emitted_survives_a_snapshot() -> None:
    sm = machine(says("half \ud83d"))
    go(sm.run("q \ud800"))
    blob = state_machine_to_json(sm)
    again = state_machine_from_json(blob.encode(), runners=runners("coordinator", "scout"))
    assert again.coordinator_messages.to_list() == sm.coordinator_messages.to_list()


def test_what_a_host_keeps_of_other_types_is_written_as_text() -> None:
    sm = machine(None, metadata={"seen": {1}, "raw": b"x", "not": float("nan")})
    assert json.loads(state_machine_to_json(sm))["coordinator"]["metadata"] == {"seen": [1], "raw": "x", "not": None}


def test_a_snapshot_holds_nothing_that_the_machine_holds() -> None:
    sm = worked()
    before = state_machine_to_json(sm)
    model = sm.to_model()
    again = StateMachine.from_model(model, runners=runners("coordinator", "scout"))
    model.agents[0].spec.metadata["k"].append("changed")
    model.agents[0].slots[0].messages[0]["content"] = "changed"
    model.coordinator_messages[-1].tool_calls[0]["id"] = "changed"  # type: ignore[attr-defined]
    model.coordinator.metadata["z"] = "changed"
    assert state_machine_to_json(sm) == state_machine_to_json(again) == before


def test_the_parts_come_back_each_alone() -> None:
    sm = worked()
    handle, given = sm.agent("scout"), runners("scout", "coordinator")
    spec = agent_spec_from_model(agent_spec_to_model(handle.spec), given)
    assert (spec.runner, spec.model_dump()) == (given["scout"], handle.spec.model_dump())
    model = agent_handle_to_model(handle)
    assert AgentHandleModel.model_validate_json(model.model_dump_json()) == model
    back = agent_handle_from_model(model, given)
    assert (back[1].agent_message, back.runner) == ("did: q", given["scout"])
    coordinator = coordinator_from_model(coordinator_to_model(sm.coordinator), runners=given)
    assert (coordinator.skill, coordinator.runner) == (sm.coordinator.skill, given["coordinator"])
    thread = Messages().user("u").append({"role": "assistant", "tool_calls": []})
    assert messages_from_model(messages_to_model(thread)).to_list() == thread.to_list()
