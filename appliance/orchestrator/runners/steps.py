"""The loop of a local agent: choose a tool, call it, and again; then the answer, in a prompt without tools."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeVar

from appliance.contracts.chat import ChatRequest
from appliance.contracts.tools import Evidence, Json, ToolSpec
from appliance.errors import ContentError, InvalidInput, LimitExceeded, MalformedContent, PromptTooLong
from appliance.orchestrator.calls import canonical, digest_of
from appliance.orchestrator.runners import native
from appliance.orchestrator.runners.completion import Completion, parsed
from appliance.orchestrator.runners.envelope import ANSWER, Choice, chosen, envelope
from appliance.orchestrator.runners.probe import Abilities
from appliance.orchestrator.runners.prompts import Taken, choosing, useful, without_result
from appliance.orchestrator.runners.strainer import Strainer
from appliance.orchestrator.services.recovery import LocalRecoveryService, RecoveryService, Step

MOST_STEPS: Final = 6
WITHOUT: Final = "The steps were chosen without the model: it did not keep to the form of a tool call when it was tried."
LOOKED_UP: Final = "No call that the model chose gave a result, so the question was looked up as it stands."
UNFOUNDED: Final = "No tool was called: the answer is the model's own, and rests on nothing that was looked up."
CUT: Final = "The results did not fit the model: it read the first part of each."
NO_ANSWER: Final = "The model wrote another call of a tool where its answer belongs, so there is no answer."
_CALLED: Final = "The model wanted another call of a tool while it answered: it was not made."
_TRIES: Final = 2  # at what can be read: a choice, an answer
_WORDS: Final = frozenset({"query", "question", "text"})  # arguments that take any words
_LEAST_SHARE: Final = 0.1  # of the results, that is worth an answer

Ask = Callable[[ChatRequest], Awaitable[Completion]]
Hear = Callable[[str], None]
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Given:
    """What a call gave, for a model to read: whatever went wrong, too. *ends*: no further call may follow it."""

    text: str
    failed: bool = False
    ends: bool = False
    evidence: tuple[Evidence, ...] = ()


class Caller(Protocol):
    """The tools of one agent in one run, each call within its grants."""

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """What it may call."""

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Given:
        """Make the call, or say why not. Raise `Cancelled` alone."""


class Agent(Caller, Protocol):
    """Whose steps are taken: beside its tools, its model, which raises `PromptTooLong` and whatever else its engine does."""

    async def choose(self, request: ChatRequest) -> Completion:
        """Return the model's choice, whole."""

    async def closing(self, read: Sequence[Taken], *, share: float) -> ChatRequest:
        """Return the request for the answer from *share* of what *read* gave."""

    async def answer(self, request: ChatRequest, hear: Hear) -> Completion:
        """Return the model's answer, of which *hear* gets each piece as it comes."""

    def say(self, piece: str) -> None:
        """Pass on a *piece* of the answer, as it may be seen."""

    def warn(self, sentence: str) -> None:
        """Have *sentence* said with the answer, once."""


@dataclass(slots=True)
class Work:
    """What an agent did: its steps, and its answer as it may be seen. ``paused`` says why they led nowhere."""

    taken: list[Taken] = field(default_factory=list)
    answer: str = ""
    paused: str = ""

    @property
    def evidence(self) -> list[Evidence]:
        """The lines that the answer was made from, each once, in the order in which they were found."""
        return list(dict.fromkeys(each for step in useful(self.taken) for each in step.evidence))


