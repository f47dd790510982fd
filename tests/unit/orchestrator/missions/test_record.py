"""The record: whole, durable, bounded, and every change of it found."""

import asyncio
import hashlib
import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from appliance.api.missions import EntryOut
from appliance.contracts.tools import Json
from appliance.errors import Conflict, InvalidInput, LimitExceeded, NotFound, StoreCorrupt
from appliance.ids import MissionId, ProjectId, RepoId
from appliance.orchestrator.missions import facts
from appliance.orchestrator.missions.canonical import MOST_BYTES, canonical, fitted, link
from appliance.orchestrator.missions.desk import Desk
from appliance.orchestrator.missions.encoding import plain
from appliance.orchestrator.missions.journal import Outcome
from appliance.orchestrator.missions.model import Entry, Mission, MissionLimits
from appliance.orchestrator.missions.verifying import verified
from tests.support.missions import PROJECT, SCOPE, Going, Office, OneRepo, counted


def worked(office: Office) -> Mission:
    """Return a mission that was worked on to its end."""
    return asyncio.run(office.runner.run(office.ask().id, stopping=Going()))


def test_a_mission_that_was_worked_on_has_a_whole_record(office: Office) -> None:
    done = worked(office)
    found = office.desk.verify(done.id)
    assert (found.whole, found.entries, found.head, found.reason) == (True, 9, done.head, "")
    kinds = [entry.kind for entry in office.desk.entries(done.id)]
    assert kinds == ["begun", *["called_tool", "tool_gave"] * 3, "sentence", "ended"]


def test_every_hash_can_be_computed_by_anybody_with_the_lines_of_the_record(office: Office) -> None:
    """Whoever keeps a record outside needs no code of ours to check it."""
    done, head = worked(office), ""
    for line in office.desk.record(done.id):
        fields = json.loads(line)
        stated, prev = fields.pop("hash"), fields.pop("prev")
        assert prev == head
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
        head = hashlib.sha256((prev + text).encode()).hexdigest()
        assert stated == head
    assert head == done.head


