"""The surest way from one definition to another: what uses what uses what."""

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from appliance.codeintel.citations import cite
from appliance.codeintel.query.asking import Asked
from appliance.codeintel.query.called import missing
from appliance.codeintel.query.calls import Call, call_of, with_inner
from appliance.codeintel.query.draft import Code, Found, plain_name
from appliance.codeintel.query.impact import WORTH
from appliance.codeintel.query.meaning import meant
from appliance.codeintel.results import Citation, Hop, PathResponse, Subject
from appliance.codeintel.store.adjacency import Adjacency

_MOST_LOOKED_AT: Final = 50_000  # definitions
_STEP: Final = 0.05  # what a hop costs beside its doubt: of two ways that are as sure the shorter one is better


@dataclass(frozen=True, slots=True)
class _Way:
    """The edges of a way, from its start to its end, and whether some that may be better were not looked at."""

    edges: tuple[int, ...]
    sure: float
    cut: bool = False


def way(asked: Asked, start: Subject, end: Subject) -> PathResponse:
    """Return the surest way from what *start* means to what *end* means, in one repo; raise as `meant` does."""
    first, from_, one = meant(start, asked)
    last, to, other = meant(end, asked)
    found = [(code, _between(code, [m.found for m in from_], [m.found for m in to])) for code in asked.code]
    code, best = max(found, key=lambda each: each[1].sure)
    hops = list(_hops(code, best.edges))
    lines, unread = cite([hop.place() for hop in hops], texts=asked.texts)
    warnings = [*one, *other, *missing(asked, (), "callers"), *unread]
    if any(each.cut for _, each in found):
        warnings.append(f"Only {_MOST_LOOKED_AT:,} definitions around `{last}` were looked at.")
    if not hops:
        back = max(_between(each, [m.found for m in to], [m.found for m in from_]).sure for each in asked.code)
        warnings.append(f"No way from `{first}` to `{last}` could be followed{'; there is one back' if back else ''}.")
    return PathResponse(
        start=first,
        end=last,
        hops=tuple(_hop(hop, line) for hop, line in zip(hops, lines, strict=True)),
        confidence=round(best.sure, 2),
        **asked.rest(total=len(hops), end=len(hops), warnings=warnings),
    )


def way_of(code: Code, start: Sequence[Found], end: Sequence[Found]) -> tuple[list[Call], float]:
    """Return the steps of the surest way from any of *start* to any of *end* in *code*, and how sure it is."""
    best = _between(code, start, end)
    return list(_hops(code, best.edges)), best.sure


def _between(code: Code, start: Sequence[Found], end: Sequence[Found]) -> _Way:
    graph = code.generation.graph
    if graph is None:
        return _Way((), 0.0)
    edges = graph.adjacency
    starts = {int(node) for item in start if item.code is code for node in edges.nodes(with_inner(item))}
    ends = {int(node) for item in end if item.code is code for node in edges.nodes(with_inner(item))}
    return _searched(edges, starts - ends, ends)


def _searched(edges: Adjacency, starts: set[int], ends: set[int]) -> _Way:
    """Go from *ends* against the edges, what is surest first, until one of *starts* is met."""
    costs = dict.fromkeys(ends, 0.0)
    onward: dict[int, int] = {}  # the edge that leads on from each node
    waiting = [(0.0, node) for node in sorted(ends)]
    done: set[int] = set()
    while waiting and starts:
        cost, node = heapq.heappop(waiting)
        if node in done:
            continue
        if node in starts:
            way_on = tuple(_followed(edges, onward, node))
            sure = math.prod(float(edges.confidence[edge] * WORTH[edges.kind[edge]]) for edge in way_on)
            return _Way(way_on, sure)
        done.add(node)
        if len(done) > _MOST_LOOKED_AT:
            return _Way((), 0.0, cut=True)
        for edge in range(int(edges.first[node]), int(edges.first[node + 1])):
            worth = float(edges.confidence[edge] * WORTH[edges.kind[edge]])
            source = int(edges.source[edge])
            further = cost + _STEP - math.log(worth) if worth else math.inf
            if further < costs.get(source, math.inf):
                costs[source], onward[source] = further, edge
                heapq.heappush(waiting, (further, source))
    return _Way((), 0.0)


def _followed(edges: Adjacency, onward: dict[int, int], start: int) -> Iterator[int]:
    node = start
    while (edge := onward.get(node)) is not None:
        yield edge
        node = int(edges.target[edge])


def _hops(code: Code, way_on: Sequence[int]) -> Iterator[Call]:
    graph = code.generation.graph
    if graph is None:
        return
    edges = graph.adjacency
    for edge in way_on:
        target, source = int(edges.ids[edges.target[edge]]), int(edges.ids[edges.source[edge]])
        at = int(edges.line[edge])
        rows = [row for row in graph.uses((target,)) if (row.source, row.line) == (source, at)]
        yield call_of(code, rows[0])


def _hop(hop: Call, line: Citation) -> Hop:
    source = plain_name(hop.caller.qualname) if hop.caller else ""
    return Hop(line.span, source, plain_name(hop.name), hop.kind, hop.how, hop.confidence, line.text)
