"""A compiled graph as its runs read it: the shape, the work of each node, the rules of the state, and the limits."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, TypedDict, cast

from appliance.errors import InvalidInput
from appliance.framework.graph_shape import Shape, Work
from appliance.framework.graph_state import Merger, StateSchema
from appliance.framework.graph_values import shown

if TYPE_CHECKING:
    from appliance.framework.graph_compiled import CompiledGraph


class GivenLimits(TypedDict, total=False):
    """The limits that `StateGraph.compile` takes, as `Limits` has them."""

    max_iterations: int
    recursion_limit: int
    timeout: float | None
    node_timeout: float | None
    max_parallel: int


@dataclass(frozen=True, slots=True)
class Limits:
    """How far one thread may go. Times are seconds; None is for ever.

    A node runs in at most ``max_iterations`` steps, all together take ``recursion_limit``; ``timeout`` bounds one run,
    ``node_timeout`` each node and condition; ``max_parallel`` branches of a step run at a time.
    """

    max_iterations: int = 25
    recursion_limit: int = 100
    timeout: float | None = None
    node_timeout: float | None = None
    max_parallel: int = 32

    def __post_init__(self) -> None:
        for each in fields(self):
            check_limit(each.name, getattr(self, each.name), whole=each.type in ("int", int))

    def given(self) -> GivenLimits:
        """Return the limits as `StateGraph.compile` takes them."""
        return cast("GivenLimits", asdict(self))


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A graph that runs as a node. *inputs* are its keys and ours that they begin with; *outputs* ours and its."""

    graph: "CompiledGraph[object]"
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Node:
    """One node; *timeout_s* comes before the graph's ``node_timeout``."""

    name: str
    work: "Work | Subgraph"
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a run reads and none changes."""

    schema: StateSchema
    shape: Shape
    nodes: Mapping[str, Node]
    mergers: Mapping[str, Merger]
    limits: Limits
    before: frozenset[str]
    after: frozenset[str]
    fingerprint: str


def check_limit(name: str, value: object, *, whole: bool) -> None:
    """Raise `InvalidInput` where *value* is no limit."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    if not ((number and (isinstance(value, int) or not whole)) or (value is None and not whole)):
        kind = "a whole number above 0" if whole else "a number of seconds above 0, or None"
        raise InvalidInput(f"{name} is {shown(value)} and should be {kind}.", limit=name)
