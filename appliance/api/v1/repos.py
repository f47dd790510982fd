"""Repositories: add, look, refresh, remove; what was left out; the lines of a file."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from litestar import Controller, delete, get, patch, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from appliance import errors
from appliance.api.problems import documented
from appliance.api.repos import (
    BranchOut,
    FileOut,
    IndexOut,
    LeftOutOut,
    LeftOutPage,
    RepoIn,
    RepoOut,
    RepoPatch,
    SecretOut,
    SecretsPage,
)
from appliance.api.schemas import JobOut
from appliance.base.paths import display, shown
from appliance.codeintel.citations import split_lines
from appliance.codeintel.registry import Project, Repo
from appliance.codeintel.repo_settings import RepoSettings
from appliance.codeintel.source.address import address_of
from appliance.codeintel.source.secrets import is_masked
from appliance.errors import ApplianceError, InvalidInput, NotFound
from appliance.ids import CommitId
from appliance.services import Services
from appliance.web.requests import COMMIT, exact_path
from appliance.web.wiring import Asked, Wired

MAX_LINES = 2000

Limit = Annotated[int, QueryParameter(ge=1, le=100)]
Offset = Annotated[int, QueryParameter(ge=0, le=100_000_000)]
Which = Annotated[str, PathParameter(max_length=100, description="Id or name.")]


class RepoController(Controller):
    """``/api/v1/repos``."""

    path = "/repos"
    tags = ("repos",)

    @get("/", summary="All repositories", responses=documented(errors.NotFound), sync_to_thread=True)
    def repos(self, services: Wired, project: Annotated[str | None, QueryParameter(max_length=100)] = None) -> list[RepoOut]:
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
    def add(self, data: JSONBody[RepoIn], services: Wired) -> RepoOut:
        """Add the repository once it is known that it can be read, and queue its first index."""
        source = address_of(data.path)
        if isinstance(source, Path) and not source.is_absolute():
            raise InvalidInput("The path is not absolute.", remedy="Give the whole path of the repository.")
        project = _project(services, data.project)
        repo = services.registry.add_repo(
            project.id,
            source,
            name=data.name,
            branch=data.branch,
            settings=data.settings.over(RepoSettings()),
            probe=data.check_now,
        )
        services.index(repo.id)
        return _whole(services, repo)

    @get("/{repo:str}", summary="One repository", responses=documented(errors.NotFound), sync_to_thread=True)
    def repo(self, repo: Which, services: Wired) -> RepoOut:
        """Return the repo, what is indexed of it, and its newest job."""
        return _whole(services, services.registry.repo(repo))

    @patch(
        "/{repo:str}",
        summary="Change how a repository is kept",
        status_code=202,
        responses=documented(errors.NotFound),
        sync_to_thread=True,
    )
    def change(self, repo: Which, data: JSONBody[RepoPatch], services: Wired) -> RepoOut:
        """Change its branch or settings and queue an index that goes by them; what did not change is not parsed again."""
        known = services.registry.repo(repo)
        branch = known.branch if data.branch is None else data.branch or None
        changed = services.registry.change_repo(known.id, branch=branch, settings=data.settings.over(known.settings))
        services.index(changed.id)
        return _whole(services, changed)

    @delete("/{repo:str}", summary="Remove a repository", responses=documented(errors.NotFound), sync_to_thread=True)
    def remove(self, repo: Which, services: Wired) -> None:
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
    def refresh(self, repo: Which, services: Wired) -> JobOut:
        """Queue an index of the newest state and return its job. One that waits already is not doubled."""
        return JobOut.of(services.index(services.registry.repo(repo).id))

    @get("/{repo:str}/left-out", summary="Files left out", responses=documented(errors.NotFound), sync_to_thread=True)
    def left_out(
        self,
        repo: Which,
        services: Wired,
        reason: Annotated[str | None, QueryParameter(max_length=40)] = None,
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

    @get("/{repo:str}/secrets", summary="Secrets found", responses=documented(errors.NotFound), sync_to_thread=True)
    def secrets(self, repo: Which, services: Wired, limit: Limit = 100, offset: Offset = 0) -> SecretsPage:
        """Return a page of where keys, tokens and passwords were found in its files; never what they are."""
        generation = services.generations.published(services.registry.repo(repo).id)
        page, total = generation.secrets(offset=offset, limit=limit), generation.info.secrets
        end = offset + len(page)
        return SecretsPage(
            items=[SecretOut.of(finding) for finding in page],
            total=total,
            masked=is_masked(generation.info.policy),
            next_offset=end if page and end < total else None,
        )

    @get(
        "/{repo:str}/file",
        summary="Lines of a file at a commit",
        responses=documented(errors.NotFound),
        sync_to_thread=True,
    )
    def file(
        self,
        repo: Which,
        services: Wired,
        request: Asked,
        path: Annotated[str, QueryParameter(min_length=1, max_length=12_000)],
        commit: Annotated[str | None, QueryParameter(pattern=COMMIT, description="A whole id.")] = None,
        start: Annotated[int, QueryParameter(ge=1, le=100_000_000)] = 1,
        end: Annotated[int | None, QueryParameter(ge=1, le=100_000_000)] = None,
    ) -> FileOut:
        """Return lines *start* to *end* of the file at *path*: at most 2,000. *commit* defaults to the indexed one."""
        known = services.registry.repo(repo)
        at = CommitId(commit) if commit else services.generations.info(known.id).commit
        return _file(services, known, path=exact_path(request.scope["query_string"]) or path, commit=at, lines=(start, end))


def _project(services: Services, which: str) -> Project:
    try:
        return services.registry.project(which)
    except NotFound as exc:
        raise NotFound(
            exc.message,
            remedy="Create it with `POST /api/v1/projects`; `skellig repo add --project` does so itself.",
            project=which,
        ) from exc


def _whole(services: Services, repo: Repo) -> RepoOut:
    index, branches = None, []
    try:
        info = services.generations.info(repo.id)
        index = IndexOut.of(info, behind=services.generations.freshness(repo.id).behind)
        branches = [_branch(services, repo, branch) for branch in services.generations.branches(repo.id) if branch]
    except NotFound:
        pass
    except ApplianceError as exc:  # a damaged index is this repo's trouble, not that of the list
        repo = replace(repo, error=exc.code, message=exc.message, remedy=exc.remedy)
    jobs = services.jobs.list(key=repo.id, limit=5)
    at_work = sorted((job for job in jobs if not job.ended), key=lambda job: job.state != "running")
    project = services.registry.project(repo.project)
    return RepoOut.of(repo, project=project, index=index, branches=branches, job=next(iter([*at_work, *jobs]), None))


def _branch(services: Services, repo: Repo, branch: str) -> BranchOut:
    info = services.generations.info(repo.id, branch)
    return BranchOut.of(branch, info, behind=services.generations.freshness(repo.id, branch).behind)


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
