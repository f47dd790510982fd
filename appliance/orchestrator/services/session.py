"""The session service: conversations and their state, durable, with checkpoints to come back to."""

import re
import sqlite3
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol

from appliance.base.clock import Clock
from appliance.base.sqlite import Guarded
from appliance.errors import Conflict, InvalidInput, LimitExceeded, NotFound
from appliance.ids import new_id
from appliance.orchestrator.calls import storable
from appliance.orchestrator.services import content as contents
from appliance.orchestrator.services.content import Checkpoint, Content
from appliance.orchestrator.services.conversation import ConversationMessage, message_of
from appliance.orchestrator.state.host import Staged

SessionState = Literal["open", "closed"]

MOST_MESSAGES: Final = 10_000

_CACHED: Final = 64
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_TITLE_CHARACTERS: Final = 200
_SELECT: Final = (
    "SELECT id, project, title, state, stage, created_at, updated_at, version,"
    " (SELECT count(*) FROM session_messages WHERE session = sessions.id) AS messages FROM sessions "
)


@dataclass(frozen=True, slots=True)
class Session:
    """A session as it stands. Times are seconds since the epoch; ``version`` counts its changes."""

    id: str
    project: str
    title: str
    state: SessionState
    stage: str
    created_at: float
    updated_at: float
    version: int
    messages: int


class SessionService(Protocol):
    """What keeps sessions. Every method raises `NotFound` for one that is not there."""

    def create_session(self, *, project: str = "", title: str = "", session_id: str | None = None) -> Session:
        """Open a session; raise `Conflict` for an id that is taken, `InvalidInput` for one that cannot be."""

    def get_session(self, session_id: str) -> Session:
        """Return the session as it stands."""

    def list_sessions(self, *, project: str | None = None, limit: int = 50) -> Sequence[Session]:
        """Return sessions, the one that changed last first."""

    def close_session(self, session_id: str) -> Session:
        """End the session: it can be read, and changes no more."""

    def delete_session(self, session_id: str) -> None:
        """Forget the session with its messages, state and checkpoints."""

    def save_checkpoint(self, session_id: str, *, name: str = "") -> Checkpoint:
        """Keep the messages and both scopes of state as they are now."""

    def restore_checkpoint(self, checkpoint_id: str) -> Session:
        """Make the session of the checkpoint be as it was then. One of another version is refused and left alone."""


class SessionContents(Protocol):
    """What reads and changes the content of sessions."""

    def content(self, session_id: str) -> tuple[Content, int]:
        """Return what the session holds, and the version at which it does."""

    def write(self, session_id: str, staged: Staged, *, observed: Sequence[str] = (), expected: int | None = None) -> int:
        """Make *staged* part of the session in one transaction and return its new version."""


