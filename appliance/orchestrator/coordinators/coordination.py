"""Which team and which workflow suit a task, decided from a snapshot and what is registered."""

from dataclasses import dataclass
from typing import Final, Protocol

from appliance.orchestrator.state import ContextSnapshot, CoordinatorResult, TransitionBatch

DEFAULT_COMPLEXITY: Final = "medium"
_UNSURE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Suggested:
    """A team or workflow by name. *confidence* is a probability, None where nobody can tell."""

    name: str
    confidence: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What suits a task, best first."""

    teams: tuple[Suggested, ...] = ()
    workflows: tuple[Suggested, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be done. *mode* is ``build``, ``plan`` or another word that the registry knows."""

    task_type: str
    complexity: str
    mode: str
    vertical_context: object = None


class CoordinationRuntime(Protocol):
    """The registry of teams and workflows, as far as suggestions go."""

    def suggest(self, task: Task) -> Suggestion:
        """Return what suits *task*, best first; nothing where nothing does."""


class CoordinationAdvisor(Protocol):
    """Who may have the last word on a suggestion, for instance from what was learnt of earlier runs."""

    def advise(self, task: Task, suggestion: Suggestion) -> Suggestion:
        """Return *suggestion* as it should be; it may drop and reorder, and knows no other names."""


class CoordinationStatePassedCoordinator:
    """Suggests who should do a task. *vertical_context* is handed on to the registry as it is."""

    def __init__(
        self,
        *,
        coordination_runtime: CoordinationRuntime,
        coordination_advisor: CoordinationAdvisor | None = None,
        vertical_context: object = None,
    ) -> None:
        self._runtime = coordination_runtime
        self._advisor = coordination_advisor
        self._vertical = vertical_context

    async def suggest(
        self, context: ContextSnapshot, *, task_type: str, complexity: str | None = None, mode: str = "build"
    ) -> CoordinatorResult:
        """Return transitions that set ``coordination_suggestion`` and the primary team and workflow, if there are any.

        Without *complexity* it is ``task_complexity`` or ``complexity`` of the state, then the capability
        ``task_complexity``, then ``medium``. The confidence is that of the first team, else of the first workflow, else one
        half; 0 where nothing is suggested.
        """
        task = Task(task_type, complexity or _complexity_of(context), mode, self._vertical)
        suggestion = self._runtime.suggest(task)
        if self._advisor is not None:
            suggestion = self._advisor.advise(task, suggestion)
        batch = TransitionBatch().update_state("coordination_suggestion", _written(task, suggestion))
        if suggestion.teams:
            batch.update_state("coordination_primary_team", suggestion.teams[0].name)
        if suggestion.workflows:
            batch.update_state("coordination_primary_workflow", suggestion.workflows[0].name)
        return CoordinatorResult(batch, reasoning=_reason(task, suggestion), confidence=_confidence(suggestion))


def _complexity_of(context: ContextSnapshot) -> str:
    said = (
        context.get_state("task_complexity"),
        context.get_state("complexity"),
        context.get_capability_value("task_complexity"),
    )
    return next((each for each in said if isinstance(each, str) and each), DEFAULT_COMPLEXITY)


def _written(task: Task, suggestion: Suggestion) -> dict[str, object]:
    rows = {
        kind: [{"name": each.name, "confidence": each.confidence, "reason": each.reason} for each in suggested]
        for kind, suggested in (("teams", suggestion.teams), ("workflows", suggestion.workflows))
    }
    return {"task_type": task.task_type, "complexity": task.complexity, "mode": task.mode, **rows}


def _reason(task: Task, suggestion: Suggestion) -> str:
    chosen = [f"{each.name} ({each.reason})" if each.reason else each.name for each in _primary(suggestion)]
    what = " and ".join(chosen) if chosen else "nothing that is registered"
    return f"For {task.task_type}, {task.complexity}, in mode {task.mode}: {what}."


def _confidence(suggestion: Suggestion) -> float:
    known = [each.confidence for each in _primary(suggestion) if each.confidence is not None]
    if known:
        return known[0]
    return _UNSURE if suggestion.teams or suggestion.workflows else 0.0


def _primary(suggestion: Suggestion) -> tuple[Suggested, ...]:
    return (*suggestion.teams[:1], *suggestion.workflows[:1])
