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
    ASIDE,
    MAX_LISTED,
    Code,
    Draft,
    Found,
    place_of,
    plain_name,
    several,
    stands_at,
)  # fmt: skip
from appliance.codeintel.questions import StructureQuery
from appliance.codeintel.source.base import FileFlags
from appliance.codeintel.store.adjacency import Adjacency, Ints
from appliance.codeintel.store.files import Files
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.graph import CallGraph
from appliance.codeintel.store.kinds import FIRST_USE, KIND_NUMBERS, KINDS
from appliance.codeintel.store.symbols import SymbolRow

MOST_STEPS: Final = 5
_MOST: Final = 5_000  # that are reached; a definition with more reaches everything
_RUST: Final = ".rs"  # whose tests stand in modules, beside what they are of
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
    inner = symbol is not None and path.endswith(_RUST) and _in_test_module(symbol.qualname)
    return inner or bool(int(files.flags[files.number(path) or 0]) & FileFlags.TEST)


def _in_test_module(qualname: str) -> bool:
    return "tests" in qualname.split(".")[:-1]


@dataclass(frozen=True, slots=True)
class Impact:
    """What is reached, nearest first, then surest, code before tests. ``cut``: there is more.

    It is kept as nodes of the graph, the edge that leads on from each, and how far and how sure it is: whoever shows a part
    of it has that looked up.
    """

    code: Code
    cut: bool
    _edges: Adjacency
    _nodes: Ints
    _into: Ints
    _steps: Ints
    _sure: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self._nodes)

    def page(self, part: slice) -> list[Reached]:
        """Return *part* of what is reached."""
        edges, into = self._edges, self._into[part]
        ends = edges.ids[self._nodes[part]].tolist(), edges.ids[edges.target[into]].tolist()
        rows = {
            row.id: row for row in self.code.generation.symbols.rows(sorted({n for each in ends for n in each if n >= 0}))
        }
        columns = (edges.line[into], edges.kind[into], self._steps[part], self._sure[part])
        return [
            Reached(
                self.code, rows[source].file if source >= 0 else -1 - source, line, KINDS[kind], rows.get(source),
                rows[target], steps, round(sure, 2),
            )
            for source, target, line, kind, steps, sure in zip(*ends, *(each.tolist() for each in columns), strict=True)
        ]  # fmt: skip

    @property
    def tests(self) -> int:
        """How many of them stand in tests."""
        generation, ids = self.code.generation, self._edges.ids[self._nodes]
        files = generation.files.file_of(ids)
        test = (generation.files.flags[files] & FileFlags.TEST) != 0
        rust = [number for number in np.unique(files[~test]).tolist() if generation.files.paths[number].endswith(_RUST)]
        within = ids[np.isin(files, rust) & ~test & (ids >= 0)].tolist() if rust else []
        return int(test.sum()) + sum(map(_in_test_module, generation.symbols.qualnames(within)))


def impact(found: Found, graph: CallGraph, *, steps: int = MOST_STEPS) -> Impact:
    """Return what a change of *found* can reach within so many steps."""
    edges = graph.adjacency
    sure = np.zeros(len(edges.ids), dtype=np.float32)
    frontier = edges.nodes(with_inner(found))
    sure[frontier] = 1.0
    ways = [(frontier[:0], frontier[:0])]  # by step: nodes, and the edges that led to them
    cut = False
    for _ in range(steps):
        ways.append(_further(edges, frontier, sure))
        frontier = ways[-1][0]
        cut = sum(len(nodes) for nodes, _ in ways) > _MOST
        frontier = frontier[edges.ids[frontier] >= 0]
        if cut or not len(frontier):
            break
    nodes, into = (np.concatenate(each) for each in zip(*ways, strict=True))
    far = np.repeat(np.arange(len(ways)), [len(each) for each, _ in ways])
    order = _order(found.code.generation, edges, nodes, into, far, sure[nodes])[:_MOST]
    return Impact(found.code, cut, edges, nodes[order], into[order], far[order], sure[nodes[order]])


def _order(
    generation: Generation, edges: Adjacency, nodes: Ints, into: Ints, far: Ints, sure: npt.NDArray[np.float32]
) -> Ints:
    """Return the places of *nodes* in the order in which they are told of."""
    files = generation.files.file_of(edges.ids[nodes])
    aside = (generation.files.flags[files] & ASIDE) != 0
    rank = generation.files.rank[files]
    return np.lexsort((edges.line[into], rank, -np.round(sure.astype(np.float64), 2), aside, far))


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
        head = f"A change of `{plain_name(item.row.qualname)}` ({item.row.kind}, {stands_at(item)})"
        if not len(found):
            draft.say(f"{head} reaches nothing that could be followed.", place_of(item))
            continue
        more = "at least " if found.cut else ""
        what = f"{more}{several(len(found) - found.tests, 'place')} in the code and {several(found.tests, 'test')}"
        draft.say(f"{head} can reach {what}, within {MOST_STEPS} steps.", place_of(item))
        for each in found.page(slice(MAX_LISTED)):
            draft.say(_said(each), each.place())
        draft.cut(MAX_LISTED, len(found), what="places that it reaches")
        if lost := graph.unresolved_named(item.row.name):
            draft.warnings.append(f"{several(lost, 'call')} of something named `{item.row.name}` could not be told.")


def _said(each: Reached) -> str:
    who = f"`{plain_name(each.symbol.qualname)}`" if each.symbol else f"The top level of {display(each.path)}"
    where = f"{each.code.label}{display(each.path)}:{each.line}"
    if each.steps == 1:
        verb = "calls" if KIND_NUMBERS[each.kind] < FIRST_USE else "uses"
        return f"{who} {verb} it at {where} ({each.confidence:.0%} sure)."
    through = plain_name(each.via.qualname)
    return f"{who} is {each.steps} steps away, through `{through}` at {where} ({each.confidence:.0%} sure)."
