"""The shape of a graph: which nodes there are, where each leads, and everything that is wrong with it."""

import hashlib
import json
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

    def behind(self, node: str) -> list[str]:
        """Return every place to which *node* may lead, END among them."""
        return _behind(node, self.edges, self.branchings)

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


def shape(names: Sequence[str], edges: Sequence[tuple[str, str]], branchings: Sequence[Branching]) -> Shape:
    """Return the shape; raise `InvalidInput` with a sentence for each fault."""
    leads = {name: tuple(dict.fromkeys(target for source, target in edges if source == name)) for name in (START, *names)}
    chooses = {name: tuple(each for each in branchings if each.source == name) for name in (START, *names)}
    if faults := [*_bad_names(names), *_unknown(names, edges, branchings)] or _lost(names, leads, chooses):
        more = [f"and {len(faults) - _SHOWN} more"] if len(faults) > _SHOWN else []
        raise InvalidInput("The graph cannot run: " + "; ".join([*faults[:_SHOWN], *more]) + ".", faults=faults)
    return Shape(tuple(names), leads, chooses, _joins(names, leads, chooses))


def _bad_names(names: Sequence[str]) -> Iterable[str]:
    if not names:
        yield "it has no node"
    for name in dict.fromkeys(names):
        if name in (START, END):
            yield f"{name!r} is a name of its own and no node can have it"
        if not isinstance(name, str) or not name.strip():
            yield f"{name!r} is no name of a node"
        if names.count(name) > 1:
            yield f"there are {names.count(name)} nodes called {name!r}"


def _unknown(names: Sequence[str], edges: Sequence[tuple[str, str]], branchings: Sequence[Branching]) -> Iterable[str]:
    known = set(names)
    for source, target in dict.fromkeys(edges):
        if source not in known | {START}:
            yield f"an edge to {target!r} comes from {source!r}, which is no node"
        if target not in known | {END}:
            yield f"an edge from {source!r} leads to {target!r}, which is no node"
    for each in branchings:
        if each.source not in known | {START}:
            yield f"a condition stands behind {each.source!r}, which is no node"
        if not each.branches:
            yield f"the condition behind {each.source!r} has no branches"
        for label, target in each.branches.items():
            if target not in known | {END}:
                yield f"the branch {label!r} behind {each.source!r} leads to {target!r}, which is no node"


def _lost(
    names: Sequence[str], edges: Mapping[str, tuple[str, ...]], branchings: Mapping[str, tuple[Branching, ...]]
) -> list[str]:
    behind = {name: _behind(name, edges, branchings) for name in (START, *names)}
    before: dict[str, list[str]] = {}
    for source, targets in behind.items():
        for target in targets:
            before.setdefault(target, []).append(source)
    if not behind[START]:
        return ["it has no entry point: call set_entry_point(NAME)"]
    seen, ending = _reach(START, behind), _reach(END, before)
    return [
        *(f"the node {name!r} cannot be reached from the entry point" for name in names if name not in seen),
        *(
            f"the node {name!r} leads nowhere: add an edge to END or to the node that comes next"
            for name in names
            if not behind[name]
        ),
        *(
            f"from the node {name!r} no way leads to END"
            for name in names
            if behind[name] and name not in ending and all(behind[each] for each in _reach(name, behind))
        ),
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
