"""From the names in a request to the code that it is about."""

import asyncio
from collections.abc import Sequence

from appliance.codeintel.results import Scope
from appliance.services import Services


async def scope_of(services: Services, *, project: str, repos: Sequence[str]) -> Scope:
    """Return the scope of *repos* (ids or names; none means all) in *project*; raise `NotFound`."""
    return await asyncio.to_thread(_scope, services, project, repos)


def _scope(services: Services, project: str, repos: Sequence[str]) -> Scope:
    chosen = services.registry.project(project)
    return Scope(chosen.id, tuple(services.registry.repo(which, project=chosen.id).id for which in repos))
