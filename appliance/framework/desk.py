"""Sessions by their ids, each with an agent as it was set up: behind the client in this process, and behind the HTTP API."""

import asyncio
import json
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from appliance.base.paths import display
from appliance.contracts.chat import Message
from appliance.contracts.tools import Json
from appliance.errors import InvalidInput, NotFound
from appliance.framework.agent import Agent
from appliance.framework.conversation import Decision
from appliance.framework.events import AgentEvent
from appliance.framework.flows import WorkflowOutcome, run_workflow, workflow_of
from appliance.framework.ledger import Ledger, Setups
from appliance.framework.making import Wanted, make
from appliance.framework.options import SessionConfig
from appliance.framework.place import Place
from appliance.framework.results import ApprovalRequest, SessionMetrics, TaskResult, TurnCost
from appliance.ids import new_id
from appliance.orchestrator.services.session import Session

MOST_AGENTS: Final = 64  # that are kept ready; the others are made again from what their sessions say


class Setup(BaseModel):
    """How the agent of a session is made: what `Agent.create` takes, where it can be told over HTTP."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    workspace: str | None = Field(None, max_length=4_096, description="A repository by name, id or path, or a project.")
    tools: tuple[str, ...] | None = Field(
        None, max_length=64, description="Names of tools; left out: those that read code as it is indexed now."
    )
    profile: str | None = Field(None, max_length=64, description="An agent that a plugin registered.")
    model: str | None = Field(None, max_length=100, description="The model that is served.")
    temperature: float = Field(0.7, ge=0, le=2)
    max_tokens: int = Field(4_096, ge=1, le=131_072)
    thinking: bool = Field(default=False, description="Whether the model first makes notes.")
    airgapped: bool = Field(default=False, description="Whether the tools of plugins are left out.")
    config: SessionConfig = Field(default_factory=SessionConfig, description="What bounds the session.")

    def wanted(self, session_id: str | None) -> Wanted:
        """Return what an agent of *session_id* is made from."""
        return Wanted(
            None, self.model, self.temperature, self.max_tokens, self.tools, self.thinking, self.airgapped, self.profile,
            self.workspace, None, None, True, session_id, self.config,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session as lists show it. Times are seconds since the epoch; *messages* counts those of tools too."""

    id: str
    title: str
    project: str
    state: Literal["open", "closed"]
    created_at: float
    updated_at: float
    messages: int


