"""From the names in a request to the code that it is about, once that is as fresh as the request wants it."""

import asyncio
from collections.abc import Sequence

from appliance.codeintel.results import Scope
from appliance.services import Services
from appliance.web.demand import Demand, satisfied


async def scope_of(
    services: Services, *, project: str, repos: Sequence[str], branches: Sequence[str] = (), demand: Demand | None = None
) -> Scope:
    """Return the scope of *repos* (ids or names; none means all) in *project*, at *branches* (patterns; none: their own).

    Raise `NotFound`, or `Stale` when what is indexed of it is not as fresh as *demand* says, nor was within its wait.
    """
    scope = await asyncio.to_thread(_scope, services, project, repos, branches)
    if demand:
        await satisfied(services, scope, demand)
    return scope


def _scope(services: Services, project: str, repos: Sequence[str], branches: Sequence[str]) -> Scope:
    chosen = services.registry.project(project)
    ids = tuple(services.registry.repo(which, project=chosen.id).id for which in repos)
    return Scope(chosen.id, ids, tuple(branches))
