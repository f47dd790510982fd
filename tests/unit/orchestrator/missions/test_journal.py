"""One mechanism for going on and for replay: what stands on record is never done again."""

import asyncio
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from appliance.contracts.tools import Json
from appliance.errors import Cancelled, Conflict, StoreBusy
from appliance.orchestrator.missions import replaying
from appliance.orchestrator.missions.journal import Outcome
from appliance.orchestrator.missions.model import FIELDS, Mission, MissionLimits
from appliance.orchestrator.missions.procedure import RECIPE
from appliance.orchestrator.missions.replaying import replayed
from appliance.orchestrator.missions.working import MissionCode
from tests.support.golden_mission import golden
from tests.support.missions import Going, Office, Squares, counted

_PATIENCE_S = 30.0


def run(office: Office, mission: Mission, stopping: Going | None = None) -> Mission:
    """Work on *mission*."""
    return asyncio.run(office.runner.run(mission.id, stopping=stopping or Going()))


def kinds(office: Office, mission: Mission) -> list[str]:
    """Return the kinds of its entries."""
    return [entry.kind for entry in office.desk.entries(mission.id)]


def stays_the_same(office: Office, mission: Mission) -> None:
    """Assert that *mission*'s record is whole, and that a replay makes the same one."""
    assert office.desk.verify(mission.id).whole
    before = list(office.procedure.done)
    replay = asyncio.run(office.desk.replay(mission.id))
    stands = office.desk.get(mission.id)
    assert (replay.same, replay.reason, replay.entries, replay.head) == (True, "", stands.entries, stands.head)
    assert office.procedure.done == before, "A replay does nothing"


def test_a_mission_is_replayed_byte_for_byte(office: Office) -> None:
    mission = office.ask()
    stays_the_same(office, mission)
    assert run(office, mission).state == "done"
    stays_the_same(office, mission)


def test_a_replay_names_the_first_entry_that_would_be_another(office: Office) -> None:
    mission = office.ask()
    run(office, mission)
    office.procedure.steps = 2
    replay = asyncio.run(office.desk.replay(mission.id))
    assert (replay.same, replay.differs_at) == (False, 6)
    assert replay.reason == "`sentence` of the mission would come, and `called_tool` of tracer stands there."


def test_a_replay_finds_an_outcome_that_was_edited(office: Office) -> None:
    mission = office.ask()
    run(office, mission)
    office.execute("UPDATE mission_entries SET data = replace(data, ':4}', ':5}') WHERE seq = 5", {})
    replay = asyncio.run(office.desk.replay(mission.id))
    assert (replay.same, replay.differs_at) == (False, 5)


