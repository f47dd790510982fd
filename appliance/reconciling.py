"""One way for what the settings declare and what was dropped in to become repositories, and to say what became of each."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from appliance.base import log
from appliance.base.paths import display
from appliance.codeintel.registry import Repo
from appliance.codeintel.repo_settings import RepoSettings
from appliance.codeintel.source.address import Address, address_of
from appliance.codeintel.wanted import Origin, Outcome, Wanted
from appliance.errors import ApplianceError, CallerError, Conflict, InvalidInput, NotFound
from appliance.ids import ProjectId
from appliance.services import DEFAULT_PROJECT, Services

_log = log.get("reconciling")


@dataclass(frozen=True, slots=True)
class Entry:
    """A repository that is to be kept. Without ``settings`` those that it has stay; ``names`` are tried in their order."""

    path: str
    names: tuple[str, ...] = ()
    project: str = DEFAULT_PROJECT
    branch: str | None = None
    settings: RepoSettings | None = None


def declared(services: Services) -> list[Entry]:
    """Return what the settings declare."""
    return [
        Entry(
            each.path,
            names=(each.name,) if each.name else (),
            project=each.project,
            branch=each.branch or None,
            settings=RepoSettings(**{name: getattr(each, name) for name in RepoSettings.__struct_fields__}),
        )
        for each in services.settings.repositories
    ]


def reconcile(services: Services, origin: Origin, entries: Sequence[Entry]) -> list[Repo]:
    """Have each of *entries* kept, note what became of it, and return the repos that keep them.

    One that cannot be kept, or is there twice, is noted with the reason, and the others go on.
    """
    seen: dict[tuple[str, str], Repo] = {}
    noted = [_reconciled(services, origin, entry, seen) for entry in entries]
    if services.wanted.replace(origin, noted):
        for each in noted:
            if each.outcome != "kept":
                _log.warning("reconciling.refused", path=display(each.path), outcome=each.outcome, reason=each.reason)
    return list(seen.values())


def _reconciled(services: Services, origin: Origin, entry: Entry, seen: dict[tuple[str, str], Repo]) -> Wanted:
    name = next(iter(entry.names), "")
    try:
        address = _address(entry)
        twin = seen.get((entry.project, str(address)))
        if twin is not None:
            reason = f"It is the same as {twin.name!r}."
            return Wanted(origin, entry.path, name, entry.project, "duplicate", reason, "Take one of the two away.", twin.id)
        repo = _kept(services, entry, address, _project(services, entry.project))
    except (ApplianceError, OSError) as exc:
        remedy = exc.remedy if isinstance(exc, ApplianceError) else ""
        reason = exc.message if isinstance(exc, ApplianceError) else str(exc.strerror)
        outcome: Outcome = "duplicate" if isinstance(exc, Conflict) else "error"
        return Wanted(origin, entry.path, name, entry.project, outcome, reason, remedy)
    seen[entry.project, str(address)] = repo
    return Wanted(origin, entry.path, repo.name, entry.project, "kept", repo=repo.id)


def _address(entry: Entry) -> Address:
    address = address_of(entry.path)
    if isinstance(address, Path) and not address.is_absolute():
        raise InvalidInput("The path is not absolute.", remedy="Give the whole path of the repository.")
    return address


def _project(services: Services, name: str) -> ProjectId:
    with suppress(Conflict):
        return services.registry.add_project(name).id
    return services.registry.project(name).id


def _kept(services: Services, entry: Entry, address: Address, project: ProjectId) -> Repo:
    """Return the repo that keeps *address*, which is added or changed where that has to be."""
    known = next((repo for repo in services.registry.repos(project) if str(repo.source) == str(address)), None)
    if known is None:
        repo = _added(services, entry, address, project)
        services.index(repo.id)
        _log.info("reconciling.added", repo=repo.id, name=repo.name)
        return repo
    if entry.settings is None or (known.settings, known.branch) == (entry.settings, entry.branch):
        return known
    changed = services.registry.change_repo(known.id, branch=entry.branch, settings=entry.settings)
    services.index(changed.id)
    return changed


def _added(services: Services, entry: Entry, address: Address, project: ProjectId) -> Repo:
    fault: CallerError = NotFound("There is no name.")
    for name in entry.names or (None,):
        try:
            return services.registry.add_repo(
                project, address, name=name, branch=entry.branch, settings=entry.settings, probe=False
            )
        except Conflict as exc:
            fault = exc
    raise fault