class LocalSessionService:
    """The sessions of one global database. Safe for threads and for many processes; *conn* is its alone."""

    def __init__(self, conn: sqlite3.Connection, *, clock: Clock) -> None:
        self._db = Guarded(conn)
        self._clock = clock
        self._kept: OrderedDict[str, tuple[Content, int]] = OrderedDict()

    def create_session(self, *, project: str = "", title: str = "", session_id: str | None = None) -> Session:
        """Open a session; raise `Conflict` for an id that is taken, `InvalidInput` for one that cannot be."""
        name = new_id("ses") if session_id is None else session_id
        if not _ID.fullmatch(name):
            raise InvalidInput(
                f"{name[:80]!r} cannot be the id of a session.", remedy="Use letters, digits, dots and dashes, 80 at most."
            )
        now = self._clock.now()
        with self._db.write() as conn:
            if conn.execute("SELECT 1 FROM sessions WHERE id = ?", (name,)).fetchone():
                raise Conflict(f"There is a session {name} already.", remedy="Choose another id, or none.", session=name)
            conn.execute(
                "INSERT INTO sessions (id, project, title, state, created_at, updated_at) VALUES (?, ?, ?, 'open', ?, ?)",
                (name, storable(project), storable(title[:_TITLE_CHARACTERS]), now, now),
            )
            return _session(conn, name)

    def get_session(self, session_id: str) -> Session:
        """Return the session as it stands."""
        with self._db.read() as conn:
            return _session(conn, session_id)

    def list_sessions(self, *, project: str | None = None, limit: int = 50) -> Sequence[Session]:
        """Return sessions, the one that changed last first."""
        order = "WHERE project = ifnull(?, project) ORDER BY updated_at DESC, id LIMIT ?"
        with self._db.read() as conn:
            return [Session(**dict(row)) for row in conn.execute(_SELECT + order, (project, limit))]

    def close_session(self, session_id: str) -> Session:
        """End the session: it can be read, and changes no more."""
        with self._db.write() as conn:
            conn.execute(
                "UPDATE sessions SET state = 'closed', version = version + 1, updated_at = ?"
                " WHERE id = ? AND state = 'open'",
                (self._clock.now(), session_id),
            )
            return _session(conn, session_id)

    def delete_session(self, session_id: str) -> None:
        """Forget the session with its messages, state and checkpoints."""
        with self._db.write() as conn:
            if not conn.execute("DELETE FROM sessions WHERE id = ?", (session_id,)).rowcount:
                raise _absent(session_id)
            self._kept.pop(session_id, None)

    def save_checkpoint(self, session_id: str, *, name: str = "") -> Checkpoint:
        """Keep the messages and both scopes of state as they are now."""
        with self._db.write() as conn:
            _session(conn, session_id)
            return contents.save(conn, session_id, name=name, at=self._clock.now())

    def restore_checkpoint(self, checkpoint_id: str) -> Session:
        """Make the session of the checkpoint be as it was then.

        Raise `HostUnfit` for one of another version, `StoreCorrupt` for one that was changed, `Conflict` where the session
        is closed: session and checkpoint are left as they are.
        """
        with self._db.write() as conn:
            session_id, then = contents.load(conn, checkpoint_id)
            _require_open(_session(conn, session_id))
            conn.execute("DELETE FROM session_messages WHERE session = ?", (session_id,))
            contents.append(conn, session_id, then.messages)
            self._store(conn, session_id, then)
            return _session(conn, session_id)

    def list_checkpoints(self, session_id: str) -> Sequence[Checkpoint]:
        """Return the checkpoints of the session, newest first."""
        with self._db.read() as conn:
            _session(conn, session_id)
            return contents.saved(conn, session_id)

    def content(self, session_id: str) -> tuple[Content, int]:
        """Return what the session holds, and the version at which it does."""
        with self._db.read() as conn:
            row = conn.execute("SELECT version FROM sessions WHERE id = ?", (session_id,)).fetchone()
            if row is None:
                raise _absent(session_id)
            kept = self._kept.get(session_id)
            if kept is None or kept[1] != row["version"]:
                kept = self._kept[session_id] = (contents.read(conn, session_id), row["version"])
                if len(self._kept) > _CACHED:
                    self._kept.popitem(last=False)
            return kept

    def write(self, session_id: str, staged: Staged, *, observed: Sequence[str] = (), expected: int | None = None) -> int:
        """Make *staged* part of the session in one transaction and return its new version; on error nothing changes.

        Raise `Conflict` for a session that is closed or, with *expected*, is not at that version any more; `InvalidInput`
        for what is no message or no JSON; `LimitExceeded`.
        """
        messages = [message_of(message) for message in staged.messages]
        with self._db.write() as conn:
            session = _session(conn, session_id)
            _require_open(session)
            if expected is not None and session.version != expected:
                raise Conflict(
                    f"The session {session_id} was changed by somebody else.", remedy="Read it again.", session=session_id
                )
            if session.messages + len(messages) > MOST_MESSAGES:
                raise LimitExceeded(
                    f"The session {session_id} is full: {MOST_MESSAGES:,} messages.",
                    remedy="Open a new one.",
                    limit=MOST_MESSAGES,
                )
            contents.append(conn, session_id, messages)
            changed = contents.state_of(conn, session_id).changed(staged, observed=observed)
            self._store(conn, session_id, changed)
        self._grown(session_id, changed, messages, version=session.version + 1)
        return session.version + 1

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def _grown(self, session_id: str, changed: Content, messages: Sequence[ConversationMessage], *, version: int) -> None:
        """Know what the session holds now without reading it again, where it was known before."""
        kept = self._kept.get(session_id)
        if kept is not None and kept[1] == version - 1:
            self._kept[session_id] = (replace(changed, messages=(*kept[0].messages, *messages)), version)

    def _store(self, conn: sqlite3.Connection, session_id: str, content: Content) -> None:
        conn.execute(
            f"UPDATE sessions SET {', '.join(f'{name} = ?' for name in contents.COLUMNS)},"  # noqa: S608 - names of ours
            " version = version + 1, updated_at = ? WHERE id = ?",
            (*content.columns(), self._clock.now(), session_id),
        )


def _session(conn: sqlite3.Connection, session_id: str) -> Session:
    row: sqlite3.Row | None = conn.execute(f"{_SELECT}WHERE id = ?", (session_id,)).fetchone()
    if row is None:
        raise _absent(session_id)
    return Session(**dict(row))


def _absent(session_id: str) -> NotFound:
    name = session_id[:80]
    return NotFound(f"There is no session {name!r}.", remedy="Open one first.", session=name)


def _require_open(session: Session) -> None:
    if session.state != "open":
        raise Conflict(f"The session {session.id} is closed.", remedy="Open a new one.", session=session.id)
