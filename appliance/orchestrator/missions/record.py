"""The records of missions on disk: each entry is durable before the next step is taken, and none is ever changed."""

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Final, cast, get_args

from appliance.base import log
from appliance.base.clock import Clock
from appliance.base.sqlite import Guarded
from appliance.codeintel.results import Answer
from appliance.contracts.tools import Json
from appliance.errors import Conflict, NotFound, StoreCorrupt
from appliance.ids import MissionId
from appliance.orchestrator.missions.canonical import canonical, fitted, link
from appliance.orchestrator.missions.encoding import plain, typed
from appliance.orchestrator.missions.facts import facts
from appliance.orchestrator.missions.model import ENDED, Entry, EntryKind, Mission, MissionState, Usage

_audit = log.get("audit")
_PAGE: Final = 500
_NO_PLACE: Final = 2**63 - 1  # of an entry that was given none: it stands behind all others
_ANSWER: Final = (
    "(SELECT data FROM mission_entries AS e WHERE e.mission = m.id AND e.kind = 'answer' ORDER BY seq DESC LIMIT 1)"
)
_KINDS: Final = frozenset(get_args(EntryKind))
_COLUMNS: Final = frozenset(each.name for each in fields(Mission))
_NOTHING: Final[Mapping[str, Json]] = {
    **dict.fromkeys(("goal", "asked_by", "model", "head"), ""),
    **dict.fromkeys(("created_at", "entries"), 0),
    **dict.fromkeys(("started_at", "ended_at", "answer")),
    "repo_names": (),
    "limits": {},
    "usage": {},
}
SELECT: Final = f"SELECT m.*, {_ANSWER} AS answer FROM missions AS m"  # noqa: S608 - two constants


@dataclass(frozen=True, slots=True)
class Standing:
    """What becomes of a mission's row with an entry: its state, and why."""

    state: MissionState
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """What an entry says, before it has its place on record."""

    kind: EntryKind
    agent: str
    data: Mapping[str, Json]


