"""The six tools that a coordinator has. Whatever a model passes to one, it answers with a value."""

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

from appliance.operator.desk import Desk
from appliance.operator.refusals import Refused
from appliance.operator.schemas import READY, Schema, openai_tool_schema

OrchestrationTool = Callable[..., Coroutine[Any, Any, Any]]


class Toolbox:
    """The six tools as methods; their docstrings are what a model reads of them."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def list_agents(self) -> list[dict[str, Any]]:
        """List the agents that can be commissioned, and what each is good for."""
        return self._desk.agents()

    async def commission(
        self, agent: str, objective: str, checklist: list[str] | None = None, agent_props: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Have an agent work on a new objective; its report is staged and returned as `summary`."""
        return await self._desk.commission(agent, objective, checklist, agent_props)

    async def get_agent_message(self, agent: str, index: int) -> dict[str, Any]:
        """Show the staged report of an objective without accepting it."""
        return self._desk.peek(agent, index)

    async def accept_agent_result(self, agent: str, index: int) -> dict[str, Any]:
        """Accept the staged report of an objective."""
        return self._desk.accept(agent, index)

    async def instruct_agent(self, agent: str, index: int, message: str) -> dict[str, Any]:
        """Send an agent on with an objective that it has worked on."""
        return await self._desk.instruct(agent, index, message)

    async def list_objectives(self, agent: str | None = None) -> list[dict[str, Any]] | dict[str, Any]:
        """List the objectives, of one agent or of all, and how each stands."""
        return self._desk.objectives(agent)

    def tools(self) -> list[OrchestrationTool]:
        """Return them in their order."""
        return [
            self.list_agents,
            self.commission,
            self.get_agent_message,
            self.accept_agent_result,
            self.instruct_agent,
            self.list_objectives,
        ]


def orchestration_tools(desk: Desk) -> list[OrchestrationTool]:
    """Return the six tools of *desk* in their order."""
    return [
        _answering(tool, signature, schema)
        for tool, (signature, schema) in zip(Toolbox(desk).tools(), _known(), strict=True)
    ]


def _answering(tool: OrchestrationTool, signature: inspect.Signature, schema: Schema) -> OrchestrationTool:
    """Return *tool* so that missing and further arguments too are answered."""

    @functools.wraps(tool)
    async def call(*args: object, **kwargs: object) -> object:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as exc:
            return Refused("bad_args", f"{tool.__name__} takes {signature}: {exc}.").answer
        return await tool(*bound.args, **bound.kwargs)

    setattr(call, READY, schema)
    return call


@functools.cache
def _known() -> tuple[tuple[inspect.Signature, Schema], ...]:
    """Return what is the same for all machines: the signature and the schema of each tool."""
    tools = object.__new__(Toolbox).tools()
    return tuple((inspect.signature(tool), openai_tool_schema(tool)) for tool in tools)
