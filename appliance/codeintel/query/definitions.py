"""Where something is defined: by its name, or by a place where the name stands."""

from collections.abc import Sequence

from appliance.codeintel.citations import cite
from appliance.codeintel.query.asking import Asked, Page
from appliance.codeintel.query.draft import place_of
from appliance.codeintel.query.meaning import Meant, meant
from appliance.codeintel.results import Citation, DefinitionHit, DefinitionsResponse, Subject


def definitions(asked: Asked, subject: Subject, page: Page) -> DefinitionsResponse:
    """Return the definitions that *subject* means; raise as `meant` does."""
    name, found, warnings = meant(subject, asked)
    shown = found[page.part]
    lines, unread = cite([place_of(each.found) for each in shown], texts=asked.texts)
    return DefinitionsResponse(
        name=name,
        definitions=_hits(shown, lines),
        **asked.rest(total=len(found), end=page.end, warnings=(*warnings, *unread)),
    )


def _hits(found: Sequence[Meant], lines: Sequence[Citation]) -> tuple[DefinitionHit, ...]:
    rows = [(each, each.found.row, line) for each, line in zip(found, lines, strict=True)]
    return tuple(
        DefinitionHit(
            line.span, row.name, row.qualname, row.kind, row.signature, row.doc, each.how, each.confidence, line.text
        )
        for each, row, line in rows
    )
