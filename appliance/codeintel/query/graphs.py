"""Questions to the graph: every call of a definition, or every call in it, page by page, with its line."""

import asyncio
from collections.abc import Sequence
from typing import Final

from appliance.base.clock import Clock
from appliance.codeintel.citations import cite
from appliance.codeintel.query.calls import Call, asked_of, callees, callers, unfollowed, unresolved
from appliance.codeintel.query.draft import Code, Found, place_of, plain_name, several
from appliance.codeintel.query.parts import Part, counted_behind, dated, open_parts, repos_of, staleness, texts_of
from appliance.codeintel.questions import StructureQuery
from appliance.codeintel.results import CallHit, CallsResponse, Citation, Direction, Scope
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
        if not 1 <= limit <= MOST_CALLS or offset < 0:
            raise InvalidInput(f"A page has 1 to {MOST_CALLS} calls and starts at 0 or later.", limit=limit, offset=offset)
        return await asyncio.to_thread(self._calls, name, direction, scope, limit, offset)

    def _calls(self, name: str, direction: Direction, scope: Scope, limit: int, offset: int) -> CallsResponse:
        start = self._clock.monotonic()
        parts, warnings = open_parts(self._generations, repos_of(self._generations, scope))
        counting = counted_behind(parts, self._generations)
        several_repos = len(parts) > 1
        code = [Code(part.generation, part.repo.name, f"{part.repo.name}: " if several_repos else "") for part in parts]
        found = asked_of(StructureQuery(direction, name.strip().removesuffix("()"), plain=False), code)
        if not found:
            said = f"Nothing that can call or be called is named {name!r}."
            raise NotFound(said, remedy="Search for it: `skellig search`.")
        calls = [call for item in found for call in _of(item, direction)]
        page = calls[offset : offset + limit]
        texts = texts_of(parts, self._generations)
        definitions, first = cite([place_of(item) for item in found[:limit]], texts=texts)
        lines, second = cite([call.place() for call in page], texts=texts)
        parts = dated(parts, counting, within=_BEHIND_S)
        return CallsResponse(
            name=name,
            direction=direction,
            definitions=definitions,
            calls=tuple(_hit(call, line) for call, line in zip(page, lines, strict=True)),
            total=len(calls),
            truncated=offset + len(page) < len(calls),
            freshness=tuple(part.freshness for part in parts),
            warnings=(*warnings, *_missing(found, parts, direction), *staleness(parts), *first, *second),
            timings={"total_ms": round((self._clock.monotonic() - start) * 1000, 3)},
        )


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