class Records:
    """Rows and entries of missions. Safe for threads of one process and for many processes; *conn* is its alone."""

    def __init__(self, conn: sqlite3.Connection, *, clock: Clock) -> None:
        conn.text_factory = _text
        self._db = Guarded(conn)
        self._clock = clock

    def add(self, mission: Mission) -> None:
        """Keep the row of a new *mission*."""
        columns = {
            "id": mission.id,
            "goal": mission.goal,
            "project": mission.scope.project,
            "scope": canonical(plain(mission.scope)),
            "repo_names": canonical(list(mission.repo_names)),
            "limits": canonical(plain(mission.limits)),
            "asked_by": mission.asked_by,
            "model": mission.model,
            "state": mission.state,
            "created_at": mission.created_at,
        }
        marks = ", ".join("?" * len(columns))
        with self._db.write() as conn:
            conn.execute(f"INSERT INTO missions ({', '.join(columns)}) VALUES ({marks})", (*columns.values(),))  # noqa: S608

    def get(self, mission: MissionId) -> Mission:
        """Return *mission* as it stands; raise `NotFound`."""
        with self._db.read() as conn:
            return _mission(_row(conn, mission))

    def page(self, *, project: str, limit: int, offset: int) -> list[Mission]:
        """Return missions, of one *project* unless it is "", newest first."""
        where, given = ("WHERE project = ?", [project]) if project else ("", [])
        with self._db.read() as conn:
            rows = conn.execute(
                f"{SELECT} {where} ORDER BY number DESC LIMIT ? OFFSET ?", (*given, limit, offset)
            ).fetchall()
        return [_listed(row) for row in rows]

    def unended(self) -> list[Mission]:
        """Return every mission that has not ended, oldest first."""
        marks = ", ".join("?" * len(ENDED))
        with self._db.read() as conn:
            query = f"{SELECT} WHERE state NOT IN ({marks}) ORDER BY number"
            return [_listed(row) for row in conn.execute(query, (*ENDED,))]

    def counts(self) -> dict[MissionState, int]:
        """Return how many missions are in each state."""
        with self._db.read() as conn:
            return {
                row["state"]: row["n"] for row in conn.execute("SELECT state, count(*) AS n FROM missions GROUP BY state")
            }

    def entries(self, mission: MissionId, *, after: int = 0, limit: int = _PAGE) -> list[Entry]:
        """Return entries behind *after*, in order."""
        query = "SELECT * FROM mission_entries WHERE mission = ? AND seq > ? ORDER BY seq LIMIT ?"
        with self._db.read() as conn:
            return [_entry(row) for row in conn.execute(query, (mission, after, limit))]

    def append(
        self, last: Entry | None, step: Step, *, mission: MissionId, usage: Usage, standing: Standing | None = None
    ) -> Entry:
        """Write *step* as the entry that follows *last*; on return it survives a power cut.

        *usage* is what was used before it. Raise `Conflict` where *last* is not the end of the record any more.
        """
        with self._db.write() as conn:
            return self._append(conn, last, step, mission=mission, usage=usage, standing=standing)

    def _append(
        self,
        conn: sqlite3.Connection,
        last: Entry | None,
        step: Step,
        *,
        mission: MissionId,
        usage: Usage,
        standing: Standing | None,
    ) -> Entry:
        seq, prev = (0, "") if last is None else (last.seq, last.hash)
        at = round(max(self._clock.now(), 0.0 if last is None else last.at), 3)
        entry = link(mission=mission, seq=seq + 1, at=at, kind=step.kind, agent=step.agent, data=step.data, prev=prev)
        moved = conn.execute(
            "UPDATE missions SET entries = ?, head = ?, usage = ? WHERE id = ? AND entries = ? AND head = ?",
            (entry.seq, entry.hash, canonical(plain(usage)), mission, seq, prev),
        ).rowcount
        if moved != 1:
            raise Conflict("Somebody else writes this mission's record.", mission=mission, seq=seq)
        conn.execute(
            "INSERT INTO mission_entries (mission, seq, at, kind, agent, data, prev, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (mission, entry.seq, at, step.kind, step.agent, canonical(step.data), prev, entry.hash),
        )
        if standing is not None:
            _stand(conn, mission, standing, at)
        return entry

    def start(self, mission: MissionId, *, killed: str) -> bool:
        """Say that a process works on *mission*, and return whether one may: not if it has ended, or pauses.

        Where another process was at it, that one has died: *killed* goes on record.
        """
        with self._db.write() as conn:
            row = _row(conn, mission)
            if row["state"] not in {"queued", "running", "waiting"}:
                return False
            if row["state"] == "running" and row["entries"]:
                self._interrupt(conn, row, killed, Standing("running"))
            else:
                _stand(conn, mission, Standing("running"), self._clock.now())
            return True

    def stand(self, mission: MissionId, standing: Standing) -> None:
        """Set the state of *mission*."""
        with self._db.write() as conn:
            _stand(conn, mission, standing, self._clock.now())

    def leave(self, mission: MissionId, *, reason: str) -> None:
        """Put *mission*, on which this process works no more, back in the queue, with *reason* on record."""
        with self._db.write() as conn:
            self._interrupt(conn, _row(conn, mission), reason, Standing("queued"))

    def whole(self, mission: MissionId) -> tuple[Mission, list[Entry]]:
        """Return *mission* and all of its record, as they stand at one moment."""
        with self._db.read() as conn, _one_moment(conn):
            row = _mission(_row(conn, mission))
            query = "SELECT * FROM mission_entries WHERE mission = ? ORDER BY seq"
            return row, [_entry(each) for each in conn.execute(query, (mission,))]

    def cancel_asked_by(self, mission: MissionId) -> str:
        """Return who asked *mission* to stop, "" if nobody did."""
        with self._db.read() as conn:
            return str(_row(conn, mission)["cancel_by"])

    def cancel(self, mission: MissionId, *, by: str) -> None:
        """Have *mission* stop: the process that works on it looks for this, and where none does it has ended at once."""
        with self._db.write() as conn:
            row = _row(conn, mission)
            if row["state"] in ENDED:
                raise Conflict("The mission has ended already.", mission=mission, state=row["state"])
            conn.execute("UPDATE missions SET cancel_by = ? WHERE id = ?", (by, mission))
            if row["state"] != "running":
                self._end(conn, _mission(row), by)

    def remove(self, mission: MissionId, *, by: str) -> None:
        """Delete *mission* with all of its entries, and audit that *by* did; raise `Conflict` unless it has ended."""
        with self._db.write() as conn:
            row = _row(conn, mission)
            if (state := row["state"]) not in ENDED:
                remedy = f"`skellig mission cancel {mission}` ends it."
                raise Conflict(
                    f"The mission is {state}: only one that has ended can be deleted.", remedy=remedy, state=state
                )
            conn.execute("DELETE FROM mission_entries WHERE mission = ?", (mission,))
            conn.execute("DELETE FROM missions WHERE id = ?", (mission,))
        _audit.info("mission.removed", id=mission, by=by, state=state, entries=row["entries"], head=row["head"])

    def ended_before(self, at: float) -> list[MissionId]:
        """Return the missions that ended before *at*, in seconds since the epoch."""
        with self._db.read() as conn:
            rows = conn.execute("SELECT id FROM missions WHERE ended_at < ? ORDER BY number", (at,)).fetchall()
        return [MissionId(row["id"]) for row in rows]

    def resume(self, mission: MissionId, *, data: Mapping[str, Json]) -> None:
        """Write what a person said to a paused *mission*, and put it back in the queue; raise `Conflict`."""
        with self._db.write() as conn:
            row = _row(conn, mission)
            if row["state"] != "paused":
                state = row["state"]
                raise Conflict(f"The mission is {state}: only a paused one can be resumed.", mission=mission, state=state)
            known = _mission(row)
            last = _last(conn, mission)
            self._append(
                conn, last, Step("resumed", "", data), mission=mission, usage=known.usage, standing=Standing("queued")
            )

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def _interrupt(self, conn: sqlite3.Connection, row: sqlite3.Row, reason: str, standing: Standing) -> None:
        mission = _mission(row)
        last = _last(conn, mission.id)
        step = Step("interrupted", "", {"reason": reason})
        self._append(conn, last, step, mission=mission.id, usage=mission.usage, standing=standing)

    def _end(self, conn: sqlite3.Connection, mission: Mission, by: str) -> None:
        reason = cancelled_by(by)
        data = fitted({"state": "cancelled", "reason": reason, "usage": plain(mission.usage), **facts(mission)})
        standing = Standing("cancelled", reason)
        last = _last(conn, mission.id)
        self._append(conn, last, Step("ended", "", data), mission=mission.id, usage=mission.usage, standing=standing)


