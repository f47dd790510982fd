"""What happens while an agent works, as events numbered within their run."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from dataclasses import fields as dataclass_fields
from enum import StrEnum
from typing import Final

from appliance.contracts.tools import Json
from appliance.errors import InvalidInput


class EventType(StrEnum):
    """What an event tells."""

    CONTENT = "content"  # a piece of the final answer
    THINKING = "thinking"  # a piece of what the model says to itself; only where it was asked to
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    TOOL_ERROR = "tool_error"
    TOOL_PROGRESS = "tool_progress"
    STAGE_CHANGE = "stage_change"
    STREAM_START = "stream_start"  # the first of a run
    STREAM_END = "stream_end"  # the last of a run, however it ended
    ERROR = "error"
    RECOVERY = "recovery"
    PROGRESS = "progress"
    MILESTONE = "milestone"
    AWAITING_APPROVAL = "awaiting_approval"


TOOL_EVENTS: Final = frozenset({EventType.TOOL_CALL, EventType.TOOL_RESULT, EventType.TOOL_ERROR, EventType.TOOL_PROGRESS})
CONTENT_EVENTS: Final = frozenset({EventType.CONTENT, EventType.THINKING})
ERROR_EVENTS: Final = frozenset({EventType.ERROR, EventType.TOOL_ERROR})
LIFECYCLE_EVENTS: Final = frozenset({EventType.STREAM_START, EventType.STREAM_END})


@dataclass(frozen=True, slots=True)
class AgentEvent:
    """One event. What its type has no use for is empty.

    ``sequence_id`` counts from 1 within the run; ``parent_event_id`` is the number of the event that this one belongs to: of
    a tool's result, its call. ``timestamp`` is in seconds since the epoch.
    """

    type: EventType
    content: str = ""
    tool_name: str = ""
    tool_id: str = ""
    arguments: Mapping[str, Json] = field(default_factory=dict)
    result: str = ""
    success: bool = True
    old_stage: str = ""
    new_stage: str = ""
    error: str = ""
    recoverable: bool = True
    progress: float = 0.0  # from 0 to 1
    milestone: str = ""
    sequence_id: int = 0
    parent_event_id: int | None = None
    member_id: str = ""  # which member of a team
    metadata: Mapping[str, Json] = field(default_factory=dict)
    timestamp: float = 0.0
    run_id: str = ""

    @property
    def is_tool_event(self) -> bool:
        """Whether it is of a tool."""
        return self.type in TOOL_EVENTS

    @property
    def is_content_event(self) -> bool:
        """Whether it carries text of the model."""
        return self.type in CONTENT_EVENTS

    @property
    def is_error_event(self) -> bool:
        """Whether something failed."""
        return self.type in ERROR_EVENTS

    @property
    def is_lifecycle_event(self) -> bool:
        """Whether the run begins or ends."""
        return self.type in LIFECYCLE_EVENTS

    def to_dict(self) -> dict[str, Json]:
        """Return every field as JSON can say it."""
        return {
            "type": self.type.value,
            "content": self.content,
            "tool_name": self.tool_name,
            "tool_id": self.tool_id,
            "arguments": dict(self.arguments),
            "result": self.result,
            "success": self.success,
            "old_stage": self.old_stage,
            "new_stage": self.new_stage,
            "error": self.error,
            "recoverable": self.recoverable,
            "progress": self.progress,
            "milestone": self.milestone,
            "sequence_id": self.sequence_id,
            "parent_event_id": self.parent_event_id,
            "member_id": self.member_id,
            "metadata": dict(self.metadata),
            "timestamp": self.timestamp,
            "run_id": self.run_id,
        }

    @classmethod
    def from_dict(cls, told: Mapping[str, Json]) -> "AgentEvent":
        """Return the event that `to_dict` told; raise `InvalidInput` for what is none."""
        try:
            fields = {field.name: told[field.name] for field in dataclass_fields(cls)}
            return cls(**{**fields, "type": EventType(str(told["type"]))})  # type: ignore[arg-type]
        except (KeyError, TypeError, ValueError) as exc:
            raise InvalidInput(f"This is no event of an agent: {type(exc).__name__} {exc}.") from exc


class Emitter:
    """Numbers the events of one run, from 1 without a gap. *member_id* marks those that do not say theirs."""

    def __init__(self, run_id: str, *, member_id: str = "", now: Callable[[], float] = time.time) -> None:
        self.run_id = run_id
        self._member_id = member_id
        self._now = now
        self._last = 0

    def __call__(self, event: AgentEvent) -> AgentEvent:
        """Return *event* with its number, its run and its time."""
        self._last += 1
        return replace(
            event,
            sequence_id=self._last,
            run_id=self.run_id,
            timestamp=self._now(),
            member_id=event.member_id or self._member_id,
        )
