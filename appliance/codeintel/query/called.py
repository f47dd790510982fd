"""Pages of calls: those of a definition or in it, and what a change of it reaches."""

from collections.abc import Sequence

from appliance.codeintel.citations import cite
from appliance.codeintel.query.asking import Asked, Page, unknown
from appliance.codeintel.query.calls import CALLING, Call, callees, callers, defined, unfollowed, unresolved
from appliance.codeintel.query.companions import companions
from appliance.codeintel.query.draft import Found, place_of, plain_name, several
from appliance.codeintel.query.impact import Reached, impact
from appliance.codeintel.query.meaning import meant
from appliance.codeintel.results import (
    CallHit,
    CallsResponse,
    Citation,
    Direction,
    ImpactHit,
    ImpactResponse,
    Subject,
)
from appliance.codeintel.store.graph import CallGraph


def calls(asked: Asked, subject: Subject, direction: Direction, page: Page) -> CallsResponse:
    """Return the calls of what *subject* means, or those in it; raise as `asked_of` does."""
    name, found, warnings = asked_of(subject, asked)
    listed = [call for item in found for call in _of(item, direction)]
    shown = listed[page.part]
    definitions, first = cite([place_of(item) for item in found[: page.limit]], texts=asked.texts)
    lines, second = cite([call.place() for call in shown], texts=asked.texts)
    said = missing(asked, found, direction)
    return CallsResponse(
        name=name,
        direction=direction,
        definitions=definitions,
        calls=tuple(_hit(call, line) for call, line in zip(shown, lines, strict=True)),
        **asked.rest(total=len(listed), end=page.end, warnings=[*warnings, *said, *first, *second]),
    )


def reached(asked: Asked, subject: Subject, steps: int, page: Page) -> ImpactResponse:
    """Return what a change of what *subject* means can reach within *steps*; raise as `meant` does."""
    name, every, warnings = meant(subject, asked)
    found = [each.found for each in every]
    graphs = [(item, item.code.generation.graph) for item in found]
    impacts = [impact(item, graph, steps=steps) for item, graph in graphs if graph is not None]
    shown = [each for one, part in zip(impacts, page.parts(map(len, impacts)), strict=True) for each in one.page(part)]
    definitions, first = cite([place_of(item) for item in found[: page.limit]], texts=asked.texts)
    lines, second = cite([each.place() for each in shown], texts=asked.texts)
    said = missing(asked, found, "callers")
    together, unsaid = companions(asked, found)
    return ImpactResponse(
        name=name,
        definitions=definitions,
        reached=tuple(_reached(each, line) for each, line in zip(shown, lines, strict=True)),
        tests=sum(one.tests for one in impacts),
        cut=any(one.cut for one in impacts),
        together=together,
        unresolved=_share_unresolved(graphs),
        **asked.rest(total=sum(map(len, impacts)), end=page.end, warnings=[*warnings, *said, *first, *second, *unsaid]),
    )


def _share_unresolved(graphs: Sequence[tuple[Found, CallGraph | None]]) -> float:
    infos = [graph.info for graph in dict.fromkeys(graph for _, graph in graphs) if graph is not None]
    told = sum(info.edges + info.outside for info in infos)
    lost = sum(info.unresolved for info in infos)
    return round(lost / (told + lost), 3) if told + lost else 0.0


def asked_of(subject: Subject, asked: Asked) -> tuple[str, list[Found], list[str]]:
    """Return a name, the definitions that it means and can call or be called, and warnings; raise as `meant` does.

    Raise `NotFound` too when there are only others of that name.
    """
    name, every, warnings = meant(subject, asked)
    found = defined([each.found for each in every if each.found.row.kind in CALLING])
    if not found:
        raise unknown(name, asked.code, what="Nothing that can call or be called")
    return name, found, warnings


def missing(asked: Asked, found: Sequence[Found], direction: Direction) -> list[str]:
    """Return what the graph cannot know of *found*."""
    said = [f"{part.repo.name}: {what}" for part in asked.parts for what in unfollowed(part.generation)]
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


def _of(item: Found, direction: Direction) -> list[Call]:
    graph = item.code.generation.graph
    if graph is None:
        return []
    return callers(item, graph) if direction == "callers" else callees(item, graph)


def _reached(each: Reached, line: Citation) -> ImpactHit:
    symbol, kind = (each.symbol.qualname, each.symbol.kind) if each.symbol else ("", "")
    return ImpactHit(line.span, symbol, kind, each.via.qualname, each.steps, each.confidence, each.test, line.text)


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
