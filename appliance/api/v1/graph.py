"""The graph of calls."""

from typing import Annotated

from litestar import Controller, get
from litestar.params import QueryParameter

from appliance import errors
from appliance.api.found import CallsOut, ImpactOut
from appliance.api.problems import documented
from appliance.codeintel.query.impact import MOST_STEPS
from appliance.codeintel.results import Direction
from appliance.services import DEFAULT_PROJECT, Services
from appliance.web.scopes import scope_of
from appliance.web.wiring import Wired

Name = Annotated[str, QueryParameter(min_length=1, max_length=300, description="A definition, qualified or not.")]
Project = Annotated[str, QueryParameter(max_length=100)]
Repos = Annotated[list[str] | None, QueryParameter(max_items=100, description="Id or name; may be repeated.")]
Limit = Annotated[int, QueryParameter(ge=1, le=100)]
Offset = Annotated[int, QueryParameter(ge=0, le=1_000_000)]


class GraphController(Controller):
    """``/api/v1/graph``."""

    path = "/graph"
    tags = ("graph",)

    @get("/callers", summary="Who calls it", responses=documented(errors.NotFound))
    async def callers(
        self,
        services: Wired,
        name: Name,
        project: Project = DEFAULT_PROJECT,
        repo: Repos = None,
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> CallsOut:
        """Return a page of the calls of what has this name; of a class where one is made."""
        return await _calls(services, name, "callers", project=project, repos=repo, page=(limit, offset))

    @get("/callees", summary="What it calls", responses=documented(errors.NotFound))
    async def callees(
        self,
        services: Wired,
        name: Name,
        project: Project = DEFAULT_PROJECT,
        repo: Repos = None,
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> CallsOut:
        """Return a page of the calls that stand in what has this name, those that lead out of the repository last."""
        return await _calls(services, name, "callees", project=project, repos=repo, page=(limit, offset))

    @get("/impact", summary="What a change of it reaches", responses=documented(errors.NotFound))
    async def impact(
        self,
        services: Wired,
        name: Name,
        project: Project = DEFAULT_PROJECT,
        repo: Repos = None,
        steps: Annotated[int, QueryParameter(ge=1, le=MOST_STEPS)] = MOST_STEPS,
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> ImpactOut:
        """Return a page of what calls what has this name, and of what calls that in turn, with how sure that is."""
        scope = await scope_of(services, project=project, repos=repo or [])
        return ImpactOut.of(
            await services.graphs.impact(name, scope=scope, steps=steps, limit=limit, offset=offset), offset=offset
        )


async def _calls(
    services: Services, name: str, direction: Direction, *, project: str, repos: list[str] | None, page: tuple[int, int]
) -> CallsOut:
    scope = await scope_of(services, project=project, repos=repos or [])
    limit, offset = page
    response = await services.graphs.calls(name, direction, scope=scope, limit=limit, offset=offset)
    return CallsOut.of(response, offset=offset)
