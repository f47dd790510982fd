"""Missions in the worker: worked on, stopped at any moment, taken up again, and never in anybody's way."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.base import sqlite
from appliance.codeintel.results import Scope
from appliance.errors import Conflict
from appliance.ids import MissionId
from appliance.inference.engines.base import EngineHealth, Role
from appliance.missioning import JOB
from appliance.orchestrator.missions.model import Mission, MissionState
from appliance.services import DEFAULT_PROJECT, Services
from appliance.tables import MIGRATIONS
from tests.support.appliance import make_services, working
from tests.support.chat import ScriptedChat
from tests.support.plays import GOAL, HELD, HOLD, PAUSES, with_plays

AT_WORK = 5  # entries of a mission with the goal `HELD` whose second tool was called and gives nothing


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with closing(with_plays(make_services(tmp_path))) as services:
        yield services


def asked(services: Services, goal: str) -> MissionId:
    scope = Scope(services.registry.project(DEFAULT_PROJECT).id)
    return services.missions.start(goal, scope=scope, asked_by="somebody").id


def until(look: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not look():
        assert time.monotonic() < end
        time.sleep(0.02)


def becomes(services: Services, mission: MissionId, state: MissionState) -> Mission:
    until(lambda: services.missions.desk.get(mission).state == state)
    return services.missions.desk.get(mission)


@contextmanager
def held(services: Services) -> Iterator[MissionId]:
    """Give a mission that the worker is at, whose second tool does not answer within the block."""
    hold = services.paths.root / HOLD
    hold.touch()
    mission = asked(services, HELD)
    until(lambda: services.missions.desk.get(mission).entries == AT_WORK)
    yield mission
    hold.unlink()


def kinds(services: Services, mission: MissionId) -> list[str]:
    return [entry.kind for entry in services.missions.desk.entries(mission)]


def test_a_mission_is_worked_on_to_its_end_and_its_job_says_how_far_it_is(services: Services) -> None:
    with working(services):
        mission = asked(services, GOAL)
        done = becomes(services, mission, "done")
        until(lambda: services.jobs.list(kind=JOB, key=mission)[0].ended)
    assert done.answer is not None
    job = services.jobs.list(kind=JOB, key=mission)[0]
    assert job.state == "done"
    assert job.progress is not None
    assert 0 < job.progress.done <= done.entries


def test_a_mission_is_stopped_in_the_middle_of_a_step_and_the_next_one_begins(services: Services) -> None:
    with working(services), held(services) as mission:
        asked_at = time.monotonic()
        services.missions.cancel(mission, by="ada")
        stopped = becomes(services, mission, "cancelled")
        assert time.monotonic() - asked_at < 5, "the tool still does not answer"
        assert stopped.reason == "ada stopped it."
        becomes(services, asked(services, GOAL), "done")
        with pytest.raises(Conflict):
            services.missions.cancel(mission, by="ada")


def test_who_stops_the_job_of_a_mission_stops_the_mission(services: Services) -> None:
    with working(services), held(services) as mission:
        services.jobs.cancel(services.jobs.list(kind=JOB, key=mission)[0].id)
        becomes(services, mission, "cancelled")
        until(lambda: services.jobs.list(kind=JOB, key=mission)[0].state == "cancelled")
    services.missions.take_up()
    assert len(services.jobs.list(kind=JOB, key=mission)) == 1


def test_a_worker_that_stops_leaves_its_mission_to_the_next_one(services: Services) -> None:
    hold = services.paths.root / HOLD
    hold.touch()
    mission = asked(services, HELD)
    with working(services):
        until(lambda: services.missions.desk.get(mission).entries == AT_WORK)
    assert services.missions.desk.get(mission).state == "queued"
    hold.unlink()
    with working(services):
        becomes(services, mission, "done")
    steps = kinds(services, mission)
    assert (steps.count("begun"), steps.count("interrupted"), steps.count("answer")) == (1, 1, 1)


def test_a_mission_that_does_not_come_to_an_end_keeps_no_other_job_waiting(services: Services) -> None:
    with working(services), held(services):
        tidy = services.jobs.enqueue("tidy", key=services.registry.project(DEFAULT_PROJECT).id)
        until(lambda: services.jobs.get(tidy.id).state == "done")


def test_a_mission_that_pauses_frees_its_lane_and_goes_on_when_it_is_told_to(services: Services) -> None:
    with working(services):
        mission = asked(services, PAUSES)
        becomes(services, mission, "paused")
        becomes(services, asked(services, GOAL), "done")
        services.missions.resume(mission, instruction="Go on.", by="ada")
        becomes(services, mission, "done")


def broken_off(services: Services) -> MissionId:
    """Return a mission that is at work as its record has it, and whose job failed: the store was away, say."""
    hold = services.paths.root / HOLD
    hold.touch()
    mission = asked(services, HELD)
    with working(services):
        until(lambda: services.missions.desk.get(mission).entries == AT_WORK)
    hold.unlink()
    with closing(sqlite.connect(services.paths.global_db, migrations=MIGRATIONS)) as conn:
        conn.execute("UPDATE missions SET state = 'running' WHERE id = ?", (mission,))
        conn.execute("UPDATE jobs SET state = 'failed' WHERE key = ?", (mission,))
    services.missions.take_up()
    assert [job.state for job in services.jobs.list(kind=JOB, key=mission)] == ["failed"]
    return mission


def test_a_mission_whose_job_failed_goes_on_when_a_person_wants_it_to(services: Services) -> None:
    mission = broken_off(services)
    with pytest.raises(Conflict):
        services.missions.resume(mission, instruction="Look elsewhere.", by="ada")
    services.missions.resume(mission, instruction="", by="ada")
    with working(services):
        becomes(services, mission, "done")


def test_a_mission_whose_job_failed_can_be_stopped(services: Services) -> None:
    mission = broken_off(services)
    services.missions.cancel(mission, by="ada")
    with working(services):
        assert becomes(services, mission, "cancelled").reason == "ada stopped it."


class Loading:
    """Satisfies `services.Engines`: the chat model loads until it is said to be there."""

    def __init__(self) -> None:
        self.ready = False

    async def health(self, role: Role) -> EngineHealth:
        return EngineHealth("ready" if self.ready or role == "embed" else "loading")


def test_a_mission_waits_for_a_model_that_loads_and_may_be_stopped_meanwhile(services: Services) -> None:
    engines = Loading()
    services = replace(services, engines=engines, chat=ScriptedChat())
    with working(services):
        first, second = asked(services, GOAL), asked(services, GOAL)
        until(lambda: services.jobs.list(kind=JOB, key=first)[0].progress is not None)
        assert services.missions.desk.get(first).entries == 0
        services.missions.cancel(first, by="ada")
        engines.ready = True
        becomes(services, second, "done")
        assert kinds(services, first) == ["ended"]
