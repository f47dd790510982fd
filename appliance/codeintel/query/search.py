"""Search: from a query to ranked spans, over every repo of a scope at once."""

import asyncio
from collections import OrderedDict

from appliance.base.clock import Clock
from appliance.codeintel.needs import Embedder
from appliance.codeintel.query.filters import parts_for
from appliance.codeintel.query.gather import Gathered, Gatherer, Patience, steps
from appliance.codeintel.query.hits import page_of
from appliance.codeintel.query.listing import Listed, listed
from appliance.codeintel.query.listing import page_of as page_of_lines
from appliance.codeintel.query.parts import Part, dated, lags, staleness
from appliance.codeintel.query.querylang import ParsedQuery, parse
from appliance.codeintel.results import Scope, SearchResponse
from appliance.codeintel.store.generations import Generations
from appliance.errors import InvalidInput

MOST_HITS = 100
_PATIENCE = Patience()
_LISTED = 8  # lists of lines that are kept: who goes through one page by page looks through the text once


class Searcher:
    """Answers searches. Without *embedder*, or when it does not answer in time, it goes on with words and says so."""

    def __init__(
        self, generations: Generations, embedder: Embedder | None, clock: Clock, *, patience: Patience = _PATIENCE
    ) -> None:
        self._generations = generations
        self._clock = clock
        self._patience = patience
        self._listed: OrderedDict[tuple[object, ...], Listed] = OrderedDict()
        self._gatherer = Gatherer(generations, embedder, clock, patience=patience)

    async def search(self, query: str, *, scope: Scope, limit: int = 20, offset: int = 0) -> SearchResponse:
        """Return the hits for *query* from *offset* on, at most *limit*: the best ones, or of patterns alone all in order.

        Raise `InvalidInput` for a query that asks nothing, a filter that does not exist or fits no repo, or a page that
        cannot be; `NotFound` when nothing of *scope* is indexed yet.
        """
        if not 1 <= limit <= MOST_HITS or offset < 0:
            raise InvalidInput(f"A page has 1 to {MOST_HITS} hits and starts at 0 or later.", limit=limit, offset=offset)
        parsed = parse(query)
        if parsed.lists_lines:
            return await asyncio.to_thread(self._lines, query, parsed, scope, limit=limit, offset=offset)
        return await self._gatherer.gather(
            parsed, scope=scope, then=lambda gathered: self._ranked(query, gathered, limit=limit, offset=offset)
        )

    async def gather(self, query: ParsedQuery, *, scope: Scope) -> Gathered:
        """Return the ranked candidates for *query*, without their text; raise as `search` does."""
        return await self._gatherer.gather(query, scope=scope, then=lambda gathered: gathered)

    def _ranked(self, query: str, gathered: Gathered, *, limit: int, offset: int) -> SearchResponse:
        start = self._clock.monotonic()
        page = page_of(gathered, self._generations, limit=limit, offset=offset)
        timings = gathered.timings | steps((start, self._clock.monotonic()), "text_ms")
        return SearchResponse(
            query=query,
            hits=page.hits,
            total=page.total,
            truncated=offset + len(page.hits) < page.total,
            signals=gathered.signals.used,
            freshness=tuple(part.freshness for part in gathered.parts),
            warnings=(*gathered.warnings, *gathered.vector_warnings, *page.warnings),
            timings=timings | {"total_ms": round(sum(timings.values()), 3)},
        )

    def _lines(self, query: str, parsed: ParsedQuery, scope: Scope, *, limit: int, offset: int) -> SearchResponse:
        times = [self._clock.monotonic()]
        parts, warnings = parts_for(parsed, scope, self._generations)
        asked = lags(parts, self._generations)
        times.append(self._clock.monotonic())
        found = self._list(parsed, parts)
        times.append(self._clock.monotonic())
        page = page_of_lines(found, parts, self._generations, limit=limit, offset=offset)
        times.append(self._clock.monotonic())
        parts = dated(parts, asked, within=self._patience.behind)
        times.append(self._clock.monotonic())
        timings = steps(times, "open_ms", "find_ms", "text_ms", "freshness_ms")
        return SearchResponse(
            query=query,
            hits=page.hits,
            total=page.total,
            truncated=offset + len(page.hits) < page.total or not found.whole,
            signals=("text",),
            freshness=tuple(part.freshness for part in parts),
            warnings=(*warnings, *found.warnings, *staleness(parts), *page.warnings),
            timings=timings | {"total_ms": round(sum(timings.values()), 3)},
        )

    def _list(self, query: ParsedQuery, parts: list[Part]) -> Listed:
        """Return the lines that fit, again those of a like search a little while ago if nothing was published since."""
        key = (query, *((part.repo.id, part.branch, part.generation.info.id) for part in parts))
        known = self._listed.pop(key, None)
        found = listed(query, parts, self._clock) if known is None else known
        if found.whole:
            self._listed[key] = found
        while len(self._listed) > _LISTED:
            self._listed.popitem(last=False)
        return found
