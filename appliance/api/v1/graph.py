"""Definitions, and what uses what."""

from typing import Annotated, Final

from litestar import Controller, get
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter

from appliance import errors
from appliance.api.graphs import CallsOut, DefinitionsOut, ImpactOut, PathOut, ReferencesOut
from appliance.api.maps import HistoryOut, OutlineOut
from appliance.api.problems import documented
from appliance.api.v1.scope import ABOUT, About
from appliance.api.v1.subject import SUBJECT, Meant, repo_of
from appliance.codeintel.query.impact import MOST_STEPS
from appliance.codeintel.query.outline import MOST_ENTRIES
from appliance.codeintel.results import Direction
from appliance.web.requests import exact_path
from appliance.web.wiring import Asked, Wired

Limit = Annotated[int, QueryParameter(ge=1, le=100)]
Offset = Annotated[int, QueryParameter(ge=0, le=1_000_000)]
Name = Annotated[str, QueryParameter(min_length=1, max_length=300, description="A definition, qualified or not.")]
_PROBLEMS: Final = documented(errors.NotFound, errors.Stale)


def _calls(direction: Direction, *, summary: str, description: str) -> HTTPRouteHandler:
    """Return the route for the calls in one direction."""

    @get(f"/{direction}", summary=summary, description=description, responses=_PROBLEMS)
    async def handler(
        self: Controller,  # noqa: ARG001 - the framework hands it in
        services: Wired,
        about: About,
        meant: Meant,
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> CallsOut:
        response = await services.graphs.calls(meant, direction, scope=about, limit=limit, offset=offset)
        return CallsOut.of(response, offset=offset)

    return handler


class SubjectController(Controller):
    """The routes of ``/api/v1/graph`` that are about a name, or a place where one stands."""

    path = "/graph"
    tags = ("graph",)
    dependencies = SUBJECT

    callers = _calls(
        "callers", summary="Who calls it", description="Return a page of the calls of it; of a class where one is made."
    )
    callees = _calls(
        "callees",
        summary="What it calls",
        description="Return a page of the calls that stand in it, those that lead out of the repository last.",
    )

    @get("/definition", summary="Where it is defined", responses=_PROBLEMS)
    async def definition(
        self, services: Wired, about: About, meant: Meant, limit: Limit = 50, offset: Offset = 0
    ) -> DefinitionsOut:
        """Return a page of the definitions that are meant, surest first."""
        response = await services.graphs.definition(meant, scope=about, limit=limit, offset=offset)
        return DefinitionsOut.of(response, offset=offset)

    @get("/references", summary="What uses it", responses=_PROBLEMS)
    async def references(
        self, services: Wired, about: About, meant: Meant, limit: Limit = 50, offset: Offset = 0
    ) -> ReferencesOut:
        """Return a page of the uses of it, of whatever kind."""
        response = await services.graphs.references(meant, scope=about, limit=limit, offset=offset)
        return ReferencesOut.of(response, offset=offset)

    @get("/impact", summary="What a change of it reaches", responses=_PROBLEMS)
    async def impact(
        self,
        services: Wired,
        about: About,
        meant: Meant,
        steps: Annotated[int, QueryParameter(ge=1, le=MOST_STEPS)] = MOST_STEPS,
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> ImpactOut:
        """Return a page of what uses it, and of what uses that in turn, with how sure that is."""
        response = await services.graphs.impact(meant, scope=about, steps=steps, limit=limit, offset=offset)
        return ImpactOut.of(response, offset=offset)

    @get("/history", summary="Who changed it, and when", responses=_PROBLEMS)
    async def history(
        self, services: Wired, about: About, meant: Meant, limit: Limit = 50, offset: Offset = 0
    ) -> HistoryOut:
        """Return a page of the commits that changed its lines, newest first."""
        response = await services.graphs.history(meant, scope=about, limit=limit, offset=offset)
        return HistoryOut.of(response, offset=offset)


class GraphController(Controller):
    """The other routes of ``/api/v1/graph``."""

    path = "/graph"
    tags = ("graph",)
    dependencies = ABOUT

    @get("/path", summary="The way from one to another", responses=_PROBLEMS)
    async def way(self, services: Wired, about: About, start: Name, end: Name) -> PathOut:
        """Return the surest way from *start* to *end*: what uses what, each step with its line."""
        return PathOut.of(await services.graphs.path(start, end, scope=about))

    @get("/outline", summary="What a file defines", responses=_PROBLEMS)
    async def outline(
        self,
        request: Asked,
        services: Wired,
        about: About,
        path: Annotated[str, QueryParameter(min_length=1, max_length=12_000)],
        limit: Annotated[int, QueryParameter(ge=1, le=MOST_ENTRIES)] = MOST_ENTRIES,
        offset: Offset = 0,
    ) -> OutlineOut:
        """Return a page of the definitions of the file at *path*, in the order of lines."""
        place = exact_path(request.scope["query_string"]) or path
        repo = await repo_of(services, about, place)
        return OutlineOut.of(
            await services.graphs.outline(repo, place, scope=about, limit=limit, offset=offset), offset=offset
        )
