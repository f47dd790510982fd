"""The loop of a local agent: choose a tool, call it, and again; then the answer, in a prompt without tools."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from appliance.contracts.chat import ChatRequest, Message
from appliance.contracts.tools import Json, ToolSpec
from appliance.errors import ApplianceError, Cancelled, ContentError, InvalidInput, PromptTooLong
from appliance.orchestrator.calls import digest_of
from appliance.orchestrator.fence import RULE
from appliance.orchestrator.runners import native
from appliance.orchestrator.runners.completion import Completion, parsed
from appliance.orchestrator.runners.envelope import Choice, chosen, envelope, require_small
from appliance.orchestrator.runners.probe import Abilities
from appliance.orchestrator.runners.prompts import Taken, closing, decision, without_result

MOST_STEPS: Final = 6
_REPEATS: Final = 2
_FAULTS: Final = 2
_REPEATED: Final = "This call was made before; its result stands above."
WITHOUT: Final = "The steps were chosen without the model: it did not keep to the form of a tool call when it was tried."

Ask = Callable[[ChatRequest], Awaitable[Completion]]


@dataclass(frozen=True, slots=True)
class Given:
    """What a call gave, for a model to read. Whatever went wrong is told here, too."""

    text: str
    failed: bool = False


class Caller(Protocol):
    """The tools of one agent in one run, each call within its grants."""

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """What it may call."""

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Given:
        """Make the call, or say why not. Raise `Cancelled` alone."""


@dataclass(slots=True)
class Work:
    """What an agent did: its steps, its answer, what is to be said of it, and what it cost."""

    taken: list[Taken] = field(default_factory=list)
    answer: str = ""
    notes: list[str] = field(default_factory=list)
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def usage(self) -> dict[str, int]:
        """The tokens, as runners report them."""
        total = self.prompt_tokens + self.completion_tokens
        return {"prompt_tokens": self.prompt_tokens, "completion_tokens": self.completion_tokens, "total_tokens": total}

    def note(self, sentence: str) -> None:
        """Say *sentence* once."""
        if sentence not in self.notes:
            self.notes.append(sentence)


class Stepper:
    """Takes the steps of one task. *ask* is the model, *caller* the tools, *abilities* what the model was seen to do."""

    def __init__(self, ask: Ask, caller: Caller, *, abilities: Abilities, skill: str = "", steps: int = MOST_STEPS) -> None:
        self._ask = ask
        self._caller = caller
        self._abilities = abilities
        self._skill = skill
        self._steps = steps
        self._made: dict[str, int] = {}
        self._faults = 0

    async def work(self, task: str) -> Work:
        """Return what was done for *task*; raise what the engine raises, `LimitExceeded` for too many tools."""
        work = Work()
        if not (self._abilities.envelope or self._abilities.native):
            work.note(WITHOUT)
            await self._without_model(task, work)
        else:
            while len(work.taken) < self._steps:
                choice = await self._choose(task, work)
                if choice is None or choice.ends or not await self._take(choice, work):
                    break
            else:
                work.note(f"The agent used its {self._steps} steps.")
        await self._answer(task, work)
        return work

    async def _choose(self, task: str, work: Work) -> Choice | None:
        """Return the next step; None where the model twice kept to no form that can be read."""
        while self._faults < _FAULTS:
            try:
                return await (self._native if self._abilities.native else self._constrained)(task, work)
            except (ContentError, InvalidInput) as exc:
                self._faults += 1
                if self._faults == _FAULTS:
                    work.note(f"No further step could be chosen: {exc.message}")
        return None

    async def _constrained(self, task: str, work: Work) -> Choice:
        specs, faults = self._caller.specs, self._faults

        def request(share: float) -> ChatRequest:
            asks = decision(task, specs, work.taken, skill=self._skill, share=share)
            return replace(asks, temperature=0.4, seed=faults) if faults else asks

        return chosen(parsed(await self._asked(request, work), envelope(specs)))

    async def _native(self, task: str, work: Work) -> Choice | None:
        system = f"{self._skill.strip()}\n{RULE}\n{native.instructions(self._caller.specs)}".lstrip()
        require_small(system, what="The prompt with its tools")

        def request(share: float) -> ChatRequest:
            asks = decision(task, (), work.taken, share=share)
            return replace(asks, messages=(Message("system", system), asks.messages[-1]), schema=None, seed=self._faults)

        return native.call((await self._asked(request, work)).text)

    async def _take(self, choice: Choice, work: Work) -> bool:
        """Take the step, and say whether another may follow: an identical call is not made again."""
        call = digest_of(choice.tool, choice.arguments)
        self._made[call] = self._made.get(call, 0) + 1
        if self._made[call] > 1:
            work.taken.append(Taken(choice, _REPEATED, failed=True))
            return self._made[call] <= _REPEATS
        given = await self._caller.call(choice.tool, choice.arguments)
        work.taken.append(Taken(choice, given.text, given.failed))
        return True

    async def _without_model(self, task: str, work: Work) -> None:
        """Call each tool that can be called with the task alone."""
        for spec in self._caller.specs[: self._steps]:
            name = _only_text(spec)
            if name and spec.effect == "read":
                await self._take(Choice(spec.name, {name: task[:200]}), work)

    async def _answer(self, task: str, work: Work) -> None:
        useful = [step for step in work.taken if not step.failed]
        if work.taken and not useful:
            work.answer = without_result([step for step in work.taken if step.text != _REPEATED])
            return
        completion = await self._asked(lambda share: closing(task, useful, skill=self._skill, share=share), work)
        work.answer = completion.text.strip()
        if completion.finish == "length":
            work.answer = _whole(work.answer)
            work.note("The model reached its limit of tokens; its last, unfinished sentence was dropped.")

    async def _asked(self, request: Callable[[float], ChatRequest], work: Work) -> Completion:
        """Ask, and once more with half of the results where they do not fit the model."""
        try:
            completion = await self._ask(request(1.0))
        except PromptTooLong:
            work.note("The results did not fit the model: it read the first half of them.")
            completion = await self._ask(request(0.5))
        work.prompt_tokens += completion.prompt_tokens
        work.completion_tokens += completion.completion_tokens
        return completion


def told(error: ApplianceError) -> Given:
    """Return how a model is told of *error*; raise it where it says that the run is to stop."""
    if isinstance(error, Cancelled):
        raise error
    return Given(f"error {error.code}: {error}", failed=True)


def _only_text(spec: ToolSpec) -> str:
    """Return the name of the one argument that *spec* needs, if that is a text; else ""."""
    properties, required = spec.parameters.get("properties"), spec.parameters.get("required")
    if not isinstance(properties, Mapping) or not isinstance(required, Sequence) or len(required) != 1:
        return ""
    part = properties.get(required[0])
    return str(required[0]) if isinstance(part, Mapping) and part.get("type") == "string" and "enum" not in part else ""


def _whole(text: str) -> str:
    """Return *text* without its last sentence, which broke off."""
    ends = [text.rfind(mark) for mark in (". ", "! ", "? ", ".\n")]
    return text[: max(ends) + 1] if max(ends) > 0 else ""
