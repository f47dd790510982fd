"""Sessions of agents on the wire."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from appliance.api.schemas import Input, Output
from appliance.base.paths import display, shown
from appliance.contracts.chat import Message
from appliance.framework.desk import SessionInfo, Setup
from appliance.framework.flows import WorkflowOutcome
from appliance.framework.results import SessionMetrics, TaskResult, TurnCost
from appliance.orchestrator.approvals import Decision

LONGEST_TEXT = 100_000


class ChatIn(Input):
    """A message, and what stands behind it."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_TEXT, strip_whitespace=True)]
    context: str | dict[str, JsonValue] | None = Field(None, description="Text or JSON that the model reads with it.")


class ResumeRunIn(Input):
    """A yes or a no, and why."""

    decision: Decision
    note: Annotated[str, StringConstraints(max_length=2_000, strip_whitespace=True)] = ""


class WorkflowIn(Input):
    """A workflow to run: YAML, or the name that a plugin gave it."""

    source: Annotated[str, StringConstraints(min_length=1, max_length=262_144)]
    state: dict[str, JsonValue] = Field(default_factory=dict, description="Its input; of a run that goes on, an update.")
    setup: Setup = Field(default_factory=Setup, description="What the run may use, as a session's.")
    run_id: Annotated[str, StringConstraints(pattern=r"^run_[a-z0-9]{16}$")] | None = None
    resume: bool = Field(False, description="Go on with the run `run_id`, which a process left.")


class SessionOut(Output):
    """A session. Times are seconds since the epoch."""

    id: str
    title: str
    project: str
    state: Literal["open", "closed"]
    created_at: float
    updated_at: float
    messages: int = Field(description="Those of tools too.")

    @classmethod
    def of(cls, session: SessionInfo) -> "SessionOut":
        """Return *session* for the wire."""
        return cls(
            id=session.id,
            title=display(session.title),
            project=session.project,
            state=session.state,
            created_at=session.created_at,
            updated_at=session.updated_at,
            messages=session.messages,
        )


class MessageOut(Output):
    """Something that was said."""

    role: Literal["system", "user", "assistant"]
    content: str

    @classmethod
    def of(cls, message: Message) -> "MessageOut":
        """Return *message* for the wire."""
        return cls(role=message.role, content=shown(message.content))


class CostOut(Output):
    """What turns took."""

    prompt_tokens: int
    completion_tokens: int
    tool_calls: int
    seconds: float

    @classmethod
    def of(cls, cost: TurnCost) -> "CostOut":
        """Return *cost* for the wire."""
        return cls(
            prompt_tokens=cost.prompt_tokens,
            completion_tokens=cost.completion_tokens,
            tool_calls=cost.tool_calls,
            seconds=cost.seconds,
        )


class TotalOut(Output):
    """What a session has cost so far."""

    session_id: str
    turns: int
    failed: int
    cost: CostOut


class SessionMetricsOut(Output):
    """What a session has cost, and its last turn."""

    total: TotalOut
    last_turn: CostOut

    @classmethod
    def of(cls, metrics: tuple[SessionMetrics, TurnCost]) -> "SessionMetricsOut":
        """Return *metrics* for the wire."""
        total, last = metrics
        return cls(
            total=TotalOut(session_id=total.session_id, turns=total.turns, failed=total.failed, cost=CostOut.of(total.cost)),
            last_turn=CostOut.of(last),
        )


class ReadOut(Output):
    """Lines that were read for an answer; ``verified`` says of the place alone that it is there."""

    n: int
    repo_name: str
    path: str
    start_line: int
    end_line: int
    commit: str
    verified: bool
    symbol: str
    kind: str
    text: str


class TaskOut(Output):
    """What a turn came to. `awaiting_approval`: `approval_request` waits for a person."""

    content: str
    tool_calls: list[dict[str, JsonValue]] = Field(description="`tool`, `arguments`, `result`, `error` of each.")
    success: bool
    error: str
    metadata: dict[str, JsonValue]
    status: Literal["done", "paused", "awaiting_approval", "failed"]
    run_id: str
    approval_request: dict[str, JsonValue] | None
    citations: list[ReadOut] = Field(description="What was read for this answer; no model chose it.")

    @classmethod
    def of(cls, result: TaskResult) -> "TaskOut":
        """Return *result* for the wire."""
        return cls.model_validate(result.to_dict())


class WorkflowRunOut(Output):
    """How a run of a workflow ended."""

    run_id: str
    success: bool
    state: dict[str, JsonValue]
    error: str
    steps: int

    @classmethod
    def of(cls, outcome: WorkflowOutcome) -> "WorkflowRunOut":
        """Return *outcome* for the wire."""
        state: Mapping[str, object] = outcome.state
        return cls.model_validate(
            {
                "run_id": outcome.run_id,
                "success": outcome.success,
                "state": dict(state),
                "error": shown(outcome.error),
                "steps": outcome.steps,
            }
        )
