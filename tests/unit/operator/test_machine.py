"""Claims about a machine: its surface, its agents, its objectives."""

import pytest

from appliance import operator
from appliance.operator import (
    DEFAULT_COORDINATOR_SKILL,
    AgentRequest,
    AgentResult,
    AgentSpec,
    Coordinator,
    ObjectiveSlot,
    StateMachine,
    callable_agent,
)
from tests.support.operating import Scripted, echo, go, junior, machine

DOCUMENTED = [
    "AgentHandle",
    "AgentHandleModel",
    "AgentRequest",
    "AgentResult",
    "AgentRunner",
    "AgentSpec",
    "AgentSpecModel",
    "ChatMessage",
    "Coordinator",
    "CoordinatorModel",
    "DEFAULT_COORDINATOR_SKILL",
    "Message",
    "Messages",
    "ObjectiveSlot",
    "SlotStatus",
    "StateMachine",
    "StateMachineModel",
    "StreamEvent",
    "StreamingCallback",
    "agent_handle_from_model",
    "agent_handle_to_model",
    "agent_spec_from_model",
    "agent_spec_to_model",
    "callable_agent",
    "coordinator_from_model",
    "coordinator_to_model",
    "emit_stream",
    "messages_from_model",
    "messages_to_model",
    "openai_tool_schema",
    "state_machine_from_json",
    "state_machine_from_model",
    "state_machine_to_json",
    "state_machine_to_model",
    "tool_schemas",
]


def test_every_documented_name_is_exported() -> None:
    assert len(DOCUMENTED) == 35
    assert set(DOCUMENTED) <= set(operator.__all__)
    assert all(hasattr(operator, name) for name in operator.__all__)


def test_a_machine_begins_with_the_skill_and_nothing_else() -> None:
    sm = StateMachine()
    assert (sm.agents(), sm.active_agent, sm.last_turn) == ([], None, None)
    assert sm.coordinator.runner is None
    assert sm.coordinator.runner_id is None
    assert sm.coordinator_messages.to_list() == [{"role": "system", "content": DEFAULT_COORDINATOR_SKILL}]


@pytest.mark.parametrize("name", ["", "  ", "coordinator", "scout"])
def test_a_name_that_is_blank_reserved_or_taken_is_refused(name: str) -> None:
    sm = machine()
    with pytest.raises(ValueError, match="name"):
        sm.add_agent(junior(name))


def test_agents_are_found_by_their_exact_name() -> None:
    sm = machine()
    handle = sm.agent("scout")
    assert (handle.name, len(handle), handle.runner) == ("scout", 0, handle.spec.runner)
    with pytest.raises(KeyError):
        sm.agent("Scout")


@pytest.mark.parametrize("runner", [lambda _request: "text", Scripted, None, "text"])
def test_what_is_no_runner_is_refused_when_the_agent_is_described(runner: object) -> None:
    """A bare function, a class in place of its object: each would fail at its first objective, far from the mistake."""
    with pytest.raises(ValueError, match="runner"):
        AgentSpec(name="j", description="d", skill="s", runner=runner)
    if runner is not None:
        with pytest.raises(ValueError, match="runner"):
            Coordinator(runner=runner)


async def in_time(request: AgentRequest) -> str:
    return request.objective


async def as_result(request: AgentRequest) -> AgentResult:
    return AgentResult(content=request.objective)


@pytest.mark.parametrize(
    "function",
    [
        in_time,
        as_result,
        lambda r: r.objective,
        lambda r: AgentResult(content=r.objective),
        lambda r: {"content": r.objective},
    ],
)
def test_a_wrapped_function_runs_whatever_it_returns(function: object) -> None:
    spec = AgentSpec(name="j", description="d", skill="s", runner=callable_agent(function))  # type: ignore[arg-type]
    assert go(StateMachine(agents=[spec]).commission("j", "o"))["summary"] == "o"


