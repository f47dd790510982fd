"""What a change of a definition can reach: what calls it, and what calls that in turn, less surely with each step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

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
from appliance.codeintel.store.graph import CallGraph
from appliance.codeintel.store.symbols import SymbolRow

MOST_STEPS: Final = 5
_MOST: Final = 5_000  # that are reached; a definition with more reaches everything
_LEAST: Final = 0.05  # confidence; less says nothing
_Way = tuple[int, int, int]  # steps, what is called, the line of the call


@dataclass(frozen=True, slots=True)
class Reached:
    """Something that a change reaches: by a call at ``line`` of ``path`` to ``via``, which is ``steps`` - 1 calls away.

    ``symbol`` is None for the top level of the file. ``confidence`` is that of the surest way, its calls' multiplied.
    """

    code: Code
    path: str
    line: int
    symbol: SymbolRow | None
    via: SymbolRow
    steps: int
    confidence: float

    @property
    def test(self) -> bool:
        """Whether it stands in a test."""
        files = self.code.generation.files
        return bool(int(files.flags[files.number(self.path) or 0]) & FileFlags.TEST)

    def place(self) -> Place:
        """Return the line of the call."""
        info, files = self.code.generation.info, self.code.generation.files
        blob = files.blobs[files.number(self.path) or 0]
        symbol, kind = (self.symbol.qualname, self.symbol.kind) if self.symbol else ("", "")
        return Place(info.repo, self.code.repo_name, info.commit, self.path, blob, self.line, self.line, symbol, kind)


@dataclass(frozen=True, slots=True)
class Impact:
    """What is reached, nearest first, then surest, code before tests. ``cut``: there is more."""

    reached: tuple[Reached, ...]
    cut: bool


def impact(found: Found, graph: CallGraph, *, steps: int = MOST_STEPS) -> Impact:
    """Return what a change of *found* can reach within so many calls."""
    start = with_inner(found)
    sure = dict.fromkeys(start, 1.0)
    ways: dict[int, _Way] = {}
    frontier, cut = list(start), False
    for step in range(1, steps + 1):
        coming: dict[int, float] = {}
        for target, source, line, confidence in graph.reaching(frontier):
            surest = sure[target] * confidence
            if source not in sure and surest >= _LEAST and surest > coming.get(source, 0.0):
                coming[source] = surest
                ways[source] = (step, target, line)
        sure |= coming
        frontier = [source for source in coming if source >= 0]
        cut = len(sure) > _MOST
        if cut or not frontier:
            break
    rows = _rows(found.code, ways)
    reached = [_reached(found.code, rows, source, way, round(sure[source], 2)) for source, way in ways.items()]
    return Impact(tuple(sorted(reached, key=_order)[:_MOST]), cut)


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
        draft.say(f"{head} can reach {what}, within {MOST_STEPS} calls.", place_of(item))
        for each in found.reached[:MAX_LISTED]:
            draft.say(_said(each), each.place())
        draft.cut(MAX_LISTED, len(found.reached), what="places that it reaches")
        if lost := graph.unresolved_named(item.row.name):
            draft.warnings.append(f"{several(lost, 'call')} of something named `{item.row.name}` could not be told.")


def _rows(code: Code, ways: Mapping[int, _Way]) -> dict[int, SymbolRow]:
    ids = {number for source, (_, target, _) in ways.items() for number in (source, target) if number >= 0}
    return {row.id: row for row in code.generation.symbols.rows(sorted(ids))}


def _reached(code: Code, rows: Mapping[int, SymbolRow], source: int, way: _Way, confidence: float) -> Reached:
    step, target, line = way
    symbol = rows.get(source)
    path = symbol.path if symbol else code.generation.files.paths[-1 - source]
    return Reached(code, path, line, symbol, rows[target], step, confidence)


def _order(each: Reached) -> tuple[int, bool, float, str, int]:
    files = each.code.generation.files
    aside = is_aside(each.code.generation, files.number(each.path) or 0)
    return each.steps, aside, -each.confidence, each.path, each.line


def _said(each: Reached) -> str:
    who = f"`{plain_name(each.symbol.qualname)}`" if each.symbol else f"The top level of {display(each.path)}"
    where = f"{each.code.label}{display(each.path)}:{each.line}"
    if each.steps == 1:
        return f"{who} calls it at {where} ({each.confidence:.0%} sure)."
    through = plain_name(each.via.qualname)
    return f"{who} is {each.steps} calls away, through `{through}` at {where} ({each.confidence:.0%} sure)."