def cancelled_by(by: str) -> str:
    """Return the reason of a mission that *by* had stopped."""
    return f"{by} stopped it." if by else "It was stopped."


@contextmanager
def _one_moment(conn: sqlite3.Connection) -> Iterator[None]:
    conn.execute("BEGIN")
    try:
        yield
    finally:
        conn.execute("COMMIT")


def _row(conn: sqlite3.Connection, mission: MissionId) -> sqlite3.Row:
    row = conn.execute(f"{SELECT} WHERE m.id = ?", (mission,)).fetchone()
    if row is None:
        raise NotFound("There is no such mission.", remedy="`skellig mission list` shows them.", mission=mission)
    return cast("sqlite3.Row", row)


def _last(conn: sqlite3.Connection, mission: MissionId) -> Entry | None:
    row = conn.execute("SELECT * FROM mission_entries WHERE mission = ? ORDER BY seq DESC LIMIT 1", (mission,)).fetchone()
    return None if row is None else _entry(row)


def _stand(conn: sqlite3.Connection, mission: MissionId, standing: Standing, at: float) -> None:
    conn.execute(
        "UPDATE missions SET state = ?, reason = ?, started_at = CASE WHEN ? = 'running' THEN coalesce(started_at, ?)"
        " ELSE started_at END, ended_at = ? WHERE id = ?",
        (standing.state, standing.reason, standing.state, at, at if standing.state in ENDED else None, mission),
    )


def _text(stored: bytes) -> str:
    """Return the text of a column. What somebody wrote there that is none must be found by its hash, not break the look."""
    return stored.decode("utf-8", "replace")


def _entry(row: sqlite3.Row) -> Entry:
    """Return the entry of *row*; text that is not as we write it makes one whose hash cannot fit."""
    seq, at = row["seq"], row["at"]
    try:
        data = json.loads(row["data"])
        sound = row["kind"] in _KINDS and all(isinstance(row[name], str) for name in ("agent", "prev", "hash"))
        written = (
            sound
            and isinstance(data, dict)
            and canonical(data) == row["data"]
            and isinstance(seq, int)
            and math.isfinite(at)
        )
    except (ValueError, TypeError, RecursionError):
        written = False
    if not written:
        data, seq, at = {"unreadable": str(row["data"])}, seq if isinstance(seq, int) else _NO_PLACE, 0.0
        kind: EntryKind = row["kind"] if row["kind"] in _KINDS else "interrupted"
        return Entry(row["mission"], seq, at, kind, str(row["agent"]), data, str(row["prev"]), str(row["hash"]))
    return Entry(row["mission"], seq, at, row["kind"], row["agent"], data, row["prev"], row["hash"])


def _mission(row: sqlite3.Row) -> Mission:
    """Return the mission of *row*; raise `StoreCorrupt` where somebody changed it so that it is none."""
    plain_columns = {name: row[name] for name in row.keys() if name in _COLUMNS}  # noqa: SIM118 - a row yields its values
    try:
        read = {name: json.loads(row[name]) for name in ("scope", "repo_names", "limits", "usage")}
        mission = typed({**plain_columns, **read, "answer": None}, Mission)
        canonical([mission.created_at, mission.started_at, mission.ended_at])  # none is without end
    except (ValueError, TypeError, RecursionError) as exc:
        raise _damaged(row) from exc
    if mission.scope.project != row["project"]:
        raise _damaged(row)
    return mission if row["answer"] is None else replace(mission, answer=_answer(row["answer"]))


def _damaged(row: sqlite3.Row) -> StoreCorrupt:
    return StoreCorrupt(
        "The mission's row in global.db is not as it was written.",
        remedy="Its entries may be whole: `mission_entries` holds them.",
        mission=str(row["id"]),
    )


def _listed(row: sqlite3.Row) -> Mission:
    """Return the mission of *row* for a list; one that is damaged stands there with nothing but the reason."""
    try:
        return _mission(row)
    except StoreCorrupt as exc:
        bare: dict[str, Json] = {
            "id": str(row["id"]),
            "scope": {"project": ""},
            "state": row["state"],
            "reason": exc.message,
        }
        return typed({**_NOTHING, **bare}, Mission)


def _answer(text: str) -> Answer | None:
    """Return the answer on record; None where somebody changed it so that it is none: then `verify` says so."""
    try:
        return typed(json.loads(text)["answer"], Answer)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
