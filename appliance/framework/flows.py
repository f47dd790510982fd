"""Workflows on one appliance: their agents and tools are its own, and a run gets no more than it was granted."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from appliance.contracts.agents import AgentDefinition
from appliance.contracts.tools import Json, ToolContext
from appliance.errors import NotFound
from appliance.framework.checkpoint_sqlite import SqliteCheckpointer
from appliance.framework.making import Made
from appliance.framework.members import member
from appliance.framework.turn import Stopping
from appliance.framework.workflow import Workflow
from appliance.framework.workflow_appliance import ServiceTools, TableApprovals
from appliance.framework.workflow_check import validate_workflow
from appliance.framework.workflow_doors import Doors
from appliance.framework.workflow_engine import WorkflowEngine
from appliance.operator import AgentRequest

ASSISTANT: Final = AgentDefinition(
    "assistant",
    "Looks code up, and answers.",
    "You help a programmer with code. Look up what is asked, and answer in a few sentences.",
)
"""The agent that every workflow may name; others come from plugins."""

_THREADS: Final = "threads.db"


@dataclass(frozen=True, slots=True)
class WorkflowOutcome:
    """How a run of a workflow ended: *state* is that after the last step that went well, *error* why it failed."""

    run_id: str
    success: bool
    state: Mapping[str, Json]
    error: str = ""
    steps: int = 0


def workflow_of(source: str, made: Made) -> Workflow:
    """Return the workflow called *source*, of a plugin, or the one that it is as YAML; raise `InvalidInput`, `NotFound`."""
    known = {each.name: each.source for each in made.place.plugins.workflows}
    if source in known:
        return validate_workflow(known[source])
    if "\n" not in source:
        there = ", ".join(sorted(known)) or "none: plugins add them"
        raise NotFound(
            f"There is no workflow {source[:80]!r}.", remedy=f"Give its YAML, or the name of one. There are {there}."
        )
    return validate_workflow(source)


async def run_workflow(
    workflow: Workflow, state: Mapping[str, object], *, run_id: str, made: Made, resume: bool = False
) -> WorkflowOutcome:
    """Run *workflow* within the grants of *made*, every step kept, and return how it ended.

    With *resume* go on with the run *run_id* that a process left; *state* is then an update. Raise `InvalidInput` for a
    workflow that names what is not there, `Conflict` for a run that another process works on.
    """
    services, grants = made.turns.services, made.turns.grants
    stopping = Stopping()
    context = ToolContext(run_id, grants, stopping, branches=made.turns.options.session.branches, agent=workflow.name)
    services.tools.open_run(run_id, grants=grants, calls=made.turns.options.session.tool_calls)
    checkpointer = await asyncio.to_thread(SqliteCheckpointer, made.place.paths.root / _THREADS)
    doors = Doors(
        agents=_Agents(made),
        tools=ServiceTools(services.facade.tool_service, context=context),
        approvals=TableApprovals(services.tools.approvals),
    )
    engine = WorkflowEngine(doors, checkpointer=checkpointer)
    try:
        if resume:
            result = await engine.resume(workflow, run_id, update=state or None)
        else:
            result = await engine.execute(workflow, state, run_id=run_id)
    finally:
        stopping.stop()
        services.tools.close_run(run_id)
        await asyncio.to_thread(checkpointer.close)
    return WorkflowOutcome(
        run_id, result.success, cast("Mapping[str, Json]", result.state), result.error or "", result.steps
    )


class _Agents:
    """Satisfies `WorkflowAgents`: those that are registered, and `ASSISTANT`, each within what the run was granted."""

    def __init__(self, made: Made) -> None:
        self._made = made
        self._known = {ASSISTANT.name: ASSISTANT, **made.place.agents}

    def knows(self, name: str) -> bool:
        """Return whether there is an agent *name*."""
        return name in self._known

    async def answer(self, name: str, task: str, *, run: str) -> str:
        """Return what the agent *name* answers to *task*; raise `NotGranted` where it has a tool that the run has not."""
        del run
        agent = self._known[name]
        tools = None if agent is ASSISTANT else agent.tools
        made = member(self._made, name, skill=agent.skill, description=agent.description, tools=tools)
        request = AgentRequest(agent=name, objective=task, skill=agent.skill, messages=[{"role": "user", "content": task}])
        return (await made.runner.run(request)).content
