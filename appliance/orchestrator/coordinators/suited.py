"""A registry of teams and workflows that says which of them suit a task."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from appliance.orchestrator.coordinators.coordination import Suggested, Suggestion, Task
from appliance.orchestrator.coordinators.tasks import Analyzes

_SIZES: Final = {"simple": 0, "medium": 1, "complex": 2}
_READS: Final = frozenset({"plan", "explore"})  # modes in which nothing is changed


@dataclass(frozen=True, slots=True)
class Suited:
    """A team or workflow as it is registered, and which tasks it is for.

    *least* is the complexity from which on it is worth its cost; *writes*: it changes code, so that modes which only read do
    without it.
    """

    name: str
    task_types: frozenset[str]
    reason: str
    least: str = "simple"
    writes: bool = False


def by_words(name: str, description: str, *, analyzer: Analyzes) -> Suited:
    """Return a team or workflow that is for the type of task that its *description* speaks of, if it speaks of one."""
    return Suited(name, frozenset({analyzer.analyze(description).task_type}) - {"other"}, description)


class SuitedRegistry:
    """Teams and workflows, and which tasks they are for. One is surer the fewer tasks it is for."""

    def __init__(self, *, teams: Sequence[Suited] = (), workflows: Sequence[Suited] = ()) -> None:
        self._teams = tuple(teams)
        self._workflows = tuple(workflows)

    def suggest(self, task: Task) -> Suggestion:
        """Return what suits *task*, the most special one first, and of the same the one that is registered first."""
        return Suggestion(_suited(self._teams, task), _suited(self._workflows, task))


def _suited(registered: Sequence[Suited], task: Task) -> tuple[Suggested, ...]:
    size = _SIZES.get(task.complexity, _SIZES["medium"])
    fit = [
        each
        for each in registered
        if task.task_type in each.task_types and _SIZES[each.least] <= size and not (each.writes and task.mode in _READS)
    ]
    fit.sort(key=lambda each: (-_SIZES[each.least], len(each.task_types)))
    return tuple(Suggested(each.name, round(1 / (1 + len(each.task_types) / 10), 2), each.reason) for each in fit)


MISSION_TEAMS: Final = (
    Suited("researcher", frozenset({"locate", "overview"}), "search, outlines and reading answer it"),
    Suited("tracer", frozenset({"callers", "callees", "impact", "path"}), "the graph answers it"),
    Suited("historian", frozenset({"history"}), "git answers it"),
    Suited(
        "research-and-trace", frozenset({"explain", "debug", "test"}), "what it is about is found first, then what it calls"
    ),
    Suited("research-trace-review", frozenset({"review"}), "claims are held against what was found"),
    Suited(
        "full",
        frozenset({"locate", "overview", "explain", "impact", "review", "debug", "test", "edit"}),
        "all four juniors, for work all over the code",
        least="complex",
    ),
)
"""The teams of the juniors that every mission has: researcher, tracer, historian and reviewer."""
