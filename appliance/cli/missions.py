"""What the API answers about missions, as far as the command line shows it."""

from typing import Literal

import msgspec

from appliance.cli.views import Answer


class Usage(msgspec.Struct):
    """What a mission has used so far."""

    model_calls: int
    tool_calls: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float


class Mission(msgspec.Struct):
    """A mission as it stands."""

    id: str
    goal: str
    repo_names: list[str]
    state: Literal["queued", "running", "waiting", "paused", "done", "failed", "cancelled"]
    reason: str
    created_at: float
    asked_by: str
    model: str
    usage: Usage
    entries: int
    head: str
    answer: Answer | None

    @property
    def ended(self) -> bool:
        """Whether it will not change any more."""
        return self.state in {"done", "failed", "cancelled"}


class MissionPage(msgspec.Struct):
    """A page of missions."""

    items: list[Mission]
    next_offset: int | None


class Entry(msgspec.Struct):
    """One step on record."""

    seq: int
    at: float
    kind: str
    agent: str
    line: str


class Verification(msgspec.Struct):
    """Whether a record is whole, and what of its mission stands in no entry."""

    whole: bool
    entries: int
    head: str
    broken_at: int | None
    reason: str
    uncovered: list[str] = []


class Replay(msgspec.Struct):
    """Whether a mission that was run again from its record is the same."""

    same: bool
    entries: int
    head: str
    differs_at: int | None
    reason: str


class Approval(msgspec.Struct):
    """A question to a person."""

    id: str
    run: str
    what: str
    arguments: str
    why: str
    state: str
    expires_at: float
