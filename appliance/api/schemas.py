"""What goes over the wire, as types: the OpenAPI document is made from them."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from appliance.base.paths import display
from appliance.codeintel.registry import Project
from appliance.codeintel.results import Freshness
from appliance.jobs.queue import Job, JobEvent, JobState

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


class FreshnessOut(Output):
    """Which state of a repo was read."""

    repo: str
    repo_name: str
    branch: str
    commit: str
    generation: str
    behind: int | None = Field(description="Commits on the branch that are not indexed yet; null: it could not be asked.")
    dirty: bool | None = Field(
        description="Whether its work tree holds changes that no commit has; null: that is not known."
    )
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
            dirty=fresh.dirty,
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