def test_a_record_of_another_recipe_is_not_called_different(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer version takes other steps: that is no tampering."""
    mission = office.ask()
    run(office, mission)
    monkeypatch.setattr(replaying, "RECIPE", 99)
    replay = asyncio.run(office.desk.replay(mission.id))
    assert not replay.same
    assert "recipe 99" in replay.reason


@contextmanager
def refused_once(office: Office, *, at: int) -> Iterator[None]:
    """Have the store refuse the entry that is written as the *at*-th."""
    append, left = office.runner._records.append, [at]

    def refusing(*given: object, **named: object) -> object:
        left[0] -= 1
        if left[0] == 0:
            raise StoreBusy("The database is locked.")
        return append(*given, **named)  # type: ignore[arg-type]

    office.runner._records.append = refusing  # type: ignore[method-assign, assignment]
    yield
    office.runner._records.append = append  # type: ignore[method-assign]


def test_a_mission_goes_on_from_its_record(office: Office) -> None:
    """The store refused once, in the middle; what was done before is not done again."""
    mission = office.ask()
    with refused_once(office, at=5), pytest.raises(StoreBusy):
        run(office, mission)
    assert (office.desk.get(mission.id).state, office.procedure.done) == ("running", [1, 2])
    assert run(office, mission).state == "done"
    assert office.procedure.done == [1, 2, 2, 3], "The outcome of the second was not on record yet"
    assert kinds(office, mission).count("interrupted") == 1
    stays_the_same(office, mission)


def test_a_store_that_cannot_be_asked_whether_to_stop_breaks_no_junior(office: Office) -> None:
    """Else the junior would fail on record for what no replay can see."""
    mission, looked = office.ask(), [0]

    def busy(which: str) -> str:
        looked[0] += 1
        if looked[0] == 4:
            raise StoreBusy("The database is locked.", mission=which)
        return ""

    office.runner._records.cancel_asked_by = busy  # type: ignore[method-assign, assignment]
    with pytest.raises(StoreBusy):
        run(office, mission)
    assert run(office, mission).state == "done"
    stays_the_same(office, mission)


def test_a_call_that_writes_is_not_made_twice(office: Office) -> None:
    """Whether it was done before the process died, nobody knows."""
    office.procedure.effect = "write"
    mission, stopping = office.ask(), Going()

    async def dies(number: int) -> Outcome:
        if number == 2:
            stopping.stop()
            await asyncio.sleep(_PATIENCE_S)
        return await counted(number)

    office.procedure.hand = dies
    with pytest.raises(Cancelled):
        run(office, mission, stopping)
    office.procedure.hand = counted
    assert run(office, mission).state == "done"
    assert office.procedure.done == [1, 2, 3]
    outcome = next(e.data for e in office.desk.entries(mission.id) if e.kind == "tool_gave" and e.data.get("code"))
    assert outcome["code"] == "interrupted"
    stays_the_same(office, mission)


def test_a_worker_that_stops_leaves_the_mission_in_the_queue(office: Office) -> None:
    mission, stopping = office.ask(), Going()
    stopping.stop()
    with pytest.raises(Cancelled):
        run(office, mission, stopping)
    assert office.desk.get(mission.id).state == "queued"
    assert kinds(office, mission) == ["interrupted"]
    stays_the_same(office, mission)
    assert run(office, mission).state == "done"
    stays_the_same(office, mission)


def test_a_limit_pauses_the_mission_and_an_instruction_lets_it_go_on(office: Office) -> None:
    mission = office.ask(limits=MissionLimits(tool_calls=2))
    paused = run(office, mission)
    assert (paused.state, paused.reason) == ("paused", "The mission has used its 2 calls of tools.")
    assert run(office, mission).state == "paused", "Only a person lets it go on"
    stays_the_same(office, mission)
    assert office.desk.resume(mission.id, instruction="Look at the tests too.", by="ada").state == "queued"
    assert run(office, mission).state == "done"
    (told,) = [e.data["told"] for e in office.desk.entries(mission.id) if e.kind == "sentence"]
    assert told == ["Look at the tests too."]
    stays_the_same(office, mission)


def test_limits_hold_anew_after_each_pause(office: Office) -> None:
    mission = office.ask(limits=MissionLimits(tool_calls=1))
    for _ in range(2):
        assert run(office, mission).state == "paused"
        office.desk.resume(mission.id, by="ada")
    assert run(office, mission).state == "done"
    assert office.desk.get(mission.id).usage.tool_calls == 3


def test_time_in_a_pause_is_not_time_at_work(office: Office) -> None:
    async def slow(number: int) -> Outcome:
        office.clock.advance(10)
        return await counted(number)

    office.procedure.hand = slow
    mission = office.ask(limits=MissionLimits(tool_calls=2))
    run(office, mission)
    office.clock.advance(5_000)
    office.desk.resume(mission.id, by="ada")
    assert run(office, mission).usage.seconds == 30.0


def test_a_step_that_was_begun_again_counts_as_work_and_the_time_without_a_process_does_not(office: Office) -> None:
    async def slow(number: int) -> Outcome:
        office.clock.advance(10)
        return await counted(number)

    office.procedure.hand = slow
    mission = office.ask()
    with refused_once(office, at=5), pytest.raises(StoreBusy):
        run(office, mission)
    office.clock.advance(5_000)
    assert run(office, mission).usage.seconds == 30.0
    assert kinds(office, mission).count("interrupted") == 1
    stays_the_same(office, mission)


def test_only_a_paused_mission_can_be_resumed(office: Office) -> None:
    mission = office.ask()
    with pytest.raises(Conflict):
        office.desk.resume(mission.id, by="ada")


def test_a_mission_that_nobody_works_on_is_cancelled_at_once(office: Office) -> None:
    queued, paused = office.ask(), office.ask(limits=MissionLimits(tool_calls=1))
    run(office, paused)
    for mission in (queued, paused):
        cancelled = office.desk.cancel(mission.id, by="ada")
        assert (cancelled.state, cancelled.reason) == ("cancelled", "ada stopped it.")
        stays_the_same(office, mission)
        assert run(office, mission).state == "cancelled"
        with pytest.raises(Conflict):
            office.desk.cancel(mission.id, by="ada")


def test_a_mission_is_cancelled_in_the_middle_of_a_step(office: Office) -> None:
    mission, let_go = office.ask(), asyncio.Event()

    async def hangs(number: int) -> Outcome:
        if number == 2:
            office.desk.cancel(mission.id, by="ada")
            try:
                await asyncio.sleep(_PATIENCE_S)
            finally:
                let_go.set()
        return await counted(number)

    office.procedure.hand = hangs
    cancelled = run(office, mission)
    assert (cancelled.state, let_go.is_set()) == ("cancelled", True)
    assert kinds(office, mission)[-2:] == ["called_tool", "ended"]
    stays_the_same(office, mission)


def test_a_step_that_breaks_is_an_outcome(office: Office) -> None:
    async def breaks(number: int) -> Outcome:
        if number == 2:
            raise ZeroDivisionError
        return await counted(number)

    office.procedure.hand = breaks
    mission = office.ask()
    assert run(office, mission).state == "done"
    assert [e.data["error"] for e in office.desk.entries(mission.id) if e.data.get("error")] == [
        "An error of ours: ZeroDivisionError."
    ]
    stays_the_same(office, mission)


DEEP: Json = 1
for _ in range(2_000):
    DEEP = [DEEP]
UNKEPT: dict[str, tuple[Json, str]] = {
    "too many names": ({f"name {number}": "" for number in range(30_000)}, "limit_exceeded"),
    "too long a name": ({"x" * 300_000: 1}, "limit_exceeded"),
    "too deep": (DEEP, "tool_failed"),
    "no number": (math.nan, "tool_failed"),
    "no JSON": ({"a set": {1}}, "tool_failed"),  # type: ignore[dict-item]  # it is none
}


@pytest.mark.parametrize("name", UNKEPT)
def test_an_outcome_that_cannot_stand_on_record_has_failed_and_the_mission_goes_on(office: Office, name: str) -> None:
    """A repository chooses what a tool finds in it, and must not choose that a mission ends."""
    value, code = UNKEPT[name]

    async def give(number: int) -> Outcome:
        await asyncio.sleep(0)
        return {"value": 1, "error": "", "data": value if number == 2 else 0}

    office.procedure.hand = give
    done = asyncio.run(office.runner.run(office.ask().id, stopping=Going()))
    assert done.state == "done"
    gave = [entry.data for entry in office.desk.entries(done.id) if entry.kind == "tool_gave"]
    assert [each.get("code", "") for each in gave] == ["", code, ""]
    assert office.desk.verify(done.id).whole
    assert asyncio.run(office.desk.replay(done.id)).same


def test_code_that_breaks_ends_the_mission_and_says_so(office: Office) -> None:
    class Broken(Squares):
        async def _begin(self, mission: Mission) -> dict[str, Json]:
            return {"goal": mission.goal, "recipe": 1}

        async def perform(self, journal: object, mission: Mission) -> None:
            raise KeyError(mission.id, journal)

    procedure = Broken()
    office.runner._procedure = procedure
    office.desk._procedure = procedure
    mission = office.ask()
    failed = run(office, mission)
    assert (failed.state, failed.reason) == ("failed", "An error of ours: KeyError. The log has the details.")
    stays_the_same(office, mission)


def test_a_record_that_does_not_fit_this_version_fails_the_mission_and_stays_whole(office: Office) -> None:
    """An update came between: the steps of the old version are not passed off as those of the new one."""
    mission = office.ask(limits=MissionLimits(tool_calls=2))
    run(office, mission)
    office.desk.resume(mission.id, by="ada")
    office.procedure.effect, office.procedure.steps = "read", 1
    failed = run(office, mission)
    assert failed.state == "failed"
    assert failed.reason.startswith("The record does not fit what this version does: entry 4:")
    assert office.desk.verify(mission.id).whole


_CHILD = """
import asyncio, sys, time
from pathlib import Path
from tests.support.missions import Going, Office, Squares, counted

async def slow(number):
    if number == 3:
        Path(sys.argv[1], "at-three").touch()
        await asyncio.sleep(60)
    return await counted(number)

office = Office(Path(sys.argv[1]), Squares(hand=slow, steps=5))
asyncio.run(office.runner.run(sys.argv[2], stopping=Going()))
"""


def test_a_mission_whose_process_was_killed_goes_on(tmp_path: Path) -> None:
    office = Office(tmp_path, Squares(steps=5))
    mission = office.ask()
    child = subprocess.Popen([sys.executable, "-c", _CHILD, str(tmp_path), mission.id])
    try:
        end = time.monotonic() + _PATIENCE_S
        while not (tmp_path / "at-three").exists():
            assert time.monotonic() < end, "The child never came to its third step"
            assert child.poll() is None
            time.sleep(0.02)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait(_PATIENCE_S)
    assert office.desk.get(mission.id).state == "running"
    stays_the_same(office, mission)
    assert run(office, mission).state == "done"
    assert office.procedure.done == [3, 4, 5]
    assert kinds(office, mission).count("interrupted") == 1
    stays_the_same(office, mission)
    office.close()


def test_missions_on_record_are_replayed_by_this_version() -> None:
    """Whoever changes a plan, a prompt or a sentence changes what missions do.

    Then raise `procedure.RECIPE`, say so in the changelog, and run ``python -m tests.support.golden_mission``.
    """
    mission, entries = golden()
    assert entries[0].data["recipe"] == RECIPE
    replay = asyncio.run(replayed(mission, entries, procedure=MissionCode()))
    assert (replay.same, replay.reason) == (True, "")


def test_entries_say_what_the_doors_tell_of() -> None:
    _, entries = golden()
    assert {entry.kind for entry in entries} >= {
        "begun",
        "commissioned",
        "asked_model",
        "tool_gave",
        "struck",
        "answer",
        "ended",
    }
    for entry in entries:
        wanted = () if entry.data.get("code") else FIELDS[entry.kind]
        assert set(wanted) <= entry.data.keys(), entry.kind
