"""Sessions of agents: begin one, talk in it, see what was said and what it cost; and runs of workflows."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

import msgspec
from litestar import Controller, Response, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter
from litestar.response import Stream

from appliance import errors
from appliance.api import sse
from appliance.api.problems import documented
from appliance.api.sessions import (
    ChatIn,
    MessageOut,
    ResumeRunIn,
    SessionMetricsOut,
    SessionOut,
    TaskOut,
    WorkflowIn,
    WorkflowRunOut,
)
from appliance.api.v1.ask import AskOperation
from appliance.framework.desk import Setup
from appliance.ids import new_id
from appliance.services import Services
from appliance.web.listening import while_listening
from appliance.web.requests import caller_of, request_id_of
from appliance.web.wiring import Asked, Wired

Which = Annotated[str, PathParameter(max_length=100)]
_MANAGE = {"permission": "manage"}  # what others said is not for every reader


class SessionController(Controller):
    """``/api/v1/sessions``."""

    path = "/sessions"
    tags = ("agents",)
    opt = _MANAGE

    @post("/", summary="Begin a session", responses=documented(errors.NotFound))
    async def create(self, data: JSONBody[Setup], services: Wired) -> Response[SessionOut]:
        """Begin a session whose agent is made as the body says; ``Location`` is where it stands."""
        made = SessionOut.of(await services.agents.create_session(data))
        return Response(made, headers={"location": f"/api/v1/sessions/{made.id}"})

    @get("/", summary="The sessions that changed last", responses=documented())
    async def sessions(self, services: Wired, limit: Annotated[int, QueryParameter(ge=1, le=100)] = 20) -> list[SessionOut]:
        """Return sessions, the one that changed last first."""
        return [SessionOut.of(each) for each in await services.agents.sessions(limit=limit)]

    @get("/{session:str}", summary="One session", responses=documented(errors.NotFound))
    async def session(self, session: Which, services: Wired) -> SessionOut:
        """Return the session as it stands."""
        return SessionOut.of(await services.agents.session(session))

    @get("/{session:str}/messages", summary="What was said", responses=documented(errors.NotFound))
    async def messages(self, session: Which, services: Wired) -> list[MessageOut]:
        """Return the conversation, the system prompt first, without the calls of tools."""
        return [MessageOut.of(each) for each in await services.agents.messages(session)]

    @get("/{session:str}/metrics", summary="What a session cost", responses=documented(errors.NotFound))
    async def metrics(self, session: Which, services: Wired) -> SessionMetricsOut:
        """Return what the session has cost so far, and its last turn."""
        return SessionMetricsOut.of(await services.agents.metrics(session))

    @post(
        "/{session:str}/chat",
        status_code=200,
        summary="Say something in a session",
        operation_class=AskOperation,
        responses=documented(errors.NotFound, errors.Conflict),
    )
    async def chat(
        self, session: Which, data: JSONBody[ChatIn], services: Wired, request: Asked
    ) -> Response[TaskOut] | Stream:
        """Return what comes of it; with ``Accept: text/event-stream`` stream its events, each named by its type.

        A turn that fails is a result that says so. One whose call waits for a person returns, and goes on in
        ``/runs/{run}/resume``. When the listener goes, the turn stops, and the conversation keeps nothing of it.
        """
        if sse.MEDIA_TYPE in request.headers.get("accept", ""):
            return await sse.stream(lambda: _events(services, session, data), request_id=request_id_of(request.scope))
        turn = services.agents.chat(session, data.text, context=data.context)
        return Response(TaskOut.of(await while_listening(request.receive, turn)))


class RunController(Controller):
    """``/api/v1/runs`` and ``/api/v1/workflows``."""

    tags = ("agents",)
    opt = _MANAGE

    @post(
        "/runs/{run:str}/resume",
        status_code=200,
        summary="Decide on what a run asks, and let it go on",
        responses=documented(errors.NotFound, errors.Conflict),
    )
    async def resume(self, run: Which, data: JSONBody[ResumeRunIn], services: Wired, request: Asked) -> TaskOut:
        """Say yes or no, once, and return what then comes of the turn."""
        return TaskOut.of(await services.agents.resume(run, data.decision, by=caller_of(request), note=data.note))

    @post(
        "/workflows",
        status_code=200,
        summary="Run a workflow",
        responses=documented(errors.NotFound, errors.Conflict),
    )
    async def workflow(self, data: JSONBody[WorkflowIn], services: Wired, request: Asked) -> WorkflowRunOut:
        """Run it to its end, and return how it ended; what it asks people is among the approvals, under its run."""
        if data.resume and data.run_id is None:
            raise errors.InvalidInput("No run is named that is to go on.", remedy="Send its `run_id`.")
        work = services.agents.run_workflow(
            data.source, data.state, setup=data.setup, run_id=data.run_id or new_id("run"), resume=data.resume
        )
        return WorkflowRunOut.of(await while_listening(request.receive, work))


async def _events(services: Services, session: str, said: ChatIn) -> AsyncGenerator[sse.Event, None]:
    async with aclosing(services.agents.stream(session, said.text, context=said.context)) as events:
        async for event in events:
            name = "failure" if event.type == "error" else event.type.value
            yield sse.Event(name, msgspec.json.encode(event.to_dict()).decode(), id=event.sequence_id)
