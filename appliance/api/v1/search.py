"""Search."""

from typing import Annotated

from litestar import Controller, get
from litestar.params import QueryParameter

from appliance import errors
from appliance.api.found import SearchOut
from appliance.api.problems import documented
from appliance.codeintel.query.querylang import LONGEST_QUERY
from appliance.services import DEFAULT_PROJECT
from appliance.web.scopes import scope_of
from appliance.web.wiring import Wired


class SearchController(Controller):
    """``/api/v1/search``."""

    path = "/search"
    tags = ("search",)

    @get("/", summary="Find code", responses=documented(errors.NotFound))
    async def search(
        self,
        services: Wired,
        q: Annotated[str, QueryParameter(min_length=1, max_length=LONGEST_QUERY, description="Words, names, filters.")],
        project: Annotated[str, QueryParameter(max_length=100)] = DEFAULT_PROJECT,
        repo: Annotated[list[str] | None, QueryParameter(max_items=100, description="Id or name; may be repeated.")] = None,
        limit: Annotated[int, QueryParameter(ge=1, le=100)] = 20,
        offset: Annotated[int, QueryParameter(ge=0, le=100_000)] = 0,
    ) -> SearchOut:
        """Return a page of the code that fits the query best, and what that rests on."""
        scope = await scope_of(services, project=project, repos=repo or [])
        response = await services.search(q, scope=scope, limit=limit, offset=offset)
        return SearchOut.of(response, offset=offset)
