import copy
import dataclasses
import json
import threading
from collections.abc import Callable

import pytest

from appliance.orchestrator.state import StateTransition, TransitionBatch, TransitionType

T = TransitionType

VALID: dict[TransitionType, dict[str, object]] = {
    T.ADD_MESSAGE: {"message": {"role": "user", "content": "hi"}},
    T.ADD_MESSAGES: {"messages": ["a", {"role": "user"}]},
    T.UPDATE_STATE: {"key": "k", "value": [1, {"deep": [2]}], "scope": "session"},
    T.DELETE_STATE: {"key": "k", "scope": "conversation"},
    T.EXECUTE_TOOL: {"tool_name": "t", "arguments": {"a": 1}},
    T.TOOL_RESULT: {"tool_name": "t", "result": {"n": 1}, "tool_call_id": "c1", "success": True, "error": None},
    T.UPDATE_CAPABILITY: {"capability": "c", "value": 0},
    T.UPDATE_STAGE: {"stage": "planning"},
    T.CREATE_SESSION: {"session_id": "n", "kwargs": {"a": 1}},
    T.CLOSE_SESSION: {"session_id": "n"},
    T.BATCH: {"transitions": [StateTransition(T.UPDATE_STAGE, {"stage": "inner"})]},
}


def test_there_are_eleven_types_whose_values_are_their_names_in_small_letters() -> None:
    assert {kind.name for kind in T} == {
        *("ADD_MESSAGE", "ADD_MESSAGES", "UPDATE_STATE", "DELETE_STATE", "EXECUTE_TOOL", "TOOL_RESULT"),
        *("UPDATE_CAPABILITY", "UPDATE_STAGE", "CREATE_SESSION", "CLOSE_SESSION", "BATCH"),
    }
    assert all(kind.value == kind.name.lower() for kind in T)
    assert set(VALID) == set(T)


@pytest.mark.parametrize("kind", T)
def test_a_valid_transition_of_every_type_survives_json(kind: TransitionType) -> None:
    made = StateTransition(kind, VALID[kind], {"by": "planner"})
    again = StateTransition.from_dict(json.loads(json.dumps(made.to_dict())))
    assert again == made
    assert again.metadata == {"by": "planner"}


REQUIRED = {
    T.ADD_MESSAGE: ["message"], T.ADD_MESSAGES: ["messages"], T.UPDATE_STATE: ["key", "value"], T.DELETE_STATE: ["key"],
    T.EXECUTE_TOOL: ["tool_name", "arguments"], T.TOOL_RESULT: ["tool_name", "result"], T.UPDATE_CAPABILITY: ["capability"],
    T.UPDATE_STAGE: ["stage"], T.CREATE_SESSION: [], T.CLOSE_SESSION: ["session_id"], T.BATCH: ["transitions"],
}  # fmt: skip


