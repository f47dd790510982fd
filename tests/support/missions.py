"""Missions without a model or an index: a small procedure that asks its journal for a few things, and a desk for it."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from appliance.base.sqlite import connect
from appliance.codeintel.registry import Repo
from appliance.codeintel.results import Scope
from appliance.codeintel.source.address import address_of
from appliance.contracts.tools import Effect, Json
from appliance.errors import Cancelled
from appliance.ids import ProjectId, RepoId
from appliance.orchestrator.missions.desk import Desk
from appliance.orchestrator.missions.encoding import plain
from appliance.orchestrator.missions.facts import facts
from appliance.orchestrator.missions.journal import Journal, Outcome
from appliance.orchestrator.missions.model import Mission, MissionLimits
from appliance.orchestrator.missions.procedure import RECIPE
from appliance.orchestrator.missions.record import Standing
from appliance.orchestrator.missions.runner import Runner
from appliance.tables import MIGRATIONS
from tests.support.clock import FakeClock

PROJECT = ProjectId("project_1")
SCOPE = Scope(PROJECT)
Hand = Callable[[int], Awaitable[Outcome]]


async def counted(number: int) -> Outcome:
    """Give the square of *number*."""
    await asyncio.sleep(0)
    return {"value": number * number, "error": ""}


@dataclass
class Squares:
    """A procedure: it calls a tool *steps* times and ends. What it does by hand is seen in *done*."""

    hand: Hand = counted
    steps: int = 3
    effect: Effect = "read"
    done: list[int] = field(default_factory=list)

    async def perform(self, journal: Journal, mission: Mission) -> None:
        """Count."""
        await journal.given("begun", lambda: self._begin(mission))
        journal.limits = mission.limits
        total = 0
        for number in range(1, self.steps + 1):
            given = await journal.effect(
                "called_tool",
                {"tool": "square", "arguments": {"of": number}},
                gives="tool_gave",
                agent="tracer",
                do=partial(self._do, number),
                effect=self.effect,
            )
            value = given.get("value", 0)
            total += value if isinstance(value, int) else 0
        journal.note("sentence", {"text": f"The sum is {total}.", "cites": [], "told": list(journal.instructions)})
        ended: dict[str, Json] = {"state": "done", "reason": "", "usage": plain(journal.meter.total), **facts(mission)}
        journal.end(ended, Standing("done"))

    async def _begin(self, mission: Mission) -> Outcome:
        await asyncio.sleep(0)
        return {"goal": mission.goal, "recipe": RECIPE, **facts(mission)}

    async def _do(self, number: int) -> Outcome:
        self.done.append(number)
        return await self.hand(number)


class OneRepo:
    """A registry of one repository."""

    def repos(self, project: ProjectId | None = None) -> list[Repo]:
        """Return it."""
        if project not in {None, PROJECT}:
            return []
        return [
            Repo(
                id=RepoId("repo_1"),
                project=PROJECT,
                name="shop",
                source=address_of("/nowhere/shop"),
                branch=None,
                created_at=0.0,
                last_attempt=None,
                last_success=None,
                error="",
                message="",
                remedy="",
            )
        ]


class Going:
    """Nobody asks to stop, until *stop* is called."""

    def __init__(self) -> None:
        self.asked = False

    def stop(self) -> None:
        """Ask to stop."""
        self.asked = True

    def check(self) -> None:
        """Raise once it was asked."""
        if self.asked:
            raise Cancelled("The worker stops.")


class Office:
    """A desk and a runner of one global database in *folder*, with a clock that a test moves."""

    def __init__(self, folder: Path, procedure: Squares | None = None) -> None:
        self.path = folder / "global.db"
        self.clock = FakeClock()
        self.procedure = procedure or Squares()
        self.desk = Desk(
            self.connect(), known=OneRepo(), model=lambda: "scripted", procedure=self.procedure, clock=self.clock
        )
        self.runner = Runner(self.connect(), procedure=self.procedure, clock=self.clock)

    def connect(self) -> sqlite3.Connection:
        """Open the database once more."""
        return connect(self.path, migrations=MIGRATIONS)

    def ask(self, goal: str = "Where is it?", *, limits: MissionLimits | None = None) -> Mission:
        """Put a mission on record."""
        return self.desk.create(goal, scope=SCOPE, asked_by="ada", limits=limits)

    def execute(self, statement: str, values: Mapping[str, object]) -> None:
        """Change the database behind everybody's back."""
        conn = self.connect()
        conn.execute("PRAGMA foreign_keys=OFF")
        conn.execute(statement, values)
        conn.close()

    def close(self) -> None:
        """Close every connection."""
        self.desk.close()
        self.runner.close()
