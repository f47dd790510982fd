"""Claims about workflows on what the appliance has: its agents, its tool service, its table of approvals."""

import asyncio
import operator
from collections.abc import Mapping
from pathlib import Path

import pytest

from appliance.contracts.tools import Json, ToolOutput
from appliance.errors import InvalidInput, StepFailed
from appliance.framework import (
    Agent,
    Doors,
    GraphResult,
    NamedAgents,
    ServiceTools,
    TableApprovals,
    WorkflowEngine,
    validate_workflow,
)
from appliance.orchestrator.approvals import Decision
from tests.support.agent_house import AgentHouse
from tests.support.calls import RUN, ScriptedTool, context, grants, serving_tools
from tests.support.workflows import Scripted

TOOL = """
name: demo
entry: look
state: {q: text, found: text, rows: map, n: integer, any: any}
nodes:
  look: {kind: tool, tool: search, arguments: {query: "${q}!", limit: 3}, output: found, data: rows, next: calc}
  calc: {kind: compute, function: size, arguments: {of: "${rows.items}"}, output: n, next: tell}
  tell: {kind: agent, agent: a, task: "${n} of ${q}", output: any}
"""


async def size(arguments: Mapping[str, Json]) -> Json:
    await asyncio.sleep(0)
    return operator.length_hint(arguments["of"])


ASK = """
name: demo
entry: ask
state: {{done: {{type: text, default: none}}}}
nodes:
  ask: {{kind: approval, ask: Go?, expires_s: 60, next: go{rejected}}}
  go: {{kind: transform, set: {{done: went}}}}
""".format(rejected="")
NO = ASK.replace("next: go", "next: go, rejected: stay") + "  stay: {kind: transform, set: {done: stayed}}\n"


def test_approvals_of_the_table_are_decided_by_people_and_used_once(tmp_path: Path) -> None:
    async def run() -> None:
        with serving_tools(tmp_path / "global.db") as service:
            table = service.approvals
            engine = WorkflowEngine(Doors(approvals=TableApprovals(table)))
            decisions: list[tuple[Decision, str]] = [("approved", "went"), ("rejected", "stayed")]
            for decision, ended in decisions:
                running = asyncio.ensure_future(engine.execute(validate_workflow(NO), run_id=f"r-{decision}"))
                while not (pending := table.list(state="pending")):  # noqa: ASYNC110 - the table tells nobody
                    await asyncio.sleep(0.005)
                assert (pending[0].run, pending[0].what, pending[0].why) == (f"r-{decision}", "workflow node ask", "Go?")
                table.decide(pending[0].id, decision, by="ann")
                assert (await running).require()["done"] == ended
            assert [each.state for each in table.list()] == ["rejected", "used"]

    asyncio.run(run())


def test_what_nobody_decides_in_time_is_a_no(tmp_path: Path) -> None:
    async def run() -> None:
        with serving_tools(tmp_path / "global.db") as service:
            engine = WorkflowEngine(Doors(approvals=TableApprovals(service.approvals)))
            workflow = validate_workflow(NO.replace("expires_s: 60", "expires_s: 0.001"))
            running = asyncio.ensure_future(engine.execute(workflow, run_id="r"))
            while not service.approvals.list():  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.005)
            service.approvals._clock.advance(1.0)  # type: ignore[attr-defined]
            assert (await running).require()["done"] == "stayed"

    asyncio.run(run())


def test_tools_of_the_service_are_called_within_the_grants_of_the_run(tmp_path: Path) -> None:
    tool = ScriptedTool("search", output=ToolOutput("found it", {"items": [7]}))
    other = ScriptedTool("edit", effect="write")
    script = Scripted(agents={"a": str.upper}, functions={"size": size})

    def engine(*granted: str) -> WorkflowEngine:
        allowed = context(grants(*granted))
        return WorkflowEngine(Doors(script.doors.agents, ServiceTools(service, context=allowed), None, script.functions))

    with serving_tools(tmp_path / "global.db", tool, other) as service:
        service.open_run(RUN, grants=grants("search"))
        result = asyncio.run(engine("search").execute(validate_workflow(TOOL), {"q": "x"}))
        assert result.require()["any"] == "1 OF X"
        with pytest.raises(InvalidInput, match="needs the tool 'search'"):
            asyncio.run(engine("edit").execute(validate_workflow(TOOL), {"q": "x"}))
        assert service.audit.list(run=RUN)[0].outcome == "done"
    assert len(tool.calls) == 1


def test_agents_of_a_program_answer_in_conversations_of_their_own(house: AgentHouse) -> None:
    text = "name: d\nentry: a\nstate: {x: text, y: text}\nnodes:\n"
    text += "  a: {kind: agent, agent: reader, task: Where is verify?, output: x, next: b}\n"
    text += "  b: {kind: agent, agent: reader, task: 'Shorter: ${x}', output: y}\n"
    script = house.follow(answer="It is in the store.")

    async def run() -> dict[str, object]:
        async with await Agent.create(config=house.loaded) as agent:
            engine = WorkflowEngine(Doors(agents=NamedAgents({"reader": agent})))
            return (await engine.execute(validate_workflow(text))).require()

    assert asyncio.run(run()) == {"x": "It is in the store.", "y": "It is in the store."}
    asked = [[message.content for message in request.messages if message.role == "user"] for request in script.answers]
    assert len(asked) == 2
    assert ("Shorter: It is in the store." in str(asked[1]), "Where is verify?" in str(asked[1])) == (True, False)


def test_an_agent_without_an_answer_fails_its_node_with_why(house: AgentHouse) -> None:
    text = f"name: d\nentry: a\nnodes:\n  a: {{kind: agent, agent: reader, task: {'word ' * 20_000}}}\n"
    house.follow(answer="never")

    async def run() -> GraphResult[dict[str, object]]:
        async with await Agent.create(config=house.loaded) as agent:
            return await WorkflowEngine(Doors(agents=NamedAgents({"reader": agent}))).execute(validate_workflow(text))

    result = asyncio.run(run())
    assert isinstance(result.failure, StepFailed)
    assert "The node 'a' failed: The agent 'reader' has no answer:" in str(result.error)
