"""From what a caller sends to what a tool is asked."""

import asyncio
from collections.abc import Mapping
from typing import Final, TypeVar

from pydantic import ValidationError

from appliance.base.paths import display
from appliance.codeintel.query.lines import Held, held
from appliance.codeintel.results import Pointed, Scope, Subject
from appliance.errors import InvalidInput
from appliance.mcp.arguments import Arguments, InFile, Named, Several
from appliance.mcp.found import clipped
from appliance.services import Services
from appliance.web.demand import Demand
from appliance.web.scopes import scope_of

A = TypeVar("A", bound=Arguments)

_MOST_FAULTS: Final = 5
_LONGEST_FAULT: Final = 1_000
_WAIT_S: Final = 30.0  # for an index that is fresh enough: clients give up after a minute or so


def read(kind: type[A], given: Mapping[str, object]) -> A:
    """Return the arguments *given*, those that are null left out; raise `InvalidInput` naming what is wrong."""
    try:
        return kind.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as exc:
        faults = exc.errors(include_input=False, include_url=False)[:_MOST_FAULTS]
        wrong = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults)
        raise InvalidInput(
            f"The arguments are not right: {clipped(display(wrong), _LONGEST_FAULT)}.",
            remedy=f"The arguments are {', '.join(kind.model_fields)}.",
        ) from exc


async def scope_of_several(services: Services, asked: Several) -> Scope:
    """Return the code that *asked* is about; raise `NotFound`, or `Stale` where it cannot be as fresh as is wanted."""
    demand = Demand(asked.max_behind if asked.max_behind >= 0 else None, wait=_WAIT_S)
    return await scope_of(services, project=asked.project, repos=asked.repos, branches=asked.branches, demand=demand)


async def file_of(services: Services, asked: InFile, *, commit: str = "") -> Held:
    """Return the file that *asked* is about; raise as `held` does."""
    scope = await scope_of(services, project=asked.project, repos=[asked.repo] if asked.repo else [])
    return await asyncio.to_thread(held, services.generations, asked.path, scope=scope, commit=commit)


async def subject_of(services: Services, asked: Named) -> tuple[Subject, Scope]:
    """Return what *asked* is about, a name or the place where it stands, and where to look."""
    scope = await scope_of_several(services, asked)
    if not asked.path and not asked.line:
        return asked.name, scope
    if not asked.path or not asked.line:
        raise InvalidInput("Only one of path and line was given.", remedy="Give both, or neither: the name may do.")
    file = await asyncio.to_thread(held, services.generations, asked.path, scope=scope)
    return Pointed(file.part.repo.id, file.path, asked.line, word=asked.name), scope
