"""Missions whose steps stand in a play: real records, a real desk and a real runner, without a model or an index."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from appliance.base import sqlite
from appliance.codeintel.results import Answer, Citation, Sentence, Span, Struck
from appliance.contracts.tools import Json
from appliance.ids import BlobId, CommitId, MissionId, RepoId
from appliance.missioning import Missions
from appliance.orchestrator.approvals import Approvals
from appliance.orchestrator.missions.desk import Desk
from appliance.orchestrator.missions.encoding import plain
from appliance.orchestrator.missions.facts import facts
from appliance.orchestrator.missions.journal import Journal, Outcome
from appliance.orchestrator.missions.model import Mission
from appliance.orchestrator.missions.procedure import RECIPE
from appliance.orchestrator.missions.record import Standing
from appliance.orchestrator.missions.runner import Runner
from appliance.services import DEFAULT_PROJECT, Services
from appliance.tables import MIGRATIONS
from tests.support.missions import Going

GOAL = "How is the total of a cart made?"
PAUSES = "How is the total of a cart made? (pause)"
FAILS = "How is the total of a cart made? (fail)"
MANY = "How is the total of a cart made? (many)"
HELD = "How is the total of a cart made? (held)"
MARKUP = "<img src=x onerror=alert(1)>"  # what a model or a repository may say
HOLD = "hold-mission"
"""While this file is in the data directory, the second tool of a mission with the goal `HELD` does not answer."""


class Play:
    """A procedure: a researcher searches and reports, a model is asked, an answer given; the goal says what goes wrong."""

    def __init__(self, folder: Path) -> None:
        self._hold = folder / HOLD

    async def perform(self, journal: Journal, mission: Mission) -> None:
        """Play it."""
        await journal.given("begun", lambda: _begun(mission))
        journal.limits = mission.limits
        journal.note("commissioned", {"junior": "researcher", "objective": "Find the total."}, agent="coordinator")
        for tool in ("search", "read"):
            await journal.effect(
                "called_tool",
                {"tool": tool, "arguments": {"query": "total"}},
                gives="tool_gave",
                agent="researcher",
                do=self._found if tool == "search" or mission.goal != HELD else self._held,
            )
        await journal.effect(
            "asked_model", {"messages": [], "parameters": {}}, gives="model_said", agent="researcher", do=_said
        )
        journal.note(
            "staged",
            {"junior": "researcher", "summary": f"It is in shop/cart.py. {MARKUP}", "seconds": 2.0},
            agent="coordinator",
        )
        if mission.goal == PAUSES:
            await journal.pause("It used all of its tokens.")
        journal.note("accepted", {"junior": "researcher"}, agent="coordinator")
        if mission.goal != FAILS:
            journal.note("answer", {"answer": plain(answer(40 if mission.goal == MANY else 1))})
        state = "failed" if mission.goal == FAILS else "done"
        reason = "The engine is away." if mission.goal == FAILS else ""
        ended: dict[str, Json] = {"state": state, "reason": reason, "usage": plain(journal.meter.total), **facts(mission)}
        journal.end(ended, Standing("failed" if mission.goal == FAILS else "done", reason))

    async def _found(self) -> Outcome:
        await asyncio.sleep(0)
        return {"tool": "search", "text": "def total(self):", "data": {}, "evidence": [{}], "error": ""}

    async def _held(self) -> Outcome:
        while self._hold.exists():  # noqa: ASYNC110 - a file reaches into the worker's process, an event does not
            await asyncio.sleep(0.02)
        return await self._found()


async def _begun(mission: Mission) -> Outcome:
    await asyncio.sleep(0)
    told: dict[str, Json] = {"goal": mission.goal, "repos": list(mission.repo_names), "model": mission.model}
    return {**told, "recipe": RECIPE, **facts(mission)}


async def _said() -> Outcome:
    await asyncio.sleep(0)
    return {"text": "ok", "finish": "stop", "prompt_tokens": 1_200, "completion_tokens": 90, "error": ""}


def with_plays(services: Services) -> Services:
    """Return *services* whose missions are plays, on the same database; a repository named shop is there."""
    project = services.registry.project(DEFAULT_PROJECT).id
    if not services.registry.repos(project):
        source = services.paths.root / "shop"
        source.mkdir(exist_ok=True)
        services.registry.add_repo(project, source, name="shop", probe=False)
    play = Play(services.paths.root)

    def connect() -> sqlite3.Connection:
        return sqlite.connect(services.paths.global_db, migrations=MIGRATIONS)

    desk = Desk(connect(), known=services.registry, model=lambda: "scripted", procedure=play, clock=services.clock)
    approvals = Approvals(connect(), clock=services.clock)
    services.missions.close()
    missions = Missions(
        desk,
        approvals=approvals,
        jobs=services.jobs,
        make_runner=lambda: Runner(connect(), procedure=play, clock=services.clock),
    )
    return replace(services, missions=missions)


def played(services: Services, mission: MissionId) -> Mission:
    """Have *mission* worked on until it ends, pauses or waits, as the worker does."""
    return asyncio.run(services.missions.runner.run(mission, stopping=Going()))


def tampered(services: Services, mission: MissionId, *, seq: int) -> None:
    """Change an entry of the record behind everybody's back."""
    with closing(sqlite.connect(services.paths.global_db, migrations=MIGRATIONS)) as conn:
        conn.execute('UPDATE mission_entries SET data = \'{"query":"x"}\' WHERE mission = ? AND seq = ?', (mission, seq))


def waits(services: Services, mission: MissionId) -> None:
    """Let *mission* stand as one that waits for a person's decision."""
    with closing(sqlite.connect(services.paths.global_db, migrations=MIGRATIONS)) as conn:
        conn.execute("UPDATE missions SET state = 'waiting', reason = 'It waits for a yes.' WHERE id = ?", (mission,))


def answer(places: int = 1) -> Answer:
    """Return an answer about one definition, or about so many long ones."""
    text = "def total(self):\n    return 1\n" if places == 1 else "    value = call(argument)  # and so on\n" * 80
    span = Span(RepoId("repo_0"), "shop", "shop/cart.py", 3, 4, BlobId("b" * 40), CommitId("c" * 40), verified=True)
    return Answer(
        GOAL,
        "prose",
        tuple(Citation(n, span, "Cart.total", "method", text) for n in range(1, places + 1)),
        sentences=(Sentence("`Cart.total` adds up the lines.", (places,), "model"),),
        struck=(Struck(f"It calls frobnicate. {MARKUP}", "frobnicate is nowhere in the evidence"),),
        model="scripted",
        timings={"total_ms": 900.0},
    )
