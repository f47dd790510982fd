"""The desk: where missions are asked for, seen, stopped, resumed, verified and replayed. It works on none itself."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import Final, Protocol

from appliance.base.clock import Clock
from appliance.codeintel.registry import Repo
from appliance.codeintel.results import Scope
from appliance.errors import InvalidInput, LimitExceeded, NotFound
from appliance.ids import MissionId, ProjectId, new_id
from appliance.orchestrator.missions import canonical
from appliance.orchestrator.missions.model import (
    ENDED,
    Entry,
    Mission,
    MissionLimits,
    MissionState,
    Replay,
    Usage,
    Verification,
)
from appliance.orchestrator.missions.procedure import Procedure
from appliance.orchestrator.missions.record import Records
from appliance.orchestrator.missions.replaying import replayed
from appliance.orchestrator.missions.verifying import verified

MOST_GOAL: Final = 4_000  # characters
MOST_OPEN: Final = 200  # missions that have not ended
_MOST_LISTED: Final = 500
_DAY_S: Final = 86_400.0
_REMEDY: Final = "Say in a sentence or two what is to be found out."


class Known(Protocol):
    """Which repositories there are."""

    def repos(self, project: ProjectId | None = None) -> list[Repo]:
        """Return those of *project*."""


class Desk:
    """Satisfies `MissionDesk`. *model* tells the catalogue name of the chat model, "" where there is none.

    No mission may use more than *ceilings* between two decisions of a person. `tidy` deletes what ended more than
    *keep_days* ago, None: nothing.
    """

    def __init__(
        self,
        conn: sqlite3.Connection,
        *,
        known: Known,
        model: Callable[[], str],
        procedure: Procedure,
        clock: Clock,
        ceilings: MissionLimits | None = None,
        keep_days: float | None = None,
    ) -> None:
        self.ceilings = ceilings or MissionLimits()
        self._keep_days = keep_days
        self._records = Records(conn, clock=clock)
        self._known = known
        self._model = model
        self._procedure = procedure
        self._clock = clock

    def create(self, goal: str, *, scope: Scope, asked_by: str, limits: MissionLimits | None = None) -> Mission:
        """Put a mission on record and return it; raise `InvalidInput`, `LimitExceeded` or `NotFound`."""
        mission = Mission(
            id=MissionId(new_id("mission")),
            goal=_goal(goal),
            scope=scope,
            repo_names=self._names(scope),
            state="queued",
            reason="",
            created_at=round(self._clock.now(), 3),
            started_at=None,
            ended_at=None,
            asked_by=asked_by,
            model=self._model(),
            limits=_sound(limits or self.ceilings, most=self.ceilings),
            usage=Usage(),
            entries=0,
            head="",
            answer=None,
        )
        waiting = sum(count for state, count in self._records.counts().items() if state not in ENDED)
        if waiting >= MOST_OPEN:
            remedy = "Wait for some to end, or cancel those that nobody needs."
            raise LimitExceeded(f"{waiting} missions have not ended.", remedy=remedy, limit=MOST_OPEN, size=waiting)
        self._records.add(mission)
        return mission

    def get(self, mission: MissionId) -> Mission:
        """Return *mission* as it stands."""
        return self._records.get(mission)

    def list(self, *, project: str = "", limit: int = 50, offset: int = 0) -> Sequence[Mission]:
        """Return missions, newest first, from *offset* on."""
        _page(limit, offset)
        return self._records.page(project=project, limit=limit, offset=offset)

    def unended(self) -> Sequence[Mission]:
        """Return every mission that has not ended, oldest first."""
        return self._records.unended()

    def counts(self) -> Mapping[MissionState, int]:
        """Return how many missions are in each state; one that is not named has none."""
        return self._records.counts()

    def entries(self, mission: MissionId, *, after: int = 0, limit: int = 500) -> Sequence[Entry]:
        """Return what stands on its record behind entry *after*."""
        _page(limit, after)
        self._records.get(mission)
        return self._records.entries(mission, after=after, limit=limit)

    def record(self, mission: MissionId) -> Iterator[bytes]:
        """Yield its record as it is stored: for each entry one line of canonical JSON, with ``prev`` and ``hash``.

        It is whole, also where the mission is deleted meanwhile.
        """
        _, entries = self._records.whole(mission)
        return map(canonical.line, entries)

    def cancel(self, mission: MissionId, *, by: str) -> Mission:
        """Ask it to stop, at whatever it is; raise `Conflict` if it has ended.

        One that no process works on has ended on return; another one within a second.
        """
        self._records.cancel(mission, by=by or "somebody")
        return self._records.get(mission)

    def resume(self, mission: MissionId, *, instruction: str = "", by: str) -> Mission:
        """Let a paused mission go on, with *instruction* as its next words if there are any; raise `Conflict` otherwise."""
        said = _short(instruction, what="An instruction")
        self._records.resume(mission, data=canonical.fitted({"instruction": said, "by": by}))
        return self._records.get(mission)

    def remove(self, mission: MissionId, *, by: str) -> None:
        """Delete it and its record; raise `Conflict` unless it has ended."""
        self._records.remove(mission, by=by or "somebody")

    def tidy(self) -> None:
        """Delete the missions that are kept no longer."""
        if self._keep_days is None:
            return
        for mission in self._records.ended_before(self._clock.now() - self._keep_days * _DAY_S):
            with suppress(NotFound):  # another process was faster
                self._records.remove(mission, by="missions.keep_days")

    def verify(self, mission: MissionId) -> Verification:
        """Say whether its record is as it was written."""
        return verified(*self._records.whole(mission))

    async def replay(self, mission: MissionId) -> Replay:
        """Run it again from its record, and compare every entry; works in any state."""
        row, entries = await asyncio.to_thread(self._records.whole, mission)
        return await replayed(row, entries, procedure=self._procedure)

    def close(self) -> None:
        """Close the connection."""
        self._records.close()

    def _names(self, scope: Scope) -> tuple[str, ...]:
        repos = {repo.id: repo.name for repo in self._known.repos(scope.project)}
        missing = [repo for repo in scope.repos if repo not in repos]
        if missing:
            raise NotFound("The project has no such repository.", remedy="`skellig repo list` shows them.", repos=missing)
        if not repos:
            raise NotFound("There is no repository to work on.", remedy="Add one with `skellig repo add PATH`.")
        return tuple(sorted(repos[repo] for repo in (scope.repos or repos)))


def _goal(goal: str) -> str:
    clean = " ".join(_short(goal, what="A goal").split())
    if not any(character.isalnum() for character in clean):
        raise InvalidInput("A goal needs words.", remedy=_REMEDY)
    return clean


def _short(text: str, *, what: str) -> str:
    if len(text) > MOST_GOAL:
        raise LimitExceeded(f"{what} has at most {MOST_GOAL:,} characters.", remedy=_REMEDY, limit=MOST_GOAL, size=len(text))
    clean = canonical.fitted({"text": text.encode("utf-8", "replace").decode()})["text"]
    return clean if isinstance(clean, str) else ""


def _sound(limits: MissionLimits, *, most: MissionLimits) -> MissionLimits:
    for each in fields(limits):
        ceiling = getattr(most, each.name)
        if not 0 < getattr(limits, each.name) <= ceiling:
            said = f"A mission may be let use more than 0 and at most {ceiling:,.0f} {each.name.replace('_', ' ')}."
            raise InvalidInput(said, remedy="Ask for less; `skellig config show` has the appliance's own.", limit=each.name)
    return limits


def _page(limit: int, offset: int) -> None:
    if not 1 <= limit <= _MOST_LISTED or offset < 0:
        said = f"A page has 1 to {_MOST_LISTED} entries and starts at 0 or later."
        raise InvalidInput(said, limit=limit, offset=offset)
