"""The code of every mission: one turn of a state machine whose coordinator and juniors ask the journal for all they need."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Protocol

from appliance.codeintel.results import Answer, AnswerKind
from appliance.contracts.tools import Json
from appliance.errors import InvalidInput
from appliance.operator import AgentSpec, Coordinator, RunLimits, StateMachine
from appliance.orchestrator.missions.case import Begun, Case
from appliance.orchestrator.missions.encoding import plain
from appliance.orchestrator.missions.facts import facts
from appliance.orchestrator.missions.hands import Hands
from appliance.orchestrator.missions.historian import Historian
from appliance.orchestrator.missions.journal import Journal, Waiting
from appliance.orchestrator.missions.juniors import Looking
from appliance.orchestrator.missions.lead import COORDINATOR, Lead
from appliance.orchestrator.missions.model import Mission
from appliance.orchestrator.missions.record import Standing
from appliance.orchestrator.missions.researcher import Researcher
from appliance.orchestrator.missions.reviewer import Reviewer

_SKILL: Final = "You coordinate a mission: research, trace, ask git, and have what was found reviewed."


class Opening(Protocol):
    """Hands that are opened for a mission, and closed behind it."""

    def open(self) -> None:
        """Let the mission act."""

    def close(self) -> None:
        """Let it act no more."""


class NoHands:
    """What a replay has: nothing is done, and nothing asked."""

    def open(self) -> None:
        """There is nothing to open."""

    def close(self) -> None:
        """There is nothing to close."""

    async def begin(self) -> dict[str, Json]:
        """Refuse."""
        raise InvalidInput("A replay does nothing.")

    async def call(self, tool: str, arguments: object, *, agent: str) -> dict[str, Json]:
        """Refuse."""
        raise InvalidInput("A replay calls nothing.", tool=tool, arguments=arguments, agent=agent)

    async def complete(self, request: object, *, seconds: float) -> dict[str, Json]:
        """Refuse."""
        raise InvalidInput("A replay asks no model.", request=request, seconds=seconds)

    async def decision(self, approval: str) -> dict[str, Json]:
        """Refuse."""
        raise InvalidInput("A replay asks nobody.", approval=approval)


class MissionCode:
    """Satisfies `Procedure`. *hands* gives those of a mission; without it nothing can be done, and records be replayed."""

    def __init__(self, hands: "Callable[[Mission], OpenHands] | None" = None) -> None:
        self._hands = hands

    async def perform(self, journal: Journal, mission: Mission) -> None:
        """Take *mission* from its beginning to its last entry, or raise the `Halt` that came in between."""
        hands = NoHands() if self._hands is None else self._hands(mission)
        hands.open()
        try:
            await _perform(journal, mission, hands)
        finally:
            if not isinstance(journal.halted, Waiting):  # else its question stands
                hands.close()


class OpenHands(Hands, Opening, Protocol):
    """Both."""


async def _perform(journal: Journal, mission: Mission, hands: Hands) -> None:
    begun = Begun.of(await journal.given("begun", hands.begin))
    if begun.error:
        _end(journal, mission, "failed", begun.error)
        return
    journal.limits = begun.limits
    case = Case(journal, hands, begun)
    case.warn(*begun.warnings)
    if begun.model and not begun.abilities.choice:
        case.warn(f"The steps were chosen without the model: {' '.join(begun.abilities.said)}")
    reviewer = Reviewer(case)
    journal.summing = partial(_summed, case, reviewer)
    machine = StateMachine(
        Coordinator(skill=_SKILL, runner=Lead(case)), _juniors(case, reviewer), limits=RunLimits(max_parallel=1)
    )
    await machine.run(begun.goal)
    if journal.halted is not None:
        raise journal.halted
    journal.note("answer", {"answer": plain(_answer(case, reviewer, warnings=case.warnings))})
    _end(journal, mission, "done", "")


async def _summed(case: Case, reviewer: Reviewer, reason: str) -> None:
    """Put the answer so far on record: what was found is held against its lines, and no model asked."""
    so_far = await reviewer.so_far(COORDINATOR)
    said = f"{reason} This is what was found so far."
    case.journal.note("answer", {"answer": plain(_answer(case, so_far, warnings=[said, *case.warnings]))})


def _juniors(case: Case, reviewer: Reviewer) -> list[AgentSpec]:
    each = (
        ("researcher", "Searches and reads: gathers the lines that bear on a question.", Researcher(case)),
        ("tracer", "Follows the graph: definitions, callers, callees, impact, ways, references.", Looking(case)),
        ("historian", "Asks git: who changed something, when, and how.", Historian(case)),
        ("reviewer", "Holds every claim against the lines that it cites, and strikes what does not stand.", reviewer),
    )
    return [AgentSpec(name=name, description=what, skill=what, runner=runner) for name, what, runner in each]


def _answer(case: Case, reviewer: Reviewer, *, warnings: Sequence[str]) -> Answer:
    """Return the answer, in the form of `ask`; each sentence says whose it is."""
    wrote = bool(reviewer.struck) or any(sentence.origin == "model" for sentence in reviewer.sentences)
    asked = reviewer.gate is not None and reviewer.gate.passed
    kind: AnswerKind = "prose" if wrote and asked else "structure" if reviewer.sentences else "evidence"
    return Answer(
        question=case.begun.goal,
        kind=kind,
        evidence=reviewer.card.citations,
        sentences=tuple(reviewer.sentences),
        struck=tuple(reviewer.struck),
        gate=reviewer.gate,
        model=case.begun.model if asked else "",
        freshness=reviewer.freshness,
        warnings=tuple(warnings),
        timings={"total_ms": round(case.journal.meter.total.seconds * 1000, 1)},
    )


def _end(journal: Journal, mission: Mission, state: str, reason: str) -> None:
    standing = Standing("failed" if state == "failed" else "done", reason)
    data: dict[str, Json] = {"state": standing.state, "reason": reason, "usage": plain(journal.meter.total)}
    journal.end({**data, **facts(mission)}, standing)
