"""The shape of a graph: which nodes there are, where each leads, and everything that is wrong with it."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from appliance.errors import InvalidInput

START: Final = "__start__"
END: Final = "__end__"

Work = Callable[[object], object]
"""What a node or a condition is to the runner: takes the state, returns a value or something to await."""

_SHOWN: Final = 20  # faults of one graph


@dataclass(frozen=True, slots=True)
class Send:
    """One run of *node* beside others, on the graph's state with *state* laid over it.

    A condition returns a list of them. All run at once; then *join_at* is next, or without it whatever the node leads to.
    """

    node: str
    state: Mapping[str, object] = field(default_factory=dict)
    join_at: str | None = None


@dataclass(frozen=True, slots=True)
class Branching:
    """A condition behind *source*: what *choose* returns is looked up in *branches*, and the node found there is next."""

    source: str
    choose: Work
    branches: Mapping[object, str]


@dataclass(frozen=True, slots=True)
class Shape:
    """Nodes by name, in the order in which they were added, and what is behind each."""

    nodes: tuple[str, ...]
    edges: Mapping[str, tuple[str, ...]]
    branchings: Mapping[str, tuple[Branching, ...]]
    leading_to: Mapping[str, frozenset[str]]  # for each node that several lead to: from where it can be reached

    def waits_for(self, node: str, running: str) -> bool:
        """Return whether *node* is a join to which *running* can still lead."""
        return running != node and running in self.leading_to.get(node, ())

    def fingerprint(self, keys: Mapping[str, str]) -> str:
        """Return what tells this shape, over a state with these *keys*, from every other: 32 hexadecimal digits."""
        told = {
            "nodes": sorted(self.nodes),
            "edges": sorted((source, target) for source, targets in self.edges.items() for target in targets),
            "branches": sorted(
                (source, number, repr(label), target)
                for source, several in self.branchings.items()
                for number, each in enumerate(several)
                for label, target in each.branches.items()
            ),
            "keys": sorted(keys.items()),
        }
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a shape, as the part of a sentence; *node* is where, if it is at a node."""

    text: str
    node: str = ""


def shape(names: Sequence[str], edges: Sequence[tuple[str, str]], branchings: Sequence[Branching]) -> Shape:
    """Return the shape; raise `InvalidInput` with a sentence for each fault."""
    if faults := faults_of(names, edges, branchings):
        texts = [each.text for each in faults]
        more = [f"and {len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else []
        raise InvalidInput("The graph cannot run: " + "; ".join([*texts[:_SHOWN], *more]) + ".", faults=texts)
    leads, chooses = _leads(names, edges), _chooses(names, branchings)
    return Shape(tuple(names), leads, chooses, _joins(names, leads, chooses))


def faults_of(names: Sequence[str], edges: Sequence[tuple[str, str]], branchings: Sequence[Branching]) -> list[Fault]:
    """Return everything that is wrong; none where a run can begin and end."""
    if faults := [*_bad_names(names), *_unknown(names, edges, branchings)]:
        return faults
    return _lost(names, _leads(names, edges), _chooses(names, branchings))


def _leads(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> Mapping[str, tuple[str, ...]]:
    leads: dict[str, dict[str, None]] = {name: {} for name in (START, *names)}
    for source, target in edges:
        leads[source][target] = None
    return {name: tuple(targets) for name, targets in leads.items()}


def _chooses(names: Sequence[str], branchings: Sequence[Branching]) -> Mapping[str, tuple[Branching, ...]]:
    chooses: dict[str, list[Branching]] = {name: [] for name in (START, *names)}
    for each in branchings:
        chooses[each.source].append(each)
    return {name: tuple(several) for name, several in chooses.items()}


def _bad_names(names: Sequence[str]) -> Iterable[Fault]:
    if not names:
        yield Fault("it has no node")
    for name, count in Counter(names).items():
        if name in (START, END):
            yield Fault(f"{name!r} is a name of its own and no node can have it", name)
        if not isinstance(name, str) or not name.strip():
            yield Fault(f"{name!r} is no name of a node")
        if count > 1:
            yield Fault(f"there are {count} nodes called {name!r}", name)


def _unknown(names: Sequence[str], edges: Sequence[tuple[str, str]], branchings: Sequence[Branching]) -> Iterable[Fault]:
    known = set(names)
    for source, target in dict.fromkeys(edges):
        if source not in known | {START}:
            yield Fault(f"an edge to {target!r} comes from {source!r}, which is no node", target)
        if target not in known | {END}:
            yield Fault(f"an edge from {source!r} leads to {target!r}, which is no node", source)
    for each in branchings:
        if each.source not in known | {START}:
            yield Fault(f"a condition stands behind {each.source!r}, which is no node")
        if not each.branches:
            yield Fault(f"the condition behind {each.source!r} has no branches", each.source)
        for label, target in each.branches.items():
            if target not in known | {END}:
                yield Fault(
                    f"the branch {label!r} behind {each.source!r} leads to {target!r}, which is no node", each.source
                )


def _lost(
    names: Sequence[str], edges: Mapping[str, tuple[str, ...]], branchings: Mapping[str, tuple[Branching, ...]]
) -> list[Fault]:
    behind = {name: _behind(name, edges, branchings) for name in (START, *names)}
    before: dict[str, list[str]] = {}
    for source, targets in behind.items():
        for target in targets:
            before.setdefault(target, []).append(source)
    if not behind[START]:
        return [Fault("it has no entry point: call set_entry_point(NAME)")]
    seen, ending = _reach(START, behind), _reach(END, before)
    stuck = [name for name in names if not behind[name]]
    endless = [
        name for name in names if behind[name] and name not in ending and not _reach(name, behind).intersection(stuck)
    ]
    return [
        *(Fault(f"the node {name!r} cannot be reached from the entry point", name) for name in names if name not in seen),
        *(Fault(f"the node {name!r} leads nowhere: add an edge to END or to what comes next", name) for name in stuck),
        *(Fault(f"from the node {name!r} no way leads to END", name) for name in endless),
    ]


def _joins(
    names: Sequence[str], edges: Mapping[str, tuple[str, ...]], branchings: Mapping[str, tuple[Branching, ...]]
) -> Mapping[str, frozenset[str]]:
    before: dict[str, list[str]] = {}
    for source in names:
        for target in _behind(source, edges, branchings):
            before.setdefault(target, []).append(source)
    return {name: frozenset(_reach(name, before, through=name)) for name in names if len([*before.get(name, ())]) > 1}


def _reach(begin: str, ways: Mapping[str, Sequence[str]], *, through: str | None = None) -> set[str]:
    """Return *begin* and all that *ways* lead to from there; what lies behind *through* only if begun there."""
    seen, waiting = {begin}, [begin]
    while waiting:
        for each in ways.get(waiting.pop(), ()):
            if each not in seen and each != through:
                seen.add(each)
                waiting.append(each)
    return seen


def _behind(node: str, edges: Mapping[str, tuple[str, ...]], branchings: Mapping[str, tuple[Branching, ...]]) -> list[str]:
    chosen = [target for each in branchings.get(node, ()) for target in each.branches.values()]
    return list(dict.fromkeys([*edges.get(node, ()), *chosen]))
