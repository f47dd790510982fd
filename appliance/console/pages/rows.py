"""One repository and one job, as several pages show them."""

from dataclasses import dataclass
from typing import Final, Literal

from appliance.base.paths import display
from appliance.codeintel.registry import Repo
from appliance.console.text import absolute, count
from appliance.errors import NotFound, StoreCorrupt
from appliance.jobs.queue import Job
from appliance.services import Services

Mood = Literal["good", "warn", "bad", "live", "idle"]

KINDS: Final = {
    "index": ("Index", "Indexing"),
    "fetch": ("Fetch", "Fetching"),
    "graph": ("Graph", "Following the calls"),
    "embed": ("Embed", "Embedding"),
    "renew": ("Renew", "Building anew, aside"),
    "adopt": ("Renewed", "Taking over what was built anew"),
    "mission": ("Mission", "Working on a mission"),
    "tidy": ("Tidy up", "Tidying up"),
    "tidy-vectors": ("Tidy up the vectors of", "Tidying up the vectors"),
}
"""What each kind of job is called: in a title, and while it is at work; of two on one repository the first counts."""

_NEWEST: Final = 10  # jobs of one repository among which those that have not ended are
_MOODS: Final[dict[str, Mood]] = {"queued": "idle", "running": "live", "done": "good", "failed": "bad", "cancelled": "idle"}


@dataclass(frozen=True, slots=True)
class Running:
    """A job that has not ended. ``total`` is None while it is not known."""

    id: str
    word: str
    phase: str
    done: int
    total: int | None

    @property
    def percent(self) -> int:
        """How far it is, 0 to 100; 0 while that is not known."""
        return min(100, 100 * self.done // self.total) if self.total else 0


@dataclass(frozen=True, slots=True)
class RepoRow:
    """One repository: what it is, what its index holds, what happens to it now."""

    id: str
    name: str
    project: str
    source: str
    branch: str
    commit: str
    error: str
    remedy: str
    indexed: bool
    indexed_at: float
    files: int
    lines: int
    left_out: int
    vectors: float
    behind: int | None
    running: Running | None


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job."""

    id: str
    title: str
    mood: Mood
    word: str
    started_at: float | None
    took: float | None
    detail: str


def repo_row(repo: Repo, services: Services) -> RepoRow:
    """Return *repo* as it stands now."""
    running = _running(repo, services)
    try:
        info = services.generations.info(repo.id)
        fresh = services.generations.freshness(repo.id)
    except (NotFound, StoreCorrupt):
        info, fresh = None, None
    return RepoRow(
        id=repo.id,
        name=repo.name,
        project=services.registry.project(repo.project).name,
        source=display(str(repo.source)),
        branch=info.branch if info is not None else repo.branch or "",
        commit=info.commit if info is not None else "",
        error=f"{repo.message}{_next(repo)}" if repo.error else "",
        remedy=repo.remedy,
        indexed=info is not None,
        indexed_at=info.created_at if info is not None else 0.0,
        files=info.files if info is not None else 0,
        lines=info.lines if info is not None else 0,
        left_out=sum(info.left_out.values()) if info is not None else 0,
        vectors=info.completeness if info is not None else 0.0,
        behind=fresh.behind if fresh is not None else None,
        running=running,
    )


def _next(repo: Repo) -> str:
    if repo.next_attempt is None:
        return ""
    rare = " In quarantine: it is tried once a day." if repo.state == "quarantined" else ""
    return f" {count(repo.failures, 'failure')} so far, next attempt after {absolute(repo.next_attempt)}.{rare}"


def job_row(job: Job, *, names: dict[str, str]) -> JobRow:
    """Return *job*; *names* are those of repositories and projects by id."""
    took = job.ended_at - job.started_at if job.started_at is not None and job.ended_at is not None else None
    progress = job.progress
    detail = job.reason
    if job.state == "running" and progress is not None:
        detail = f"{progress.phase}, {progress.done:,}" + (f" of {progress.total:,}" if progress.total else "")
    if job.attempts > 1:
        detail = f"{detail} {count(job.attempts, 'attempt')}.".strip()
    return JobRow(
        id=job.id,
        title=f"{KINDS[job.kind][0]} {names.get(job.key, job.key)}",
        mood=_MOODS[job.state],
        word=job.state.capitalize(),
        started_at=job.started_at,
        took=took,
        detail=detail,
    )


def _running(repo: Repo, services: Services) -> Running | None:
    at_work = [job for job in services.jobs.list(key=repo.id, limit=_NEWEST) if not job.ended]
    if not at_work:
        return None
    job = min(at_work, key=lambda job: list(KINDS).index(job.kind))
    word = KINDS[job.kind][1]
    if job.state == "queued":
        return Running(job.id, "Waiting", job.reason or f"{word} starts when the worker is free", 0, None)
    progress = job.progress
    if progress is None:
        return Running(job.id, word, "Starting", 0, None)
    return Running(job.id, word, progress.phase.capitalize(), progress.done, progress.total)
