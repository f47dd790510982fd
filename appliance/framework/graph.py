"""`StateGraph`: what an author says about a graph, until `compile` makes something of it that runs."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Generic, Self, TypeVar, Unpack, cast

from appliance.base.clock import Clock, SystemClock
from appliance.errors import InvalidInput
from appliance.framework.checkpoint import Checkpointer
from appliance.framework.graph_compiled import CompiledGraph
from appliance.framework.graph_events import S
from appliance.framework.graph_plan import GivenLimits, Limits, Node, Plan, Subgraph, check_limit
from appliance.framework.graph_shape import END, START, Branching, Work, shape
from appliance.framework.graph_state import Merger, StateSchema
from appliance.framework.graph_values import shown

NodeWork = Callable[[S], S | Mapping[str, object] | Awaitable[S | Mapping[str, object] | None] | None]
"""A node: gets a copy of the state, returns the keys that change, None, or a whole state; plain or asynchronous."""

T = TypeVar("T")
V = TypeVar("V")
L = TypeVar("L")

Choice = object
"""What a condition returns: a label of its branches, a `Send`, or a list of those."""


@dataclass(frozen=True, slots=True)
class _Inner:
    graph: "StateGraph[object] | CompiledGraph[object]"
    inputs: Mapping[str, str] | None
    outputs: Mapping[str, str] | None


class StateGraph(Generic[S]):
    """A graph of nodes over one state.

    *schema* is a TypedDict, a dataclass, a pydantic model, or ``dict``; every value that is written is checked against it.
    Nodes that are due run at once, on copies of the state, and their writes are merged; a node to which several lead waits
    for those that are under way to it. Methods return the graph; what is wrong is said by `compile`.
    """

    def __init__(self, schema: type[S]) -> None:
        self._schema = StateSchema(schema)
        self._nodes: list[Node] = []
        self._edges: list[tuple[str, str]] = []
        self._branchings: list[Branching] = []
        self._mergers: dict[str, Merger] = {}
        self._inner: dict[str, _Inner] = {}

    def add_node(self, name: str, work: NodeWork[S], *, timeout: float | None = None) -> Self:
        """Add a node that does *work*, within *timeout* seconds if given. A plain function that blocks blocks every run."""
        _named(name)
        if not callable(work):
            raise InvalidInput(f"The node {name!r} is a {type(work).__name__} and no function of the state.")
        check_limit(f"The timeout of the node {name!r}", timeout, whole=False)
        self._nodes.append(Node(name, cast("Work", work), timeout))
        return self

    def add_edge(self, source: str, target: str) -> Self:
        """Have *target* follow *source*. Several edges from one node lead to all their targets at once."""
        self._edges.append((_named(source), _named(target)))
        return self

    def add_conditional_edge(
        self,
        source: str,
        choose: Callable[[S], Choice | Awaitable[Choice]],
        branches: Mapping[L, str] | Sequence[str],
    ) -> Self:
        """Have what *choose* returns say what follows *source*.

        It returns a label of *branches*, a `Send` to one of their nodes, or a list of those; in a sequence of *branches*
        nodes are their own labels. What has no branch is an error: END is one only where it is named.
        """
        targets = branches.values() if isinstance(branches, Mapping) else branches
        for name in (source, *targets):
            _named(name)
        labelled = dict(branches) if isinstance(branches, Mapping) else {each: each for each in branches}
        self._branchings.append(Branching(source, cast("Work", choose), cast("Mapping[object, str]", labelled)))
        return self

    def add_subgraph(
        self,
        name: str,
        graph: "StateGraph[T] | CompiledGraph[T]",
        *,
        inputs: Mapping[str, str] | None = None,
        outputs: Mapping[str, str] | None = None,
    ) -> Self:
        """Add a node that runs *graph*.

        *inputs* says which of its keys begin with which of ours, *outputs* which of ours are written from which of its;
        without them the keys that both have. What it changed is written. It is kept, resumed and interrupted with the graph
        around it, whose limits each of its runs has unless it comes compiled.
        """
        self._inner[_named(name)] = _Inner(cast("StateGraph[object] | CompiledGraph[object]", graph), inputs, outputs)
        self._nodes.append(Node(name, _unresolved))
        return self

    def add_state_merger(self, key: str, merge: Callable[[V, V], V]) -> Self:
        """Have every write of *key* go through *merge*, which gets the value that is there and the one that is written."""
        self._mergers[key] = cast("Merger", merge)
        return self

    def set_entry_point(self, name: str) -> Self:
        """Begin with the node *name*; called for several, begin with all of them at once."""
        return self.add_edge(START, name)

    def set_finish_point(self, name: str) -> Self:
        """End after the node *name*."""
        return self.add_edge(name, END)

    def compile(
        self,
        checkpointer: Checkpointer | None = None,
        *,
        interrupt_before: Collection[str] = (),
        interrupt_after: Collection[str] = (),
        clock: Clock | None = None,
        **limits: Unpack[GivenLimits],
    ) -> CompiledGraph[S]:
        """Return the graph as it runs, within *limits* (`Limits` says which).

        A run stops before a step with a node of *interrupt_before* and after one with a node of *interrupt_after*, and goes
        on with ``resume``. Raise `InvalidInput` with a sentence for each fault: no entry point, a name that is there twice
        or unknown, a node that cannot be reached or leads nowhere, interrupts without a checkpointer to resume from.
        """
        if self._is_within_itself():
            raise InvalidInput("The graph is a subgraph of itself.", remedy="For a cycle, lead back to one of its nodes.")
        made = shape([each.name for each in self._nodes], self._edges, self._branchings)
        bounds = _limits(limits)
        inner = {name: self._subgraph(name, each, bounds) for name, each in self._inner.items()}
        stops = [*interrupt_before, *interrupt_after]
        if faults := [*self._strange_names(stops), *self._unkept(stops, inner, checkpointer)]:
            raise InvalidInput("The graph cannot run: " + "; ".join(faults) + ".", faults=faults)
        fingerprints = {f"{name}/": each.graph.plan.fingerprint for name, each in inner.items()}
        plan = Plan(
            schema=self._schema,
            shape=made,
            nodes={each.name: replace(each, work=inner.get(each.name, each.work)) for each in self._nodes},
            mergers=dict(self._mergers),
            limits=bounds,
            before=frozenset(interrupt_before),
            after=frozenset(interrupt_after),
            fingerprint=made.fingerprint({**self._schema.described, **fingerprints}),
        )
        return CompiledGraph(plan, checkpointer=checkpointer, clock=clock or SystemClock())

    def _is_within_itself(self) -> bool:
        seen: list[object] = []
        waiting: list[object] = [each.graph for each in self._inner.values()]
        while waiting:
            graph = waiting.pop()
            if graph is self:
                return True
            if isinstance(graph, StateGraph) and not any(graph is each for each in seen):
                seen.append(graph)
                waiting += [each.graph for each in graph._inner.values()]  # noqa: SLF001 - another of our own
        return False

    def _strange_names(self, stops: Collection[str]) -> Iterator[str]:
        names, keys = {each.name for each in self._nodes}, self._schema.keys
        yield from (f"it is to be interrupted at {name!r}, which is no node" for name in stops if name not in names)
        if keys is not None:
            yield from (
                f"a merger is for the key {key!r}, which the state has not" for key in self._mergers if key not in keys
            )

    def _unkept(
        self, stops: Collection[str], inner: Mapping[str, Subgraph], checkpointer: Checkpointer | None
    ) -> Iterator[str]:
        if checkpointer is None:
            if stops:
                yield f"an interrupt at {next(iter(stops))!r} needs a checkpointer to resume from"
            yield from (
                f"the subgraph {name!r} has interrupts, which need a checkpointer here"
                for name, each in inner.items()
                if each.graph.interrupts
            )

    def _subgraph(self, name: str, inner: _Inner, bounds: Limits) -> Subgraph:
        graph = inner.graph.compile(**bounds.given()) if isinstance(inner.graph, StateGraph) else inner.graph
        theirs, ours = graph.plan.schema.keys, self._schema.keys
        both = theirs & ours if theirs is not None and ours is not None else theirs or ours
        if both is None and (inner.inputs is None or inner.outputs is None):
            raise InvalidInput(f"The subgraph {name!r} and the graph take any key.", remedy="Say inputs= and outputs=.")
        shared = {key: key for key in sorted(both or ())}
        sub = Subgraph(
            graph, shared if inner.inputs is None else inner.inputs, shared if inner.outputs is None else inner.outputs
        )
        strange = [key for key in [*sub.inputs, *sub.outputs.values()] if theirs is not None and key not in theirs]
        strange += [key for key in [*sub.inputs.values(), *sub.outputs] if ours is not None and key not in ours]
        if strange:
            raise InvalidInput(f"The subgraph {name!r} is given the key {strange[0]!r}, which its schema or ours has not.")
        return sub


def _named(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidInput(f"{shown(name)} is no name of a node.", remedy="Names are text.")
    return name


def _limits(given: GivenLimits) -> Limits:
    known = [each.name for each in fields(Limits)]
    if strange := [name for name in given if name not in known]:
        raise InvalidInput(f"compile takes no {strange[0]!r}.", remedy=f"The limits are {', '.join(known)}.")
    return Limits(**given)


def _unresolved(state: object) -> None:
    """Stand for the work of a subgraph until the graph is compiled."""
    raise AssertionError(state)
