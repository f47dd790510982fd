"""Repositories: all of them, and one with its jobs and what was left out of it."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlencode

from litestar import Response, get, post
from litestar.params import PathParameter, QueryParameter, URLEncodedBody
from litestar.response import Redirect

from appliance.base.paths import display
from appliance.codeintel.registry import Project, Repo
from appliance.codeintel.source.address import address_of
from appliance.codeintel.source.secrets import is_masked
from appliance.codeintel.store.generation import Finding
from appliance.console.code import file_url
from appliance.console.pages.keeping import BranchRow, Keeping, branch_rows, form_of
from appliance.console.pages.rows import JobRow, RepoRow, job_row, repo_row
from appliance.console.render import Fault, Page, Renderer
from appliance.console.wiring import Pages
from appliance.errors import ApplianceError, Conflict, InvalidInput, NotFound, StoreCorrupt
from appliance.services import DEFAULT_PROJECT, Services
from appliance.web.wiring import Asked, Wired

Which = Annotated[str, PathParameter(max_length=100, description="Id or name.")]

_PER_PAGE: Final = 50
_JOBS: Final = 10


@dataclass(frozen=True, slots=True)
class NewRepo:
    """The form that adds one."""

    source: str = ""
    name: str = ""
    branch: str = ""
    project: str = DEFAULT_PROJECT


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The name that a person typed to remove a repository."""

    confirm: str = ""


@dataclass(frozen=True, slots=True)
class ReposView:
    """All repositories. ``projects`` are those that the form offers, ``used`` is how many of them have a repository."""

    rows: tuple[RepoRow, ...]
    projects: tuple[Project, ...]
    used: int
    busy: bool
    form: NewRepo
    fault: Fault | None


@dataclass(frozen=True, slots=True)
class LeftOutRow:
    """One file that the index does not hold, safe to show."""

    path: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class SecretRow:
    """Where a secret was found, safe to show."""

    path: str
    line: int
    kind: str
    href: str


@dataclass(frozen=True, slots=True)
class RepoView:
    """One repository."""

    row: RepoRow
    branches: tuple[BranchRow, ...]
    form: Keeping
    changing: bool  # its form is open
    watched: str
    here: str  # this very page, as it is brought up to date
    languages: tuple[tuple[str, int], ...]
    encodings: tuple[tuple[str, int], ...]
    problems: int  # files whose syntax could not be used
    torn: int  # files that are no syntax in places
    reasons: tuple[tuple[str, int], ...]
    reason: str
    left_out: tuple[LeftOutRow, ...]
    secrets: tuple[SecretRow, ...]
    secrets_found: int
    masked: bool
    previous: str
    next: str
    jobs: tuple[JobRow, ...]
    removing: bool
    fault: Fault | None


@get("/repos", sync_to_thread=True)
def show_all(services: Wired, pages: Pages) -> Response[str]:
    """Show every repository and the form that adds one."""
    return _all(services, pages, form=NewRepo(), fault=None)


@post("/repos", sync_to_thread=True)
def add(data: URLEncodedBody[NewRepo], request: Asked, services: Wired, pages: Pages) -> Response[str] | Redirect:
    """Add a repository, have it indexed, and go to its page; on an error the form comes back as it was.

    A project that does not exist is made.
    """
    try:
        source = data.source.strip()
        address = address_of(source)
        if isinstance(address, Path) and not address.is_absolute():
            raise InvalidInput("The path must be absolute.", remedy="Begin it with a slash, as the machine sees it.")
        project = _project(services, data.project.strip() or DEFAULT_PROJECT).id
        repo = services.registry.add_repo(
            project, address, name=data.name.strip() or None, branch=data.branch.strip() or None
        )
        services.index(repo.id)
    except ApplianceError as exc:
        return _all(services, pages, form=data, fault=Fault.told(exc, request=request))
    return Redirect(f"/repos/{repo.id}", status_code=303)


@get("/repos/{repo_id:str}", sync_to_thread=True)
def show_one(
    repo_id: Which,
    services: Wired,
    pages: Pages,
    reason: Annotated[str, QueryParameter(max_length=40)] = "",
    offset: Annotated[int, QueryParameter(ge=0, le=10_000_000)] = 0,
) -> Response[str]:
    """Show one repository."""
    repo = services.registry.repo(repo_id)
    return _one(repo, services, pages, reason=reason, offset=offset)


@post("/repos/{repo_id:str}/refresh", sync_to_thread=True)
def refresh(repo_id: Which, services: Wired) -> Redirect:
    """Have the repository read again."""
    repo = services.registry.repo(repo_id)
    services.index(repo.id)
    return Redirect(f"/repos/{repo.id}", status_code=303)


@post("/repos/{repo_id:str}/settings", sync_to_thread=True)
def keep(
    repo_id: Which, data: URLEncodedBody[Keeping], request: Asked, services: Wired, pages: Pages
) -> Response[str] | Redirect:
    """Have the repository kept as the form says and indexed so; on an error the form comes back as it was."""
    repo = services.registry.repo(repo_id)
    try:
        services.registry.change_repo(repo.id, branch=data.branch.strip() or None, settings=data.settings())
    except ApplianceError as exc:
        return _one(repo, services, pages, fault=Fault.told(exc, request=request), form=data)
    services.index(repo.id)
    return Redirect(f"/repos/{repo.id}", status_code=303)


