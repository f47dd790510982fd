"""Missions on the wire: what is asked for, how it stands, and the entries of its record."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, StringConstraints

from appliance.api.answers import AnswerOut
from appliance.api.schemas import Input, Name, Output
from appliance.base.paths import display, shown
from appliance.codeintel.query.querylang import LONGEST_QUESTION
from appliance.contracts.tools import Json
from appliance.orchestrator.missions.model import (
    Entry,
    EntryKind,
    Mission,
    MissionLimits,
    MissionState,
    Replay,
    Usage,
    Verification,
)
from appliance.services import DEFAULT_PROJECT
from appliance.web.steps import told

LONGEST_GOAL: Final = LONGEST_QUESTION


def _number(value: object) -> object:
    """Return *value*; the framework validates laxly, and would take true for 1."""
    if isinstance(value, bool | str):
        raise ValueError("this is no number")  # noqa: TRY004 - what pydantic tells the caller
    return value


_Seconds = Annotated[float, BeforeValidator(_number)]
_Count = Annotated[int, BeforeValidator(_number)]


class MissionIn(Input):
    """A goal about the code of a project, or of some of its repos."""

    goal: Annotated[str, StringConstraints(max_length=LONGEST_GOAL, strip_whitespace=True)]  # the desk says what it needs
    project: Name = DEFAULT_PROJECT
    repos: list[Name] = Field(default_factory=list, max_length=100, description="Ids or names; none means all.")
    branches: list[Name] = Field(
        default_factory=list, max_length=20, description="Patterns of indexed branches; none means each repo's own."
    )
    max_seconds: _Seconds | None = Field(
        None, gt=0, allow_inf_nan=False, description="At work; at most what the settings let."
    )
    max_tokens: _Count | None = Field(None, gt=0, description="Of prompts and completions.")
    max_tool_calls: _Count | None = Field(None, gt=0)
    max_model_calls: _Count | None = Field(None, gt=0)

    def limits(self, most: MissionLimits) -> MissionLimits:
        """Return what is asked for, and *most* where nothing is."""
        return replace(
            most,
            seconds=self.max_seconds or most.seconds,
            tokens=self.max_tokens or most.tokens,
            tool_calls=self.max_tool_calls or most.tool_calls,
            model_calls=self.max_model_calls or most.model_calls,
        )


class ResumeIn(Input):
    """What a paused mission is told before it goes on."""

    instruction: Annotated[str, StringConstraints(max_length=LONGEST_GOAL, strip_whitespace=True)] = ""


class LimitsOut(Output):
    """What a mission may use."""

    commissions: int
    instructs: int
    model_calls: int
    tool_calls: int
    tokens: int = Field(description="Of prompts and completions.")
    seconds: float
    junior_seconds: float

    @classmethod
    def of(cls, limits: MissionLimits) -> "LimitsOut":
        """Return *limits* for the wire."""
        return cls(
            commissions=limits.commissions,
            instructs=limits.instructs,
            model_calls=limits.model_calls,
            tool_calls=limits.tool_calls,
            tokens=limits.tokens,
            seconds=limits.seconds,
            junior_seconds=limits.junior_seconds,
        )


class UsageOut(Output):
    """What a mission has used so far."""

    model_calls: int
    tool_calls: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float = Field(description="At work, not waiting.")

    @classmethod
    def of(cls, usage: Usage) -> "UsageOut":
        """Return *usage* for the wire."""
        return cls(
            model_calls=usage.model_calls,
            tool_calls=usage.tool_calls,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            seconds=usage.seconds,
        )


class MissionOut(Output):
    """A mission as it stands. Times are seconds since the epoch."""

    id: str
    goal: str
    project: str
    repos: list[str] = Field(description="Ids.")
    repo_names: list[str]
    branches: list[str]
    state: MissionState
    reason: str = Field(description="Why it is not done: of a failure, a pause, a wait.")
    created_at: float
    started_at: float | None
    ended_at: float | None
    asked_by: str
    model: str
    limits: LimitsOut
    usage: UsageOut
    entries: int = Field(description="The length of its record.")
    head: str = Field(description="The hash of the last entry.")
    answer: AnswerOut | None

    @classmethod
    def of(cls, mission: Mission) -> "MissionOut":
        """Return *mission* for the wire."""
        return cls(
            id=mission.id,
            goal=display(mission.goal),
            project=mission.scope.project,
            repos=list(mission.scope.repos),
            repo_names=[display(name) for name in mission.repo_names],
            branches=[display(branch) for branch in mission.scope.branches],
            state=mission.state,
            reason=display(mission.reason),
            created_at=mission.created_at,
            started_at=mission.started_at,
            ended_at=mission.ended_at,
            asked_by=display(mission.asked_by),
            model=mission.model,
            limits=LimitsOut.of(mission.limits),
            usage=UsageOut.of(mission.usage),
            entries=mission.entries,
            head=mission.head,
            answer=None if mission.answer is None else AnswerOut.of(mission.answer),
        )


class MissionPage(Output):
    """A page of missions, newest first."""

    items: list[MissionOut]
    next_offset: int | None


class EntryOut(Output):
    """One step on record. The record itself, as it is stored, is what an auditor checks the hashes of."""

    seq: int
    at: float
    kind: EntryKind
    agent: str
    line: str = Field(description="The step in one line, for people.")
    data: dict[str, object]
    prev: str
    hash: str

    @classmethod
    def of(cls, entry: Entry) -> "EntryOut":
        """Return *entry* for the wire."""
        return cls(
            seq=entry.seq,
            at=entry.at,
            kind=entry.kind,
            agent=entry.agent,
            line=told(entry),
            data={shown(name): _sendable(value) for name, value in entry.data.items()},
            prev=entry.prev,
            hash=entry.hash,
        )


def _sendable(value: Json) -> object:
    """Return *value* without what UTF-8 cannot carry."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, Mapping):
        return {shown(name): _sendable(inner) for name, inner in value.items()}
    if isinstance(value, Sequence):
        return [_sendable(inner) for inner in value]
    return value


class VerificationOut(Output):
    """Whether a record is whole; if not, the first entry that is not as it was written, and why."""

    mission: str
    whole: bool
    entries: int
    head: str
    broken_at: int | None
    reason: str
    uncovered: list[str] = Field(description="What of the mission stands in no entry: an edit of that is not found.")

    @classmethod
    def of(cls, found: Verification) -> "VerificationOut":
        """Return *found* for the wire."""
        return cls(
            mission=found.mission,
            whole=found.whole,
            entries=found.entries,
            head=found.head,
            broken_at=found.broken_at,
            reason=display(found.reason),
            uncovered=list(found.uncovered),
        )


class ReplayOut(Output):
    """Whether a mission that was run again from its record alone is the same, byte for byte."""

    mission: str
    same: bool
    entries: int
    head: str
    differs_at: int | None
    reason: str

    @classmethod
    def of(cls, found: Replay) -> "ReplayOut":
        """Return *found* for the wire."""
        return cls(
            mission=found.mission,
            same=found.same,
            entries=found.entries,
            head=found.head,
            differs_at=found.differs_at,
            reason=display(found.reason),
        )
