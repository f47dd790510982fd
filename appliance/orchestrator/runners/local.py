"""Runners of the operator core for local models: a junior with any tools, and a coordinator that commissions juniors."""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from appliance.contracts.tools import Json, ToolSpec
from appliance.errors import MalformedContent
from appliance.operator import AgentRequest, AgentResult, StreamingCallback, emit_stream
from appliance.orchestrator.runners.probe import Abilities
from appliance.orchestrator.runners.prompts import Taken
from appliance.orchestrator.runners.steps import WITHOUT, Ask, Caller, Given, Stepper, Work

_RESULT_CHARACTERS: Final = 6_000
_STEPS: Final = 10  # of a coordinator: commission and accept, for a few juniors


class LocalJuniorRunner:
    """A junior that works with the tools of *caller*. It answers with what it found, and says where it fell short."""

    def __init__(self, ask: Ask, caller: Caller, *, abilities: Abilities, steps: int = 6) -> None:
        self._ask = ask
        self._caller = caller
        self._abilities = abilities
        self._steps = steps

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Answer *request*; raise what the engine raises."""
        caller = _Told(self._caller, request.agent, streaming_callback)
        stepper = Stepper(self._ask, caller, abilities=self._abilities, skill=request.skill, steps=self._steps)
        return _result(await stepper.work(_task(request)))


class LocalCoordinatorRunner:
    """A coordinator: its tools are those that the machine hands in with the request."""

    def __init__(self, ask: Ask, *, abilities: Abilities, steps: int = _STEPS) -> None:
        self._ask = ask
        self._abilities = abilities
        self._steps = steps

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Answer *request* from what juniors report; a model that cannot choose has each of them work once."""
        tools = Orchestration(request.metadata.get("tools") or (), request.metadata.get("tool_schemas") or ())
        if not (self._abilities.envelope or self._abilities.native):
            return await _everyone(request.objective, tools)
        caller = _Told(tools, request.agent, streaming_callback)
        stepper = Stepper(self._ask, caller, abilities=self._abilities, steps=self._steps)
        return _result(await stepper.work(_task(request)))


class Orchestration:
    """The tools of a coordinator, by the functions and schemas in its request. Satisfies `Caller`."""

    def __init__(
        self, functions: Sequence[Callable[..., object]], schemas: Sequence[Mapping[str, Mapping[str, object]]]
    ) -> None:
        self._functions = {getattr(each, "__name__", ""): each for each in functions}
        self.specs: Sequence[ToolSpec] = [_spec(each["function"]) for each in schemas]

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Given:
        """Call the function; what it refuses is told as it tells it."""
        return _given(await self.give(tool, arguments))

    async def give(self, tool: str, arguments: Mapping[str, Json]) -> object:
        """Return what the function called *tool* returns."""
        function = self._functions.get(tool)
        if function is None:
            return {"error": f"There is no tool {tool!r}."}
        value = function(**arguments)
        return await value if inspect.isawaitable(value) else value


class _Told:
    """A caller whose calls the listener of the turn hears of."""

    def __init__(self, caller: Caller, agent: str, callback: StreamingCallback) -> None:
        self._caller = caller
        self._agent = agent
        self._callback = callback

    @property
    def specs(self) -> Sequence[ToolSpec]:
        return self._caller.specs

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Given:
        await emit_stream(self._callback, {"agent": self._agent, "phase": "tool_start", "detail": tool})
        given = await self._caller.call(tool, arguments)
        phase = "tool_error" if given.failed else "tool_result"
        await emit_stream(self._callback, {"agent": self._agent, "phase": phase, "detail": given.text[:500]})
        return given


async def _everyone(objective: str, tools: Orchestration) -> AgentResult:
    """Have every junior work on *objective* once, and answer with what they report."""
    listed = await tools.give("list_agents", {})
    reports = [WITHOUT]
    for row in listed if isinstance(listed, Sequence) else ():
        name = str(row.get("name")) if isinstance(row, Mapping) else ""
        staged = await tools.give("commission", {"agent": name, "objective": objective})
        if not isinstance(staged, Mapping) or staged.get("status") != "staged":
            reports.append(f"{name}: no report.")
            continue
        await tools.give("accept_agent_result", {"agent": name, "index": staged.get("index")})
        reports.append(f"{name}: {staged.get('summary')}")
    return AgentResult(content="\n\n".join(reports))


def _task(request: AgentRequest) -> str:
    wanted = "".join(f"\n- {item}" for item in request.checklist or ())
    before = [str(each.get("content")) for each in request.messages if each.get("role") == "user"][:-1]
    earlier = "".join(f"\nSaid before: {text[:400]}" for text in before[-2:])
    return f"{request.objective}{wanted}{earlier}"


def _result(work: Work) -> AgentResult:
    if not work.answer and not work.taken:
        raise MalformedContent("The model took no step and said nothing.", remedy="Ask again, or use a larger model.")
    notes = "".join(f"\n({note})" for note in work.notes)
    said = work.answer or "The model said nothing of these results:\n" + "\n".join(map(_line, work.taken))
    return AgentResult(content=f"{said}{notes}", usage=dict(work.usage), raw=work)


def _line(step: Taken) -> str:
    return f"{step.choice.tool}: {step.text[:400]}"


def _spec(function: Mapping[str, object]) -> ToolSpec:
    parameters = function.get("parameters")
    description = str(function.get("description") or "")
    return ToolSpec(str(function["name"]), description, parameters if isinstance(parameters, Mapping) else {})


def _given(value: object) -> Given:
    failed = isinstance(value, Mapping) and ("error" in value or value.get("status") == "failed")
    return Given(json.dumps(value, ensure_ascii=False, default=str)[:_RESULT_CHARACTERS], failed)
