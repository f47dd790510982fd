"""The hands of a mission: where its steps are really taken. A replay has none."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Protocol

from appliance import __version__
from appliance.codeintel.needs import ChatModel
from appliance.contracts.chat import ChatRequest
from appliance.contracts.tools import Grants, Json, ToolContext
from appliance.errors import ApplianceError, Cancelled, Conflict, DeadlineExceeded, EngineUnavailable, NotFound
from appliance.orchestrator.approvals import Approvals
from appliance.orchestrator.missions import instruments
from appliance.orchestrator.missions.encoding import plain
from appliance.orchestrator.missions.facts import facts
from appliance.orchestrator.missions.journal import Outcome, failure
from appliance.orchestrator.missions.model import Mission
from appliance.orchestrator.missions.procedure import RECIPE
from appliance.orchestrator.runners.completion import complete
from appliance.orchestrator.runners.probe import Abilities
from appliance.orchestrator.services.tool import ToolService

_NOTHING: Final[Mapping[str, Json]] = {"text": "", "finish": "", "prompt_tokens": 0, "completion_tokens": 0}
_BUDGET: Final = 100_000  # calls of tools: what a mission may use is counted by its own limits


Trial = Callable[[ChatModel], Awaitable[Abilities]]


class Hands(Protocol):
    """Whoever takes the steps of one mission."""

    async def begin(self) -> Outcome:
        """Return how things are at the beginning; never raises: what is wrong is told under ``error``."""

    async def call(self, tool: str, arguments: Mapping[str, Json], *, agent: str) -> Outcome:
        """Return what a call of *tool* gives, or its error."""

    async def complete(self, request: ChatRequest, *, seconds: float) -> Outcome:
        """Return what the model writes, or why it does not."""

    async def decision(self, approval: str) -> Outcome:
        """Return what was decided on *approval*; ``decision`` is empty while nobody did."""


@dataclass(frozen=True, slots=True)
class GoingOn:
    """A cancellation that nobody asks for: who watches over a step cancels its task."""

    def check(self) -> None:
        """Go on."""


@dataclass(frozen=True, slots=True)
class Equipment:
    """What all missions of one process work with. *digest* tells that of a catalogue model; *tools* are names granted."""

    service: ToolService
    approvals: Approvals
    tools: frozenset[str]
    chat: ChatModel | None
    trial: Trial
    digest: Callable[[str], str]
    repos: Callable[[Mission], tuple[str, ...]]
    pauses: Sequence[float]  # seconds before an engine that could not be asked is asked again
    abilities: dict[str, Abilities] = field(default_factory=dict)


class WorkingHands:
    """Takes the steps of one *mission*, every call within its grants: to read, and only what its scope names."""

    def __init__(self, mission: Mission, equipment: Equipment) -> None:
        self._mission = mission
        self._with = equipment
        self._grants = Grants(mission.scope.project, equipment.repos(mission), equipment.tools, frozenset({"read"}))

    def open(self) -> None:
        """Let the mission call tools; one that waited still may."""
        with suppress(Conflict):
            self._with.service.open_run(self._mission.id, grants=self._grants, calls=_BUDGET)

    def close(self) -> None:
        """Let it call none any more, and take back what it asked people."""
        self._with.service.close_run(self._mission.id)

    async def begin(self) -> Outcome:
        """Return how things are at the beginning."""
        chat, mission = self._with.chat, self._mission
        told: dict[str, Json] = {
            "goal": mission.goal,
            "repos": list(mission.repo_names),
            "model": "" if chat is None else chat.model,
            "digest": "" if chat is None else self._with.digest(chat.model),
            "limits": plain(mission.limits),
            "version": __version__,
            "recipe": RECIPE,
            "error": "",
            **facts(mission),
        }
        state = await self.call(instruments.STATE, {}, agent="")
        told |= {"generations": state.get("data", {}), "warnings": state.get("warnings", []), "error": state["error"]}
        told["abilities"] = plain(await self._abilities(chat))
        return told

    async def call(self, tool: str, arguments: Mapping[str, Json], *, agent: str) -> Outcome:
        """Return what a call of *tool* gives, or its error."""
        context = ToolContext(
            self._mission.id, self._grants, GoingOn(), branches=self._mission.scope.branches, agent=agent or "coordinator"
        )
        outcome = await self._with.service.execute_tool(tool, arguments, context=context)
        if outcome.error is not None or outcome.output is None:
            error = outcome.error or DeadlineExceeded(f"The call of {tool} gave nothing.")
            return {"tool": tool, "text": "", "data": {}, "evidence": [], **failure(error)}
        output = outcome.output
        return {
            "tool": tool,
            "text": output.text,
            "data": output.data,
            "evidence": plain(output.evidence),
            "warnings": [*output.warnings, *outcome.warnings],
            "cut_by_tool": output.cut,
            "error": "",
        }

    async def complete(self, request: ChatRequest, *, seconds: float) -> Outcome:
        """Return what the model writes, or why it does not; an engine that is busy or starts again is asked a few times."""
        for pause in self._with.pauses:
            outcome = await self._completed(request, seconds)
            if outcome.get("code") != EngineUnavailable.code:
                return outcome
            await asyncio.sleep(pause)
        return await self._completed(request, seconds)

    async def _completed(self, request: ChatRequest, seconds: float) -> Outcome:
        if self._with.chat is None:
            return {**_NOTHING, "error": "No chat model is set up.", "code": "no_model"}
        try:
            async with asyncio.timeout(seconds):
                said = await complete(self._with.chat, request)
        except TimeoutError:
            late = DeadlineExceeded(f"The model did not answer within {seconds:.0f} s.", seconds=seconds)
            return {**_NOTHING, **failure(late)}
        except Cancelled:
            raise
        except ApplianceError as exc:
            return {**_NOTHING, **failure(exc)}
        return {**_object(plain(said)), "error": ""}

    async def decision(self, approval: str) -> Outcome:
        """Return what was decided on *approval*; ``decision`` is empty while nobody did. One that is gone is a no."""
        try:
            found = await asyncio.to_thread(self._with.approvals.get, approval)
        except NotFound as exc:
            return {"approval": approval, "decision": "rejected", "by": "", "reason": exc.message}
        decision = {"pending": "", "approved": "approved"}.get(found.state, "rejected")
        return {"approval": approval, "decision": decision, "by": found.decided_by, "reason": found.note}

    async def _abilities(self, chat: ChatModel | None) -> Abilities:
        if chat is None:
            return Abilities(said=("No chat model is set up.",))
        model = chat.model
        if model not in self._with.abilities:
            try:
                self._with.abilities[model] = await self._with.trial(chat)
            except ApplianceError as exc:
                return Abilities(said=(f"The model could not be asked: {exc.message}",))
        return self._with.abilities[model]


def _object(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