def test_runner_ids_default_to_names_and_runners_never_reach_a_dump() -> None:
    spec, coordinator = junior(), Coordinator(runner=Scripted(echo))
    assert (spec.runner_id, coordinator.runner_id) == ("scout", "coordinator")
    assert "runner" not in spec.model_dump()
    assert "runner" not in coordinator.model_dump()
    assert "raw" not in AgentResult(content="c", raw=object()).model_dump()


def test_an_objective_has_an_id_and_waits_for_work() -> None:
    slot = ObjectiveSlot(index=3, agent="scout", objective="o")
    assert (slot.commission_id, slot.status, slot.checklist, slot.usage) == ("scout-3", "pending", [], {})


def test_indices_count_from_one_for_each_agent() -> None:
    sm = machine(None, junior("a"), junior("b"))
    said = [go(sm.commission(name, "o")) for name in ("a", "b", "a")]
    assert [(each["agent"], each["index"]) for each in said] == [("a", 1), ("b", 1), ("a", 2)]
    assert [slot.index for slot in sm.agent("a").objectives()] == [1, 2]
    assert sm.agent("a")["2"].index == 2
    assert sm.agent("a").next_index() == 3


@pytest.mark.parametrize("index", [0, -1, 3, "x", "", None, 1.5, True, "+1", "²", 10**30, float("inf"), float("nan")])
def test_an_index_that_is_none_raises_on_the_handle_and_is_answered_by_the_machine(index: int) -> None:
    sm = machine()
    for _ in range(2):
        go(sm.commission("scout", "o"))
    with pytest.raises(IndexError):
        sm.agent("scout")[index]
    assert sm.get_agent_message("scout", index)["error"] == "bad_index"
    assert sm.accept("scout", index)["error"] == "bad_index"
    assert go(sm.instruct("scout", index, "m"))["error"] == "bad_index"


@pytest.mark.parametrize("index", [1, "1", " 1 ", "01", 1.0, "1.0", "\u0661"])
def test_an_index_is_understood_as_models_spell_it(index: int) -> None:
    sm = machine()
    go(sm.commission("scout", "o"))
    assert sm.get_agent_message("scout", index)["index"] == 1


def test_the_boards_say_what_there_is() -> None:
    sm = machine(None, junior("a", model="m"), junior("b", metadata={"tools": ["read"]}))
    go(sm.commission("a", "one"))
    (row,) = sm.list_objectives("a")
    assert isinstance(row, dict)
    assert list(row) == ["agent", "index", "commission_id", "objective", "status", "model", "duration_ms", "tokens"]
    assert list(row.values())[:6] == ["a", 1, "a-1", "one", "staged", "m"]
    assert sm.list_objectives() == [row]
    assert sm.list_objectives("b") == []
    assert sm.list_agents() == [
        {"name": "a", "description": "looks around", "model": "m"},
        {"name": "b", "description": "looks around", "model": None, "tools": ["read"]},
    ]


def test_an_agent_that_declares_no_tools_says_so() -> None:
    sm = machine(None, junior("none", metadata={"tools": []}), junior("unsaid", metadata={"tools": None}))
    assert [row.get("tools") for row in sm.list_agents()] == [[], None]


def test_nothing_that_is_returned_is_what_the_machine_holds() -> None:
    sm = machine(None, junior(metadata={"tools": [["deep"]]}))
    go(sm.commission("scout", "o"))
    sm.list_agents()[0]["tools"][0].append("changed")
    sm.accept("scout", 1)["result"]["report"] = "changed"
    sm.coordinator_messages[0]["content"] = "changed"
    next(iter(sm.coordinator_messages))["content"] = "changed"
    assert sm.list_agents()[0]["tools"] == [["deep"]]
    assert sm.accept("scout", 1)["result"]["report"] == "did: o"
    assert sm.coordinator_messages[0]["content"] == DEFAULT_COORDINATOR_SKILL