@pytest.mark.parametrize("kind", T)
def test_what_a_type_requires_may_not_be_missing_and_nothing_else_may_stand_there(kind: TransitionType) -> None:
    data = VALID[kind]
    for key in data:
        rest = {name: value for name, value in data.items() if name != key}
        if key in REQUIRED[kind]:
            with pytest.raises(ValueError, match=f"lacks {key}"):
                StateTransition(kind, rest)
        else:
            assert StateTransition(kind, rest)
    with pytest.raises(ValueError, match="knows no extra"):
        StateTransition(kind, {**data, "extra": 1})


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (T.ADD_MESSAGE, {"message": None}),
        (T.ADD_MESSAGES, {"messages": "text"}),
        (T.ADD_MESSAGES, {"messages": {"a": 1}}),
        (T.ADD_MESSAGES, {"messages": [None]}),
        (T.UPDATE_STATE, {"key": None, "value": 1}),
        (T.UPDATE_STATE, {"key": "", "value": 1}),
        (T.UPDATE_STATE, {"key": 7, "value": 1}),
        (T.UPDATE_STATE, {"key": "k", "value": 1, "scope": "galaxy"}),
        (T.UPDATE_STATE, {"key": "k", "value": 1, "scope": ["session"]}),
        (T.DELETE_STATE, {"key": "k", "scope": None}),
        (T.EXECUTE_TOOL, {"tool_name": "", "arguments": {}}),
        (T.EXECUTE_TOOL, {"tool_name": "t", "arguments": "text"}),
        (T.EXECUTE_TOOL, {"tool_name": "t", "arguments": {1: 2}}),
        (T.EXECUTE_TOOL, {"tool_name": "t", "arguments": None}),
        (T.TOOL_RESULT, {"tool_name": None, "result": 1}),
        (T.TOOL_RESULT, {"tool_name": "t", "result": 1, "success": "yes"}),
        (T.UPDATE_CAPABILITY, {"capability": " "}),
        (T.UPDATE_STAGE, {"stage": None}),
        (T.CREATE_SESSION, {"session_id": ""}),
        (T.CREATE_SESSION, {"kwargs": []}),
        (T.CREATE_SESSION, {"session_id": "a", "kwargs": {"session_id": "b"}}),
        (T.CLOSE_SESSION, {"session_id": None}),
        (T.BATCH, {"transitions": [1]}),
        (T.BATCH, {"transitions": "x"}),
        (T.UPDATE_STATE, {"key": "k", "value": threading.Lock()}),
    ],
)
def test_values_of_the_wrong_kind_are_refused(kind: TransitionType, data: dict[str, object]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - that it is refused, in whatever words
        StateTransition(kind, data)


@pytest.mark.parametrize("data", [None, [], "x", 7])
def test_data_that_is_no_mapping_is_refused(data: object) -> None:
    for kind in T:
        with pytest.raises(ValueError, match="must be a mapping"):
            StateTransition(kind, data)  # type: ignore[arg-type] # on purpose


@pytest.mark.parametrize("kind", ["update_state", None, 1, StateTransition])
def test_a_type_that_is_none_is_refused(kind: object) -> None:
    with pytest.raises(ValueError, match="no transition type"):
        StateTransition(kind, {"key": "k", "value": 1})  # type: ignore[arg-type] # on purpose


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.data.pop("key"),
        lambda t: t.data.__setitem__("scope", "galaxy"),
        lambda t: t.data["value"]["xs"].append(2),
        lambda t: setattr(t, "data", {}),
        lambda t: setattr(t, "transition_type", None),
    ],
)
def test_a_transition_cannot_be_made_invalid_later(change: Callable[[StateTransition], object]) -> None:
    value = {"xs": [1]}
    made = StateTransition(T.UPDATE_STATE, {"key": "k", "value": value})
    value["xs"].append(9)
    with pytest.raises((TypeError, AttributeError)):
        change(made)
    assert made.data == {"key": "k", "value": {"xs": [1]}}


def test_metadata_is_the_owners_alone() -> None:
    given: dict[str, object] = {"a": [1]}
    one, other = StateTransition(T.UPDATE_STAGE, {"stage": "x"}, given), StateTransition(T.UPDATE_STAGE, {"stage": "x"})
    one.metadata["k"] = 1
    assert (given, other.metadata) == ({"a": [1]}, {})
    with pytest.raises(ValueError, match="metadata"):
        StateTransition(T.UPDATE_STAGE, {"stage": "x"}, None)  # type: ignore[arg-type] # on purpose
    assert copy.deepcopy(one) == one
    assert dataclasses.replace(one, data={"stage": "y"}).data["stage"] == "y"


