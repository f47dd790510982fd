"""A client of one appliance: the same verbs in this process and over HTTP."""

import asyncio
import importlib
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from appliance.contracts.chat import Message
from appliance.contracts.tools import Json
from appliance.errors import Conflict
from appliance.framework.conversation import Decision
from appliance.framework.events import AgentEvent, EventType
from appliance.framework.results import ApprovalRequest, SessionMetrics, TaskResult, TurnCost
from appliance.ids import new_id

if TYPE_CHECKING:
    from appliance.framework.backends import AskedAnswer, Backend, Context, Found, MissionInfo
    from appliance.framework.desk import SessionInfo, Setup
    from appliance.framework.flows import WorkflowOutcome
    from appliance.framework.options import Config

ApprovalHandler = Callable[[ApprovalRequest], bool | Awaitable[bool]]

_LOOK_S: Final = 0.25


class ApplianceClient:
    """Made by `local` or `connect`, and used as an async context manager, in one event loop.

    It has one session at a time, which `chat` and `stream` begin where there is none; `create_session` and `resume_session`
    change to another. Every verb raises the same errors, whichever way the appliance is reached.
    """

    def __init__(self, backend: "Backend") -> None:
        self._backend = backend
        self._session: str | None = None
        self._handler: ApprovalHandler | None = None

    @classmethod
    def local(cls, config: "Config" = None) -> Self:
        """Return a client that opens the appliance of *config* in this process, as `Agent.create` does."""
        desk = importlib.import_module("appliance.framework.desk")
        backend = importlib.import_module("appliance.framework.backend_local")
        opening = importlib.import_module("appliance.framework.place")
        options = importlib.import_module("appliance.framework.options")
        return cls(backend.LocalBackend(desk.AgentDesk(lambda: opening.open_place(options.loaded(config)))))

    @classmethod
    def connect(cls, url: str, *, key: str, socket: Path | None = None) -> Self:
        """Return a client of the appliance that listens at *url*, or behind the unix *socket*; *key* may manage it."""
        backend = importlib.import_module("appliance.framework.backend_http")
        return cls(backend.HttpBackend(url, key=key, socket=socket))

    @property
    def session_id(self) -> str | None:
        """The session that `chat` and `stream` go on with."""
        return self._session

    async def create_session(self, **setup: object) -> "SessionInfo":
        """Begin a session and change to it. It takes what `Setup` has; raise `InvalidInput` for anything else."""
        made = await self._backend.create_session(_setup(setup))
        self._session = made.id
        return made

    async def resume_session(self, session_id: str) -> "SessionInfo":
        """Change to a session that is there; raise `NotFound`, or `Conflict` for one that is closed."""
        found = await self._backend.session(session_id)
        if found.state != "open":
            raise Conflict(f"The session {found.id} is closed.", remedy="Begin another.", session=found.id)
        self._session = found.id
        return found

    async def list_recent_sessions(self, limit: int = 20) -> "Sequence[SessionInfo]":
        """Return the sessions that changed last, the newest first."""
        return await self._backend.sessions(limit=limit)

    async def get_messages(self, session_id: str | None = None) -> Sequence[Message]:
        """Return what was said in the session, the system prompt first, without the calls of tools."""
        return await self._backend.messages(await self._named(session_id))

    async def get_session_metrics(self, session_id: str | None = None) -> SessionMetrics:
        """Return what the session has cost so far."""
        return (await self._backend.metrics(await self._named(session_id)))[0]

    async def get_last_turn_cost(self, session_id: str | None = None) -> TurnCost:
        """Return what the last turn of the session took, zeros before the first."""
        return (await self._backend.metrics(await self._named(session_id)))[1]

    def set_approval_handler(self, handler: ApprovalHandler | None) -> None:
        """Have *handler* say yes or no to each call that needs a person; with None such a call waits for `resume`."""
        self._handler = handler

    async def chat(self, text: str, *, session_id: str | None = None, context: "Context" = None) -> TaskResult:
        """Return what comes of *text*, as `Agent.run` does."""
        result = await self._backend.chat(await self._named(session_id), text, context=context)
        while result.approval_request is not None and self._handler is not None:
            decision = await self._decision(result.approval_request)
            try:
                result = await self._backend.resume(result.run_id, decision, note="")
            except Conflict:  # somebody else was faster, or its time was over: the turn went on as that has it
                other: Decision = "rejected" if decision == "approved" else "approved"
                result = await self._backend.resume(result.run_id, other, note="")
        return result

    async def stream(
        self, text: str, *, session_id: str | None = None, context: "Context" = None
    ) -> AsyncGenerator[AgentEvent, None]:
        """Give the events of the turn with *text*, as `Agent.stream` does. Closing the generator cancels the turn."""
        session = await self._named(session_id)
        async with aclosing(self._backend.stream(session, text, context=context)) as events:
            async for event in events:
                yield event
                if event.type is EventType.AWAITING_APPROVAL and self._handler is not None:
                    asked = _asked_by(event)
                    with suppress(
                        Conflict
                    ):  # somebody else was faster, or its time was over: the turn goes on as that has it
                        await self._backend.decide(asked.id, await self._decision(asked), note="")

    async def resume(self, run_id: str, decision: Decision, *, note: str = "") -> TaskResult:
        """Decide on what the run *run_id* asks, and return what then comes of it; raise `NotFound`, or `Conflict`."""
        return await self._backend.resume(run_id, decision, note=note)

    async def run_workflow(
        self,
        workflow: str,
        state: Mapping[str, Json] | None = None,
        *,
        run_id: str | None = None,
        resume: bool = False,
        **setup: object,
    ) -> "WorkflowOutcome":
        """Run a workflow, by the name that a plugin gave it or as YAML, within what *setup* grants, and return how it ended.

        Its questions go to the approval handler; without one they wait for a person, at the console or the API. With
        *resume* the run *run_id*, which a process left, goes on; *state* is then an update.
        """
        run = run_id or new_id("run")
        work = self._backend.run_workflow(workflow, state or {}, setup=_setup(setup), run_id=run, resume=resume)
        if self._handler is None:
            return await work
        working = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait({working}, timeout=_LOOK_S))[0]:
                for asked in await self._backend.asked(run):
                    with suppress(Conflict):  # somebody else was faster
                        await self._backend.decide(asked.id, await self._decision(asked), note="")
            return await working
        finally:
            working.cancel()

    async def search(self, query: str, *, workspace: str | None = None, limit: int = 20) -> "Found":
        """Return the code that fits *query* best, in a repository or project, or in the project ``default``."""
        return await self._backend.search(query, workspace=workspace, limit=limit)

    async def ask(self, question: str, *, workspace: str | None = None, prose: bool = True) -> "AskedAnswer":
        """Return the answer to *question*: evidence that was verified, and with *prose* the model's reading of it."""
        return await self._backend.ask(question, workspace=workspace, prose=prose)

    async def start_mission(self, goal: str, *, workspace: str | None = None) -> "MissionInfo":
        """Put a mission on record, which the appliance's worker works on, and return it."""
        return await self._backend.start_mission(goal, workspace=workspace)

    async def get_mission(self, mission_id: str) -> "MissionInfo":
        """Return the mission as it stands, with its answer once it has one; raise `NotFound`."""
        return await self._backend.mission(mission_id)

    async def cancel_mission(self, mission_id: str) -> "MissionInfo":
        """Stop the mission, at whatever it is; raise `NotFound`, or `Conflict` if it has ended."""
        return await self._backend.cancel_mission(mission_id)

    async def close(self) -> None:
        """Let go of the appliance; sessions stay."""
        await self._backend.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        await self.close()

    async def _named(self, session_id: str | None) -> str:
        """Return the session that is meant, begun where there is none."""
        if session_id is None and self._session is None:
            await self.create_session()
        return session_id or self._session or ""

    async def _decision(self, asked: ApprovalRequest) -> Decision:
        said = self._handler(asked) if self._handler is not None else False
        said = await said if inspect.isawaitable(said) else said
        return "approved" if said is True else "rejected"


def _asked_by(event: AgentEvent) -> ApprovalRequest:
    expires = event.metadata.get("expires_at")
    return ApprovalRequest(
        str(event.metadata["approval"]),
        event.tool_name,
        event.arguments,
        event.content,
        float(expires) if isinstance(expires, int | float) else 0.0,
    )


def _setup(given: Mapping[str, object]) -> "Setup":
    desk = importlib.import_module("appliance.framework.desk")
    made: Setup = desk.setup_of(given)
    return made
