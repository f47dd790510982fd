"""Every use of a definition that the graph knows, of whatever kind."""

from collections import Counter

from appliance.codeintel.citations import cite
from appliance.codeintel.query.asking import Asked, Page
from appliance.codeintel.query.called import missing
from appliance.codeintel.query.calls import Call, uses
from appliance.codeintel.query.draft import place_of
from appliance.codeintel.query.impact import in_test
from appliance.codeintel.query.meaning import meant
from appliance.codeintel.results import Citation, ReferenceHit, ReferencesResponse, Subject


def references(asked: Asked, subject: Subject, page: Page) -> ReferencesResponse:
    """Return the uses of what *subject* means; raise as `meant` does."""
    name, every, warnings = meant(subject, asked)
    found = [each.found for each in every]
    graphs = [(item, item.code.generation.graph) for item in found]
    listed = [use for item, graph in graphs if graph is not None for use in uses(item, graph)]
    shown = listed[page.part]
    definitions, first = cite([place_of(item) for item in found[: page.limit]], texts=asked.texts)
    lines, second = cite([use.place() for use in shown], texts=asked.texts)
    said = missing(asked, found, "callers")
    return ReferencesResponse(
        name=name,
        definitions=definitions,
        references=tuple(_hit(use, line) for use, line in zip(shown, lines, strict=True)),
        kinds=dict(Counter(use.kind for use in listed).most_common()),
        **asked.rest(total=len(listed), end=page.end, warnings=[*warnings, *said, *first, *second]),
    )


def _hit(use: Call, line: Citation) -> ReferenceHit:
    return ReferenceHit(
        span=line.span,
        inside=use.caller.qualname if use.caller else "",
        symbol=use.name,
        kind=use.kind,
        how=use.how,
        confidence=use.confidence,
        test=in_test(use.code.generation.files, use.path, use.caller),
        text=line.text,
    )
