"""Repositories on the wire: what is asked of them, and how they are."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from pydantic import Field, StringConstraints

from appliance.api.schemas import Input, JobOut, Name, Output, Path
from appliance.base.paths import display
from appliance.codeintel.registry import Project, Repo, RepoState
from appliance.codeintel.repo_settings import RepoSettings
from appliance.codeintel.source.base import LeftOut
from appliance.codeintel.store.generation import Finding, GenerationInfo
from appliance.jobs.queue import Job
from appliance.services import DEFAULT_PROJECT

Pattern = Annotated[str, StringConstraints(min_length=1, max_length=300)]
File = Annotated[str, StringConstraints(max_length=1000)]
Setting = Annotated[str, StringConstraints(max_length=200)]

_BRANCHES = "Patterns of branches, and as `refs/tags/v*` of tags, that are kept indexed beside its own."
_INCLUDE = "Patterns of paths as .gitignore has them; with any, only files that fit one are indexed."
_EXCLUDE = "Patterns of paths that are not indexed."
_SCHEDULE = 'When it is indexed by the clock: "every 15m", "daily", or the five fields of cron; "" never.'
_QUIET = 'Hours, such as "22:00-06:00", in which neither the clock nor a change has it indexed.'
_SHARE = "Most percent of the time that work on it may take before the clock or a change has it indexed again."
_KEY = "The file with the ssh key that may read it."
_KNOWN = "The file with the host keys of its server."
_CA = "The file with the certificates of the authority that its server's certificate is by."
_LOGIN = "The file with the line user:token for its server."
_MOST = "Most megabytes that are fetched of it."
_WATCH = "Whether it is indexed when its files or refs change."


class RepoSettingsIn(Input):
    """How a repository is to be kept. What is not there stays as it is."""

    branches: list[Pattern] | None = Field(None, max_length=200, description=_BRANCHES)
    include: list[Pattern] | None = Field(None, max_length=200, description=_INCLUDE)
    exclude: list[Pattern] | None = Field(None, max_length=200, description=_EXCLUDE)
    schedule: Setting | None = Field(None, description=_SCHEDULE)
    quiet: Setting | None = Field(None, description=_QUIET)
    share: int | None = Field(None, ge=1, le=100, description=_SHARE)
    watch: bool | None = Field(None, description=_WATCH)
    key_file: File | None = Field(None, description=_KEY)
    known_hosts: File | None = Field(None, description=_KNOWN)
    ca_file: File | None = Field(None, description=_CA)
    credentials_file: File | None = Field(None, description=_LOGIN)
    max_mb: int | None = Field(None, ge=1, le=1_000_000, description=_MOST)

    def over(self, settings: RepoSettings) -> RepoSettings:
        """Return *settings* with what is given here."""
        given: Mapping[str, object] = self.model_dump(exclude_none=True)
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
        return msgspec.structs.replace(settings, **values)


class RepoSettingsOut(Output):
    """How a repository is kept."""

    branches: list[str] = Field(description=_BRANCHES)
    include: list[str] = Field(description=_INCLUDE)
    exclude: list[str] = Field(description=_EXCLUDE)
    schedule: str = Field(description=_SCHEDULE)
    quiet: str = Field(description=_QUIET)
    share: int = Field(description=_SHARE)
    watch: bool = Field(description=_WATCH)
    key_file: str = Field(description=_KEY)
    known_hosts: str = Field(description=_KNOWN)
    ca_file: str = Field(description=_CA)
    credentials_file: str = Field(description=_LOGIN)
    max_mb: int = Field(description=_MOST)

    @classmethod
    def of(cls, settings: RepoSettings) -> "RepoSettingsOut":
        """Return *settings* for the wire."""
        return cls.model_validate({name: getattr(settings, name) for name in cls.model_fields})


class RepoIn(Input):
    """A repository or folder to index."""

    path: Path = Field(description="An absolute path of this machine, or `ssh://…`, `user@host:path`, `https://…`.")
    name: Name | None = Field(None, description="Default: the folder's name.")
    branch: Annotated[str, StringConstraints(min_length=1, max_length=255)] | None = Field(
        None, description="Its own branch; default: what HEAD names."
    )
    project: Name = DEFAULT_PROJECT
    settings: RepoSettingsIn = RepoSettingsIn()
    check_now: bool = Field(True, alias="check", description="false: keep it even if it cannot be read now, and say why.")


class RepoPatch(Input):
    """What is to change of a repository. What is not there stays as it is."""

    branch: Annotated[str, StringConstraints(max_length=255)] | None = Field(
        None, description='Its own branch; "": what HEAD names.'
    )
    settings: RepoSettingsIn = RepoSettingsIn()


class BranchOut(Output):
    """A tracked branch, as far as it is indexed."""

    name: str
    commit: str
    generation: str
    indexed_at: float
    files: int
    behind: int | None = Field(description="Commits on it that are not indexed yet; null: it is gone, or cannot be told.")

    @classmethod
    def of(cls, name: str, info: GenerationInfo, *, behind: int | None) -> "BranchOut":
        """Return what is indexed of the branch *name* for the wire."""
        return cls(
            name=display(name),
            commit=info.commit,
            generation=info.id,
            indexed_at=info.created_at,
            files=info.files,
            behind=behind,
        )


class IndexOut(Output):
    """What the published index of a repo holds."""

    generation: str
    commit: str
    branch: str
    created_at: float
    files: int
    lines: int
    chunks: int
    left_out: dict[str, int] = Field(description="Files that are not in the index, by reason.")
    encodings: dict[str, int]
    languages: dict[str, int]
    problems: int = Field(description="Files whose syntax could not be used; their text is indexed.")
    torn: int = Field(description="Files that are no syntax in places: what those define may be missing.")
    secrets: int = Field(description="Keys, tokens and passwords that were found in files.")
    vectors: float = Field(description="Share of the chunks that have a vector, 0 to 1.")
    vectors_failed: int = Field(description="Chunks that the embedder refused; the next refresh tries them again.")
    behind: int | None = Field(description="Commits on the branch that are not indexed yet; null: cannot be told.")

    @classmethod
    def of(cls, info: GenerationInfo, *, behind: int | None) -> "IndexOut":
        """Return *info* for the wire."""
        return cls(
            generation=info.id,
            commit=info.commit,
            branch=display(info.branch),
            created_at=info.created_at,
            files=info.files,
            lines=info.lines,
            chunks=info.chunks,
            left_out=dict(info.left_out),
            encodings=dict(info.encodings),
            languages=dict(info.languages),
            problems=info.problems,
            torn=info.torn,
            secrets=info.secrets,
            vectors=info.completeness,
            vectors_failed=info.vectors_failed,
            behind=behind,
        )


class RepoOut(Output):
    """A repository, what is indexed of it, and the newest job that works on it."""

    id: str
    project: str
    project_name: str
    name: str
    path: str
    branch: str | None
    created_at: float
    last_attempt: float | None
    last_success: float | None
    error: str = Field(description="The code of the last attempt's error, or nothing.")
    message: str
    remedy: str
    state: RepoState = Field(description="`waiting` for its first index, `ready`, in `error`, or `quarantined`.")
    failures: int = Field(description="Attempts that failed since one went well.")
    next_attempt: float | None = Field(description="From when on it is tried again by itself; null: nothing failed.")
    settings: RepoSettingsOut
    watched: str = Field(description="`events`; why it is only looked at now and then; or nothing where it is not watched.")
    index: IndexOut | None
    branches: list[BranchOut] = Field(description="Those that are tracked beside its own, as far as they are indexed.")
    job: JobOut | None

    @classmethod
    def of(
        cls, repo: Repo, *, project: Project, index: IndexOut | None, branches: list[BranchOut], job: Job | None
    ) -> "RepoOut":
        """Return *repo* of *project* for the wire."""
        return cls(
            id=repo.id,
            project=project.id,
            project_name=project.name,
            name=repo.name,
            path=display(str(repo.source)),
            branch=None if repo.branch is None else display(repo.branch),
            created_at=repo.created_at,
            last_attempt=repo.last_attempt,
            last_success=repo.last_success,
            error=repo.error,
            message=display(repo.message),
            remedy=display(repo.remedy),
            state=repo.state,
            failures=repo.failures,
            next_attempt=repo.next_attempt,
            settings=RepoSettingsOut.of(repo.settings),
            watched=display(repo.watched),
            index=index,
            branches=branches,
            job=None if job is None else JobOut.of(job),
        )


class LeftOutOut(Output):
    """A file, or with a trailing slash a folder, that the index does not hold, and why."""

    path: str
    reason: str
    detail: str

    @classmethod
    def of(cls, left_out: LeftOut) -> "LeftOutOut":
        """Return *left_out* for the wire."""
        return cls(path=display(left_out.path), reason=left_out.reason, detail=display(left_out.detail))


class LeftOutPage(Output):
    """A page of what was left out."""

    items: list[LeftOutOut]
    total: int
    next_offset: int | None


class SecretOut(Output):
    """Where a secret was found. What it is, is not said."""

    path: str
    line: int
    kind: str

    @classmethod
    def of(cls, finding: Finding) -> "SecretOut":
        """Return *finding* for the wire."""
        return cls(path=display(finding.path), line=finding.line, kind=finding.kind)


class SecretsPage(Output):
    """A page of the secrets that were found, and whether they are masked."""

    items: list[SecretOut]
    total: int
    masked: bool
    next_offset: int | None


class FileOut(Output):
    """Lines of one file at one commit."""

    repo: str
    path: str
    commit: str
    blob: str
    start_line: int
    end_line: int
    lines: int = Field(description="Lines of the whole file.")
    text: str
