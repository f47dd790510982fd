"""Claims about the turn log: written ahead, one writer, and refused where it is not what was written."""

import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from appliance.operator import (
    AgentRequest,
    AgentResult,
    LogDamaged,
    LogFault,
    LogTaken,
    LogVersion,
    RunLimits,
    SnapshotError,
    StateMachine,
    StreamEvent,
    TurnLog,
    state_machine_to_json,
)
from tests.support.operating import (
    Emit,
    Scripted,
    breaks,
    commissions,
    echo,
    go,
    junior,
    machine,
    says,
    steps,
    tools_of,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "turns.db"


@pytest.fixture
def log(path: Path) -> Iterator[TurnLog]:
    with closing(TurnLog(path)) as opened:
        yield opened


def back(log: TurnLog) -> StateMachine:
    return StateMachine.from_log(log, runners={"coordinator": Scripted(commissions), "scout": Scripted(echo)})


def read_all(path: Path) -> None:
    with closing(TurnLog(path)) as log:
        log.turns()
        back(log)


def rows(path: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(query).fetchall()


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def test_a_machine_is_brought_back_as_it_was(path: Path, log: TurnLog) -> None:
    sm = machine(commissions, junior(model="m", metadata={"k": [1]}), log=log, metadata={"z": "ü \ud800"})
    for text in ("a", "b"):
        go(sm.run(text))
    sm.agent("scout").create_objective("by hand")
    go(sm.commission("scout", "o", ["x"], {"p": 1}))
    with closing(TurnLog(path)) as again:
        assert state_machine_to_json(back(again)) == state_machine_to_json(sm)
        assert [(turn.text, turn.status, turn.reply) for turn in again.turns()] == [
            ("a", "done", "did: a"),
            ("b", "done", "did: b"),
        ]


def test_each_step_stands_in_the_log_before_the_next_begins(path: Path, log: TurnLog) -> None:
    def looks(request: AgentRequest, _emit: Emit) -> AgentResult:
        seen.append((rows(path, "SELECT record FROM turns"), rows(path, "SELECT slot FROM slots")))
        return AgentResult(content=request.objective)

    async def turn(request: AgentRequest, emit: Emit) -> AgentResult:
        looks(request, emit)
        await tools_of(request)["commission"]("scout", "o")
        looks(request, emit)
        return AgentResult(content="x")

    seen: list[Any] = []
    go(machine(turn, junior(behaviour=looks), log=log).run("q"))
    statuses = [[json.loads(row[0])["status"] for table in tables for row in table] for tables in seen]
    assert statuses == [["running"], ["running", "running"], ["running", "staged"]]


def test_a_failed_turn_is_kept_as_failed_and_its_question_is_not(path: Path, log: TurnLog) -> None:
    sm = machine(breaks, log=log)
    with pytest.raises(ZeroDivisionError):
        go(sm.run("q"))
    with closing(TurnLog(path)) as again:
        (turn,) = again.turns()
        assert (turn.status, turn.error) == ("failed", "ZeroDivisionError: division by nothing")
        assert len(back(again).coordinator_messages) == 1


def test_only_what_changed_of_a_thread_is_written(path: Path, log: TurnLog) -> None:
    """A runner that owns its transcript hands back all of it, each turn."""

    def owns(request: AgentRequest, _emit: Emit) -> AgentResult:
        return AgentResult(content="r", messages=[*request.messages, {"role": "assistant", "content": "r"}])

    sm = machine(owns, log=log)
    go(sm.run("first"))
    change(path, "CREATE TRIGGER no_delete BEFORE DELETE ON messages BEGIN SELECT RAISE(ABORT, 'rewritten'); END")
    go(sm.run("second"))
    assert rows(path, "SELECT count(*) FROM messages") == [(5,)]


def test_a_thread_that_was_replaced_or_shortened_is_kept_as_it_is(path: Path, log: TurnLog) -> None:
    sm = machine(says("short", messages=[{"role": "user", "content": "all that is left"}]), log=log)
    sm.coordinator_messages.user("a").user("b").user("c")
    go(sm.run("q"))
    with closing(TurnLog(path)) as again:
        assert back(again).coordinator_messages.to_list() == [{"role": "user", "content": "all that is left"}]


def test_a_persona_that_changed_is_kept(path: Path, log: TurnLog) -> None:
    sm = machine(says("x"), log=log)
    sm.coordinator.skill = "Another."
    sm.add_agent(junior("second", runner_id="scout"))
    go(sm.run("q"))
    with closing(TurnLog(path)) as again:
        brought = back(again)
        assert brought.coordinator.skill == brought.coordinator_messages[0]["content"] == "Another."
        assert [handle.name for handle in brought.agents()] == ["scout", "second"]


def test_an_agent_that_joins_later_is_kept_before_it_works(path: Path, log: TurnLog) -> None:
    sm = machine(commissions, log=log)
    sm.add_agent(junior("late", runner_id="scout"))
    go(sm.commission("late", "o"))
    with closing(TurnLog(path)) as again:
        assert back(again).agent("late")[1].agent_message == "did: o"


def test_an_agent_that_cannot_be_kept_does_not_join(log: TurnLog) -> None:
    sm = machine(commissions, log=log)
    with pytest.raises(SnapshotError, match=r"agents\[1\]\.metadata\.live"):
        sm.add_agent(junior("late", metadata={"live": object()}))
    assert sm.add_agent(junior("late")).name == "late"


def test_a_log_has_one_writer(path: Path, log: TurnLog) -> None:
    first = machine(commissions, log=log)
    go(first.run("a"))
    with closing(TurnLog(path)) as again:
        second = back(again)
        with pytest.raises(LogTaken, match="may not go on"):
            go(first.run("b"))
        assert len(first.coordinator_messages) == 3
        assert go(second.run("c")) == "did: c"


def test_a_new_machine_does_not_write_over_an_old_one(path: Path, log: TurnLog) -> None:
    machine(commissions, log=log)
    with closing(TurnLog(path)) as again, pytest.raises(LogTaken, match="from_log"):
        machine(commissions, log=again)


def test_a_runner_that_is_missing_takes_the_log_from_nobody(path: Path, log: TurnLog) -> None:
    sm = machine(commissions, log=log)
    with closing(TurnLog(path)) as again, pytest.raises(KeyError, match="coordinator"):
        StateMachine.from_log(again, runners={})
    assert go(sm.run("q")) == "did: q"


def test_several_machines_share_a_file_under_their_names(path: Path, log: TurnLog) -> None:
    go(machine(commissions, log=log).run("main"))
    with closing(TurnLog(path, machine="other")) as other:
        go(machine(commissions, log=other).run("other"))
        assert [turn.text for turn in other.turns()] == ["other"]
        assert len(back(other).coordinator_messages) == 3
    assert [turn.text for turn in log.turns()] == ["main"]


def test_a_log_says_whether_there_is_a_machine_to_bring_back(log: TurnLog) -> None:
    assert log.empty()
    machine(commissions, log=log)
    assert not log.empty()


def test_a_machine_that_is_not_there_is_said(log: TurnLog) -> None:
    with pytest.raises(LogFault, match="holds no machine 'main'"):
        back(log)


def test_a_snapshot_can_go_on_in_a_log(path: Path, log: TurnLog) -> None:
    sm = machine(commissions)
    go(sm.run("a"))
    given = {"coordinator": Scripted(commissions), "scout": Scripted(echo)}
    again = StateMachine.from_model(sm.to_model(), runners=given, log=log, limits=RunLimits(max_commissions=1))
    assert go(again.run("b")) == "did: b"
    with closing(TurnLog(path)) as reopened:
        assert len(back(reopened).agent("scout")) == 2


def test_a_log_of_another_version_is_refused_and_left_as_it_is(path: Path, log: TurnLog) -> None:
    log.close()
    change(path, "PRAGMA user_version=3")
    before = path.read_bytes()
    with pytest.raises(LogVersion, match=r"of version 3, and this program knows 2: .*begin a new one"):
        TurnLog(path)
    assert path.read_bytes() == before


def test_a_database_of_another_kind_is_refused_and_left_as_it_is(path: Path) -> None:
    change(path, "CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(LogVersion, match="no turn log"):
        TurnLog(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE messages SET message = replace(message, 'did', 'DID')",
        "UPDATE slots SET slot = replace(slot, 'did', 'DID')",
        "UPDATE machines SET persona = '{}'",
        "UPDATE turns SET record = 'x'",
        "UPDATE slots SET slot = NULL",
        "DELETE FROM slots WHERE number = 1",
        "DELETE FROM slots WHERE number = 2",
        "DELETE FROM messages WHERE position = 4",
        "UPDATE messages SET position = position + 10 WHERE position = 2",
        "UPDATE turns SET turn_id = 'x' WHERE number = 1",
        "UPDATE machines SET epoch = 'x'",
        "UPDATE machines SET epoch = 9223372036854775807",
        "UPDATE machines SET slots = 3",
        "DROP TABLE messages",
        "ALTER TABLE turns RENAME COLUMN record TO other",
    ],
)
def test_what_is_not_as_it_was_written_is_said(path: Path, log: TurnLog, damage: str) -> None:
    sm = machine(commissions, log=log)
    for text in ("a", "b"):
        go(sm.run(text))
    log.close()
    change(path, "PRAGMA writable_schema=ON", "UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '')")
    change(path, damage)
    with pytest.raises(LogDamaged, match=r"damaged \(.*\): restore it"):
        read_all(path)


def test_an_objective_whose_agent_is_gone_is_said(path: Path, log: TurnLog) -> None:
    go(machine(commissions, log=log).run("q"))
    log.close()
    ((slot,),) = rows(path, "SELECT slot FROM slots")
    slot = slot.replace("scout", "other")
    crc = zlib.crc32(f"main\0other\0001\0{slot}".encode())
    change(path, f"UPDATE slots SET agent = 'other', slot = '{slot}', crc = {crc}")  # noqa: S608 - it is ours
    with pytest.raises(LogDamaged, match="agent that is not there"):
        read_all(path)


def test_a_file_with_a_page_overwritten_is_said_to_be_damaged(path: Path, log: TurnLog) -> None:
    sm = machine(commissions, log=log)
    for number in range(20):
        go(sm.run(f"{number}"))
    log.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * 4096 + whole[8192:])
    with pytest.raises(LogDamaged, match=r"damaged \(.*\): restore it"):
        TurnLog(path)


def test_a_file_that_is_no_database_is_said_to_be_damaged(path: Path) -> None:
    path.write_text("no database\n" * 500)
    with pytest.raises(LogDamaged, match="not a database"):
        TurnLog(path)


def test_a_path_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(LogFault, match="choose a path"):
        TurnLog(tmp_path / "no" / "such" / "folder.db")


def test_a_log_that_fails_within_a_junior_s_own_machine_is_that_junior_s_failure(log: TurnLog) -> None:
    async def asks_inner(request: AgentRequest, _emit: Emit) -> AgentResult:
        return AgentResult(content=await inner.run(request.objective))

    inner = machine(commissions, log=log)
    log.close()
    sm = machine(None, junior(behaviour=asks_inner))
    said = go(sm.commission("scout", "o"))
    assert said["status"] == "failed"
    assert said["summary"].startswith("LogFault: ")


def test_what_the_log_cannot_keep_ends_the_turn_and_settles_its_work(path: Path, log: TurnLog) -> None:
    sm = machine(commissions, log=log)
    change(path, "CREATE TRIGGER full BEFORE INSERT ON slots BEGIN SELECT RAISE(ABORT, 'disk full'); END")
    seen: list[StreamEvent] = []
    with pytest.raises(LogFault, match="disk full"):
        go(sm.run("q", streaming_callback=seen.append))
    assert steps(seen) == [("coordinator", "start"), ("scout", "fail"), ("coordinator", "fail")]
    slot = sm.agent("scout")[1]
    assert (slot.status, sm.active_agent, len(sm.coordinator_messages)) == ("failed", None, 1)
    change(path, "DROP TRIGGER full")
    assert go(sm.run("q")) == "did: q"


@pytest.mark.parametrize("message", [{"content": "no role"}, {"role": 5}, {"role": "a", "content": 10**4500}])
@pytest.mark.parametrize("of_junior", [True, False])
def test_what_could_not_be_read_again_is_not_kept(path: Path, log: TurnLog, message: Any, *, of_junior: bool) -> None:  # noqa: ANN401 - of any shape
    """One such message, which a model may well be led to write, would cost the host all that is in the log."""
    bad = says("x", messages=[message])
    sm = machine(commissions if of_junior else bad, junior(behaviour=bad), log=log)
    with suppress(ValueError):
        go(sm.run("q"))
    log.close()
    with closing(TurnLog(path)) as again:
        assert back(again).to_json() == sm.to_json()


@pytest.mark.parametrize("name", ["\0 ' ; -- \u202e", "../" * 2000, " \x1b[31m\n"])
def test_names_of_any_kind_are_kept(path: Path, name: str) -> None:
    with closing(TurnLog(path, machine=name)) as log:
        sm = machine(commissions, junior(name), log=log)
        go(sm.run(name + "q"))
        again = StateMachine.from_log(log, runners={"coordinator": Scripted(commissions), name: Scripted(echo)})
        assert again.to_json() == sm.to_json()


def test_a_name_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="half a character"):
        machine(None, junior("\ud800"))
    for path, name in ((tmp_path / "a.db", "\ud800"), ("a\0b", "main")):
        with pytest.raises(LogFault, match="another name"):
            TurnLog(path, machine=name)


@pytest.mark.parametrize("of_junior", [True, False])
def test_an_answer_that_json_cannot_hold_is_named_and_not_kept(path: Path, log: TurnLog, *, of_junior: bool) -> None:
    bad = says("x", messages=[{"role": "assistant", "content": "x", "live": object()}])
    sm = machine(commissions if of_junior else bad, junior(behaviour=bad), log=log)
    if of_junior:
        go(sm.run("q"))
        slot = sm.agent("scout")[1]
        assert (slot.status, len(slot.messages)) == ("failed", 2)
        assert "messages[0].live" in str(slot.agent_message)
    else:
        with pytest.raises(SnapshotError, match=r"coordinator_messages\[0\]\.live"):
            go(sm.run("q"))
        assert len(sm.coordinator_messages) == 1
    with closing(TurnLog(path)) as again:
        assert state_machine_to_json(back(again)) == state_machine_to_json(sm)
