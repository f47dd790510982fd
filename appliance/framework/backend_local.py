"""The appliance opened in this process."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.results import Answer, Scope
from appliance.contracts.chat import Message
from appliance.contracts.tools import Json
from appliance.errors import EngineUnavailable, Unavailable
from appliance.framework.backends import AskedAnswer, Context, Found, MissionInfo, Sentence
from appliance.framework.conversation import Decision
from appliance.framework.desk import AgentDesk, SessionInfo, Setup
from appliance.framework.events import AgentEvent
from appliance.framework.flows import WorkflowOutcome
from appliance.framework.place import Place
from appliance.framework.results import ApprovalRequest, FoundLines, SessionMetrics, TaskResult, TurnCost
from appliance.ids import MissionId, RepoId
from appliance.jobs.queue import JobQueue
from appliance.missioning import Missions
from appliance.orchestrator.approvals import Approvals
from appliance.orchestrator.missions.build import desk_of
from appliance.orchestrator.missions.model import Mission
from appliance.orchestrator.missions.runner import Runner

BY: Final = "client"


class LocalBackend:
    """Satisfies `Backend` by a desk of its own."""

    def __init__(self, desk: AgentDesk) -> None:
        self._desk = desk
        self._known: Missions | None = None
        self._closing: list[Callable[[], None]] = []

    async def create_session(self, setup: Setup) -> SessionInfo:
        """Begin a session."""
        return await self._desk.create_session(setup)

    async def session(self, session_id: str) -> SessionInfo:
        """Return the session as it stands."""
        return await self._desk.session(session_id)

    async def sessions(self, *, limit: int) -> Sequence[SessionInfo]:
        """Return the sessions that changed last, the newest first."""
        return await self._desk.sessions(limit=limit)

    async def messages(self, session_id: str) -> Sequence[Message]:
        """Return what was said."""
        return await self._desk.messages(session_id)

    async def metrics(self, session_id: str) -> tuple[SessionMetrics, TurnCost]:
        """Return what the session has cost, and its last turn."""
        return await self._desk.metrics(session_id)

    async def chat(self, session_id: str, text: str, *, context: Context) -> TaskResult:
        """Return what comes of *text*."""
        return await self._desk.chat(session_id, text, context=context)

    async def stream(self, session_id: str, text: str, *, context: Context) -> AsyncGenerator[AgentEvent, None]:
        """Give the events of a turn."""
        async with aclosing(self._desk.stream(session_id, text, context=context)) as events:
            async for event in events:
                yield event

    async def resume(self, run_id: str, decision: Decision, *, note: str) -> TaskResult:
        """Decide, and return what then comes of the run."""
        return await self._desk.resume(run_id, decision, by=BY, note=note)

    async def asked(self, run_id: str) -> Sequence[ApprovalRequest]:
        """Return what a run asks people now."""
        return await self._desk.asked(run_id)

    async def decide(self, approval: str, decision: Decision, *, note: str) -> None:
        """Decide on one question."""
        await self._desk.decide(approval, decision, by=BY, note=note)

    async def run_workflow(
        self, source: str, state: Mapping[str, Json], *, setup: Setup, run_id: str, resume: bool
    ) -> WorkflowOutcome:
        """Run a workflow."""
        return await self._desk.run_workflow(source, state, setup=setup, run_id=run_id, resume=resume)

    async def search(self, query: str, *, workspace: str | None, limit: int) -> Found:
        """Find code."""
        place = await self._desk.place()
        response = await place.index.searcher.search(query, scope=_scope(place, workspace), limit=limit)
        return Found(
            tuple(FoundLines.of(hit) for hit in response.hits), response.total, tuple(map(display, response.warnings))
        )

    async def ask(self, question: str, *, workspace: str | None, prose: bool) -> AskedAnswer:
        """Answer a question about code."""
        place = await self._desk.place()
        async with aclosing(place.answerer.ask(question, scope=_scope(place, workspace), prose=prose)) as events:
            async for event in events:
                if event.type == "done" and event.answer is not None:
                    return _answer(event.answer)
        raise EngineUnavailable("The answer broke off before its end.", remedy="Ask again.")

    async def start_mission(self, goal: str, *, workspace: str | None) -> MissionInfo:
        """Put a mission on record and have it worked on, by the worker of the appliance."""
        place, missions = await self._missions()
        return _mission(await asyncio.to_thread(missions.start, goal, scope=_scope(place, workspace), asked_by=BY))

    async def mission(self, mission_id: str) -> MissionInfo:
        """Return the mission as it stands."""
        _, missions = await self._missions()
        return _mission(await asyncio.to_thread(missions.desk.get, MissionId(mission_id)))

    async def cancel_mission(self, mission_id: str) -> MissionInfo:
        """Stop it."""
        _, missions = await self._missions()
        return _mission(await asyncio.to_thread(missions.cancel, MissionId(mission_id), by=BY))

    async def close(self) -> None:
        """Let go of everything."""
        for close in self._closing:
            await asyncio.to_thread(close)
        self._closing.clear()
        self._known = None
        await self._desk.close()

    async def _missions(self) -> tuple[Place, Missions]:
        """Return the place and its missions, opened with the first of them."""
        place = await self._desk.place()
        if self._known is None:
            self._known = await asyncio.to_thread(self._opened, place)
        return place, self._known

    def _opened(self, place: Place) -> Missions:
        jobs = JobQueue(place.connect(), clock=place.clock)
        desk = desk_of(place.connect, registry=place.index.registry, chat=place.chat, clock=place.clock)
        missions = Missions(desk, approvals=Approvals(place.connect(), clock=place.clock), jobs=jobs, make_runner=_no_runner)
        self._closing += [missions.close, jobs.close]
        return missions


def _scope(place: Place, workspace: str | None) -> Scope:
    found = place.workspace(workspace)
    return Scope(found.project, tuple(map(RepoId, found.repos)))


def _mission(mission: Mission) -> MissionInfo:
    answer = None if mission.answer is None else _answer(mission.answer)
    goal, reason = display(mission.goal), display(mission.reason)
    return MissionInfo(mission.id, goal, mission.state, reason, mission.model, mission.entries, answer)


def _no_runner() -> Runner:
    raise Unavailable("Missions are worked on by the worker of the appliance.", remedy="`skellig up` starts it.")


def _answer(answer: Answer) -> AskedAnswer:
    sentences = tuple(Sentence(each.text, tuple(each.cites), each.origin) for each in answer.sentences)
    return AskedAnswer(answer.kind, tuple(map(FoundLines.of, answer.evidence)), sentences, answer.warnings)
