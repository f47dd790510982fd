"""Workflows: what a file of one may say. `appliance.framework.workflow_check` reads and checks one."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from appliance.errors import ApplianceError
from appliance.framework.expressions import Expression, parsed
from appliance.framework.workflow_values import Template, template

MOST_NODES: Final = 200
ENDS: Final = "end"
"""Where a workflow ends, as a target; to leave ``next`` away says the same."""

_ID: Final = r"^[a-z][a-z0-9_-]{0,63}$"
_KEY: Final = r"^[a-z][a-z0-9_]{0,63}$"


def _template(value: object) -> Template:
    try:
        return template(value)
    except ApplianceError as exc:
        raise ValueError(str(exc)) from exc


def _expression(value: object) -> Expression:
    if not isinstance(value, str | bool):
        raise ValueError("it should be an expression")  # noqa: TRY004 - pydantic tells of these
    try:
        return parsed(str(value).lower() if isinstance(value, bool) else value)
    except ApplianceError as exc:
        raise ValueError(str(exc)) from exc


def _text(value: object) -> Template:
    if not isinstance(value, str):
        raise ValueError("it should be text")  # noqa: TRY004 - as above
    return _template(value)


def _mapping(value: object) -> Template:
    if not isinstance(value, Mapping):
        raise ValueError("it should be a mapping")  # noqa: TRY004 - as above
    return _template(value)


def _short(value: object) -> object:
    return {"type": value} if isinstance(value, str) else value


Id = Annotated[str, Field(pattern=_ID)]
Key = Annotated[str, Field(pattern=_KEY)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Words = Annotated[str, Field(max_length=2000)]
Seconds = Annotated[float, Field(gt=0, le=30 * 86_400)]
Texts = Annotated[Template, BeforeValidator(_text)]
Values = Annotated[Template, BeforeValidator(_mapping)]
When = Annotated[Expression, BeforeValidator(_expression)]
KeyType = Literal["text", "integer", "number", "flag", "list", "map", "any"]
Merge = Literal["add", "extend", "union", "update"]


class Part(BaseModel):
    """Some part of a workflow: what it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True)


class StateKey(Part):
    """A key of the state. *merge* says what becomes of the writes of branches that run at once.

    ``add`` sums numbers, ``extend`` joins lists, ``union`` joins them without what is there already, ``update`` joins maps.
    """

    type: KeyType
    default: JsonValue = None
    merge: Merge | None = None
    description: Words = ""


class Bounds(Part):
    """How far one run may go: steps in all, steps in which one node runs, seconds."""

    steps: Annotated[int, Field(ge=1, le=100_000)] = 100
    visits: Annotated[int, Field(ge=1, le=100_000)] = 25
    timeout_s: Seconds | None = None
    node_timeout_s: Seconds | None = None


class Node(Part):
    """What every node has."""

    description: Words = ""


class Going(Node):
    """A node that one other follows; without ``next`` the workflow ends there."""

    next: Id | None = None
    timeout_s: Seconds | None = None


class AgentNode(Going):
    """An agent gets a task; its answer is put into the key *output*."""

    kind: Literal["agent"]
    agent: Name
    task: Texts
    output: Key | None = None


class ToolNode(Going):
    """A tool is called; its text is put into the key *output*, its data into *data*."""

    kind: Literal["tool"]
    tool: Name
    arguments: Values = Field(default_factory=lambda: template({}))
    output: Key | None = None
    data: Key | None = None


class ComputeNode(Going):
    """A function of the program that runs the workflow is called; what it returns is put into the key *output*."""

    kind: Literal["compute"]
    function: Name
    arguments: Values = Field(default_factory=lambda: template({}))
    output: Key | None = None


class TransformNode(Going):
    """Keys of the state are set."""

    kind: Literal["transform"]
    set: Values


class ApprovalNode(Going):
    """A person is asked. A yes goes on to ``next``; a no, or nobody's answer within *expires_s*, to *rejected*.

    Without *rejected* a no fails the run.
    """

    kind: Literal["approval"]
    ask: Texts
    show: Values = Field(default_factory=lambda: template({}))
    expires_s: Seconds = 86_400.0
    rejected: Id | None = None


class Branch(Part):
    """What comes next when an expression holds; without ``next`` the workflow ends there."""

    when: When
    next: Id | None = None


class ConditionNode(Node):
    """The first branch whose expression holds is taken, else *otherwise*. Where there is none of either, the run fails."""

    kind: Literal["condition"]
    branches: Annotated[list[Branch], Field(min_length=1, max_length=50)]
    otherwise: Id | None = None


class ParallelNode(Node):
    """Several nodes run at once. Where their ways meet, all are waited for."""

    kind: Literal["parallel"]
    branches: Annotated[list[Id], Field(min_length=2, max_length=50)]


AnyNode = AgentNode | ToolNode | ComputeNode | TransformNode | ApprovalNode | ConditionNode | ParallelNode


KindOfNode = Annotated[AnyNode, Field(discriminator="kind")]
KindOfKey = Annotated[StateKey, BeforeValidator(_short)]


class Workflow(Part):
    """A workflow."""

    name: Id
    description: Words = ""
    entry: Id
    state: dict[Key, KindOfKey] = Field(default_factory=dict)
    limits: Bounds = Bounds()
    nodes: Annotated[dict[Id, KindOfNode], Field(min_length=1, max_length=MOST_NODES)]


def ways(workflow: Workflow) -> Iterator[tuple[str, str, str]]:
    """Give every way of *workflow*: from which node, to which or ``end``, and under what it is taken ("": always)."""
    for name, node in workflow.nodes.items():
        if isinstance(node, ConditionNode):
            yield from ((name, each.next or ENDS, each.when.text) for each in node.branches)
            if node.otherwise is not None:
                yield name, node.otherwise, "otherwise"
        elif isinstance(node, ParallelNode):
            yield from ((name, each, "") for each in node.branches)
        elif isinstance(node, ApprovalNode) and node.rejected is not None:
            yield name, node.next or ENDS, "approved"
            yield name, node.rejected, "rejected"
        else:
            yield name, node.next or ENDS, ""
