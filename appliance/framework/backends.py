"""What stands behind a client: the same calls, whether the appliance is opened in this process or asked over HTTP."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from appliance.contracts.chat import Message
from appliance.contracts.tools import Json
from appliance.framework.conversation import Decision
from appliance.framework.desk import SessionInfo, Setup
from appliance.framework.events import AgentEvent
from appliance.framework.flows import WorkflowOutcome
from appliance.framework.results import ApprovalRequest, FoundLines, SessionMetrics, TaskResult, TurnCost
from appliance.orchestrator.missions.model import MissionState

Context = str | Mapping[str, Json] | None


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found, best first, of *total* candidates; *warnings* say what is missing."""

    lines: tuple[FoundLines, ...]
    total: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, linked to evidence by number. *origin* says who tells it: graph, git, search or model."""

    text: str
    cites: tuple[int, ...]
    origin: str = ""


@dataclass(frozen=True, slots=True)
class AskedAnswer:
    """An answer of `ask`: verified evidence, and the model's reading of it, which is never called that."""

    kind: str
    evidence: tuple[FoundLines, ...]
    sentences: tuple[Sentence, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MissionInfo:
    """A mission as it stands. *reason* says why it is not done: of a failure, a pause, a wait."""

    id: str
    goal: str
    state: MissionState
    reason: str
    model: str
    entries: int
    answer: AskedAnswer | None


class Backend(Protocol):
    """An appliance. Every call raises what the appliance answers with, or `Unavailable` where it does not answer."""

    async def create_session(self, setup: Setup) -> SessionInfo:
        """Begin a session."""

    async def session(self, session_id: str) -> SessionInfo:
        """Return the session as it stands."""

    async def sessions(self, *, limit: int) -> Sequence[SessionInfo]:
        """Return the sessions that changed last, the newest first."""

    async def messages(self, session_id: str) -> Sequence[Message]:
        """Return what was said."""

    async def metrics(self, session_id: str) -> tuple[SessionMetrics, TurnCost]:
        """Return what the session has cost, and its last turn."""

    async def chat(self, session_id: str, text: str, *, context: Context) -> TaskResult:
        """Return what comes of *text*."""

    def stream(self, session_id: str, text: str, *, context: Context) -> AsyncGenerator[AgentEvent, None]:
        """Give the events of a turn."""

    async def resume(self, run_id: str, decision: Decision, *, note: str) -> TaskResult:
        """Decide, and return what then comes of the run."""

    async def asked(self, run_id: str) -> Sequence[ApprovalRequest]:
        """Return what a run asks people now."""

    async def decide(self, approval: str, decision: Decision, *, note: str) -> None:
        """Decide on one question."""

    async def run_workflow(
        self, source: str, state: Mapping[str, Json], *, setup: Setup, run_id: str, resume: bool
    ) -> WorkflowOutcome:
        """Run a workflow."""

    async def search(self, query: str, *, workspace: str | None, limit: int) -> Found:
        """Find code."""

    async def ask(self, question: str, *, workspace: str | None, prose: bool) -> AskedAnswer:
        """Answer a question about code."""

    async def start_mission(self, goal: str, *, workspace: str | None) -> MissionInfo:
        """Put a mission on record and have it worked on."""

    async def mission(self, mission_id: str) -> MissionInfo:
        """Return the mission as it stands."""

    async def cancel_mission(self, mission_id: str) -> MissionInfo:
        """Stop it."""

    async def close(self) -> None:
        """Let go of everything."""
