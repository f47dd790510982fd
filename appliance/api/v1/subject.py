"""What a question to the graph is about, as a dependency of its routes: a name, or a place where one stands."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Final

from litestar.di import NamedDependency, Provide
from litestar.params import QueryParameter

from appliance.api.v1.scope import ABOUT, About
from appliance.codeintel.query.lines import held
from appliance.codeintel.results import Pointed, Scope, Subject
from appliance.errors import InvalidInput
from appliance.ids import RepoId
from appliance.services import Services
from appliance.web.requests import exact_path
from appliance.web.wiring import Asked, Wired

Meant = NamedDependency[str | Pointed]


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where in a file a name stands."""

    line: int
    column: int
    word: str


def asked_spot(
    line: Annotated[int, QueryParameter(ge=1, le=100_000_000)] = 1,
    column: Annotated[int, QueryParameter(ge=0, le=1_000_000, description="Where a name stands, from 1.")] = 0,
    word: Annotated[str, QueryParameter(max_length=300, description="Or the name that stands there.")] = "",
) -> _Spot:
    """Return where in its file a place is."""
    return _Spot(line, column, word)


async def asked_subject(
    request: Asked,
    services: Wired,
    about: About,
    spot: NamedDependency[_Spot],
    name: Annotated[
        str | None, QueryParameter(min_length=1, max_length=300, description="A definition, qualified or not.")
    ] = None,
    path: Annotated[
        str | None, QueryParameter(min_length=1, max_length=12_000, description="Instead: the file of a place.")
    ] = None,
) -> Subject:
    """Return what the request is about; raise `InvalidInput` for one that says neither or both."""
    if (name is None) == (path is None):
        raise InvalidInput("Say what is meant.", remedy="Give a name, or a path with a line and a column or word.")
    if path is None:
        return name or ""
    place = exact_path(request.scope["query_string"]) or path
    return Pointed(await repo_of(services, about, place), place, spot.line, spot.column, spot.word)


async def repo_of(services: Services, scope: Scope, path: str) -> RepoId:
    """Return the repository of *scope* that has the file at *path*; raise as `held` does where none or several have it.

    Where the scope speaks of one repository alone, it is that one, whatever it has.
    """
    repos = scope.repos or tuple(repo.id for repo in await asyncio.to_thread(services.registry.repos, scope.project))
    if len(repos) == 1:
        return repos[0]
    file = await asyncio.to_thread(held, services.generations, path, scope=scope)
    return file.part.repo.id


SUBJECT: Final = {**ABOUT, "spot": Provide(asked_spot, sync_to_thread=False), "meant": Provide(asked_subject)}
"""The dependencies of a controller whose routes take an `About` and a `Meant`."""
