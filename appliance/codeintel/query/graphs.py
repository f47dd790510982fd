"""Questions to the graph: every call of a definition, or every call in it, page by page, with its line."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

from appliance.base.clock import Clock
from appliance.codeintel.citations import Texts, cite
from appliance.codeintel.query.calls import Call, asked_of, callees, callers, unfollowed, unresolved
from appliance.codeintel.query.draft import Code, Found, place_of, plain_name, several
from appliance.codeintel.query.impact import MOST_STEPS, Reached, impact
from appliance.codeintel.query.parts import Part, counted_behind, dated, open_parts, repos_of, staleness, texts_of
from appliance.codeintel.questions import Intent, StructureQuery
from appliance.codeintel.results import CallHit, CallsResponse, Citation, Direction, ImpactHit, ImpactResponse, Scope
from appliance.codeintel.store.generations import Generations
from appliance.errors import InvalidInput, NotFound

MOST_CALLS: Final = 100
_BEHIND_S: Final = 0.05


class GraphReader:
    """Answers questions to the graph."""

    def __init__(self, generations: Generations, clock: Clock) -> None:
        self._generations = generations
        self._clock = clock

    async def calls(
        self, name: str, direction: Direction, *, scope: Scope, limit: int = 50, offset: int = 0
    ) -> CallsResponse:
        """Return the calls of what is called *name*, or those in it, from *offset* on, at most *limit*.

        *name* may be qualified: ``Client.stream``, ``client.py`` before it, a module. Raise `NotFound` when nothing of
        *scope* is indexed, or has a definition of that name that can call or be called; `InvalidInput` for a page that
        cannot be.
        """
        _refuse_odd(limit, offset)
        return await asyncio.to_thread(self._calls, name, direction, scope, limit, offset)

    async def impact(
        self, name: str, *, scope: Scope, steps: int = MOST_STEPS, limit: int = 50, offset: int = 0
    ) -> ImpactResponse:
        """Return what a change of what is called *name* can reach within *steps* calls; raise as `calls` does."""
        _refuse_odd(limit, offset)
        return await asyncio.to_thread(self._impact, name, scope, steps, limit, offset)

    def _calls(self, name: str, direction: Direction, scope: Scope, limit: int, offset: int) -> CallsResponse:
        start = self._clock.monotonic()
        asked = self._ask(name, direction, scope)
        calls = [call for item in asked.found for call in _of(item, direction)]
        page = calls[offset : offset + limit]
        definitions, first = cite([place_of(item) for item in asked.found[:limit]], texts=asked.texts)
        lines, second = cite([call.place() for call in page], texts=asked.texts)
        parts = dated(asked.parts, asked.counting, within=_BEHIND_S)
        return CallsResponse(
            name=name,
            direction=direction,
            definitions=definitions,
            calls=tuple(_hit(call, line) for call, line in zip(page, lines, strict=True)),
            total=len(calls),
            truncated=offset + len(page) < len(calls),
            freshness=tuple(part.freshness for part in parts),
            warnings=(*asked.warnings, *_missing(asked.found, parts, direction), *staleness(parts), *first, *second),
            timings={"total_ms": round((self._clock.monotonic() - start) * 1000, 3)},
        )

    def _impact(self, name: str, scope: Scope, steps: int, limit: int, offset: int) -> ImpactResponse:
        start = self._clock.monotonic()
        asked = self._ask(name, "impact", scope)
        graphs = [(item, item.code.generation.graph) for item in asked.found]
        impacts = [impact(item, graph, steps=steps) for item, graph in graphs if graph is not None]
        reached = [each for one in impacts for each in one.reached]
        page = reached[offset : offset + limit]
        definitions, first = cite([place_of(item) for item in asked.found[:limit]], texts=asked.texts)
        lines, second = cite([each.place() for each in page], texts=asked.texts)
        parts = dated(asked.parts, asked.counting, within=_BEHIND_S)
        return ImpactResponse(
            name=name,
            definitions=definitions,
            reached=tuple(_reached(each, line) for each, line in zip(page, lines, strict=True)),
            total=len(reached),
            tests=sum(each.test for each in reached),
            truncated=offset + len(page) < len(reached),
            cut=any(one.cut for one in impacts),
            freshness=tuple(part.freshness for part in parts),
            warnings=(*asked.warnings, *_missing(asked.found, parts, "callers"), *staleness(parts), *first, *second),
            timings={"total_ms": round((self._clock.monotonic() - start) * 1000, 3)},
        )

    def _ask(self, name: str, intent: Intent, scope: Scope) -> "_Asked":
        parts, warnings = open_parts(self._generations, repos_of(self._generations, scope))
        counting = counted_behind(parts, self._generations)
        labelled = len(parts) > 1
        code = [Code(part.generation, part.repo.name, f"{part.repo.name}: " if labelled else "") for part in parts]
        found = asked_of(StructureQuery(intent, name.strip().removesuffix("()"), plain=False), code)
        if not found:
            said = f"Nothing that can call or be called is named {name!r}."
            raise NotFound(said, remedy="Search for it: `skellig search`.")
        return _Asked(parts, tuple(warnings), counting, found, texts_of(parts, self._generations))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one question is about."""

    parts: list[Part]
    warnings: tuple[str, ...]
    counting: "list[Future[int | None]]"
    found: list[Found]
    texts: Texts


def _refuse_odd(limit: int, offset: int) -> None:
    if not 1 <= limit <= MOST_CALLS or offset < 0:
        raise InvalidInput(f"A page has 1 to {MOST_CALLS} calls and starts at 0 or later.", limit=limit, offset=offset)


def _reached(each: Reached, line: Citation) -> ImpactHit:
    symbol, kind = (each.symbol.qualname, each.symbol.kind) if each.symbol else ("", "")
    return ImpactHit(line.span, symbol, kind, each.via.qualname, each.steps, each.confidence, each.test, line.text)


def _of(item: Found, direction: Direction) -> list[Call]:
    graph = item.code.generation.graph
    if graph is None:
        return []
    return callers(item, graph) if direction == "callers" else callees(item, graph)


def _hit(call: Call, line: Citation) -> CallHit:
    return CallHit(
        span=line.span,
        caller=call.caller.qualname if call.caller else "",
        callee=call.name,
        inside=call.callee is not None,
        kind=call.kind,
        how=call.how,
        confidence=call.confidence,
        text=line.text,
    )


def _missing(found: Sequence[Found], parts: Sequence[Part], direction: Direction) -> list[str]:
    """Return what the graph cannot know of *found*."""
    said = [f"{part.repo.name}: {what}" for part in parts for what in unfollowed(part.generation)]
    for item in found:
        graph = item.code.generation.graph
        if graph is None:
            continue
        name = plain_name(item.row.qualname)
        if direction == "callees" and (lost := unresolved(item, graph)):
            said.append(f"{several(lost, 'call')} in `{name}` could not be told.")
        elif direction == "callers" and (lost := graph.unresolved_named(item.row.name)):
            said.append(f"{several(lost, 'call')} of something named `{item.row.name}` could not be told.")
    return list(dict.fromkeys(said))