class Stepper:
    """Takes the steps of one task for *agent*, whose model was seen to have *abilities*."""

    def __init__(
        self,
        agent: Agent,
        *,
        abilities: Abilities,
        skill: str = "",
        steps: int = MOST_STEPS,
        recovery: RecoveryService | None = None,
    ) -> None:
        self._agent = agent
        self._abilities = abilities
        self._skill = skill
        self._steps = steps
        self._recovery = recovery or LocalRecoveryService()

    async def work(self, task: str) -> Work:
        """Return what was done for *task*; raise what the engine raises, `LimitExceeded` for too many tools."""
        work = Work()
        if self._agent.specs and self._steps > 0:
            if self._abilities.envelope or self._abilities.native:
                await self._take_steps(task, work)
                if work.taken and not work.paused and not useful(work.taken) and await self._without_model(task, work):
                    self._agent.warn(LOOKED_UP)
            else:
                self._agent.warn(WITHOUT)
                await self._without_model(task, work)
        if not work.paused:
            await self._answer(work)
        return work

    async def _take_steps(self, task: str, work: Work) -> None:
        seen: list[Step] = []
        while len(work.taken) < self._steps:
            choice = await self._choose(task, work.taken)
            if choice is None or choice.ends:
                if choice is not None and not work.taken:
                    self._agent.warn(UNFOUNDED)
                return
            given = await self._take(choice, work)
            seen.append(Step(digest_of(choice.tool, choice.arguments), given.text))
            # A small model asks again for what it has, and for ever.
            if given.ends or (not given.failed and seen[-1] in seen[:-1]):
                return
            if (loop := self._recovery.detect_stuck_loop(seen)) is not None:
                work.paused = loop.sentence
                return
        self._agent.warn(f"The agent used its {self._steps} steps.")

    async def _choose(self, task: str, taken: Sequence[Taken]) -> Choice | None:
        """Return the next step; None where the model twice kept to no form that can be read."""
        said = ""
        for attempt in range(_TRIES):
            try:
                return await self._chosen(task, taken, attempt)
            except (ContentError, InvalidInput) as exc:
                said = exc.message
        self._agent.warn(f"No further step could be chosen: {said}")
        return None

    async def _chosen(self, task: str, taken: Sequence[Taken], attempt: int) -> Choice:
        specs, ours = self._agent.specs, not self._abilities.native

        async def ask(share: float) -> Completion:
            request = choosing(task, specs, taken, ours=ours, skill=self._skill, share=share)
            return await self._agent.choose(_again(request, attempt))

        said = await self._fitted(ask, taken)
        choice = chosen(parsed(said, envelope(specs))) if ours else native.call(said.text) or Choice(ANSWER, {})
        try:
            canonical(choice.arguments)
        except (InvalidInput, LimitExceeded) as exc:
            raise MalformedContent(f"The model's arguments cannot be read: {exc.message}") from exc
        return choice

    async def _take(self, choice: Choice, work: Work) -> Given:
        given = await self._agent.call(choice.tool, choice.arguments)
        work.taken.append(Taken(choice, given.text, given.failed, given.evidence))
        return given

    async def _without_model(self, task: str, work: Work) -> bool:
        """Call each tool that reads, and needs nothing but words to look for: the task's. Return whether one gave any."""
        able = [spec for spec in self._agent.specs if spec.effect == "read" and _only(spec) in _WORDS]
        for spec in able[: self._steps]:
            await self._take(Choice(spec.name, {_only(spec): task[:200]}), work)
        return bool(useful(work.taken))

    async def _answer(self, work: Work) -> None:
        """Make the answer from what was found; of calls that gave nothing no model makes one."""
        read = useful(work.taken)
        if work.taken and not read:
            self._say(without_result(work.taken), work)
            return
        for attempt in range(_TRIES):
            if not await self._called(read, attempt, work):
                break
            if work.answer:
                self._agent.warn(_CALLED)
                break
        else:
            self._say(NO_ANSWER, work)
        work.answer = work.answer.strip()

    async def _called(self, read: Sequence[Taken], attempt: int, work: Work) -> bool:
        """Have the model answer from what was *read*, and return whether it wanted to call a tool instead."""

        async def ask(share: float) -> Strainer:
            request = await self._agent.closing(read, share=share)
            strainer = Strainer(request.messages)
            await self._agent.answer(_again(request, attempt), lambda piece: self._say(strainer.passed(piece), work))
            return strainer

        strainer = await self._fitted(ask, read)
        self._say(strainer.rest(), work)
        return strainer.called

    def _say(self, piece: str, work: Work) -> None:
        if piece:
            work.answer += piece
            self._agent.say(piece)

    async def _fitted(self, ask: Callable[[float], Awaitable[_Result]], taken: Sequence[Taken]) -> _Result:
        """Return what *ask* gives for the largest share of what was *taken* that fits the model."""
        share = 1.0
        while True:
            try:
                return await ask(share)
            except PromptTooLong:
                share /= 2
                if not taken or share < _LEAST_SHARE:
                    raise
                self._agent.warn(CUT)


def _again(request: ChatRequest, attempt: int) -> ChatRequest:
    """Return *request* so that another try may give something else."""
    return replace(request, temperature=max(request.temperature, 0.4), seed=attempt) if attempt else request


def _only(spec: ToolSpec) -> str:
    """Return the name of the one argument that *spec* needs; "" where that is none, or several."""
    required = spec.parameters.get("required")
    return str(required[0]) if isinstance(required, Sequence) and len(required) == 1 else ""
