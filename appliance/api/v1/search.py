"""Search."""

from typing import Annotated

from litestar import Controller, get
from litestar.params import QueryParameter

from appliance import errors
from appliance.api.found import SearchOut
from appliance.api.problems import documented
from appliance.api.v1.scope import ABOUT, About
from appliance.codeintel.query.querylang import LONGEST_QUERY
from appliance.web.wiring import Wired


class SearchController(Controller):
    """``/api/v1/search``."""

    path = "/search"
    tags = ("search",)
    dependencies = ABOUT

    @get("/", summary="Find code", responses=documented(errors.NotFound, errors.Stale))
    async def search(
        self,
        services: Wired,
        about: About,
        q: Annotated[str, QueryParameter(min_length=1, max_length=LONGEST_QUERY, description="Words, names, filters.")],
        limit: Annotated[int, QueryParameter(ge=1, le=100)] = 20,
        offset: Annotated[int, QueryParameter(ge=0, le=100_000)] = 0,
    ) -> SearchOut:
        """Return a page of the code that fits the query best, and what that rests on."""
        response = await services.search(q, scope=about, limit=limit, offset=offset)
        return SearchOut.of(response, offset=offset)
