"""What goes over the wire, as types: the OpenAPI document is made from them."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from appliance.base.paths import display
from appliance.codeintel.registry import Project, Repo
from appliance.codeintel.results import Freshness
from appliance.codeintel.source.base import LeftOut
from appliance.codeintel.store.generation import GenerationInfo
from appliance.jobs.queue import Job, JobEvent, JobState
from appliance.services import DEFAULT_PROJECT

Name = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Path = Annotated[str, StringConstraints(min_length=1, max_length=4096)]


class Input(BaseModel):
    """A body that a caller sends: unknown members are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Output(BaseModel):
    """A body that we send."""

    model_config = ConfigDict(frozen=True)


class LoginIn(Input):
    """A one-time token."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=200)]


class LoginOut(Output):
    """Who is logged in now; the session travels as a cookie."""

    name: str


class IdentityOut(Output):
    """Which appliance this is."""

    proof: str = Field(description="HMAC-SHA256 of the challenge under the digest of the command line's key.")


class ProjectIn(Input):
    """A project to create."""

    name: Name


class ProjectOut(Output):
    """Repositories that are searched together."""

    id: str
    name: str

    @classmethod
    def of(cls, project: Project) -> "ProjectOut":
        """Return *project* for the wire."""
        return cls(id=project.id, name=project.name)


class RepoIn(Input):
    """A repository or folder on this machine to index."""

    path: Path = Field(description="Where it lies, absolute.")
    name: Name | None = Field(None, description="Default: the folder's name.")
    branch: Annotated[str, StringConstraints(min_length=1, max_length=255)] | None = Field(
        None, description="Default: what HEAD names."
    )
    project: Name = DEFAULT_PROJECT


class ProgressOut(Output):
    """How far a job is."""

    phase: str
    done: int
    total: int | None
    at: float


class JobOut(Output):
    """A piece of work. Times are seconds since the epoch."""

    id: str
    kind: str
    key: str
    state: JobState
    attempts: int
    created_at: float
    started_at: float | None
    ended_at: float | None
    reason: str
    progress: ProgressOut | None

    @classmethod
    def of(cls, job: Job) -> "JobOut":
        """Return *job* for the wire."""
        made = job.progress
        progress = made and ProgressOut(phase=made.phase, done=made.done, total=made.total, at=made.at)
        return cls(
            id=job.id,
            kind=job.kind,
            key=job.key,
            state=job.state,
            attempts=job.attempts,
            created_at=job.created_at,
            started_at=job.started_at,
            ended_at=job.ended_at,
            reason=display(job.reason),
            progress=progress,
        )


class JobEventOut(Output):
    """Something that happened to a job."""

    seq: int
    job: str
    at: float
    type: Literal["state", "progress"]
    state: JobState
    reason: str
    phase: str
    done: int
    total: int | None

    @classmethod
    def of(cls, event: JobEvent) -> "JobEventOut":
        """Return *event* for the wire."""
        return cls(
            seq=event.seq,
            job=event.job,
            at=event.at,
            type=event.type,
            state=event.state,
            reason=display(event.reason),
            phase=event.phase,
            done=event.done,
            total=event.total,
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
    vectors: float = Field(description="Share of the chunks that have a vector, 0 to 1.")
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
            vectors=info.completeness,
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
    failures: int = Field(description="Attempts that failed since one went well.")
    next_attempt: float | None = Field(description="From when on it is tried again by itself; null: nothing failed.")
    index: IndexOut | None
    job: JobOut | None

    @classmethod
    def of(cls, repo: Repo, *, project: Project, index: IndexOut | None, job: Job | None) -> "RepoOut":
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
            failures=repo.failures,
            next_attempt=repo.next_attempt,
            index=index,
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


class FreshnessOut(Output):
    """Which state of a repo was read."""

    repo: str
    repo_name: str
    branch: str
    commit: str
    generation: str
    behind: int | None
    left_out: int
    vectors: float

    @classmethod
    def of(cls, fresh: Freshness) -> "FreshnessOut":
        """Return *fresh* for the wire."""
        return cls(
            repo=fresh.repo,
            repo_name=fresh.repo_name,
            branch=display(fresh.branch),
            commit=fresh.commit,
            generation=fresh.generation,
            behind=fresh.behind,
            left_out=fresh.left_out,
            vectors=fresh.vectors,
        )


class PartOut(Output):
    """How one part of the appliance is."""

    name: str
    state: str
    detail: str
    remedy: str


class HealthOut(Output):
    """How the appliance is. Without a login ``parts`` is empty."""

    state: Literal["ready", "starting", "degraded", "failed"]
    phase: str = Field(description="The parts still being waited for.")
    parts: list[PartOut]


def shown(text: str) -> str:
    """Return *text* without lone surrogates, which UTF-8 cannot carry; line ends stay."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