class AgentDesk:
    """Sessions over the place that *opened* gives, which is opened with the first of them. Use it in one event loop."""

    def __init__(self, opened: Callable[[], Place]) -> None:
        self._opened = opened
        self._place: Place | None = None
        self._agents: OrderedDict[str, Agent] = OrderedDict()
        self._making = asyncio.Lock()

    async def place(self) -> Place:
        """Return the place, opened."""
        async with self._making:
            if self._place is None:
                self._place = await asyncio.to_thread(self._opened)
            return self._place

    async def create_session(self, setup: Setup) -> SessionInfo:
        """Begin a session; raise what `Agent.create` raises."""
        place, session_id = await self.place(), new_id("ses")
        await self._keep(session_id, Agent(await make(setup.wanted(session_id), place=place), owned=False))
        await asyncio.to_thread(Setups(place.services.sessions).enter, session_id, setup.model_dump(mode="json"))
        return await self.session(session_id)

    async def session(self, session_id: str) -> SessionInfo:
        """Return the session as it stands; raise `NotFound`."""
        place = await self.place()
        return _info(await asyncio.to_thread(place.services.sessions.get_session, session_id))

    async def sessions(self, *, limit: int = 20) -> Sequence[SessionInfo]:
        """Return the sessions that changed last, the newest first."""
        place = await self.place()
        return [_info(each) for each in await asyncio.to_thread(place.services.sessions.list_sessions, limit=limit)]

    async def messages(self, session_id: str) -> Sequence[Message]:
        """Return what was said, the system prompt first, without the calls of tools; raise `NotFound`."""
        await self.session(session_id)
        return (await self._agent(session_id)).history

    async def metrics(self, session_id: str) -> tuple[SessionMetrics, TurnCost]:
        """Return what the session has cost so far, and its last turn; raise `NotFound`."""
        ledger = Ledger((await self.place()).services.sessions)
        return await asyncio.to_thread(lambda: (ledger.metrics(session_id), ledger.last_turn(session_id)))

    async def chat(self, session_id: str, text: str, *, context: str | Mapping[str, Json] | None = None) -> TaskResult:
        """Return what comes of *text*; raise `NotFound`, and `InvalidInput` for one that says nothing."""
        return await (await self._agent(session_id)).run(text, context=context)

    async def stream(
        self, session_id: str, text: str, *, context: str | Mapping[str, Json] | None = None
    ) -> AsyncGenerator[AgentEvent, None]:
        """Give the events of the turn with *text*; raise as `chat`. Closing the generator cancels the turn."""
        agent = await self._agent(session_id)
        async with aclosing(agent.stream(text, context=context)) as events:
            async for event in events:
                yield event

    async def resume(self, run_id: str, decision: Decision, *, by: str, note: str = "") -> TaskResult:
        """Decide on what *run_id* asks, and return what then comes of it; raise as `Agent.resume`."""
        for agent in list(self._agents.values()):
            if agent.waits(run_id):
                return await agent.resume(run_id, decision, by=by, note=note)
        raise NotFound(f"The run {run_id[:80]!r} waits for nobody here.", remedy="A result that waits names its run.")

    async def run_workflow(
        self, source: str, state: Mapping[str, Json], *, setup: Setup, run_id: str, resume: bool = False
    ) -> WorkflowOutcome:
        """Run the workflow called *source*, or that it is as YAML, within what *setup* grants; raise as `run_workflow`."""
        made = await make(setup.wanted(None), place=await self.place())
        try:
            return await run_workflow(workflow_of(source, made), state, run_id=run_id, made=made, resume=resume)
        finally:
            await asyncio.to_thread(made.scratch.close)

    async def asked(self, run_id: str) -> Sequence[ApprovalRequest]:
        """Return what *run_id* asks people now."""
        approvals = (await self.place()).services.tools.approvals
        pending = await asyncio.to_thread(approvals.list, state="pending", run=run_id)
        return [
            ApprovalRequest(each.id, each.what, {"shown": each.arguments}, each.why, each.expires_at) for each in pending
        ]

    async def decide(self, approval: str, decision: Decision, *, by: str, note: str = "") -> None:
        """Decide on *approval*; raise `NotFound`, or `Conflict` for a late one."""
        approvals = (await self.place()).services.tools.approvals
        await asyncio.to_thread(approvals.decide, approval, decision, by=by, note=note)

    async def close(self) -> None:
        """Cancel what waits, and close the place."""
        for agent in self._agents.values():
            await agent.close()
        self._agents.clear()
        await asyncio.to_thread(self.let_go)

    def let_go(self) -> None:
        """Close the place, as far as it is open; what still works there fails."""
        place, self._place = self._place, None
        if place is not None:
            place.close()

    async def _agent(self, session_id: str) -> Agent:
        """Return the agent of a session, made again where it is not kept."""
        place = await self.place()
        async with self._making:  # one for each session, however many ask at once
            if session_id in self._agents:
                self._agents.move_to_end(session_id)
                return self._agents[session_id]
            session = await asyncio.to_thread(place.services.sessions.get_session, session_id)
            kept = await asyncio.to_thread(Setups(place.services.sessions).of, session_id)
            setup = Setup.model_validate_json(json.dumps(kept)) if kept else Setup(workspace=session.project)
            made = await make(setup.wanted(session_id), place=place)
        return await self._keep(session_id, Agent(made, owned=False))

    async def _keep(self, session_id: str, agent: Agent) -> Agent:
        """Keep *agent*, and let go of those that were longest without a word, but for those at work."""
        self._agents[session_id] = agent
        idle = [name for name, each in self._agents.items() if not each.busy and name != session_id]
        for name in idle[: max(0, len(self._agents) - MOST_AGENTS)]:
            await self._agents.pop(name).close()
        return agent


def setup_of(given: Mapping[str, object]) -> Setup:
    """Return *given* as a `Setup`; raise `InvalidInput` naming what it has not, or cannot be."""
    try:
        return Setup.model_validate(dict(given))
    except ValidationError as exc:
        wrong = exc.errors()[0]
        where = ".".join(map(str, wrong["loc"]))
        raise InvalidInput(
            f"A session, `{display(where)[:80]}`: {wrong['msg']}.", remedy=f"It takes {', '.join(Setup.model_fields)}."
        ) from exc


def _info(session: Session) -> SessionInfo:
    return SessionInfo(
        session.id, session.title, session.project, session.state, session.created_at, session.updated_at, session.messages
    )
