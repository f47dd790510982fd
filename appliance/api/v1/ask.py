"""Ask: evidence first, then the model's reading of it. JSON, or a stream of events for those who accept one."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from litestar import Controller, Response, post
from litestar.openapi.spec import OpenAPIMediaType, OpenAPIResponse, Operation, Schema
from litestar.openapi.spec.enums import OpenAPIType
from litestar.params import JSONBody
from litestar.response import Stream

from appliance import errors
from appliance.api import sse
from appliance.api.answers import AnswerOut, AskIn, SentenceOut, StruckOut, TokenOut
from appliance.api.problems import documented
from appliance.codeintel.results import AnswerEvent, Scope
from appliance.services import Services
from appliance.web.demand import Demand
from appliance.web.listening import while_listening
from appliance.web.requests import request_id_of
from appliance.web.scopes import scope_of
from appliance.web.wiring import Asked, Wired


@dataclass
class AskOperation(Operation):
    """Documents the second content type of the answer."""

    def __post_init__(self) -> None:
        """Add the stream beside the JSON."""
        response = (self.responses or {}).get("200")
        if isinstance(response, OpenAPIResponse) and response.content is not None:
            response.content[sse.MEDIA_TYPE] = OpenAPIMediaType(schema=Schema(type=OpenAPIType.STRING))


class AskController(Controller):
    """``/api/v1/ask``."""

    path = "/ask"
    tags = ("ask",)

    @post(
        "/",
        status_code=200,
        summary="Ask about code",
        operation_class=AskOperation,
        responses=documented(errors.NotFound, errors.PromptTooLong, errors.Stale),
        opt={"permission": "read"},
    )
    async def ask(self, data: JSONBody[AskIn], services: Wired, request: Asked) -> Response[AnswerOut] | Stream:
        """Return the answer; with ``Accept: text/event-stream`` stream it.

        The events are ``evidence`` (the answer so far: the card), ``token``, ``sentence``, ``struck``, then ``done`` (the
        whole answer) or ``error`` (a problem). When the listener goes, the model stops.
        """
        demand = Demand(data.max_behind, data.max_lag, data.wait)
        scope = await scope_of(services, project=data.project, repos=data.repos, branches=data.branches, demand=demand)
        if sse.MEDIA_TYPE in request.headers.get("accept", ""):
            return await sse.stream(lambda: _events(services, data, scope), request_id=request_id_of(request.scope))
        answer = await while_listening(request.receive, services.answer(data.question, scope=scope, prose=data.prose))
        return Response(AnswerOut.of(answer))


async def _events(services: Services, asked: AskIn, scope: Scope) -> AsyncGenerator[sse.Event, None]:
    number = 0
    async with aclosing(services.ask(asked.question, scope=scope, prose=asked.prose)) as events:
        async for event in events:
            number += 1
            yield sse.Event(event.type, _data(event), id=number)


def _data(event: AnswerEvent) -> str:
    if event.answer is not None:
        return AnswerOut.of(event.answer).model_dump_json()
    if event.sentence is not None:
        return SentenceOut.of(event.sentence).model_dump_json()
    if event.struck is not None:
        return StruckOut.of(event.struck).model_dump_json()
    return TokenOut(text=event.text).model_dump_json()
