import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.base import sqlite
from appliance.errors import Conflict, HostUnfit, InvalidInput, LimitExceeded, NotFound, StoreCorrupt
from appliance.orchestrator.services.conversation import ConversationMessage, ToolUse, message_of
from appliance.orchestrator.services.session import LocalSessionService
from appliance.orchestrator.state.host import Changes, Staged
from appliance.tables import MIGRATIONS
from tests.support.clock import FakeClock

SAID = (
    ConversationMessage("system", "Be brief."),
    ConversationMessage("user", "Who calls parse?"),
    ConversationMessage("assistant", "", uses=(ToolUse("c1", "callers", {"name": "parse"}),)),
    ConversationMessage("tool", "main", tool="callers", call="c1"),
    ConversationMessage("assistant", "main does. \ud800"),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "global.db"


def opened(path: Path) -> LocalSessionService:
    return LocalSessionService(sqlite.connect(path, migrations=MIGRATIONS), clock=FakeClock())


@pytest.fixture
def sessions(path: Path) -> Iterator[LocalSessionService]:
    sessions = opened(path)
    yield sessions
    sessions.close()


def test_a_session_and_all_that_it_holds_outlive_the_process(path: Path) -> None:
    before = opened(path)
    session = before.create_session(project="prj_1", title="Parsing \ud800")
    before.write(
        session.id,
        Staged(SAID, Changes({"plan": ["a", None]}), Changes({"n": 1}), {"planning": True}, "working \ud800"),
        observed=["a.py"],
    )
    before.close()
    after = opened(path)
    content, version = after.content(session.id)
    found = after.get_session(session.id)
    after.close()
    assert content.messages == SAID
    assert (content.stage, content.conversation_state, content.session_state) == (
        "working \\ud800",
        '{"plan": ["a", null]}',
        '{"n": 1}',
    )
    assert (content.capabilities, content.observed_files, version) == ('{"planning": true}', '["a.py"]', 1)
    assert (found.title, found.project, found.messages, found.state) == ("Parsing \\ud800", "prj_1", 5, "open")


@pytest.mark.parametrize(
    "staged",
    [
        Staged((SAID[1], {"role": "robot", "content": "x"})),
        Staged((SAID[1], "text")),
        Staged((SAID[1],), Changes({"k": object()})),
        Staged((SAID[1],), Changes({"k": float("nan")})),
        Staged((SAID[1],), Changes({"k": "x" * 1_000_001})),
        Staged((SAID[1], {"role": "user", "content": "x" * 1_000_001})),
    ],
)
def test_a_change_that_cannot_be_kept_changes_nothing(sessions: LocalSessionService, staged: Staged) -> None:
    session = sessions.create_session()
    with pytest.raises((InvalidInput, LimitExceeded)):
        sessions.write(session.id, staged)
    assert sessions.get_session(session.id) == session


def test_a_change_that_was_made_for_an_older_version_is_refused(path: Path, sessions: LocalSessionService) -> None:
    session, other = sessions.create_session(), opened(path)
    sessions.content(session.id)
    assert other.write(session.id, Staged(SAID[:2])) == 1
    with pytest.raises(Conflict, match="somebody else"):
        sessions.write(session.id, Staged(SAID[2:]), expected=0)
    assert sessions.content(session.id)[0].messages == SAID[:2], "what another process wrote is seen at once"
    other.close()


def test_a_closed_session_is_read_and_changes_no_more(sessions: LocalSessionService) -> None:
    session = sessions.create_session(session_id="mine")
    sessions.write("mine", Staged(SAID))
    kept = sessions.save_checkpoint("mine")
    assert sessions.close_session("mine").state == "closed"
    assert sessions.close_session("mine").state == "closed"
    for change in (lambda: sessions.write("mine", Staged(SAID)), lambda: sessions.restore_checkpoint(kept.id)):
        with pytest.raises(Conflict, match="closed"):
            change()
    assert len(sessions.content("mine")[0].messages) == len(SAID)
    assert sessions.get_session("mine").created_at == session.created_at


def test_sessions_are_listed_by_project_and_forgotten_whole(path: Path, sessions: LocalSessionService) -> None:
    for name, project in (("a", "prj_1"), ("b", "prj_2"), ("c", "prj_1")):
        sessions.create_session(session_id=name, project=project)
    sessions.write("a", Staged(SAID))
    sessions.save_checkpoint("a")
    assert [session.id for session in sessions.list_sessions(project="prj_1")] == ["a", "c"]
    assert len(sessions.list_sessions(limit=2)) == 2
    sessions.delete_session("a")
    with sqlite3.connect(path) as conn:
        left = [
            conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - a name of ours
            for table in ("session_messages", "session_checkpoints")
        ]
    conn.close()
    assert left == [0, 0]


@pytest.mark.parametrize(
    "act", ["get_session", "close_session", "delete_session", "save_checkpoint", "content", "list_checkpoints"]
)
def test_a_session_that_is_not_there_is_not_found(sessions: LocalSessionService, act: str) -> None:
    with pytest.raises(NotFound, match="ses_none"):
        getattr(sessions, act)("ses_none")


@pytest.mark.parametrize("name", ["", "a b", "../x", "a" * 81])
def test_an_id_that_cannot_be_and_one_that_is_taken_are_refused(sessions: LocalSessionService, name: str) -> None:
    with pytest.raises(InvalidInput):
        sessions.create_session(session_id=name)
    sessions.create_session(session_id="taken")
    with pytest.raises(Conflict):
        sessions.create_session(session_id="taken")


def test_a_checkpoint_brings_back_messages_and_both_scopes(sessions: LocalSessionService) -> None:
    session = sessions.create_session()
    sessions.write(session.id, Staged(SAID, Changes({"a": 1}), Changes({"b": 2}), stage="working"))
    before, _ = sessions.content(session.id)
    kept = sessions.save_checkpoint(session.id, name="before the edit")
    sessions.write(session.id, Staged(SAID, Changes({"c": 3}, frozenset({"a"})), Changes({"b": 0}), stage="complete"))
    restored = sessions.restore_checkpoint(kept.id)
    assert sessions.content(session.id)[0] == before
    assert restored.version == 3, "who decided on what was before is stale now"
    assert [row.name for row in sessions.list_checkpoints(session.id)] == ["before the edit"]
    sessions.restore_checkpoint(kept.id)
    assert sessions.content(session.id)[0] == before


@pytest.mark.parametrize(
    ("spoil", "refused"),
    [("format = 2", HostUnfit), ("format = 0", HostUnfit), ("body = replace(body, 'brief', 'rude')", StoreCorrupt)],
)
def test_a_checkpoint_of_another_version_or_an_edited_one_is_refused_and_left_alone(
    path: Path, sessions: LocalSessionService, spoil: str, refused: type[Exception]
) -> None:
    session = sessions.create_session()
    sessions.write(session.id, Staged(SAID))
    kept = sessions.save_checkpoint(session.id)
    with sqlite3.connect(path) as conn:
        conn.execute(f"UPDATE session_checkpoints SET {spoil}")  # noqa: S608 - words of ours
        before = conn.execute("SELECT * FROM session_checkpoints").fetchall()
    with pytest.raises(refused):
        sessions.restore_checkpoint(kept.id)
    assert conn.execute("SELECT * FROM session_checkpoints").fetchall() == before
    conn.close()
    assert sessions.get_session(session.id).version == 1
    with pytest.raises(NotFound):
        sessions.restore_checkpoint("ckp_none")


@pytest.mark.parametrize("message", SAID)
def test_a_message_is_the_same_after_it_was_written(message: ConversationMessage) -> None:
    assert message_of(message.to_json()) == message


@pytest.mark.parametrize(
    "given",
    [
        None,
        "text",
        {},
        {"role": "user", "content": ["parts"]},
        {"role": "assistant", "content": "", "tool_calls": "x"},
        {"role": "assistant", "content": "", "tool_calls": [{}]},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "a", "arguments": "{"}}]},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "a", "arguments": "[]"}}]},
    ],
)
def test_what_is_no_message_is_refused(given: object) -> None:
    with pytest.raises(InvalidInput):
        message_of(given)
