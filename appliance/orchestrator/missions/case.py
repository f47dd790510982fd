"""The case: what one mission has found so far, and the only way by which its agents ask for anything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from appliance.codeintel.results import Freshness, Origin
from appliance.contracts.chat import ChatRequest
from appliance.contracts.tools import Evidence, Json
from appliance.errors import ApplianceError, ApprovalRequired, DeadlineExceeded, EngineUnavailable, PromptTooLong
from appliance.orchestrator.fence import visible
from appliance.orchestrator.missions import instruments
from appliance.orchestrator.missions.encoding import plain, typed
from appliance.orchestrator.missions.hands import Hands
from appliance.orchestrator.missions.journal import Journal, Outcome
from appliance.orchestrator.missions.model import MissionLimits
from appliance.orchestrator.runners import choosing
from appliance.orchestrator.runners.completion import Completion
from appliance.orchestrator.runners.probe import Abilities

_MODEL_S: Final = 300.0
_LONGEST: Final = 20_000  # characters, to weigh the words of
_SURE: Final = 0.5  # below it a choice of the model is no better than our own


@dataclass(frozen=True, slots=True)
class Begun:
    """How things were at the beginning, as the record holds it."""

    goal: str
    repos: tuple[str, ...]
    model: str
    limits: MissionLimits
    abilities: Abilities
    freshness: tuple[Freshness, ...]
    warnings: tuple[str, ...]
    error: str

    @classmethod
    def of(cls, data: Outcome) -> "Begun":
        """Read it from the data of the entry; where that tells of nothing but an ``error``, nothing else is known."""
        generations = data.get("generations")
        freshness = generations.get("freshness", ()) if isinstance(generations, Mapping) else ()
        return cls(
            goal=str(data.get("goal", "")),
            repos=typed(data.get("repos", ()), tuple[str, ...]),
            model=str(data.get("model", "")),
            limits=typed(data.get("limits", {}), MissionLimits),
            abilities=typed(data.get("abilities", {}), Abilities),
            freshness=typed(freshness, tuple[Freshness, ...]),
            warnings=typed(data.get("warnings", ()), tuple[str, ...]),
            error=str(data.get("error", "")),
        )


@dataclass(frozen=True, slots=True)
class Gave:
    """What a call of a tool gave, read from the record. ``code`` is of its error, "" for none.

    ``approval`` is the question to a person that it waits for, "" for none.
    """

    text: str
    data: Mapping[str, Json]
    evidence: tuple[Evidence, ...]
    warnings: tuple[str, ...]
    error: str
    code: str
    approval: str

    @classmethod
    def of(cls, data: Outcome) -> "Gave":
        """Read it from the data of the entry."""
        inner = data.get("data")
        return cls(
            text=str(data.get("text", "")),
            data=inner if isinstance(inner, Mapping) else {},
            evidence=typed(data.get("evidence", ()), tuple[Evidence, ...]),
            warnings=(*typed(data.get("warnings", ()), tuple[str, ...]), *typed(data.get("cut", ()), tuple[str, ...])),
            error=str(data.get("error", "")),
            code=str(data.get("code", "")),
            approval=str(data.get("approval", "")) if data.get("code") == ApprovalRequired.code else "",
        )


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence that rests on pieces of evidence, by their places in its finding."""

    text: str
    rests_on: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one junior found for one part of the goal. ``read``: which of the evidence a model would read, by place.

    ``calls``: it tells what its first place calls.
    """

    junior: str
    part: int
    said: tuple[Said, ...]
    evidence: tuple[Evidence, ...]
    asked: bool = True
    question: str = ""
    read: tuple[int, ...] = ()
    overlap: float = 0.0
    origin: Origin = "search"
    calls: bool = False


@dataclass(slots=True)
class Case:
    """One mission at work."""

    journal: Journal
    hands: Hands
    begun: Begun
    findings: list[Finding] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)  # what was asked of whom, and why it came to nothing
    _since: dict[str, float] = field(default_factory=dict)

    def warn(self, *sentences: str) -> None:
        """Keep what is to be said of the answer, each sentence once."""
        self.warnings += [sentence for sentence in dict.fromkeys(sentences) if sentence not in self.warnings]

    def starts(self, junior: str) -> None:
        """Count the time of *junior* from now."""
        self._since[junior] = self.journal.now

    async def call(self, agent: str, tool: str, arguments: Mapping[str, Json]) -> Gave:
        """Return what *tool* gives *agent*, and keep what it warns of for the answer."""
        gave = await self.ask(agent, tool, arguments)
        self.warn(*gave.warnings)
        return gave

    async def ask(self, agent: str, tool: str, arguments: Mapping[str, Json]) -> Gave:
        """Return what *tool* gives *agent*; raise `DeadlineExceeded` where its time is over."""
        self._require_time(agent)
        gave = await self._called(agent, tool, arguments)
        if gave.approval:
            asked: dict[str, Json] = {
                "approval": gave.approval,
                "tool": tool,
                "arguments": arguments,
                "reason": f"A person must approve of {tool}.",
            }
            decided = await self.journal.decided(asked, partial(self.hands.decision, gave.approval))
            if decided.get("decision") == "approved":
                gave = await self._called(agent, tool, arguments)
            else:
                gave = replace(
                    gave, error=f"{tool} was not approved. {decided.get('reason')}".strip(), code="approval_rejected"
                )
        return gave

    async def complete(self, agent: str, request: ChatRequest) -> Completion:
        """Return what the model writes to *request*; raise what its engine raised."""
        self._require_time(agent)
        parameters: dict[str, Json] = {
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
            "top": request.top,
            "schema": plain(request.schema),
        }
        messages: Json = [{"role": message.role, "content": message.content} for message in request.messages]
        data = await self.journal.effect(
            "asked_model",
            {"model": self.begun.model, "messages": messages, "parameters": parameters},
            gives="model_said",
            agent=agent,
            do=partial(self.hands.complete, request, seconds=min(_MODEL_S, self._left(agent))),
        )
        if error := str(data.get("error", "")):
            raise _raised(str(data.get("code", "")), error)
        return typed({key: data[key] for key in Completion.__slots__ if key in data}, Completion)

    async def choose(self, agent: str, task: str, options: Sequence[str], *, none: bool = False) -> tuple[int | None, bool]:
        """Return which of *options* serves *task*, and whether the model said so.

        Without a model that can choose, or where it is not sure, it is the first, or with *none* none of them.
        """
        fallback = None if none else 0
        shown = [visible(option) for option in options[: choosing.MOST_OPTIONS]]
        if len(shown) < (1 if none else 2) or not self.begun.abilities.choice:
            return fallback, False
        try:
            completion = await self.complete(agent, choosing.question(task, shown, none=none))
            chosen = choosing.answer(completion, len(shown), none=none)
        except ApplianceError as exc:
            self.journal.note("refused", {"junior": agent, "reason": f"The model's choice was not used: {exc.message}"})
            return fallback, False
        if chosen.probability is not None and chosen.probability < _SURE:
            return fallback, False
        return chosen.place, True

    async def weights(self, agent: str, text: str) -> dict[str, float]:
        """Return how much each word of *text* says."""
        gave = await self.call(agent, instruments.WEIGHTS, {"text": text[:_LONGEST]})
        return typed(gave.data.get("weights", {}), dict[str, float])

    async def _called(self, agent: str, tool: str, arguments: Mapping[str, Json]) -> Gave:
        data = await self.journal.effect(
            "called_tool",
            {"tool": tool, "arguments": arguments},
            gives="tool_gave",
            agent=agent,
            do=partial(self.hands.call, tool, arguments, agent=agent),
        )
        return Gave.of(data)

    def _left(self, agent: str) -> float:
        since = self._since.get(agent)
        return _MODEL_S if since is None else max(1.0, self.begun.limits.junior_seconds - (self.journal.now - since))

    def _require_time(self, agent: str) -> None:
        since, limit = self._since.get(agent), self.begun.limits.junior_seconds
        if since is not None and self.journal.now - since >= limit:
            raise DeadlineExceeded(f"The {agent} used its {limit:,.0f} seconds.", seconds=limit)


def _raised(code: str, error: str) -> ApplianceError:
    kinds = {kind.code: kind for kind in (PromptTooLong, DeadlineExceeded)}
    return kinds.get(code, EngineUnavailable)(error)
