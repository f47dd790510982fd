"""What a workflow reaches: agents, tools, people and functions, each behind a small door that its runner hands in.

`appliance.framework.workflow_appliance` has those of the appliance.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from appliance.contracts.tools import Json, ToolOutput
from appliance.errors import InvalidInput
from appliance.framework.workflow import AgentNode, ApprovalNode, ComputeNode, ToolNode, Workflow

Function = Callable[[Mapping[str, Json]], Json | Awaitable[Json]]
"""What a node of the kind ``compute`` calls: gets its arguments, returns a JSON value."""

_MOST_NAMES: Final = 20


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked: by which node, in which words, and what is shown to decide on. Seconds until it is a no."""

    node: str
    ask: str
    show: Mapping[str, Json]
    expires_s: float


class WorkflowAgents(Protocol):
    """The agents that a workflow may set tasks."""

    def knows(self, name: str) -> bool:
        """Return whether there is an agent *name*."""

    async def answer(self, name: str, task: str, *, run: str) -> str:
        """Return what the agent *name* answers to *task*; raise an error of `appliance.errors`."""


class WorkflowTools(Protocol):
    """The tools that a workflow may call."""

    def knows(self, name: str) -> bool:
        """Return whether there is a tool *name*."""

    async def call(self, name: str, arguments: Mapping[str, Json], *, run: str) -> ToolOutput:
        """Return what the tool *name* gives; raise an error of `appliance.errors`."""


class WorkflowApprovals(Protocol):
    """The people who decide."""

    async def approved(self, question: Question, *, run: str) -> bool:
        """Return whether a person said yes; a no, and nobody's answer in time, are no.

        The same question of one run is asked once: a run that starts again finds its answer.
        """


@dataclass(frozen=True, slots=True)
class Doors:
    """Everything that workflows reach; what is None is not there."""

    agents: WorkflowAgents | None = None
    tools: WorkflowTools | None = None
    approvals: WorkflowApprovals | None = None
    functions: Mapping[str, Function] = field(default_factory=dict)

    def check(self, workflow: Workflow) -> None:
        """Raise `InvalidInput` naming each node of *workflow* that needs what is not there."""
        missing = [
            f"the node {name!r} needs {what}"
            for name, node in workflow.nodes.items()
            if (what := self._missing(node)) is not None
        ]
        if missing:
            raise InvalidInput(f"The workflow {workflow.name!r} cannot run here: {'; '.join(missing)}.", faults=missing)

    def _missing(self, node: object) -> str | None:
        if isinstance(node, AgentNode) and (self.agents is None or not self.agents.knows(node.agent)):
            return f"the agent {node.agent!r}"
        if isinstance(node, ToolNode) and (self.tools is None or not self.tools.knows(node.tool)):
            return f"the tool {node.tool!r}"
        if isinstance(node, ComputeNode) and node.function not in self.functions:
            return f"the function {node.function!r}"
        if isinstance(node, ApprovalNode) and self.approvals is None:
            return "people who decide"
        return None