def test_batches_in_batches_are_bounded() -> None:
    made = StateTransition(T.UPDATE_STAGE, {"stage": "x"})
    for _ in range(16):
        made = StateTransition(T.BATCH, {"transitions": [made]})
    with pytest.raises(ValueError, match="nested deeper"):
        StateTransition(T.BATCH, {"transitions": [made]})


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        {},
        {"transition_type": "galaxy", "data": {}},
        {"transition_type": ["update_stage"], "data": {"stage": "x"}},
        {"transition_type": "update_stage"},
        {"transition_type": "update_stage", "data": {"stage": "x"}, "metadata": None},
        {"transition_type": "update_stage", "data": {"stage": "x"}, "extra": 1},
        {"transition_type": "batch", "data": {"transitions": [{}]}},
    ],
)
def test_a_written_transition_that_is_none_is_refused(raw: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - as above
        StateTransition.from_dict(raw)  # type: ignore[arg-type] # on purpose


def test_what_was_written_nested_too_deep_is_refused() -> None:
    raw: dict[str, object] = {"transition_type": "update_stage", "data": {"stage": "x"}}
    for _ in range(500):
        raw = {"transition_type": "batch", "data": {"transitions": [raw]}}
    with pytest.raises(ValueError, match="nested deeper"):
        StateTransition.from_dict(raw)


def test_every_type_has_a_helper_that_chains_in_order() -> None:
    batch = TransitionBatch()
    assert batch.is_empty()
    assert not batch
    out = (
        batch.add_message("m")
        .add_messages(["a", "b"])
        .update_state("k", "v")
        .update_state("k", 1, scope="session")
        .delete_state("k")
        .execute_tool("t", {"a": 1})
        .tool_result("t", "r", tool_call_id="c")
        .update_capability("c", value=False)
        .update_stage("done")
        .create_session("s", a=1)
        .close_session("s")
        .add_batch(TransitionBatch().update_stage("x"))
    )
    assert out is batch
    assert len(batch) == 12
    assert {each.transition_type for each in batch.transitions} == set(T)
    assert batch.transitions[2].data == {"key": "k", "value": "v", "scope": "conversation"}
    assert batch.transitions[5].data == {"tool_name": "t", "arguments": {"a": 1}}
    assert TransitionBatch().execute_tool("t").transitions[0].data == {"tool_name": "t", "arguments": {}}
    assert batch.add(batch.transitions[0]) is batch


def test_extending_appends_and_merges_metadata_of_which_the_later_wins() -> None:
    one = TransitionBatch(metadata={"x": 1, "y": 1}).update_state("a", 1)
    other = TransitionBatch(metadata={"y": 2}).update_state("b", 2)
    assert one.extend(other) is one
    assert [each.data["key"] for each in one.transitions] == ["a", "b"]
    assert one.metadata == {"x": 1, "y": 2}
    assert len(other) == 1


def test_a_batch_cannot_hold_itself_or_what_is_no_transition() -> None:
    batch = TransitionBatch().update_stage("x")
    refusals: list[Callable[[], object]] = [
        lambda: batch.extend(batch),
        lambda: batch.add_batch(batch),
        lambda: batch.extend([]),  # type: ignore[arg-type] # on purpose, as those below
        lambda: batch.add("x"),  # type: ignore[arg-type]
        lambda: TransitionBatch(["x"]),  # type: ignore[list-item]
        lambda: TransitionBatch("x"),  # type: ignore[arg-type]
        lambda: TransitionBatch(metadata=None),  # type: ignore[arg-type]
        lambda: batch.add_messages("text"),
    ]
    for refused in refusals:
        with pytest.raises(ValueError):  # noqa: PT011 - as above
            refused()
    assert len(batch) == 1


def test_a_batch_does_not_share_its_lists() -> None:
    given = [StateTransition(T.UPDATE_STAGE, {"stage": "x"})]
    batch = TransitionBatch(given)
    batch.update_stage("y")
    assert len(given) == 1
    assert TransitionBatch().transitions is not TransitionBatch().transitions


def test_a_batch_survives_json() -> None:
    inner = TransitionBatch(metadata={"why": "inner"}).update_stage("x")
    batch = (
        TransitionBatch(metadata={"by": ["planner"]}).update_state("k", [1]).execute_tool("t", {"a": [1]}).add_batch(inner)
    )
    again = TransitionBatch.from_dict(json.loads(json.dumps(batch.to_dict())))
    assert again == batch
    wrongs: list[object] = [{"transitions": 1}, {"metadata": 1}, {"more": 1}, [], None]
    for raw in wrongs:
        with pytest.raises(ValueError, match="batch"):
            TransitionBatch.from_dict(raw)  # type: ignore[arg-type] # on purpose
    with pytest.raises(ValueError, match=r"add_message\.message"):
        TransitionBatch().add_message(object()).to_dict()