@post("/repos/{repo_id:str}/remove", sync_to_thread=True)
def remove(
    repo_id: Which,
    data: URLEncodedBody[Confirmation],
    services: Wired,
    pages: Pages,
) -> Response[str] | Redirect:
    """Remove the repository if its name was typed."""
    repo = services.registry.repo(repo_id)
    if data.confirm.strip() != repo.name:
        fault = Fault("The name does not match, so nothing was removed.", f"Type {repo.name} to remove it.", "invalid_input")
        return _one(repo, services, pages, fault=fault)
    services.drop(repo.id)
    return Redirect("/repos", status_code=303)


def _project(services: Services, name: str) -> Project:
    with suppress(NotFound):
        return services.registry.project(name)
    try:
        return services.registry.add_project(name)
    except Conflict:  # somebody made it just now
        return services.registry.project(name)
    except InvalidInput as exc:
        raise InvalidInput(exc.message, remedy="Give the project another name.") from exc


def _all(services: Services, pages: Renderer, *, form: NewRepo, fault: Fault | None) -> Response[str]:
    rows = tuple(repo_row(repo, services) for repo in services.registry.repos())
    view = ReposView(
        rows=rows,
        projects=tuple(services.registry.projects()),
        used=len({row.project for row in rows}),
        busy=any(row.running for row in rows),
        form=form,
        fault=fault,
    )
    page = Page("Repositories", "repos", services.clock.now())
    return pages.response("repos.html", page=page, view=view, fault=fault)


def _one(
    repo: Repo,
    services: Services,
    pages: Renderer,
    *,
    reason: str = "",
    offset: int = 0,
    fault: Fault | None = None,
    form: Keeping | None = None,
) -> Response[str]:
    row = repo_row(repo, services)
    held = _held(repo, services, reason=reason, offset=offset)
    jobs = services.jobs.list(key=repo.id, limit=_JOBS)
    view = RepoView(
        row=row,
        branches=branch_rows(repo, services),
        form=form or form_of(repo),
        changing=form is not None,
        watched=display(repo.watched),
        here=_address(repo, reason=reason, offset=offset).partition("#")[0],
        languages=held.languages,
        encodings=held.encodings,
        problems=held.problems,
        torn=held.torn,
        reasons=held.reasons,
        reason=reason,
        left_out=held.left_out[:_PER_PAGE],
        secrets=held.secrets,
        secrets_found=held.secrets_found,
        masked=held.masked,
        previous=_address(repo, reason=reason, offset=max(0, offset - _PER_PAGE)) if offset else "",
        next=_address(repo, reason=reason, offset=offset + _PER_PAGE) if len(held.left_out) > _PER_PAGE else "",
        jobs=tuple(job_row(job, names={repo.id: repo.name}) for job in jobs),
        removing=fault is not None and form is None,
        fault=fault,
    )
    page = Page(repo.name, "repos", services.clock.now())
    return pages.response("repo.html", page=page, view=view, fault=fault)


@dataclass(frozen=True, slots=True)
class _Held:
    languages: tuple[tuple[str, int], ...] = ()
    encodings: tuple[tuple[str, int], ...] = ()
    problems: int = 0
    torn: int = 0
    reasons: tuple[tuple[str, int], ...] = ()
    left_out: tuple[LeftOutRow, ...] = ()
    secrets: tuple[SecretRow, ...] = ()
    secrets_found: int = 0
    masked: bool = True


def _held(repo: Repo, services: Services, *, reason: str, offset: int) -> _Held:
    try:
        generation = services.generations.published(repo.id)
    except (NotFound, StoreCorrupt):
        return _Held()
    info = generation.info
    rows = generation.left_out(reason=reason or None, offset=offset, limit=_PER_PAGE + 1)
    return _Held(
        languages=_ranked(info.languages),
        encodings=tuple(pair for pair in _ranked(info.encodings) if pair[0] != "utf-8"),
        problems=info.problems,
        torn=info.torn,
        reasons=_ranked(info.left_out),
        left_out=tuple(LeftOutRow(display(row.path), row.reason, display(row.detail)) for row in rows),
        secrets=tuple(_secret_row(repo, info.commit, each) for each in generation.secrets(limit=_PER_PAGE)),
        secrets_found=info.secrets,
        masked=is_masked(info.policy),
    )


def _secret_row(repo: Repo, commit: str, found: Finding) -> SecretRow:
    href = file_url(repo.id, path=found.path, commit=commit, start=found.line, end=found.line)
    return SecretRow(display(found.path), found.line, found.kind, href)


def _ranked(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(((name, files) for name, files in counts.items() if files), key=lambda pair: (-pair[1], pair[0])))


def _address(repo: Repo, *, reason: str, offset: int) -> str:
    query = ({"reason": reason} if reason else {}) | ({"offset": str(offset)} if offset else {})
    return f"/repos/{repo.id}" + (f"?{urlencode(query)}" if query else "") + "#left-out"
