"""What a tool is: a name, a schema, and a call that gives text to a model, data to a program, evidence to people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from appliance.contracts.chat import JsonSchema

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
"""What JSON can say; a tool's data is nothing else, so that a record of it can be replayed."""

Effect = Literal["read", "run", "write"]
"""``read`` changes nothing; ``run`` executes code in the sandbox; ``write`` changes a scratch worktree and nothing else."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What is known of a tool before it is called. *parameters* is the JSON schema of one object, every part of it bounded.

    *approval*: a person must say yes before each call.
    """

    name: str
    description: str
    parameters: JsonSchema
    category: str = "custom"
    effect: Effect = "read"
    approval: bool = False
    timeout_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """Lines of one blob at one commit, as a tool found them; whoever shows them has them verified first."""

    repo: str  # id
    repo_name: str
    path: str
    start_line: int
    end_line: int
    blob: str
    commit: str
    text: str
    symbol: str = ""
    kind: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Grants:
    """What one run may use. Nothing that a model says, or that stands in a repository, adds to it.

    *repos* are ids, all of *project*; *tools* are names; *effects* bound what any of them may do.
    """

    project: str
    repos: tuple[str, ...] = ()
    tools: frozenset[str] = frozenset()
    effects: frozenset[Effect] = frozenset({"read"})


class Cancellation(Protocol):
    """Whether the work goes on."""

    def check(self) -> None:
        """Raise `Cancelled` once somebody asked the run to stop."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """For whom a tool is called, and where it may look. *workspace* is a scratch worktree, None where there is none.

    *agent* is who of the run calls, for the record of calls.
    """

    run_id: str
    grants: Grants
    cancellation: Cancellation
    workspace: Path | None = None
    branches: tuple[str, ...] = ()
    agent: str = ""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a call gave. *text* is for a model: bounded, and foreign text in it is fenced. *cut* says that there was more."""

    text: str
    data: Mapping[str, Json] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    warnings: tuple[str, ...] = ()
    cut: bool = False


@runtime_checkable
class Tool(Protocol):
    """A tool."""

    @property
    def spec(self) -> ToolSpec:
        """What is known of it before a call."""

    async def run(self, arguments: Mapping[str, Json], *, context: ToolContext) -> ToolOutput:
        """Do it. *arguments* fit the schema already. Raise an error of `appliance.errors` that says what to do next."""
