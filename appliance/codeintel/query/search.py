"""Search: from a query to ranked spans, over every repo of a scope at once."""

import asyncio

from appliance.base.clock import Clock
from appliance.codeintel.needs import Embedder
from appliance.codeintel.query.gather import Gathered, Gatherer, Patience
from appliance.codeintel.query.hits import page_of
from appliance.codeintel.query.querylang import ParsedQuery, parse
from appliance.codeintel.results import Scope, SearchResponse
from appliance.codeintel.store.generations import Generations
from appliance.errors import InvalidInput

MOST_HITS = 100
_PATIENCE = Patience()


class Searcher:
    """Answers searches. Without *embedder*, or when it does not answer in time, it goes on with words and says so."""

    def __init__(
        self, generations: Generations, embedder: Embedder | None, clock: Clock, *, patience: Patience = _PATIENCE
    ) -> None:
        self._generations = generations
        self._clock = clock
        self._gatherer = Gatherer(generations, embedder, clock, patience=patience)

    async def search(self, query: str, *, scope: Scope, limit: int = 20, offset: int = 0) -> SearchResponse:
        """Return the hits for *query* from *offset* on, at most *limit*.

        Raise `InvalidInput` for a query that asks nothing, a filter that does not exist or fits no repo, or a page that
        cannot be; `NotFound` when nothing of *scope* is indexed yet.
        """
        if not 1 <= limit <= MOST_HITS or offset < 0:
            raise InvalidInput(f"A page has 1 to {MOST_HITS} hits and starts at 0 or later.", limit=limit, offset=offset)
        start = self._clock.monotonic()
        gathered = await self.gather(parse(query), scope=scope)
        middle = self._clock.monotonic()
        page = await asyncio.to_thread(page_of, gathered, self._generations, limit=limit, offset=offset)
        end = self._clock.monotonic()
        return SearchResponse(
            query=query,
            hits=page.hits,
            total=page.total,
            truncated=offset + len(page.hits) < page.total,
            signals=gathered.signals.used,
            freshness=tuple(part.freshness for part in gathered.parts),
            warnings=(*gathered.warnings, *gathered.vector_warnings, *page.warnings),
            timings=gathered.timings
            | {"text_ms": round((end - middle) * 1000, 3), "total_ms": round((end - start) * 1000, 3)},
        )

    async def gather(self, query: ParsedQuery, *, scope: Scope) -> Gathered:
        """Return the ranked candidates for *query*, without their text; raise as `search` does."""
        return await self._gatherer.gather(query, scope=scope)
