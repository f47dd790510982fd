"""What a request in an address is about, as a dependency of the routes that ask about code."""

from typing import Annotated, Final

from litestar.di import NamedDependency, Provide
from litestar.params import QueryParameter

from appliance.codeintel.results import Scope
from appliance.services import DEFAULT_PROJECT
from appliance.web.demand import LONGEST_WAIT_S, Demand
from appliance.web.scopes import scope_of
from appliance.web.wiring import Wired

About = NamedDependency[Scope]


async def asked_scope(
    services: Wired,
    project: Annotated[str, QueryParameter(max_length=100)] = DEFAULT_PROJECT,
    repo: Annotated[list[str] | None, QueryParameter(max_items=100, description="Id or name; may be repeated.")] = None,
    branch: Annotated[
        list[str] | None,
        QueryParameter(max_items=20, description="Pattern of indexed branches; may be repeated. Default: each repo's own."),
    ] = None,
    max_behind: Annotated[
        int | None, QueryParameter(ge=0, le=1_000_000, description="Refuse what is more commits behind than this.")
    ] = None,
    max_lag: Annotated[
        float | None,
        QueryParameter(ge=0, le=1e9, description="Refuse what was last known to be current more seconds ago than this."),
    ] = None,
    wait: Annotated[
        float, QueryParameter(ge=0, le=LONGEST_WAIT_S, description="Seconds to wait for an index instead.")
    ] = 0.0,
) -> Scope:
    """Return what the request is about; raise `NotFound`, or `Stale` when it is not as fresh as is wanted."""
    demand = Demand(max_behind, max_lag, wait)
    return await scope_of(services, project=project, repos=repo or [], branches=branch or [], demand=demand)


ABOUT: Final = {"about": Provide(asked_scope)}
"""The dependencies of a controller whose routes take an `About`."""