CHANGES = {
    "an edited entry": "UPDATE mission_entries SET data = replace(data, '4', '5') WHERE seq = 5",
    "an entry that is no JSON any more": "UPDATE mission_entries SET data = substr(data, 2) WHERE seq = 5",
    "an entry that is written otherwise": "UPDATE mission_entries SET data = data || ' ' WHERE seq = 5",
    "another time": "UPDATE mission_entries SET at = at + 1 WHERE seq = 5",
    "another agent": "UPDATE mission_entries SET agent = 'reviewer' WHERE seq = 5",
    "another kind": "UPDATE mission_entries SET kind = 'struck' WHERE seq = 5",
    "a removed entry": "DELETE FROM mission_entries WHERE seq = 5",
    "a removed first entry": "DELETE FROM mission_entries WHERE seq = 1",
    "a cut-off tail": "DELETE FROM mission_entries WHERE seq >= 8",
    "an empty record": "DELETE FROM mission_entries",
    "an inserted entry": "INSERT INTO mission_entries SELECT mission, 10, at, kind, agent, data, hash, hash"
    " FROM mission_entries WHERE seq = 9",
    "two that changed places": "UPDATE mission_entries SET seq = 106 - seq WHERE seq IN (2, 4);"
    "UPDATE mission_entries SET seq = seq - 100 WHERE seq > 100",
    "a time without end": "UPDATE mission_entries SET at = 9e999 WHERE seq = 5",
    "a time that is none": "UPDATE mission_entries SET at = 'now' WHERE seq = 5",
    "a place without end": "UPDATE mission_entries SET seq = 9e999 WHERE seq = 5",
    "a place that is none": "UPDATE mission_entries SET seq = 'five' WHERE seq = 5",
    "a kind that is none": "UPDATE mission_entries SET kind = 'told' WHERE seq = 5",
    "an agent that is none": "UPDATE mission_entries SET agent = x'ff' WHERE seq = 5",
    "a text that is none": "UPDATE mission_entries SET data = cast(x'ff' AS text) WHERE seq = 5",
    "a hash that is none": "UPDATE mission_entries SET hash = cast(x'ed' AS text) WHERE seq = 5",
    "bytes": "UPDATE mission_entries SET data = x'ff' WHERE seq = 5",
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_was_done_to_a_record_is_found(office: Office, change: str) -> None:
    done = worked(office)
    for statement in CHANGES[change].split(";"):
        office.execute(statement, {})
    found = office.desk.verify(done.id)
    assert not found.whole
    assert found.broken_at is not None
    assert found.reason
    assert all(json.loads(line)["mission"] for line in office.desk.record(done.id))
    assert all(EntryOut.of(entry).model_dump_json() for entry in office.desk.entries(done.id))


ROW = {
    "goal": "'What else?'",
    "project": "'project_2'",
    "scope": """'{"branches":["main"],"project":"project_1","repos":[]}'""",
    "repo_names": """'["vault"]'""",
    "limits": """'{"tool_calls":7}'""",
    "asked_by": "'eve'",
    "model": "'another'",
    "state": "'cancelled'",
    "reason": "'ada stopped it.'",
    "created_at": "created_at - 1",
    "started_at": "NULL",
    "ended_at": "ended_at + 1",
    "usage": """'{"prompt_tokens":1}'""",
    "entries": "8",
    "head": "'0'",
}
UNSEEN = {"number", "id", "cancel_by"}  # the order of lists, what it is called, and who asked to stop one that was not


def test_an_edit_of_any_column_of_the_row_is_found(office: Office) -> None:
    """Who asked what, when, and about which code is as much a part of the record as its steps."""
    done = worked(office)
    with closing(office.connect()) as conn:
        was = dict(conn.execute("SELECT * FROM missions").fetchone())
        assert was.keys() == ROW.keys() | UNSEEN
        for column, value in ROW.items():
            conn.execute(f"UPDATE missions SET {column} = {value}")  # noqa: S608 - ours
            try:
                assert not office.desk.verify(done.id).whole, column
            except StoreCorrupt:
                assert column == "project"
            conn.execute(f"UPDATE missions SET {column} = ?", (was[column],))  # noqa: S608
    found = office.desk.verify(done.id)
    assert (found.whole, found.uncovered) == (True, ())


def test_a_record_says_what_of_its_mission_it_holds(office: Office) -> None:
    """One of the first recipe holds less; of one that nobody worked on nothing stands on record but that it was stopped."""
    done = worked(office)
    row, entries = office.desk.get(done.id), list(office.desk.entries(done.id))
    last: Entry | None = None
    for each in entries:
        data = {name: value for name, value in each.data.items() if name != facts.KEY}
        data |= {"recipe": 1} if "recipe" in data else {}
        last = link(
            mission=done.id,
            seq=each.seq,
            at=each.at,
            kind=each.kind,
            agent=each.agent,
            data=data,
            prev=last.hash if last else "",
        )
        entries[each.seq - 1] = last
    found = verified(replace(row, head=entries[-1].hash, asked_by="eve"), entries)
    assert found.whole
    assert found.uncovered == tuple(name for name in facts.NAMES if name != "goal")
    stopped = office.desk.cancel(office.ask().id, by="ada")
    assert office.desk.verify(stopped.id).uncovered == ()
    office.execute("UPDATE missions SET asked_by = 'eve'", {})
    assert not office.desk.verify(stopped.id).whole
    assert office.desk.verify(office.ask().id).uncovered == facts.NAMES


@pytest.mark.parametrize("claimed", [{}, {facts.KEY: "all of it"}, {facts.KEY: {}}, {facts.KEY: None}])
def test_who_writes_a_record_anew_so_that_it_holds_less_is_told(office: Office, claimed: dict[str, Json]) -> None:
    """All hashes can be made to fit; then the record holds what its recipe has, or the result says what it does not."""
    office.execute("UPDATE missions SET asked_by = 'eve' WHERE id = :id", {"id": (done := worked(office)).id})
    row, told = office.desk.get(done.id), {"goal": done.goal, "limits": plain(done.limits), "repos": list(done.repo_names)}
    for recipe in (1, 2, 3, 2**70):
        data = {**told, **claimed, "recipe": recipe}
        first = link(mission=done.id, seq=1, at=row.created_at, kind="begun", agent="", data=data, prev="")
        standing = {"state": "running", "reason": "", "ended_at": None, "entries": 1, "head": first.hash}
        found = verified(replace(row, **standing), [first])  # type: ignore[arg-type] # as they are
        assert found.whole is (recipe == 1 and not claimed)
        assert not found.whole or {"asked_by", "created_at", "scope"} <= {*found.uncovered}


def test_a_mission_is_deleted_with_its_record_once_it_has_ended_and_that_is_audited(
    office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    done, open_one = worked(office), office.ask()
    with pytest.raises(Conflict):
        office.desk.remove(open_one.id, by="ada")
    with caplog.at_level("INFO", logger="audit"):
        lines = office.desk.record(done.id)
        office.desk.remove(done.id, by="ada")
    assert len(list(lines)) == done.entries  # who reads it has all of it
    assert [done.head in record.getMessage() and "ada" in record.getMessage() for record in caplog.records] == [True]
    assert [each.id for each in office.desk.list()] == [open_one.id]
    with closing(office.connect()) as conn:
        assert conn.execute("SELECT count(*) FROM mission_entries").fetchone()[0] == 0
    with pytest.raises(NotFound):
        office.desk.remove(done.id, by="ada")


def test_records_are_kept_for_as_long_as_is_said_and_else_for_ever(office: Office) -> None:
    done = worked(office)
    office.clock.advance(400 * 86_400.0)
    fresh = worked(office)
    office.desk.tidy()
    assert len(office.desk.list()) == 2
    short = Desk(
        office.connect(), known=OneRepo(), model=str, procedure=office.procedure, clock=office.clock, keep_days=399.0
    )
    with closing(short):
        short.tidy()
        assert [each.id for each in short.list()] == [fresh.id]
        with pytest.raises(NotFound):
            short.get(done.id)


NO_VALUES = ("''", "'x'", "'null'", "9e999", "x'ff'", "replace(hex(zeroblob(9000)), '0', '[')")
HURT = [f"{column} = {value}" for column in ("scope", "repo_names", "limits", "usage") for value in NO_VALUES]


@pytest.mark.parametrize("change", [*HURT, "goal = x'ff'", "created_at = 'then'", "created_at = 9e999", "entries = 'all'"])
def test_a_damaged_row_is_said_to_be_and_keeps_no_other_mission_away(office: Office, change: str) -> None:
    hurt, whole = worked(office), office.ask("What else?")
    office.execute(f"UPDATE missions SET {change} WHERE id = :id", {"id": hurt.id})  # noqa: S608 - ours
    for look in (office.desk.get, office.desk.verify, office.desk.record, lambda it: asyncio.run(office.desk.replay(it))):
        with pytest.raises(StoreCorrupt):
            look(hurt.id)
    assert [(each.id, each.state) for each in office.desk.list()] == [(whole.id, "queued"), (hurt.id, "done")]
    assert "not as it was written" in office.desk.list()[1].reason
    assert office.desk.unended() == [whole]


def test_an_edited_entry_is_named(office: Office) -> None:
    done = worked(office)
    office.execute(CHANGES["an edited entry"], {})
    assert office.desk.verify(done.id).broken_at == 5


def test_two_who_write_one_record_do_not_both(office: Office) -> None:
    """A second process would take the same step again, and the record would hold both."""

    async def both() -> list[object]:
        mission, met = office.ask().id, asyncio.Event()
        inside: list[int] = []

        async def hand(number: int) -> Outcome:
            inside.append(number)
            if len(inside) > 1:
                met.set()
            await met.wait()  # for the other one, or for its end
            return await counted(number)

        async def run() -> object:
            try:
                return await office.runner.run(mission, stopping=Going())
            except Conflict as exc:
                return exc
            finally:
                met.set()

        office.procedure.hand = hand
        return list(await asyncio.gather(run(), run()))

    ends = asyncio.run(both())
    assert sum(isinstance(end, Conflict) for end in ends) == 1
    (done,) = office.desk.list()
    assert (done.state, office.desk.verify(done.id).whole) == ("done", True)


@pytest.mark.parametrize(
    ("data", "left_out"),
    [
        ({"text": "x" * 100_000}, "text: 84007 of 100000 characters are left out."),
        ({"data": {"rows": list(range(1_000))}}, "data.rows: 600 of 1000 entries are left out."),
    ],
)
def test_what_an_entry_leaves_out_is_said(data: dict[str, Json], left_out: str) -> None:
    assert fitted(data)["cut"] == [left_out]


def test_an_entry_is_bounded_whatever_comes() -> None:
    data: dict[str, Json] = {"evidence": [{"text": "y" * 15_000} for _ in range(390)]}
    assert len(canonical(fitted(data))) <= MOST_BYTES
    with pytest.raises(LimitExceeded):
        fitted({str(number): "z" * 200 for number in range(5_000)})


def test_what_was_fitted_once_stays_as_it_is() -> None:
    """A step taken from the record is held against one that is made anew."""
    once = fitted({"text": "x" * 100_000, "password": "password = 'Xk29-fj3kd-2kd93-kdk3j'", "odd": "\udc80"})
    assert fitted(once) == once


def test_secrets_are_masked_as_the_index_masks_them(office: Office) -> None:
    key = "AKIA" + "QYLPMN5HFI2RBWTX"
    mission = office.ask(f"Who uses {key} here?")
    assert mission.goal == f"Who uses {'*' * len(key)} here?"
    assert key not in canonical(fitted({"text": [f"key = {key}"]}))


def test_a_goal_without_words_or_far_too_long_is_refused(office: Office) -> None:
    for goal in ("", "   ", "?!"):
        with pytest.raises(InvalidInput):
            office.ask(goal)
    with pytest.raises(LimitExceeded):
        office.ask("why " * 2_000)


def test_limits_that_cannot_be_are_refused(office: Office) -> None:
    for limits in (MissionLimits(tool_calls=0), MissionLimits(seconds=-1), MissionLimits(tokens=10**9)):
        with pytest.raises(InvalidInput):
            office.ask(limits=limits)


def test_a_scope_that_is_not_there_is_refused(office: Office) -> None:
    for scope in (type(SCOPE)(PROJECT, (RepoId("repo_2"),)), type(SCOPE)(ProjectId("project_2"))):
        with pytest.raises(NotFound):
            office.desk.create("Where is it?", scope=scope, asked_by="ada")


def test_an_unknown_mission_is_said_to_be_unknown(office: Office) -> None:
    missing = MissionId("mission_0")
    for ask in (office.desk.get, office.desk.verify, office.desk.entries, office.desk.record):
        with pytest.raises(NotFound):
            ask(missing)
    with pytest.raises(NotFound):
        office.desk.cancel(missing, by="ada")
    with pytest.raises(NotFound):
        asyncio.run(office.desk.replay(missing))


def test_missions_are_listed_newest_first_and_counted(office: Office) -> None:
    made = [office.ask(f"Question {number}?").id for number in range(3)]
    assert [mission.id for mission in office.desk.list(limit=2)] == made[:0:-1]
    assert [mission.id for mission in office.desk.list(offset=2)] == made[:1]
    assert office.desk.list(project="project_9") == []
    assert office.desk.counts() == {"queued": 3}
    with pytest.raises(InvalidInput):
        office.desk.list(limit=0)


def test_missions_that_nobody_works_on_do_not_pile_up_without_end(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("appliance.orchestrator.missions.desk.MOST_OPEN", 2)
    office.ask()
    office.ask()
    with pytest.raises(LimitExceeded):
        office.ask()


def test_an_entry_is_on_disk_before_the_next_step(office: Office) -> None:
    """Seen from another connection while the step after it is taken."""
    seen: list[int] = []

    async def look(number: int) -> dict[str, Json]:
        await asyncio.sleep(0)
        with sqlite3.connect(office.path) as conn:
            seen.append(conn.execute("SELECT count(*) FROM mission_entries").fetchone()[0])
        conn.close()
        return {"value": number, "error": ""}

    office.procedure.hand = look
    worked(office)
    assert seen == [2, 4, 6]
