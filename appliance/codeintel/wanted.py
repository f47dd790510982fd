"""What the settings declare and what was dropped in, and what became of each: kept in ``global.db``."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from appliance.base.sqlite import Guarded

Origin = Literal["declared", "dropped"]
Outcome = Literal["kept", "duplicate", "error"]

SCHEMA: Final = """
CREATE TABLE wanted (
  origin TEXT NOT NULL,
  position INTEGER NOT NULL,
  path TEXT NOT NULL,
  name TEXT NOT NULL,
  project TEXT NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL,
  remedy TEXT NOT NULL,
  repo TEXT NOT NULL,
  PRIMARY KEY (origin, position)
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A repository that somebody wants kept without asking us. ``repo`` is what keeps it, or what it is a duplicate of."""

    origin: Origin
    path: str
    name: str
    project: str
    outcome: Outcome
    reason: str = ""
    remedy: str = ""
    repo: str = ""  # its id


class WantedList:
    """Safe to use from many threads. *conn* belongs to it alone."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._db = Guarded(conn)

    def all(self) -> list[Wanted]:
        """Return everything that is wanted, what is declared first, each in its order."""
        with self._db.read() as conn:
            rows = conn.execute(
                "SELECT origin, path, name, project, outcome, reason, remedy, repo FROM wanted ORDER BY origin, position"
            ).fetchall()
        return [Wanted(*row) for row in rows]

    def replace(self, origin: Origin, wanted: Sequence[Wanted]) -> bool:
        """Let *wanted* be all that is wanted of this *origin*, and return whether that is anything new."""
        if [each for each in self.all() if each.origin == origin] == list(wanted):
            return False
        rows = [
            (each.origin, number, each.path, each.name, each.project, each.outcome, each.reason, each.remedy, each.repo)
            for number, each in enumerate(wanted)
        ]
        with self._db.write() as conn:
            conn.execute("DELETE FROM wanted WHERE origin = ?", (origin,))
            conn.executemany("INSERT INTO wanted VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        return True

    def close(self) -> None:
        """Close the connection."""
        self._db.close()
