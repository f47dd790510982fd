"""Machines whose runners do what a test says."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from inspect import isawaitable
from typing import Any, TypeVar

from appliance.operator import (
    AgentRequest,
    AgentResult,
    AgentSpec,
    Coordinator,
    RunLimits,
    StateMachine,
    StreamEvent,
    StreamingCallback,
    TurnLog,
    emit_stream,
)

T = TypeVar("T")
Emit = Callable[..., Awaitable[None]]
Behaviour = Callable[[AgentRequest, Emit], object]
Tools = dict[str, Callable[..., Coroutine[Any, Any, Any]]]
TOOLS = ["list_agents", "commission", "get_agent_message", "accept_agent_result", "instruct_agent", "list_objectives"]


class Scripted:
    """A runner that does what *behaviour* does, and remembers what it was asked."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.requests: list[AgentRequest] = []

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        self.requests.append(request)

        async def emit(**event: object) -> None:
            await emit_stream(streaming_callback, event)

        answer = self.behaviour(request, emit)
        return await answer if isawaitable(answer) else answer  # type: ignore[return-value]


class Forever:
    """A behaviour that never ends by itself, and tells when it has begun and how it ended."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = False

    async def __call__(self, _request: AgentRequest, _emit: Emit) -> AgentResult:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return AgentResult(content="never")


def says(text: str, **more: Any) -> Behaviour:  # noqa: ANN401 - fields of the result
    return lambda _request, _emit: AgentResult(content=text, **more)


def echo(request: AgentRequest, _emit: Emit) -> AgentResult:
    return AgentResult(content=f"did: {request.objective}")


def breaks(_request: AgentRequest, _emit: Emit) -> AgentResult:
    raise ZeroDivisionError("division by nothing")


def one_by_one(*behaviours: Behaviour) -> Behaviour:
    """Return what behaves like the first at its first call, and so on."""
    rest = iter(behaviours)

    def next_one(request: AgentRequest, emit: Emit) -> object:
        return next(rest)(request, emit)

    return next_one


async def commissions(request: AgentRequest, _emit: Emit) -> AgentResult:
    """Do as a coordinator does: list, commission, accept, reply."""
    tools = tools_of(request)
    name = (await tools["list_agents"]())[0]["name"]
    staged = await tools["commission"](name, request.objective)
    accepted = await tools["accept_agent_result"](name, staged["index"])
    return AgentResult(content=accepted.get("summary") or accepted["detail"])


def junior(name: str = "scout", behaviour: Behaviour = echo, **more: Any) -> AgentSpec:  # noqa: ANN401 - fields of the spec
    given = {"description": "looks around", "skill": "Report facts."} | more
    return AgentSpec(name=name, runner=Scripted(behaviour), **given)


def machine(
    behaviour: Behaviour | None = None,
    *agents: AgentSpec,
    limits: RunLimits | None = None,
    log: TurnLog | None = None,
    **coordinator: Any,  # noqa: ANN401 - fields of the coordinator
) -> StateMachine:
    runner = None if behaviour is None else Scripted(behaviour)
    return StateMachine(Coordinator(runner=runner, **coordinator), list(agents) or [junior()], limits=limits, log=log)


def asked(spec: AgentSpec | Coordinator) -> list[AgentRequest]:
    assert isinstance(spec.runner, Scripted)
    return spec.runner.requests


def tools_of(request: AgentRequest) -> Tools:
    return {tool.__name__: tool for tool in request.metadata["tools"]}


def by_name(sm: StateMachine) -> Tools:
    return {tool.__name__: tool for tool in sm.orchestration_tools()}


def runners(*names: str) -> dict[str, Scripted]:
    return {name: Scripted(echo) for name in names}


def roles(messages: list[dict[str, Any]]) -> list[str]:
    return [message["role"] for message in messages]


def steps(events: list[StreamEvent]) -> list[tuple[str, str]]:
    return [(event["agent"], event["phase"]) for event in events]


def go(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


async def until(true: Callable[[], object]) -> None:
    """Let others run until that is so."""
    end = time.monotonic() + 10.0
    while not true():
        assert time.monotonic() < end, "it did not come to pass in time"
        await asyncio.sleep(0)
