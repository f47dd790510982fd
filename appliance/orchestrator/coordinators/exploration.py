"""Which files bear on what the user asks, found in the code index before any model is asked."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from appliance.base.clock import Clock, SystemClock
from appliance.errors import CallerError
from appliance.orchestrator.coordinators.keywords import names_in
from appliance.orchestrator.state import ContextSnapshot, CoordinatorResult, TransitionBatch

_SURE_FROM: Final = 3  # files
_LONGEST_SUMMARY: Final = 2_000
_LONGEST_LINE: Final = 240


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that bears on a question: the lines that do, what they define, and why."""

    repo: str  # name
    path: str  # as it may be shown
    start_line: int
    end_line: int
    symbol: str
    why: str


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found, best first. *calls* counts the questions to the index, *warnings* what their answers lack."""

    files: tuple[FoundFile, ...] = ()
    calls: int = 0
    warnings: tuple[str, ...] = ()


class FileFinder(Protocol):
    """What a question about code is put to. It knows by itself which code may be looked at."""

    async def find(self, question: str, *, names: tuple[str, ...], root: str, limit: int) -> Findings:
        """Return at most *limit* files that bear on *question* or define or call what *names* name, below *root* if given.

        The same question to the same index gives the same answer. Raise a `CallerError` where nothing can be asked.
        """


class ExplorationStatePassedCoordinator:
    """Explores the code for a question, through *index*.

    The index is configuration like *project_root* and *max_results*: which code may be looked at is decided where the
    coordinator is made, and nothing that stands in a snapshot, which a model may have written, can widen it. Without an
    index nothing is found, and the summary says why.
    """

    def __init__(
        self,
        project_root: Path | str | None = None,
        max_results: int = 5,
        *,
        index: FileFinder | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._root = project_root
        self._most = max_results
        self._index = index
        self._clock = clock or SystemClock()

    async def explore(
        self,
        context: ContextSnapshot,
        user_message: str,
        *,
        project_root: Path | str | None = None,
        max_results: int | None = None,
    ) -> CoordinatorResult:
        """Return transitions that set ``explored_files``, ``exploration_summary`` and ``exploration_metrics``.

        *project_root* is a folder within the repositories, or the place of one of them; it and *max_results* go before what
        the constructor was given. Names of code in ``task_keywords`` of the state are looked up beside those of the message.
        The confidence is a third for each file found, at most 1. Raise `ValueError` for fewer than one result.
        """
        most = self._most if max_results is None else max_results
        if most < 1:
            raise ValueError(f"max_results must be at least 1, not {most}.")
        began = self._clock.monotonic()
        root = self._root if project_root is None else project_root
        found = await self._find(
            user_message, _names(context, user_message), root="" if root is None else str(root), most=most
        )
        files = found.files[:most]
        metrics = {
            "duration_seconds": round(self._clock.monotonic() - began, 6),
            "tool_calls": found.calls,
            "files_found": len(files),
        }
        batch = TransitionBatch()
        batch.update_state("explored_files", _paths(files))
        batch.update_state("exploration_summary", _summary(files, found.warnings))
        batch.update_state("exploration_metrics", metrics)
        return CoordinatorResult(
            batch,
            reasoning=f"{len(files)} files bear on the message, by {found.calls} questions to the index.",
            confidence=min(1.0, len(files) / _SURE_FROM),
            metadata={"warnings": list(found.warnings)} if found.warnings else {},
        )

    async def _find(self, question: str, names: tuple[str, ...], *, root: str, most: int) -> Findings:
        if self._index is None:
            return Findings(warnings=("There is no index to explore: give the coordinator one.",))
        if not question.strip():
            return Findings(warnings=("The message is blank.",))
        try:
            return await self._index.find(question, names=names, root=root, limit=most)
        except CallerError as exc:
            return Findings(calls=1, warnings=(str(exc),))


def _names(context: ContextSnapshot, message: str) -> tuple[str, ...]:
    known = context.get_state("task_keywords", ())
    said = " ".join(each for each in known if isinstance(each, str)) if isinstance(known, tuple) else ""
    return tuple(dict.fromkeys((*names_in(message), *names_in(said))))


def _paths(files: tuple[FoundFile, ...]) -> list[str]:
    """Return the files' paths, behind the names of their repositories where these are several."""
    several = len({file.repo for file in files}) > 1
    return [f"{file.repo}/{file.path}" if several else file.path for file in files]


def _summary(files: tuple[FoundFile, ...], warnings: tuple[str, ...]) -> str:
    lines = [
        f"{file.repo}/{file.path}:{file.start_line}-{file.end_line}{f' {file.symbol}' if file.symbol else ''}: {file.why}"
        for file in files
    ] or ["Nothing was found."]
    kept: list[str] = []
    for line in (*lines, *(f"Note: {warning}" for warning in warnings)):
        cut = line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"
        if sum(map(len, kept)) + len(kept) + len(cut) > _LONGEST_SUMMARY:
            kept.append("… more was found than fits here.")
            break
        kept.append(cut)
    return "\n".join(kept)
