"""Repositories: add, look, refresh, remove; what was left out; the lines of a file."""

from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qs

from litestar import Controller, Request, delete, get, post
from litestar.datastructures import State
from litestar.params import Parameter

from appliance import errors
from appliance.access.principal import Principal
from appliance.api.problems import documented
from appliance.api.schemas import (
    DEFAULT_PROJECT,
    FileOut,
    IndexOut,
    JobOut,
    LeftOutOut,
    LeftOutPage,
    RepoIn,
    RepoOut,
    shown,
)
from appliance.base.paths import display
from appliance.codeintel.citations import split_lines
from appliance.codeintel.registry import Project, Repo
from appliance.errors import InvalidInput, NotFound
from appliance.ids import CommitId
from appliance.services import Services

MAX_LINES = 2000

Limit = Annotated[int, Parameter(ge=1, le=100)]
Offset = Annotated[int, Parameter(ge=0, le=100_000_000)]
Which = Annotated[str, Parameter(max_length=100, description="Id or name.")]


class RepoController(Controller):
    """``/api/v1/repos``."""

    path = "/repos"
    tags = ("repos",)

    @get("/", summary="All repositories", responses=documented(errors.NotFound), sync_to_thread=True)
    def repos(self, services: Services, project: Which | None = None) -> list[RepoOut]:
        """Return the repos of a project, or all of them, by name."""
        chosen = None if project is None else services.registry.project(project).id
        return [_whole(services, repo) for repo in services.registry.repos(chosen)]

    @post(
        "/",
        summary="Add a repository and index it",
        status_code=202,
        responses=documented(errors.Conflict, errors.NotFound, errors.MalformedContent),
        sync_to_thread=True,
    )
    def add(self, data: RepoIn, services: Services) -> RepoOut:
        """Add the repository once it is known that it can be read, and queue its first index."""
        if not data.path.startswith("/"):
            raise InvalidInput("The path is not absolute.", remedy="Give the whole path of the repository.")
        project = _project(services, data.project)
        repo = services.registry.add_repo(project.id, Path(data.path), name=data.name, branch=data.branch)
        services.index(repo.id)
        return _whole(services, repo)

    @get("/{repo:str}", summary="One repository", responses=documented(errors.NotFound), sync_to_thread=True)
    def repo(self, repo: Which, services: Services) -> RepoOut:
        """Return the repo, what is indexed of it, and its newest job."""
        return _whole(services, services.registry.repo(repo))

    @delete("/{repo:str}", summary="Remove a repository", responses=documented(errors.NotFound), sync_to_thread=True)
    def remove(self, repo: Which, services: Services) -> None:
        """Forget the repo and stop its jobs. The repository itself is not touched."""
        known = services.registry.repo(repo)
        services.drop(known.id)

    @post(
        "/{repo:str}/refresh",
        summary="Index a repository again",
        status_code=202,
        responses=documented(errors.NotFound),
        sync_to_thread=True,
    )
    def refresh(self, repo: Which, services: Services) -> JobOut:
        """Queue an index of the newest state and return its job. One that waits already is not doubled."""
        return JobOut.of(services.index(services.registry.repo(repo).id))

    @get("/{repo:str}/left-out", summary="Files left out", responses=documented(errors.NotFound), sync_to_thread=True)
    def left_out(
        self,
        repo: Which,
        services: Services,
        reason: Annotated[str, Parameter(max_length=40)] | None = None,
        limit: Limit = 100,
        offset: Offset = 0,
    ) -> LeftOutPage:
        """Return a page of the files that the index does not hold, of one *reason* if given."""
        generation = services.generations.published(services.registry.repo(repo).id)
        counts = generation.info.left_out
        total = sum(counts.values()) if reason is None else counts.get(reason, 0)
        page = generation.left_out(reason=reason, offset=offset, limit=limit)
        end = offset + len(page)
        items = [LeftOutOut.of(left_out) for left_out in page]
        return LeftOutPage(items=items, total=total, next_offset=end if page and end < total else None)

    @get(
        "/{repo:str}/file",
        summary="Lines of a file at a commit",
        responses=documented(errors.NotFound),
        sync_to_thread=True,
    )
    def file(
        self,
        repo: Which,
        services: Services,
        request: Request[Principal | None, str, State],
        path: Annotated[str, Parameter(min_length=1, max_length=12_000)],
        commit: Annotated[str, Parameter(pattern="^[0-9a-f]{4,64}$")] | None = None,
        start: Annotated[int, Parameter(ge=1, le=100_000_000)] = 1,
        end: Annotated[int, Parameter(ge=1, le=100_000_000)] | None = None,
    ) -> FileOut:
        """Return lines *start* to *end* of the file at *path*: at most 2,000. *commit* defaults to the indexed one."""
        known = services.registry.repo(repo)
        at = CommitId(commit) if commit else services.generations.published(known.id).info.commit
        return _file(services, known, path=_exact_path(request.scope["query_string"], path), commit=at, lines=(start, end))


def _project(services: Services, which: str) -> Project:
    try:
        return services.registry.project(which)
    except NotFound:
        if which != DEFAULT_PROJECT:
            raise
        return services.registry.add_project(which)


def _whole(services: Services, repo: Repo) -> RepoOut:
    try:
        info = services.generations.published(repo.id).info
        index = IndexOut.of(info, behind=services.generations.freshness(repo.id).behind)
    except NotFound:
        index = None
    jobs = services.jobs.list(key=repo.id, limit=5)
    newest = next((job for job in jobs if not job.ended), jobs[0] if jobs else None)
    return RepoOut.of(repo, index=index, job=newest)


def _file(services: Services, repo: Repo, *, path: str, commit: CommitId, lines: tuple[int, int | None]) -> FileOut:
    source = services.generations.source(repo.id)
    blob = source.locate(commit=commit, path=path)
    if blob is None:
        raise NotFound(f"There is no file {display(path)!r} in {repo.name!r} at {commit}.", path=path, commit=commit)
    text = split_lines(source.blob(blob))
    start, end = lines
    last = min(len(text), end or len(text), start + MAX_LINES - 1)
    if start > max(last, 1):
        raise InvalidInput("These lines are not in the file.", start=start, end=end, lines=len(text))
    return FileOut(
        repo=repo.id,
        path=display(path),
        commit=commit,
        blob=blob,
        start_line=start,
        end_line=last,
        lines=len(text),
        text=shown("\n".join(text[start - 1 : last])),
    )


def _exact_path(query: bytes, path: str) -> str:
    """Return the path with the bytes that it was sent with: the framework replaces those that are not UTF-8."""
    sent = parse_qs(query.decode("ascii", "surrogateescape"), errors="surrogateescape", max_num_fields=100)
    return sent.get("path", [path])[-1]
