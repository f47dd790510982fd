"""Search: a plain GET form; with script only the results are exchanged."""

import asyncio
from dataclasses import dataclass, replace
from typing import Annotated, Final
from urllib.parse import urlencode

from litestar import Response, get
from litestar.params import QueryParameter

from appliance.codeintel.results import Freshness, Hit, SearchResponse
from appliance.console.choices import LONGEST, Choices, choices, scope_of
from appliance.console.code import Excerpt, Place
from appliance.console.pages.lines import card_lines
from appliance.console.render import Fault, Page
from appliance.console.wiring import Pages
from appliance.errors import ApplianceError
from appliance.services import Services
from appliance.web.wiring import Asked, Wired

LONGEST_QUERY: Final = 1000
_PER_PAGE: Final = 10
_LAST_OFFSET: Final = 99_990
_CODE_LINES: Final = 10


@dataclass(frozen=True, slots=True)
class HitView:
    """One result. ``share`` is its score against the best one's, 0 to 1."""

    place: Place
    symbol: str
    kind: str
    score: str
    share: float
    why: tuple[str, ...]
    code: Excerpt


@dataclass(frozen=True, slots=True)
class Results:
    """What was found and what it rests on."""

    hits: tuple[HitView, ...]
    first: int
    last: int
    total: int
    truncated: bool
    milliseconds: float
    signals: tuple[str, ...]
    freshness: tuple[Freshness, ...]
    warnings: tuple[str, ...]
    timings: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class SearchView:
    """The page."""

    query: str
    choices: Choices
    response: Results | None = None
    previous: str = ""
    next: str = ""
    fault: Fault | None = None


@get("/search")
async def show(
    request: Asked,
    services: Wired,
    pages: Pages,
    q: Annotated[str, QueryParameter(max_length=LONGEST_QUERY)] = "",
    repo: Annotated[str, QueryParameter(max_length=LONGEST)] = "",
    offset: Annotated[int, QueryParameter(ge=0, le=_LAST_OFFSET)] = 0,
) -> Response[str]:
    """Search when there is a query, else say how to."""
    query = q.strip()
    view = SearchView(query=query, choices=await asyncio.to_thread(choices, services, repo))
    if query:
        try:
            view = await _found(view, services, repo=repo, offset=offset)
        except ApplianceError as exc:
            view = replace(view, fault=Fault.told(exc, request=request))
    title = f"{query} · Search" if query else "Search"
    page = Page(title, "search", services.clock.now())
    return pages.response("search.html", page=page, view=view, fault=view.fault)


async def _found(asked: SearchView, services: Services, *, repo: str, offset: int) -> SearchView:
    scope = await asyncio.to_thread(scope_of, services, repo)
    response = await services.search(asked.query, scope=scope, limit=_PER_PAGE, offset=offset)
    more = len(response.hits) == _PER_PAGE and offset + _PER_PAGE < response.total and offset + _PER_PAGE <= _LAST_OFFSET
    return replace(
        asked,
        response=await asyncio.to_thread(_results, response, services, offset=offset),
        previous=_address(asked, offset=max(0, offset - _PER_PAGE)) if offset else "",
        next=_address(asked, offset=offset + _PER_PAGE) if more else "",
    )


def _results(response: SearchResponse, services: Services, *, offset: int) -> Results:
    best = max((hit.score for hit in response.hits), default=0.0)
    return Results(
        hits=tuple(_hit(hit, services, best=best) for hit in response.hits),
        first=offset + 1,
        last=offset + len(response.hits),
        total=response.total,
        truncated=response.truncated,
        milliseconds=response.timings.get("total_ms", max(response.timings.values(), default=0.0)),
        signals=response.signals,
        freshness=response.freshness,
        warnings=response.warnings,
        timings=tuple(response.timings.items()),
    )


def _hit(hit: Hit, services: Services, *, best: float) -> HitView:
    return HitView(
        place=Place.of(hit.span),
        symbol=hit.symbol,
        kind=hit.kind,
        score=f"{hit.score:.2f}",
        share=round(max(0.0, hit.score / best), 3) if best > 0 else 0.0,
        why=hit.why,
        code=card_lines(hit.span, hit.text, language=hit.language, limit=_CODE_LINES, services=services),
    )


def _address(asked: SearchView, *, offset: int) -> str:
    repo = asked.choices.value
    query = {"q": asked.query} | ({"repo": repo} if repo else {}) | ({"offset": str(offset)} if offset else {})
    return f"/search?{urlencode(query)}"
