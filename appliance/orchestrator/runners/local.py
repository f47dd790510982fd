"""Runners of the operator core for local models: a junior with any tools, and a coordinator that commissions juniors."""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from appliance.contracts.chat import ChatRequest
from appliance.contracts.tools import Json, ToolSpec
from appliance.errors import MalformedContent
from appliance.operator import AgentRequest, AgentResult, StreamingCallback, emit_stream
from appliance.orchestrator.calls import digest_of
from appliance.orchestrator.runners.completion import Completion
from appliance.orchestrator.runners.probe import Abilities
from appliance.orchestrator.runners.prompts import Taken, closing
from appliance.orchestrator.runners.steps import WITHOUT, Ask, Caller, Given, Hear, Stepper
from appliance.orchestrator.runners.strainer import strained

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
        run = _Run(self._ask, self._caller, request, streaming_callback, skill=request.skill)
        return await run.result(abilities=self._abilities, steps=self._steps)


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
        run = _Run(self._ask, tools, request, streaming_callback)
        return await run.result(abilities=self._abilities, steps=self._steps)


class Orchestration:
    """The tools of a coordinator, by the functions and schemas in its request. Satisfies `Caller`.

    An identical call is not made again, it gives what it gave: a junior would do the same work twice.
    """

    def __init__(
        self, functions: Sequence[Callable[..., object]], schemas: Sequence[Mapping[str, Mapping[str, object]]]
    ) -> None:
        self._functions = {getattr(each, "__name__", ""): each for each in functions}
        self.specs: Sequence[ToolSpec] = [_spec(each["function"]) for each in schemas]
        self._gave: dict[str, Given] = {}

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Given:
        """Call the function; what it refuses is told as it tells it."""
        call = digest_of(tool, arguments)
        if call not in self._gave:
            self._gave[call] = _given(await self.give(tool, arguments))
        return self._gave[call]

    async def give(self, tool: str, arguments: Mapping[str, Json]) -> object:
        """Return what the function called *tool* returns."""
        function = self._functions.get(tool)
        if function is None:
            return {"error": f"There is no tool {tool!r}."}
        value = function(**arguments)
        return await value if inspect.isawaitable(value) else value


class _Run:
    """One request to a runner. Satisfies `Agent`: its model is *ask*, and the listener of the turn hears of its calls."""

    def __init__(
        self, ask: Ask, caller: Caller, request: AgentRequest, callback: StreamingCallback, *, skill: str = ""
    ) -> None:
        self.specs = caller.specs
        self._skill = skill
        self._ask = ask
        self._caller = caller
        self._request = request
        self._callback = callback
        self._notes: list[str] = []
        self._usage = dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"), 0)

    async def result(self, *, abilities: Abilities, steps: int) -> AgentResult:
        """Return what comes of it, with what is to be said of that."""
        work = await Stepper(self, abilities=abilities, skill=self._skill, steps=steps).work(_task(self._request))
        if not work.answer and not work.taken:
            raise MalformedContent("The model took no step and said nothing.", remedy="Ask again, or use a larger model.")
        nothing = ("The model said nothing of these results:", *map(_line, work.taken))
        said = work.answer or "\n".join([work.paused, *nothing]).lstrip()
        notes = "".join(f"\n({note})" for note in self._notes)
        return AgentResult(content=f"{said}{notes}", usage=self._usage, raw=work)

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Given:
        await emit_stream(self._callback, {"agent": self._request.agent, "phase": "tool_start", "detail": tool})
        given = await self._caller.call(tool, arguments)
        phase = "tool_error" if given.failed else "tool_result"
        await emit_stream(self._callback, {"agent": self._request.agent, "phase": phase, "detail": given.text[:500]})
        return given

    async def choose(self, request: ChatRequest) -> Completion:
        completion = await self._ask(request)
        took = (completion.prompt_tokens, completion.completion_tokens)
        for name, tokens in zip(self._usage, (*took, sum(took)), strict=True):
            self._usage[name] += tokens
        return completion

    async def closing(self, read: Sequence[Taken], *, share: float) -> ChatRequest:
        return closing(_task(self._request), read, skill=self._skill, share=share)

    async def answer(self, request: ChatRequest, hear: Hear) -> Completion:
        completion = await self.choose(request)
        if completion.finish == "length":
            self.warn("The model reached its limit of tokens; its last, unfinished sentence was dropped.")
        hear(_whole(completion.text) if completion.finish == "length" else completion.text)
        return completion

    def say(self, piece: str) -> None:
        """Nobody hears it: a result is whole."""

    def warn(self, sentence: str) -> None:
        if sentence not in self._notes:
            self._notes.append(sentence)


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


def _line(step: Taken) -> str:
    return f"{step.choice.tool}: {strained(step.text)[:400]}"


def _whole(text: str) -> str:
    """Return *text* without its last sentence, which broke off."""
    ends = [text.rfind(mark) for mark in (". ", "! ", "? ", ".\n")]
    return text[: max(ends) + 1] if max(ends) > 0 else ""


def _spec(function: Mapping[str, object]) -> ToolSpec:
    parameters = function.get("parameters")
    description = str(function.get("description") or "")
    return ToolSpec(str(function["name"]), description, parameters if isinstance(parameters, Mapping) else {})


def _given(value: object) -> Given:
    failed = isinstance(value, Mapping) and ("error" in value or value.get("status") == "failed")
    return Given(json.dumps(value, ensure_ascii=False, default=str)[:_RESULT_CHARACTERS], failed)
