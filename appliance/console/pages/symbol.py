"""What a name means, who uses it and what it calls: a page of its own, and with script a part of the file's page."""

from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, TypeVar
from urllib.parse import urlencode

from litestar import Response, get
from litestar.params import QueryParameter

from appliance.base.paths import display
from appliance.codeintel.results import (
    CallsResponse,
    DefinitionHit,
    Listing,
    Pointed,
    ReferencesResponse,
    Scope,
    Subject,
)
from appliance.console.code import Place
from appliance.console.render import Page
from appliance.console.text import count
from appliance.console.wiring import Pages
from appliance.errors import ApplianceError, InvalidInput
from appliance.web.requests import exact_path
from appliance.web.wiring import Asked, Wired

_DEFINITIONS: Final = 5
_USES: Final = 40
_CALLS: Final = 60  # of each direction: what is drawn and listed
_LAST_LINE: Final = 100_000_000
_LONGEST: Final = 300  # characters of a name

_List = TypeVar("_List", bound=Listing)


@dataclass(frozen=True, slots=True)
class Meaning:
    """A definition, with the question that asks about it."""

    place: Place
    symbol: str
    kind: str
    signature: str
    doc: str
    unsure: str
    ask: str


@dataclass(frozen=True, slots=True)
class Use:
    """A line that uses it."""

    place: Place
    inside: str
    kind: str
    unsure: str
    text: str


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Something that calls it, or that it calls: where it stands, or that it lies outside, and how often."""

    name: str
    where: str
    href: str
    times: int


@dataclass(frozen=True, slots=True)
class SymbolView:
    """The page. ``more`` says what of each list is not shown."""

    name: str
    repo: str
    meanings: tuple[Meaning, ...]
    uses: tuple[Use, ...]
    kinds: tuple[tuple[str, int], ...]
    callers: tuple[Neighbour, ...]
    callees: tuple[Neighbour, ...]
    warnings: tuple[str, ...]
    more: str


@get("/symbol")
async def show(  # noqa: PLR0913, PLR0917 - the address has these parts
    request: Asked,
    services: Wired,
    pages: Pages,
    repo: Annotated[str, QueryParameter(max_length=100)],
    line: Annotated[int, QueryParameter(ge=0, le=_LAST_LINE)] = 0,
    column: Annotated[int, QueryParameter(ge=0, le=_LAST_LINE)] = 0,
    word: Annotated[str, QueryParameter(max_length=_LONGEST)] = "",
    name: Annotated[str, QueryParameter(max_length=_LONGEST)] = "",
) -> Response[str]:
    """Show what *name* means in *repo*; or what *word* means, or what stands at *column*, on *line* of the file ``path``."""
    known = services.registry.repo(repo)
    path = exact_path(request.scope["query_string"])
    if not name and not (path and line):
        raise InvalidInput("Nothing is asked.", remedy="Give a name, or click one in a file.")
    subject: Subject = name or Pointed(known.id, path, line, column, word)
    scope = Scope(known.project, (known.id,))
    meant = await services.graphs.definition(subject, scope=scope, limit=_DEFINITIONS)
    about, warnings = _about(subject, meant.definitions), list(meant.warnings)
    uses = await _noting(warnings, services.graphs.references(about, scope=scope, limit=_USES))
    callers = await _noting(warnings, services.graphs.calls(about, "callers", scope=scope, limit=_CALLS))
    callees = await _noting(warnings, services.graphs.calls(about, "callees", scope=scope, limit=_CALLS))
    view = SymbolView(
        name=display(meant.name),
        repo=known.id,
        meanings=tuple(_meaning(hit) for hit in meant.definitions),
        uses=() if uses is None else _uses(uses),
        kinds=() if uses is None else tuple(sorted(uses.kinds.items(), key=lambda kind: -kind[1])),
        callers=() if callers is None else _callers(callers),
        callees=() if callees is None else _callees(callees, known.id),
        warnings=tuple(dict.fromkeys(warnings)),
        more=_left(meant, "definition", _DEFINITIONS)
        + _left(callers, "call of it", _CALLS)
        + _left(callees, "call in it", _CALLS)
        + _left(uses, "use", _USES),
    )
    return pages.response("symbol.html", page=Page(view.name, "repos", services.clock.now()), view=view)


def _left(found: Listing | None, what: str, shown: int) -> str:
    return f"{count(found.total - shown, what)} more. " if found is not None and found.total > shown else ""


def _about(subject: Subject, found: Sequence[DefinitionHit]) -> Subject:
    """Return what to ask of the graph: the place of the surest definition, so that its namesakes are left out."""
    if not found:
        return subject
    span, name = found[0].span, found[0].name
    return Pointed(span.repo, span.path, span.start_line, word=name)


async def _noting(warnings: list[str], asked: Awaitable[_List]) -> _List | None:
    """Return what comes of *asked*, and note what it lacks; or why nothing comes: the page is good without it."""
    try:
        found = await asked
    except ApplianceError as exc:
        warnings.append(exc.message)
        return None
    warnings += found.warnings
    return found


def _meaning(hit: DefinitionHit) -> Meaning:
    place = Place.of(hit.span)
    return Meaning(
        place=place,
        symbol=display(hit.symbol),
        kind=hit.kind,
        signature=hit.signature,
        doc=hit.doc,
        unsure=_unsure(hit.how, hit.confidence),
        ask=f"What does `{display(hit.symbol)}` in {place.folder}{place.name} do?",
    )


def _uses(found: ReferencesResponse) -> tuple[Use, ...]:
    return tuple(
        Use(Place.of(hit.span), display(hit.inside), hit.kind, _unsure(hit.how, hit.confidence), hit.text.strip())
        for hit in found.references
    )


def _unsure(how: str, confidence: float) -> str:
    return f"known by its name alone, {confidence:.0%} sure" if how == "candidate" else ""


def _callers(found: CallsResponse) -> tuple[Neighbour, ...]:
    places = [(display(hit.caller) or "top level", Place.of(hit.span)) for hit in found.calls]
    return _neighbours([(name, f"{place.folder}{place.name}", place.href) for name, place in places])


def _callees(found: CallsResponse, repo: str) -> tuple[Neighbour, ...]:
    """Return what is called: what stands in here leads to its meaning, what lies outside to where it is called."""
    return _neighbours(
        [
            (display(hit.callee), "", f"/symbol?{urlencode({'repo': repo, 'name': display(hit.callee)})}")
            if hit.inside
            else (display(hit.callee), "outside", Place.of(hit.span).href)
            for hit in found.calls
        ]
    )


def _neighbours(calls: Sequence[tuple[str, str, str]]) -> tuple[Neighbour, ...]:
    """Return each of *calls*, by name, place and address, once by its name and place."""
    times = Counter((name, where) for name, where, _ in calls)
    first = {(name, where): href for name, where, href in reversed(calls)}
    return tuple(Neighbour(name, where, first[name, where], count_) for (name, where), count_ in times.items())
