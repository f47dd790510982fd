"""The graph of calls."""

from typing import Annotated

from litestar import Controller, get
from litestar.params import QueryParameter

from appliance import errors
from appliance.api.found import CallsOut, ImpactOut
from appliance.api.problems import documented
from appliance.api.v1.scope import ABOUT, About
from appliance.codeintel.query.impact import MOST_STEPS
from appliance.codeintel.results import Direction, Scope
from appliance.services import Services
from appliance.web.wiring import Wired

Name = Annotated[str, QueryParameter(min_length=1, max_length=300, description="A definition, qualified or not.")]
Limit = Annotated[int, QueryParameter(ge=1, le=100)]
Offset = Annotated[int, QueryParameter(ge=0, le=1_000_000)]


class GraphController(Controller):
    """``/api/v1/graph``."""

    path = "/graph"
    tags = ("graph",)
    dependencies = ABOUT

    @get("/callers", summary="Who calls it", responses=documented(errors.NotFound, errors.Stale))
    async def callers(
        self,
        services: Wired,
        about: About,
        name: Name,
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> CallsOut:
        """Return a page of the calls of what has this name; of a class where one is made."""
        return await _calls(services, name, "callers", about=about, page=(limit, offset))

    @get("/callees", summary="What it calls", responses=documented(errors.NotFound, errors.Stale))
    async def callees(
        self,
        services: Wired,
        about: About,
        name: Name,
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> CallsOut:
        """Return a page of the calls that stand in what has this name, those that lead out of the repository last."""
        return await _calls(services, name, "callees", about=about, page=(limit, offset))

    @get("/impact", summary="What a change of it reaches", responses=documented(errors.NotFound, errors.Stale))
    async def impact(
        self,
        services: Wired,
        about: About,
        name: Name,
        steps: Annotated[int, QueryParameter(ge=1, le=MOST_STEPS)] = MOST_STEPS,
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> ImpactOut:
        """Return a page of what calls what has this name, and of what calls that in turn, with how sure that is."""
        return ImpactOut.of(
            await services.graphs.impact(name, scope=about, steps=steps, limit=limit, offset=offset), offset=offset
        )


async def _calls(services: Services, name: str, direction: Direction, *, about: Scope, page: tuple[int, int]) -> CallsOut:
    limit, offset = page
    response = await services.graphs.calls(name, direction, scope=about, limit=limit, offset=offset)
    return CallsOut.of(response, offset=offset)
