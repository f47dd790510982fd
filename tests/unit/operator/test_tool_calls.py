"""Claims about tool calls: whatever a model emits is answered with a value that it can read."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.operator import AgentRequest, AgentResult, Coordinator, StateMachine, openai_tool_schema, tool_schemas
from appliance.operator.tools import OrchestrationTool
from tests.support.operating import TOOLS, Emit, Scripted, by_name, commissions, go, junior, machine

NAMES = st.sampled_from(["agent", "objective", "checklist", "agent_props", "index", "message", "self", "args", "callback"])
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["scout", "1", "null", "[1]", '{"a": 1}', '{"a": NaN}', "[[[[", "", " ", "\ud800", "9" * 5000])
)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3), max_leaves=6
)
CODES = {
    "unknown_agent",
    "missing_objective",
    "empty_message",
    "bad_args",
    "bad_index",
    "nothing_staged",
    "not_staged",
    "busy",
    "budget_exhausted",
}


@settings(deadline=None)
@given(tool=st.sampled_from(TOOLS), keywords=st.dictionaries(NAMES, JSON, max_size=5), values=st.lists(JSON, max_size=3))
def test_no_call_raises_and_each_answer_is_json(tool: str, keywords: dict[str, Any], values: list[Any]) -> None:
    sm = machine()
    go(sm.commission("scout", "o"))
    said = go(by_name(sm)[tool](*values, **keywords))
    json.dumps(said)
    rows = said if isinstance(said, list) else [said]
    assert all(row.get("error", "bad_args") in CODES for row in rows)
    assert all(row["detail"] for row in rows if "error" in row)
    assert all(slot.status in {"staged", "accepted"} for slot in sm.agent("scout").objectives())


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("commission", {"agent": "nobody", "objective": "x"}, "unknown_agent"),
        ("commission", {"agent": None, "objective": "x"}, "unknown_agent"),
        ("commission", {"agent": {}, "objective": "x"}, "unknown_agent"),
        ("commission", {"agent": "scout", "objective": ["x"]}, "bad_args"),
        ("commission", {"agent": "scout", "objective": 5}, "bad_args"),
        ("commission", {"agent": "scout", "objective": None}, "missing_objective"),
        ("commission", {"objective": "x"}, "bad_args"),
        ("commission", {"agent": "scout", "objective": "x", "priority": 1}, "bad_args"),
        ("instruct_agent", {"agent": "scout", "index": 1, "message": {}}, "bad_args"),
        ("instruct_agent", {"agent": "scout", "index": 9, "message": "m"}, "bad_index"),
        ("instruct_agent", {"agent": "scout", "index": 1, "message": " "}, "empty_message"),
        ("instruct_agent", {"agent": [], "index": 1, "message": "m"}, "unknown_agent"),
        ("accept_agent_result", {"agent": "scout", "index": None}, "bad_index"),
        ("accept_agent_result", {}, "bad_args"),
        ("get_agent_message", {"agent": 7, "index": 1}, "unknown_agent"),
        ("list_agents", {"agent": "scout"}, "bad_args"),
        ("list_objectives", {"agent": "nobody"}, "unknown_agent"),
        ("list_objectives", {"agent": ["scout"]}, "unknown_agent"),
    ],
)
def test_a_call_that_cannot_be_done_says_why(tool: str, arguments: dict[str, Any], code: str) -> None:
    sm = machine()
    go(sm.commission("scout", "o"))
    said = go(by_name(sm)[tool](**arguments))
    assert said["error"] == code
    assert len(sm.agent("scout")) == 1


def test_a_name_with_blanks_around_it_is_understood_and_a_long_one_is_cut() -> None:
    sm = machine()
    tools = by_name(sm)
    assert go(tools["commission"](" scout\n", "o"))["agent"] == "scout"
    assert len(json.dumps(go(tools["commission"]("x" * 100_000, "o")))) < 1000


@pytest.mark.parametrize("nothing", [None, "", "null"])
def test_objectives_of_no_agent_are_those_of_all(nothing: str | None) -> None:
    sm = machine(None, junior("a"), junior("b"))
    for name in "ab":
        go(sm.commission(name, "o"))
    rows = go(by_name(sm)["list_objectives"](nothing))
    assert [row["agent"] for row in rows] == ["a", "b"]


def test_the_tools_describe_themselves_with_their_types() -> None:
    tools = machine().orchestration_tools()
    functions = [schema["function"] for schema in tool_schemas(tools)]
    assert [each["name"] for each in functions] == [tool.__name__ for tool in tools] == TOOLS
    assert all(each["description"] for each in functions)
    parameters = {each["name"]: each["parameters"] for each in functions}
    assert parameters["commission"] == {
        "type": "object",
        "properties": {
            "agent": {"type": "string"},
            "objective": {"type": "string"},
            "checklist": {"type": "array", "items": {"type": "string"}},
            "agent_props": {"type": "object"},
        },
        "required": ["agent", "objective"],
        "additionalProperties": False,
    }
    assert parameters["instruct_agent"]["properties"]["index"] == {"type": "integer"}
    assert [parameters[name]["required"] for name in ("list_agents", "list_objectives")] == [[], []]


def test_a_machine_that_overrides_its_methods_or_tools_is_heard() -> None:
    """Hosts check or log what models ask for where the machine is asked, and give the coordinator tools of their own."""

    class Watched(StateMachine):
        async def commission(self, agent: str, *rest: Any, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever it is
            asked.append(agent)
            return await super().commission(agent, *rest, **more)

        def accept_agent_result(self, agent: str, index: int | str) -> dict[str, Any]:
            asked.append(f"{agent} {index}")
            return super().accept_agent_result(agent, index)

        def orchestration_tools(self) -> list[OrchestrationTool]:
            return [*super().orchestration_tools(), clock]

    async def clock() -> str:
        return "noon"

    def tools(request: AgentRequest, _emit: Emit) -> AgentResult:
        seen.extend(schema["function"]["name"] for schema in request.metadata["tool_schemas"])
        return AgentResult(content="x")

    asked: list[str] = []
    seen: list[str] = []
    sm = Watched(Coordinator(runner=Scripted(commissions)), [junior()])
    assert go(sm.run("q")) == "did: q"
    sm.coordinator.runner = Scripted(tools)
    go(sm.run("q"))
    assert (asked, seen) == (["scout", "scout 1"], [*TOOLS, "clock"])


def test_a_schema_that_is_changed_changes_no_other() -> None:
    tool = machine().orchestration_tools()[0]
    openai_tool_schema(tool)["function"]["parameters"]["properties"]["x"] = 1
    assert openai_tool_schema(tool)["function"]["parameters"]["properties"] == {}
