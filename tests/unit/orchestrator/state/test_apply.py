import gc
from collections.abc import Mapping

import pytest

from appliance.errors import InvalidInput
from appliance.orchestrator.state import (
    Host,
    TransitionApplier,
    TransitionBatch,
    TransitionType,
    create_snapshot,
)
from appliance.orchestrator.state.hosts import _records
from tests.unit.orchestrator.state.hosts import PlainHost, apply, apply_batch, transition

T = TransitionType


def test_a_host_is_what_the_protocol_says() -> None:
    assert isinstance(PlainHost(), Host)


def test_state_goes_where_it_should() -> None:
    host = PlainHost()
    apply(
        host,
        transition(T.ADD_MESSAGE, message={"role": "user", "content": "m"}),
        transition(T.ADD_MESSAGES, messages=["x", "y"]),
        transition(T.UPDATE_STATE, key="k", value=[1]),
        transition(T.UPDATE_STATE, key="j", value=2, scope="session"),
        transition(T.UPDATE_STAGE, stage="complete"),
        transition(T.UPDATE_CAPABILITY, capability="c"),
        transition(T.UPDATE_CAPABILITY, capability="d", value=0),
        transition(T.DELETE_STATE, key="a"),
        transition(T.DELETE_STATE, key="absent"),
    )
    assert host.messages[1:] == [{"role": "user", "content": "m"}, "x", "y"]
    assert host.conversation_state == {"nested": {"xs": [1]}, "k": [1]}
    assert host.session_state == {"s": 2, "j": 2}
    assert host._capabilities == {"planning_mode": True, "off": False, "c": True, "d": 0}
    assert host.conversation_stage == "complete"


def test_what_is_written_is_the_hosts_own_to_change() -> None:
    host = PlainHost()
    step = transition(T.UPDATE_STATE, key="k", value={"xs": [1]})
    apply(host, step, step)
    host.conversation_state["k"]["xs"].append(2)  # type: ignore[index] # a mapping again, not a view of one
    assert step.data["value"] == {"xs": [1]}


@pytest.mark.parametrize("scope", ["conversation", "session"])
def test_deleting_never_crosses_scopes(scope: str) -> None:
    host = PlainHost()
    host.conversation_state, host.session_state = {"only": 1}, {"only": 2}
    apply(host, transition(T.DELETE_STATE, key="only", scope=scope))
    left = {"conversation": ({}, {"only": 2}), "session": ({"only": 1}, {})}
    assert (host.conversation_state, host.session_state) == left[scope]


def test_tools_and_sessions_get_their_arguments_and_their_results_come_back() -> None:
    host = PlainHost()
    gave = apply(
        host,
        transition(T.EXECUTE_TOOL, tool_name="ls", arguments={"path": ["."]}),
        transition(T.CREATE_SESSION, session_id="n", kwargs={"a": 1}),
        transition(T.CREATE_SESSION),
        transition(T.CLOSE_SESSION, session_id="n"),
        transition(T.UPDATE_STAGE, stage="x"),
        transition(T.BATCH, transitions=[transition(T.EXECUTE_TOOL, tool_name="in", arguments={})]),
    )
    assert gave == [{"tool": "ls", "ok": True}, "n", "named by the host", None, None, [{"tool": "in", "ok": True}]]
    assert host.calls == [
        ("ls", {"path": ["."]}), ("create", {"session_id": "n", "a": 1}), ("create", {}), ("close", {"session_id": "n"}),
        ("in", {}),
    ]  # fmt: skip


def test_a_batch_gives_the_results_of_its_tools_in_order() -> None:
    batch = (
        TransitionBatch()
        .execute_tool("a")
        .update_state("k", 1)
        .create_session("s")
        .add_batch(TransitionBatch().execute_tool("b"))
    )
    assert apply_batch(PlainHost(), batch) == [{"tool": "a", "ok": True}, {"tool": "b", "ok": True}]
    assert apply_batch(PlainHost(), TransitionBatch()) == []


def test_a_tool_that_is_no_coroutine_runs_too() -> None:
    class Direct(PlainHost):
        def execute_tool(self, name: str, arguments: Mapping[str, object]) -> str:  # type: ignore[override] # not awaited
            return f"{name} {len(arguments)}"

    assert apply(Direct(), transition(T.EXECUTE_TOOL, tool_name="ls", arguments={"a": 1})) == ["ls 1"]


