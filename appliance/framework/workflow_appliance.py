"""The doors of workflows as the appliance has them: its agents, its tool service, its table of approvals."""

import asyncio
from collections.abc import Mapping

from appliance.contracts.tools import Json, ToolContext, ToolOutput
from appliance.errors import ApprovalRequired, StepFailed
from appliance.framework.agent import Agent
from appliance.framework.workflow_doors import Question
from appliance.orchestrator.approvals import Approvals
from appliance.orchestrator.services.tool import ToolService


class NamedAgents:
    """The *agents* of a program by their names; each task begins a conversation of its own."""

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        self._agents = agents

    def knows(self, name: str) -> bool:
        """Return whether there is an agent *name*."""
        return name in self._agents

    async def answer(self, name: str, task: str, *, run: str) -> str:
        """Return what the agent answers; raise `StepFailed` with why it does not, `ApprovalRequired` where it waits."""
        del run
        result = await self._agents[name].chat().send(task)
        if (asked := result.approval_request) is not None:
            raise ApprovalRequired(
                f"The agent {name!r} waits for a person's yes to {asked.tool}.",
                remedy="Give it more time to wait for one, or ask in a node of the kind `approval` before it.",
                approval=asked.id,
            )
        if not result.success:
            raise StepFailed(f"The agent {name!r} has no answer: {result.error or result.status}.")
        return result.content


class ServiceTools:
    """The tools of the tool service, called as *context* says: its grants bound what a workflow may do."""

    def __init__(self, service: ToolService, *, context: ToolContext) -> None:
        self._service = service
        self._context = context

    def knows(self, name: str) -> bool:
        """Return whether *name* may be called in this context."""
        return any(spec.name == name for spec in self._service.get_tool_schemas(self._context))

    async def call(self, name: str, arguments: Mapping[str, Json], *, run: str) -> ToolOutput:
        """Call the tool; the service checks grants, schema, rules and approval. *run* is that of the context."""
        del run
        return (await self._service.execute_tool(name, arguments, context=self._context)).unwrap()


class TableApprovals:
    """The people who decide on what the durable table of approvals asks."""

    def __init__(self, table: Approvals) -> None:
        self._table = table

    async def approved(self, question: Question, *, run: str) -> bool:
        """Ask in the table, and wait until a person decides or the time runs out.

        A yes is used up, so that a cycle asks anew, and so does a run that dies between the yes and its next step.
        """
        what = f"workflow node {question.node}"
        shown: Mapping[str, Json] = {"ask": question.ask, "show": question.show}
        seconds = question.expires_s
        asked = await asyncio.to_thread(
            self._table.ask, run, what=what, arguments=shown, why=question.ask, expires_s=seconds
        )
        found = await self._table.wait(asked.id)
        if found.state != "approved":
            return False
        await asyncio.to_thread(self._table.use, found.id, what=what, arguments=shown)
        return True
