"""What the API answers, as far as the command line shows it. The API's schemas are the whole truth."""

from typing import Literal

import msgspec


class Progress(msgspec.Struct):
    """How far a job is."""

    phase: str
    done: int
    total: int | None


class Job(msgspec.Struct):
    """A piece of work."""

    id: str
    kind: str
    key: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    attempts: int
    reason: str
    progress: Progress | None

    @property
    def ended(self) -> bool:
        """Whether it will not change any more."""
        return self.state in {"done", "failed", "cancelled"}


class Index(msgspec.Struct):
    """What the published index of a repo holds."""

    commit: str
    branch: str
    files: int
    lines: int
    chunks: int
    left_out: dict[str, int]
    languages: dict[str, int]
    problems: int
    torn: int
    secrets: int
    vectors: float
    behind: int | None
    vectors_failed: int = 0


class Branch(msgspec.Struct):
    """A tracked branch, as far as it is indexed."""

    name: str
    commit: str
    indexed_at: float
    files: int
    behind: int | None


class RepoSettings(msgspec.Struct):
    """How a repository is kept."""

    branches: list[str] = []
    include: list[str] = []
    exclude: list[str] = []
    schedule: str = ""
    quiet: str = ""
    share: int = 100
    watch: bool = False
    key_file: str = ""
    known_hosts: str = ""
    ca_file: str = ""
    credentials_file: str = ""
    max_mb: int = 0


class Repo(msgspec.Struct):
    """A repository, what is indexed of it, and its newest job."""

    id: str
    name: str
    project_name: str
    path: str
    branch: str | None
    error: str
    message: str
    remedy: str
    index: Index | None
    job: Job | None
    failures: int = 0
    next_attempt: float | None = None
    state: str = ""
    last_attempt: float | None = None
    last_success: float | None = None
    watched: str = ""
    settings: RepoSettings = msgspec.field(default_factory=RepoSettings)
    branches: list[Branch] = []


class Wanted(msgspec.Struct):
    """A repository that is declared or was dropped in."""

    origin: str
    path: str
    outcome: str
    reason: str
    remedy: str


class LeftOut(msgspec.Struct):
    """A file that the index does not hold."""

    path: str
    reason: str
    detail: str


class LeftOutPage(msgspec.Struct):
    """A page of what was left out."""

    items: list[LeftOut]
    total: int
    next_offset: int | None


class Secret(msgspec.Struct):
    """Where a secret was found."""

    path: str
    line: int
    kind: str


class SecretsPage(msgspec.Struct):
    """A page of the secrets that were found."""

    items: list[Secret]
    total: int
    masked: bool
    next_offset: int | None


class Fresh(msgspec.Struct):
    """Which state of a repo was read."""

    repo_name: str
    branch: str
    commit: str
    behind: int | None
    dirty: bool | None
    left_out: int
    vectors: float


class Hit(msgspec.Struct):
    """One search result."""

    repo_name: str
    path: str
    start_line: int
    end_line: int
    commit: str
    symbol: str
    kind: str
    score: float
    why: list[str]
    text: str


class Results(msgspec.Struct):
    """Results, best first, and what they rest on."""

    hits: list[Hit]
    total: int
    truncated: bool
    signals: list[str]
    freshness: list[Fresh]
    warnings: list[str]
    timings: dict[str, float]


class Evidence(msgspec.Struct):
    """Lines that bear on a question."""

    n: int
    repo_name: str
    path: str
    start_line: int
    end_line: int
    commit: str
    verified: bool
    symbol: str
    text: str


class Sentence(msgspec.Struct):
    """One sentence, and who tells it."""

    text: str
    cites: list[int]
    origin: str = ""


class Struck(msgspec.Struct):
    """A sentence that was not let through."""

    text: str
    reason: str


class Gate(msgspec.Struct):
    """Whether the evidence was strong enough for prose."""

    passed: bool
    reason: str


class Answer(msgspec.Struct):
    """An answer, whole or as far as it is."""

    kind: str
    evidence: list[Evidence]
    sentences: list[Sentence]
    struck: list[Struck]
    gate: Gate | None
    model: str
    freshness: list[Fresh]
    warnings: list[str]
    timings: dict[str, float]


class Part(msgspec.Struct):
    """How one part of the appliance is."""

    name: str
    state: str
    detail: str
    remedy: str


class Health(msgspec.Struct):
    """How the appliance is."""

    state: str
    phase: str
    parts: list[Part]
