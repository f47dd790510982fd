"""What a turn of an agent came to, and what sessions cost."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from appliance.base.paths import display
from appliance.contracts.tools import Json
from appliance.errors import InvalidInput
from appliance.framework.events import AgentEvent, EventType

if TYPE_CHECKING:
    from appliance.codeintel.results import Citation, Hit

TaskStatus = Literal["done", "paused", "awaiting_approval", "failed"]


@dataclass(frozen=True, slots=True)
class ToolCallRecord:
    """A call that was made or refused. *result* is what the model was told; *error* is that too, where it failed."""

    tool: str
    arguments: Mapping[str, Json]
    result: str = ""
    error: str = ""

    @property
    def success(self) -> bool:
        """Whether the call was made and gave an output."""
        return not self.error


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A question to a person: whether exactly this call may be made. *expires_at* is in seconds since the epoch."""

    id: str
    tool: str
    arguments: Mapping[str, Json]
    why: str
    expires_at: float


@dataclass(frozen=True, slots=True)
class FoundLines:
    """Lines of one blob at one commit. *n* is the number by which sentences cite them, 0 where none do."""

    repo_name: str
    path: str
    start_line: int
    end_line: int
    commit: str
    verified: bool
    symbol: str
    kind: str
    text: str
    n: int = 0

    @classmethod
    def of(cls, found: "Hit | Citation") -> "FoundLines":
        """Return *found* as programs and people see it."""
        span = found.span
        return cls(
            span.repo_name,
            display(span.path),
            span.start_line,
            span.end_line,
            span.commit,
            span.verified,
            display(found.symbol),
            found.kind,
            found.text,
            int(getattr(found, "n", 0)),
        )


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What a turn came to.

    *success* is whether *status* is ``done``; ``paused``: its steps led nowhere, and the next message goes on from there;
    ``awaiting_approval``: *approval_request* waits for a person, and `Agent.resume` goes on; ``failed``: *error* says why.
    *citations* are the lines that were read for this answer: all that the results hold of which it was made.
    """

    content: str
    tool_calls: tuple[ToolCallRecord, ...] = ()
    success: bool = True
    error: str = ""
    metadata: Mapping[str, Json] = field(default_factory=dict)
    status: TaskStatus = "done"
    run_id: str = ""
    approval_request: ApprovalRequest | None = None
    citations: tuple[FoundLines, ...] = ()

    def to_dict(self) -> dict[str, Json]:
        """Return every field as JSON can say it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, told: Mapping[str, Json]) -> "TaskResult":
        """Return the result that `to_dict` told; raise `InvalidInput` for what is none."""
        fields: dict[str, Any] = dict(told)
        try:
            calls = tuple(ToolCallRecord(**call) for call in fields["tool_calls"])
            asked = fields["approval_request"]
            read = tuple(FoundLines(**each) for each in fields["citations"])
            asks = asked and ApprovalRequest(**asked)
            return cls(**{**fields, "tool_calls": calls, "approval_request": asks, "citations": read})
        except (KeyError, TypeError) as exc:
            raise InvalidInput(f"This is no result of a turn: {type(exc).__name__} {exc}.") from exc


@dataclass(frozen=True, slots=True)
class TurnCost:
    """What one turn, or several together, took of the engine and of tools. *seconds* are from first to last event."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    tool_calls: int = 0
    seconds: float = 0.0

    @property
    def total_tokens(self) -> int:
        """Tokens read and written."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class SessionMetrics:
    """What a session has cost so far. Only turns that were observed count; *failed* are those without an answer."""

    session_id: str
    turns: int = 0
    failed: int = 0
    cost: TurnCost = field(default_factory=TurnCost)


class Gathering:
    """Makes the result of a turn from its events."""

    def __init__(self) -> None:
        self._content: list[str] = []
        self._calls: dict[int, ToolCallRecord] = {}
        self._error = ""
        self._last = AgentEvent(EventType.STREAM_START)
        self.approval: ApprovalRequest | None = None

    def add(self, event: AgentEvent) -> None:
        """Take *event* in."""
        self._last = event
        if event.type is EventType.CONTENT:
            self._content.append(event.content)
        elif event.type is EventType.TOOL_CALL:
            self._calls[event.sequence_id] = ToolCallRecord(event.tool_name, event.arguments)
        elif event.type in {EventType.TOOL_RESULT, EventType.TOOL_ERROR}:
            made = self._calls[event.parent_event_id or 0]
            self._calls[event.parent_event_id or 0] = ToolCallRecord(made.tool, made.arguments, event.result, event.error)
            self.approval = None
        elif event.type is EventType.AWAITING_APPROVAL:
            self.approval = _approval(event)
        elif event.type is EventType.ERROR:
            self._error = event.error

    def result(self) -> TaskResult:
        """Return what it came to so far; whole once the last event is in."""
        status: TaskStatus = "failed" if self._error else "done"
        if self.approval is not None:
            status = "awaiting_approval"
        elif self._last.metadata.get("status") == "paused":
            status = "paused"
        ended: dict[str, Any] = dict(self._last.metadata) if self._last.type is EventType.STREAM_END else {}
        citations = tuple(FoundLines(**each) for each in ended.pop("citations", ()))
        return TaskResult(
            content="".join(self._content).strip(),
            tool_calls=tuple(self._calls.values()),
            success=status == "done",
            error=self._error,
            metadata=ended,
            status=status,
            run_id=self._last.run_id,
            approval_request=self.approval,
            citations=citations,
        )


def _approval(event: AgentEvent) -> ApprovalRequest:
    told = event.metadata
    expires = told.get("expires_at")
    return ApprovalRequest(
        str(told.get("approval", "")),
        event.tool_name,
        event.arguments,
        event.content,
        float(expires) if isinstance(expires, int | float) else 0.0,
    )
