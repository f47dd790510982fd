"""What a mission is to the doors: its state, its record, and the desk where one is asked for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from appliance.codeintel.results import Answer, Scope
from appliance.contracts.tools import Cancellation, Json
from appliance.ids import MissionId

MissionState = Literal["queued", "running", "waiting", "paused", "done", "failed", "cancelled"]
"""``waiting``: for a person's approval. ``paused``: a bound or a loop stopped it; an instruction makes it go on."""
ENDED: Final[frozenset[MissionState]] = frozenset({"done", "failed", "cancelled"})

EntryKind = Literal[
    "begun",  # goal, scope, model and its digest, generations and commits of the index, limits, version
    "commissioned", "instructed", "staged", "accepted", "refused",  # what the coordinator did with its juniors
    "asked_model", "model_said",  # prompt and parameters; text, finish, tokens, candidates of the first token
    "called_tool", "tool_gave",  # name, arguments, for whom; text, data, evidence, error
    "asked_approval", "approval",  # what is to be done; who decided what, or the time that ran out
    "evidence", "sentence", "struck",  # the answer as it grows
    "paused", "resumed", "interrupted",  # why; with which instruction; a process that was killed
    "answer", "ended",  # the whole answer; state, reason, usage
]  # fmt: skip

FIELDS: Final[Mapping[EntryKind, tuple[str, ...]]] = {
    "begun": ("goal", "repos", "model", "digest", "generations", "limits", "version", "mission"),
    "commissioned": ("junior", "objective"),
    "instructed": ("junior", "message"),
    "staged": ("junior", "summary", "seconds"),
    "accepted": ("junior",),
    "refused": ("junior", "reason"),
    "asked_model": ("messages", "parameters"),
    "model_said": ("text", "finish", "prompt_tokens", "completion_tokens", "seconds"),
    "called_tool": ("tool", "arguments"),
    "tool_gave": ("tool", "text", "data", "evidence", "error", "seconds"),  # error: "" where there is none
    "asked_approval": ("approval", "tool", "arguments", "reason"),
    "approval": ("approval", "decision", "by", "reason"),  # decision: approved or rejected
    "evidence": ("n", "repo_name", "path", "start_line", "end_line"),
    "sentence": ("text", "cites", "origin"),
    "struck": ("text", "reason"),
    "paused": ("reason",),
    "resumed": ("instruction", "by"),
    "interrupted": ("reason",),
    "answer": ("answer",),
    "ended": ("state", "reason", "usage", "mission"),
}
"""What the data of each kind of entry has at least: the doors tell of steps by these names."""


@dataclass(frozen=True, slots=True)
class MissionLimits:
    """What one mission may use; what would go beyond pauses it and says so."""

    commissions: int = 8
    instructs: int = 8
    model_calls: int = 24
    tool_calls: int = 60
    tokens: int = 40_000  # prompts and completions
    seconds: float = 1_800.0
    junior_seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class Usage:
    """What a mission has used so far."""

    model_calls: int = 0
    tool_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0  # at work, not waiting


@dataclass(frozen=True, slots=True)
class Mission:
    """A mission as it stands now. ``entries`` is the length of its record, ``head`` the hash of the last entry."""

    id: MissionId
    goal: str
    scope: Scope
    repo_names: tuple[str, ...]
    state: MissionState
    reason: str  # why it is not done: of a failure, a pause, a wait
    created_at: float  # seconds since the epoch
    started_at: float | None
    ended_at: float | None
    asked_by: str
    model: str  # catalogue name; "" when none is set up
    limits: MissionLimits
    usage: Usage
    entries: int
    head: str
    answer: Answer | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One step on record: ``hash`` is the SHA-256 of ``prev`` and of the entry's canonical JSON."""

    mission: MissionId
    seq: int  # from 1
    at: float
    kind: EntryKind
    agent: str  # coordinator, researcher, tracer, historian, reviewer, or "" for the mission itself
    data: Mapping[str, Json]
    prev: str
    hash: str


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether a record is whole; if not, the first entry that is not as it was written, and why.

    ``uncovered`` names what the row of the mission says and no entry holds: an edit of that is not found.
    """

    mission: MissionId
    whole: bool
    entries: int
    head: str
    broken_at: int | None = None
    reason: str = ""
    uncovered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Replay:
    """A mission run again from its record alone: no model, no index, no tool. ``same``: byte for byte."""

    mission: MissionId
    same: bool
    entries: int
    head: str
    differs_at: int | None = None
    reason: str = ""


class MissionDesk(Protocol):
    """Where missions are asked for, seen, stopped and checked; safe to call from any thread. Raises `NotFound`."""

    def create(self, goal: str, *, scope: Scope, asked_by: str, limits: MissionLimits | None = None) -> Mission:
        """Put a mission on record and return it; raise `InvalidInput`, `LimitExceeded` or `NotFound`."""

    def get(self, mission: MissionId) -> Mission:
        """Return *mission* as it stands."""

    def list(self, *, project: str = "", limit: int = 50, offset: int = 0) -> Sequence[Mission]:
        """Return missions, newest first, from *offset* on."""

    def counts(self) -> Mapping[MissionState, int]:
        """Return how many missions are in each state; one that is not named has none."""

    def entries(self, mission: MissionId, *, after: int = 0, limit: int = 500) -> Sequence[Entry]:
        """Return what stands on its record behind entry *after*."""

    def record(self, mission: MissionId) -> Iterator[bytes]:
        """Yield its record as it is stored: for each entry one line of canonical JSON, with ``prev`` and ``hash``."""

    def cancel(self, mission: MissionId, *, by: str) -> Mission:
        """Ask it to stop, at whatever it is; raise `Conflict` if it has ended."""

    def resume(self, mission: MissionId, *, instruction: str = "", by: str) -> Mission:
        """Let a paused mission go on, with *instruction* as its next words if there are any; raise `Conflict` otherwise."""

    def remove(self, mission: MissionId, *, by: str) -> None:
        """Delete it and its record; raise `Conflict` unless it has ended."""

    def verify(self, mission: MissionId) -> Verification:
        """Say whether its record is as it was written."""

    async def replay(self, mission: MissionId) -> Replay:
        """Run it again from its record, and compare every entry; works in any state."""


class MissionRunner(Protocol):
    """What works on a mission, in the worker."""

    async def run(self, mission: MissionId, *, stopping: Cancellation) -> Mission:
        """Work on *mission* until it ends, pauses or waits, from the beginning or from where its record ends.

        A process that was killed left a record: every step on it is taken from there, and only what lacks is done.
        """
