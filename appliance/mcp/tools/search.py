"""Search."""

from collections.abc import Mapping, Sequence
from typing import Final

from appliance.codeintel.results import Hit
from appliance.mcp import found, results
from appliance.mcp.arguments import SearchCode
from appliance.mcp.pages import Page, Rest
from appliance.mcp.replies import Progress, Reply
from appliance.mcp.tools.asked import read, scope_of_several
from appliance.services import Services

_HINT: Final = "Go on with next_cursor, or narrow it: more exact words, lang:, path: or symbol: filters, fewer repos."


async def search_code(services: Services, given: Mapping[str, object], progress: Progress) -> Reply:
    """Return a page of search results."""
    del progress
    asked = read(SearchCode, given)
    page = Page("search_code", asked)
    scope = await scope_of_several(services, asked)
    response = await services.search(asked.query, scope=scope, limit=page.limit, offset=page.offset)

    def made(hits: Sequence[Hit], rest: Rest) -> results.Hits:
        return results.Hits(
            hits=[found.hit(each, most=page.text) for each in hits],
            **rest,
            **found.base(response, used=[each.span.repo_name for each in hits]),
        )

    vectors = [round(fresh.vectors, 4) for fresh in response.freshness]
    return await page.fitted(response, response.hits, made, hint=_HINT, order=[response.signals, vectors])
