"""What a change of a definition can reach: what uses it, and what uses that in turn, less surely with each step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from appliance.base.paths import display
from appliance.codeintel.citations import Place
from appliance.codeintel.query.calls import following, with_inner
from appliance.codeintel.query.draft import (
    MAX_LISTED,
    Code,
    Draft,
    Found,
    is_aside,
    place_of,
    plain_name,
    several,
    stands_at,
)  # fmt: skip
from appliance.codeintel.questions import StructureQuery
from appliance.codeintel.source.base import FileFlags
from appliance.codeintel.store.adjacency import Adjacency, Ints
from appliance.codeintel.store.files import Files
from appliance.codeintel.store.graph import CallGraph
from appliance.codeintel.store.kinds import FIRST_USE, KIND_NUMBERS, KINDS
from appliance.codeintel.store.symbols import SymbolRow

MOST_STEPS: Final = 5
_MOST: Final = 5_000  # that are reached; a definition with more reaches everything
_LEAST: Final = 0.05  # confidence; less says nothing
_SHARES: Final = {
    "inherits": 0.9,
    "implements": 0.9,
    "overrides": 0.5,
    "imports": 0.0,
    "references": 0.8,
}  # of a call's worth
WORTH: Final = np.array([_SHARES.get(KINDS.get(number, ""), 1.0) for number in range(256)], dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Reached:
    """Something that a change reaches: by a use at ``line`` of a file of ``via``, which is ``steps`` - 1 uses away.

    ``symbol`` is None for the top level of the file. ``confidence`` is that of the surest way, its uses' multiplied.
    """

    code: Code
    file: int
    line: int
    kind: str  # of the use
    symbol: SymbolRow | None
    via: SymbolRow
    steps: int
    confidence: float

    @property
    def test(self) -> bool:
        """Whether it stands in a test."""
        return in_test(self.code.generation.files, self.path, self.symbol)

    @property
    def path(self) -> str:
        """The file that the use stands in."""
        return self.code.generation.files.paths[self.file]

    def place(self) -> Place:
        """Return the line of the use."""
        info, files = self.code.generation.info, self.code.generation.files
        blob = files.blobs[self.file]
        symbol, kind = (self.symbol.qualname, self.symbol.kind) if self.symbol else ("", "")
        return Place(info.repo, self.code.repo_name, info.commit, self.path, blob, self.line, self.line, symbol, kind)


def in_test(files: Files, path: str, symbol: SymbolRow | None) -> bool:
    """Return whether *symbol* of the file at *path* stands in a test: by its file, or in Rust by the module ``tests``."""
    inner = symbol is not None and path.endswith(".rs") and "tests" in symbol.qualname.split(".")[:-1]
    return inner or bool(int(files.flags[files.number(path) or 0]) & FileFlags.TEST)


@dataclass(frozen=True, slots=True)
class Impact:
    """What is reached, nearest first, then surest, code before tests. ``cut``: there is more."""

    reached: tuple[Reached, ...]
    cut: bool


def impact(found: Found, graph: CallGraph, *, steps: int = MOST_STEPS) -> Impact:
    """Return what a change of *found* can reach within so many steps."""
    edges = graph.adjacency
    sure = np.zeros(len(edges.ids), dtype=np.float32)
    frontier = edges.nodes(with_inner(found))
    sure[frontier] = 1.0
    ways: list[tuple[int, Ints, Ints]] = []  # step, nodes, and the edges that led to them
    reached, cut = 0, False
    for step in range(1, steps + 1):
        ways.append((step, *_further(edges, frontier, sure)))
        nodes = ways[-1][1]
        reached += len(nodes)
        frontier = nodes[edges.ids[nodes] >= 0]
        cut = reached > _MOST
        if cut or not len(frontier):
            break
    listed = _rows(found.code, edges, ways, sure)
    return Impact(tuple(sorted(listed, key=_order)[:_MOST]), cut)


def _further(edges: Adjacency, frontier: Ints, sure: npt.NDArray[np.float32]) -> tuple[Ints, Ints]:
    """Return what leads to *frontier* and was not reached yet, with the surest edge of each, and note how *sure* it is."""
    into = edges.into(frontier)
    sources = edges.source[into]
    value = sure[edges.target[into]] * edges.confidence[into] * WORTH[edges.kind[into]]
    fresh = (sure[sources] == 0) & (value >= _LEAST)
    into, sources, value = into[fresh], sources[fresh], value[fresh]
    order = np.lexsort((into, -value, sources))
    nodes, first = np.unique(sources[order], return_index=True)
    best = order[first]
    sure[nodes] = value[best]
    return nodes.astype(np.int64), into[best]


def say_impact(query: StructureQuery, code: Sequence[Code], draft: Draft) -> None:
    """Put the answer to what a change of what *query* names can reach into *draft*."""
    for item in following(query, code, draft):
        graph = item.code.generation.graph
        if graph is None:
            continue
        found = impact(item, graph)
        tests = sum(each.test for each in found.reached)
        head = f"A change of `{plain_name(item.row.qualname)}` ({item.row.kind}, {stands_at(item)})"
        if not found.reached:
            draft.say(f"{head} reaches nothing that could be followed.", place_of(item))
            continue
        more = "at least " if found.cut else ""
        what = f"{more}{several(len(found.reached) - tests, 'place')} in the code and {several(tests, 'test')}"
        draft.say(f"{head} can reach {what}, within {MOST_STEPS} steps.", place_of(item))
        for each in found.reached[:MAX_LISTED]:
            draft.say(_said(each), each.place())
        draft.cut(MAX_LISTED, len(found.reached), what="places that it reaches")
        if lost := graph.unresolved_named(item.row.name):
            draft.warnings.append(f"{several(lost, 'call')} of something named `{item.row.name}` could not be told.")


def _rows(
    code: Code, edges: Adjacency, ways: Sequence[tuple[int, Ints, Ints]], sure: npt.NDArray[np.float32]
) -> list[Reached]:
    found = [
        (step, *each)
        for step, nodes, into in ways
        for each in zip(
            edges.ids[nodes].tolist(), edges.ids[edges.target[into]].tolist(), edges.line[into].tolist(),
            edges.kind[into].tolist(), sure[nodes].tolist(), strict=True,
        )
    ]  # fmt: skip
    ids = {number for _, source, target, *_ in found for number in (source, target) if number >= 0}
    rows = {row.id: row for row in code.generation.symbols.rows(sorted(ids))}
    return [
        Reached(
            code, rows[source].file if source >= 0 else -1 - source, line, KINDS[kind], rows.get(source), rows[target],
            step, round(confidence, 2),
        )
        for step, source, target, line, kind, confidence in found
    ]  # fmt: skip


def _order(each: Reached) -> tuple[int, bool, float, str, int]:
    return each.steps, is_aside(each.code.generation, each.file), -each.confidence, each.path, each.line


def _said(each: Reached) -> str:
    who = f"`{plain_name(each.symbol.qualname)}`" if each.symbol else f"The top level of {display(each.path)}"
    where = f"{each.code.label}{display(each.path)}:{each.line}"
    if each.steps == 1:
        verb = "calls" if KIND_NUMBERS[each.kind] < FIRST_USE else "uses"
        return f"{who} {verb} it at {where} ({each.confidence:.0%} sure)."
    through = plain_name(each.via.qualname)
    return f"{who} is {each.steps} steps away, through `{through}` at {where} ({each.confidence:.0%} sure)."