def test_the_result_of_a_tool_becomes_a_message() -> None:
    host = PlainHost()
    apply_batch(
        host,
        TransitionBatch()
        .tool_result("ls", {"n": 1}, tool_call_id="c1")
        .tool_result("ls", "text")
        .tool_result("ls", None, error="no"),
    )
    assert host.messages[1:] == [
        {"role": "tool", "name": "ls", "content": '{"n": 1}', "tool_call_id": "c1"},
        {"role": "tool", "name": "ls", "content": "text"},
        {"role": "tool", "name": "ls", "content": "no", "is_error": True},
    ]


def test_nested_batches_are_applied_in_order() -> None:
    host = PlainHost()
    inner = TransitionBatch().update_state("k", 2).add_message("inner")
    apply_batch(
        host, TransitionBatch().update_state("k", 1).add_batch(TransitionBatch().add_batch(inner)).add_message("outer")
    )
    assert host.conversation_state["k"] == 2
    assert host.messages[1:] == ["inner", "outer"]


def test_what_is_no_batch_of_transitions_is_refused_before_anything_happens() -> None:
    host = PlainHost()
    spoilt = TransitionBatch().execute_tool("ls")
    spoilt.transitions.append("x")  # type: ignore[arg-type] # on purpose
    wrongs: list[object] = [spoilt, [], None]
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"transition|TransitionBatch"):
            apply_batch(host, wrong)  # type: ignore[arg-type] # on purpose
    with pytest.raises(ValueError, match="transition"):
        apply(host, "x")  # type: ignore[arg-type] # on purpose
    with pytest.raises(ValueError, match="ContextSnapshot"):
        apply_batch(host, TransitionBatch().execute_tool("ls"), expected={})  # type: ignore[arg-type] # on purpose
    assert host.calls == []


def test_a_host_that_lacks_what_is_asked_is_refused_before_anything_happens() -> None:
    class Bare:
        def __init__(self) -> None:
            self.conversation_state: dict[str, object] = {}

    for batch in (
        TransitionBatch().update_state("k", 1).execute_tool("ls"),
        TransitionBatch().update_state("k", 1).add_message("m"),
        TransitionBatch().update_state("k", 1).create_session(),
        TransitionBatch().update_state("k", 1).close_session("s"),
    ):
        bare = Bare()
        with pytest.raises(InvalidInput, match="cannot be asked"):
            apply_batch(bare, batch)  # type: ignore[arg-type] # on purpose
        assert bare.conversation_state == {}


def test_a_host_without_a_mapping_or_a_method_is_given_what_it_lacks() -> None:
    class Bare:
        def __init__(self) -> None:
            self.messages: list[object] = []

    bare = Bare()
    apply_batch(bare, TransitionBatch().update_state("k", 1).add_message("m"))  # type: ignore[arg-type] # on purpose
    assert vars(bare) == {"messages": ["m"], "conversation_state": {"k": 1}}


def test_a_host_that_cannot_be_kept_track_of_is_refused_with_a_remedy() -> None:
    class Slotted:
        __slots__ = ("messages",)

    with pytest.raises(InvalidInput, match="__weakref__"):
        TransitionApplier(Slotted())  # type: ignore[arg-type] # on purpose
    assert create_snapshot(Slotted()).version == 0


def test_nothing_is_kept_of_a_host_that_is_gone() -> None:
    host = PlainHost()
    apply_batch(host, TransitionBatch().update_state("k", 1))
    key = id(host)
    assert key in _records
    del host
    gc.collect()
    assert key not in _records


def test_hosts_that_are_equal_keep_to_themselves() -> None:
    class Equal(PlainHost):
        def __eq__(self, other: object) -> bool:
            return isinstance(other, Equal)

        __hash__ = None  # type: ignore[assignment] # as a host with an __eq__ has it

    one, other = Equal(), Equal()
    apply_batch(one, TransitionBatch().update_state("k", 1))
    assert (create_snapshot(one).version, create_snapshot(other).version) == (1, 0)
