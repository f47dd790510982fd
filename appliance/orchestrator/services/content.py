"""What a session holds: its messages, both scopes of its state, what was seen; and its checkpoints, which hold the same."""

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from appliance.contracts.tools import Json
from appliance.errors import HostUnfit, InvalidInput, LimitExceeded, NotFound, StoreCorrupt
from appliance.ids import new_id
from appliance.orchestrator.calls import storable
from appliance.orchestrator.services.conversation import ConversationMessage, message_of
from appliance.orchestrator.state.host import Changes, Staged

FORMAT: Final = 1
MOST_STATE: Final = 1_000_000  # characters of the JSON of one scope
COLUMNS: Final = ("stage", "conversation_state", "session_state", "capabilities", "observed_files")

_NAME_CHARACTERS: Final = 200
_KEPT: Final = 50  # checkpoints of one session
_REMEDY: Final = "State is what JSON can say; give a key another value, or a smaller one."


@dataclass(frozen=True, slots=True)
class Content:
    """What a session holds. The scopes of state are JSON texts, so that nobody who reads them can change them."""

    messages: tuple[ConversationMessage, ...] = ()
    stage: str = "initial"
    conversation_state: str = "{}"
    session_state: str = "{}"
    capabilities: str = "{}"
    observed_files: str = "[]"

    def changed(self, staged: Staged, *, observed: Sequence[str] = ()) -> "Content":
        """Return the content after *staged*, without its messages; raise `InvalidInput` or `LimitExceeded`."""
        seen = dict.fromkeys([*json.loads(self.observed_files), *observed])
        return replace(
            self,
            stage=self.stage if staged.stage is None else storable(staged.stage),
            conversation_state=_changed(self.conversation_state, staged.conversation_state),
            session_state=_changed(self.session_state, staged.session_state),
            capabilities=_changed(self.capabilities, Changes(staged.capabilities)),
            observed_files=json.dumps(list(seen)),
        )

    def columns(self) -> tuple[str, ...]:
        """Return what stands in each of `COLUMNS`."""
        return tuple(getattr(self, name) for name in COLUMNS)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A session at one moment. ``at`` is in seconds since the epoch."""

    id: str
    session: str
    name: str
    at: float


def read(conn: sqlite3.Connection, session: str) -> Content:
    """Return what *session* holds."""
    rows = conn.execute("SELECT message FROM session_messages WHERE session = ? ORDER BY seq", (session,))
    return replace(state_of(conn, session), messages=tuple(message_of(json.loads(each["message"])) for each in rows))


def state_of(conn: sqlite3.Connection, session: str) -> Content:
    """Return what *session* holds, without its messages."""
    row = conn.execute(f"SELECT {', '.join(COLUMNS)} FROM sessions WHERE id = ?", (session,)).fetchone()  # noqa: S608 - ours
    return Content(**dict(row))


def append(conn: sqlite3.Connection, session: str, messages: Sequence[ConversationMessage]) -> None:
    """Put *messages* behind those that *session* has."""
    last = conn.execute("SELECT ifnull(max(seq), 0) FROM session_messages WHERE session = ?", (session,)).fetchone()[0]
    conn.executemany(
        "INSERT INTO session_messages (session, seq, message) VALUES (?, ?, ?)",
        [(session, last + number, json.dumps(each.to_json())) for number, each in enumerate(messages, start=1)],
    )


def save(conn: sqlite3.Connection, session: str, *, name: str, at: float) -> Checkpoint:
    """Keep what *session* holds now; the newest 50 checkpoints of a session are kept."""
    content = read(conn, session)
    body = json.dumps(
        {"messages": [each.to_json() for each in content.messages], **dict(zip(COLUMNS, content.columns(), strict=True))}
    )
    made = Checkpoint(new_id("ckp"), session, storable(name[:_NAME_CHARACTERS]), at)
    conn.execute(
        "INSERT INTO session_checkpoints (id, session, name, at, format, digest, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (made.id, session, made.name, at, FORMAT, _digest(body), body),
    )
    conn.execute(
        "DELETE FROM session_checkpoints WHERE session = ? AND seq NOT IN"
        " (SELECT seq FROM session_checkpoints WHERE session = ? ORDER BY seq DESC LIMIT ?)",
        (session, session, _KEPT),
    )
    return made


def saved(conn: sqlite3.Connection, session: str) -> Sequence[Checkpoint]:
    """Return the checkpoints of *session*, newest first."""
    rows = conn.execute(
        "SELECT id, session, name, at FROM session_checkpoints WHERE session = ? ORDER BY seq DESC", (session,)
    )
    return [Checkpoint(**dict(row)) for row in rows]


def load(conn: sqlite3.Connection, checkpoint: str) -> tuple[str, Content]:
    """Return the session of *checkpoint*, and what it held.

    Raise `NotFound`, `HostUnfit` for one of another version, and `StoreCorrupt` for one that is not as it was written.
    """
    row = conn.execute("SELECT * FROM session_checkpoints WHERE id = ?", (checkpoint,)).fetchone()
    if row is None:
        raise NotFound(f"There is no checkpoint {checkpoint[:80]!r}.", remedy="Save one first.", checkpoint=checkpoint[:80])
    if row["format"] != FORMAT:
        raise HostUnfit(
            f"The checkpoint {checkpoint} is of format {row['format']}, and this version reads {FORMAT}. It was left alone.",
            remedy="Restore it with the version that wrote it.",
            checkpoint=checkpoint,
        )
    if _digest(row["body"]) != row["digest"]:
        raise StoreCorrupt(f"The checkpoint {checkpoint} is not as it was written.", checkpoint=checkpoint)
    body = json.loads(row["body"])
    messages = tuple(message_of(each) for each in body.pop("messages"))
    return row["session"], Content(messages, **body)


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def _changed(text: str, changes: Changes) -> str:
    if not changes:
        return text
    state: dict[str, object] = json.loads(text)
    changes.write(state)
    try:
        written = json.dumps(state, allow_nan=False, default=_plain)
    except (TypeError, ValueError, RecursionError) as exc:
        raise InvalidInput(f"A value of the state is no JSON: {exc}.", remedy=_REMEDY) from exc
    if len(written) > MOST_STATE:
        raise LimitExceeded(f"The state is larger than {MOST_STATE:,} characters.", remedy=_REMEDY, limit=MOST_STATE)
    return written


def _plain(value: object) -> Json:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__}")
