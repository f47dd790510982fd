"""The six tools that a coordinator has. Whatever a model passes to one, it answers with a value."""

import functools
import inspect
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any, Protocol

from appliance.operator.refusals import Refused
from appliance.operator.schemas import READY, Schema, openai_tool_schema
from appliance.operator.turn import belonging, within

Answer = dict[str, Any]
OrchestrationTool = Callable[..., Coroutine[Any, Any, Any]]


class Machine(Protocol):
    """What the tools ask of their machine: its methods for hosts, so that one who overrides them is heard."""

    def list_agents(self) -> list[Answer]:
        """List the juniors."""
        ...

    async def commission(
        self, agent: str, objective: str | None, checklist: list[str] | None = None, agent_props: Answer | None = None
    ) -> Answer:
        """Run a junior on a new objective."""
        ...

    def get_agent_message(self, agent: str, index: int) -> Answer:
        """Show a report."""
        ...

    def accept_agent_result(self, agent: str, index: int) -> Answer:
        """Accept a report."""
        ...

    async def instruct(self, agent: str, index: int, message: str) -> Answer:
        """Run a junior on with an objective."""
        ...

    def list_objectives(self, agent: str | None = None) -> list[Answer] | Answer:
        """List the objectives."""
        ...


class Toolbox:
    """The six tools as methods; their docstrings are what a model reads of them."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    async def list_agents(self) -> list[dict[str, Any]]:
        """List the agents that can be commissioned, and what each is good for."""
        return self._machine.list_agents()

    async def commission(
        self, agent: str, objective: str, checklist: list[str] | None = None, agent_props: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Have an agent work on a new objective; its report is staged and returned as `summary`."""
        return await self._machine.commission(agent, objective, checklist=checklist, agent_props=agent_props)

    async def get_agent_message(self, agent: str, index: int) -> dict[str, Any]:
        """Show the staged report of an objective without accepting it."""
        return self._machine.get_agent_message(agent, index)

    async def accept_agent_result(self, agent: str, index: int) -> dict[str, Any]:
        """Accept the staged report of an objective."""
        return self._machine.accept_agent_result(agent, index)

    async def instruct_agent(self, agent: str, index: int, message: str) -> dict[str, Any]:
        """Send an agent on with an objective that it has worked on."""
        return await self._machine.instruct(agent, index, message)

    async def list_objectives(self, agent: str | None = None) -> list[dict[str, Any]] | dict[str, Any]:
        """List the objectives, of one agent or of all, and how each stands."""
        return self._machine.list_objectives(agent)

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


def orchestration_tools(machine: Machine) -> list[OrchestrationTool]:
    """Return the six tools of *machine* in their order, which belong to the turn that this is called in."""
    frame = within(machine)
    bound = functools.partial(belonging, machine, None if frame is None else frame.turn)
    tools = zip(Toolbox(machine).tools(), _known(), strict=True)
    return [_answering(tool, signature, schema, bound) for tool, (signature, schema) in tools]


def _answering(
    tool: OrchestrationTool, signature: inspect.Signature, schema: Schema, bound: Callable[[], AbstractContextManager[None]]
) -> OrchestrationTool:
    """Return *tool* so that missing and further arguments too are answered."""

    @functools.wraps(tool)
    async def call(*args: object, **kwargs: object) -> object:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError as exc:
            return Refused("bad_args", f"{tool.__name__} takes {signature}: {exc}.").answer
        with bound():
            return await tool(*given.args, **given.kwargs)

    setattr(call, READY, schema)
    return call


@functools.cache
def _known() -> tuple[tuple[inspect.Signature, Schema], ...]:
    """Return what is the same for all machines: the signature and the schema of each tool."""
    tools = object.__new__(Toolbox).tools()
    return tuple((inspect.signature(tool), openai_tool_schema(tool)) for tool in tools)
