"""What became of every batch: applied or rolled back, where it failed, and which effects happened all the same."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final, Literal, Protocol

from appliance.base import sqlite
from appliance.base.clock import Clock, SystemClock
from appliance.errors import StoreCorrupt

Status = Literal["started", "applied", "rolled_back"]

_KEPT: Final = 10_000
_LONGEST_ERROR: Final = 500
_MIGRATIONS: Final = (
    """
    CREATE TABLE batches (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL,
        transitions INTEGER NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('started', 'applied', 'rolled_back')),
        started_at REAL NOT NULL,
        ended_at REAL,
        failed_index INTEGER,
        error TEXT NOT NULL DEFAULT ''
    );
    CREATE TABLE effects (
        batch INTEGER NOT NULL REFERENCES batches ON DELETE CASCADE,
        position INTEGER NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL
    );
    CREATE INDEX effects_of ON effects (batch);
    """,
)


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that a batch did to the world and that cannot be undone: a tool that ran, a session opened or closed.

    *index* is the position of its transition in the batch; what a nested batch does has the position of that batch.
    """

    index: int
    kind: str  # as the values of TransitionType
    name: str  # of the tool or session


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One batch. Times are seconds since the epoch.

    ``started`` stands while its effects run; where the process is gone, *effects* says how far it came. *failed_index* is
    the position of the transition that failed or was cancelled, None where the batch as a whole did; of an effect that was
    cancelled nobody knows whether it happened.
    """

    id: int
    session: str
    transitions: int
    status: Status
    started_at: float
    ended_at: float | None = None
    failed_index: int | None = None
    error: str = ""
    effects: tuple[Effect, ...] = ()


_COLUMNS: Final = ", ".join(each.name for each in fields(JournalEntry) if each.name != "effects")


class Journal(Protocol):
    """Where batches are written down."""

    def begin(self, *, session: str, transitions: int) -> int:
        """Write that a batch has begun and return its id."""

    def happened(self, batch: int, effect: Effect) -> None:
        """Write that *effect* has happened."""

    def settle(self, batch: int, status: Status, *, failed_index: int | None = None, error: str = "") -> None:
        """Write how the batch has ended."""

    def entries(self, *, limit: int = 100) -> Sequence[JournalEntry]:
        """Return the latest entries, oldest first."""


class MemoryJournal:
    """The last ten thousand batches of this process."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._entries: dict[int, JournalEntry] = {}
        self._effects: dict[int, list[Effect]] = {}
        self._last = 0

    def begin(self, *, session: str, transitions: int) -> int:
        """Note that a batch has begun and return its id."""
        self._last += 1
        self._entries[self._last] = JournalEntry(self._last, session, transitions, "started", self._clock.now())
        self._effects[self._last] = []
        if len(self._entries) > _KEPT:
            oldest = next(iter(self._entries))
            del self._entries[oldest], self._effects[oldest]
        return self._last

    def happened(self, batch: int, effect: Effect) -> None:
        """Note that *effect* has happened."""
        self._effects[batch].append(effect)

    def settle(self, batch: int, status: Status, *, failed_index: int | None = None, error: str = "") -> None:
        """Note how the batch has ended."""
        self._entries[batch] = replace(
            self._entries[batch],
            status=status,
            ended_at=self._clock.now(),
            failed_index=failed_index,
            error=error[:_LONGEST_ERROR],
        )

    def entries(self, *, limit: int = 100) -> Sequence[JournalEntry]:
        """Return the latest entries, oldest first."""
        latest = list(self._entries.values())[-limit:] if limit > 0 else []
        return tuple(replace(each, effects=tuple(self._effects[each.id])) for each in latest)


class SqliteJournal:
    """Batches in a database of their own at *path*; what was written survives a power cut. The last ten thousand are kept.

    Several processes may write to one. Errors of the disk are those of `appliance.base.sqlite`.
    """

    def __init__(self, path: Path, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._path = path
        with self._damage_told():
            self._db = sqlite.Guarded(sqlite.connect(path, migrations=_MIGRATIONS))

    def begin(self, *, session: str, transitions: int) -> int:
        """Write that a batch has begun and return its id."""
        with self._damage_told(), self._db.write() as db:
            row = db.execute(
                "INSERT INTO batches (session, transitions, status, started_at) VALUES (?, ?, 'started', ?) RETURNING id",
                (session, transitions, self._clock.now()),
            ).fetchone()
            db.execute("DELETE FROM batches WHERE id <= ?", (row["id"] - _KEPT,))
        return int(row["id"])

    def happened(self, batch: int, effect: Effect) -> None:
        """Write that *effect* has happened."""
        with self._damage_told(), self._db.write() as db:
            db.execute("INSERT INTO effects VALUES (?, ?, ?, ?)", (batch, effect.index, effect.kind, effect.name))

    def settle(self, batch: int, status: Status, *, failed_index: int | None = None, error: str = "") -> None:
        """Write how the batch has ended."""
        with self._damage_told(), self._db.write() as db:
            db.execute(
                "UPDATE batches SET status = ?, ended_at = ?, failed_index = ?, error = ? WHERE id = ?",
                (status, self._clock.now(), failed_index, error[:_LONGEST_ERROR], batch),
            )

    def entries(self, *, limit: int = 100) -> Sequence[JournalEntry]:
        """Return the latest entries, oldest first."""
        with self._damage_told(), self._db.read() as db:
            query = f"SELECT {_COLUMNS} FROM batches ORDER BY id DESC LIMIT ?"  # noqa: S608 - a literal
            rows = db.execute(query, (max(limit, 0),)).fetchall()
            return tuple(_entry(db, row) for row in reversed(rows))

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    @contextmanager
    def _damage_told(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as exc:
            raise StoreCorrupt(f"The database {self._path} is no journal, or damaged: {exc}.", path=str(self._path)) from exc


def journal_at(path: Path | str | None) -> MemoryJournal | SqliteJournal:
    """Return a journal in a database at *path*, or in memory without one."""
    return MemoryJournal() if path is None else SqliteJournal(Path(path))


def _entry(db: sqlite3.Connection, row: sqlite3.Row) -> JournalEntry:
    rows = db.execute("SELECT position, kind, name FROM effects WHERE batch = ? ORDER BY rowid", (row["id"],))
    return JournalEntry(**dict(row), effects=tuple(Effect(*each) for each in rows))
