"""A tree as it was listed, kept in a database beside the growing generation: a million files cost no memory."""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from appliance.base.sqlite import store_errors
from appliance.codeintel.source.base import Entry, FileFlags, LeftOut
from appliance.codeintel.store.schema import STAGING
from appliance.ids import BlobId

_BATCH = 1000
NAME = "staging.db"
_JUDGED = "FROM entries e JOIN project.blobs b ON b.blob = e.blob AND b.hint = e.hint AND b.recipe = ?"


@dataclass(frozen=True, slots=True)
class Listed:
    """One file that is to be indexed. ``hint`` is the language that its path alone suggests."""

    entry: Entry
    hint: str
    flags: FileFlags


@dataclass(frozen=True, slots=True)
class Missing:
    """A blob whose facts are not known yet, and one of its paths."""

    blob: BlobId
    hint: str
    path: str


class Staging:
    """The listing of one attempt. Not durable: it dies with the attempt. Used by one thread."""

    def __init__(self, folder: Path, *, project_db: Path) -> None:
        self._path = folder / NAME
        with store_errors(self._path):
            self._conn = sqlite3.connect(self._path, isolation_level=None)
            self._conn.execute("PRAGMA journal_mode=OFF")
            self._conn.execute("PRAGMA synchronous=OFF")
            self._conn.executescript(STAGING)
            self._conn.execute("ATTACH ? AS project", (str(project_db),))

    def add(self, listed: Iterable[Listed | LeftOut]) -> tuple[int, int]:
        """Keep all of *listed* and return how many are to be indexed and how many are left out."""
        kept = left = 0
        iterator = iter(listed)
        with store_errors(self._path):
            while batch := list(islice(iterator, _BATCH)):
                files = [_row(item) for item in batch if isinstance(item, Listed)]
                others = [(os.fsencode(i.path), i.reason, i.detail, i.beside) for i in batch if isinstance(i, LeftOut)]
                self._conn.execute("BEGIN")
                self._conn.executemany("INSERT INTO entries (path, blob, hint, flags) VALUES (?, ?, ?, ?)", files)
                self._conn.executemany("INSERT INTO left_out VALUES (?, ?, ?, ?)", others)
                self._conn.execute("COMMIT")
                kept += len(files)
                left += len(others)
        return kept, left

    def find_missing(self, *, recipe: str) -> int:
        """Work out which blobs have no facts made by *recipe* and return how many there are.

        A blob that stands under names of several languages comes back once a call: call again until this is 0.
        """
        with store_errors(self._path):
            self._conn.execute("DELETE FROM missing")
            found = self._conn.execute(
                "INSERT INTO missing (blob, hint, path) SELECT e.blob, min(e.hint), e.path FROM entries e"
                " LEFT JOIN project.blobs b ON b.blob = e.blob AND b.hint = e.hint AND b.recipe = ?"
                " WHERE b.blob IS NULL GROUP BY e.blob ORDER BY e.id",
                (recipe,),
            )
            return found.rowcount

    def missing(self) -> Iterator[Sequence[Missing]]:
        """Yield what `find_missing` found, batch by batch, in the order of paths."""
        last = 0
        while True:
            with store_errors(self._path):
                rows = self._conn.execute(
                    "SELECT id, blob, hint, path FROM missing WHERE id > ? ORDER BY id LIMIT ?", (last, _BATCH)
                ).fetchall()
            if not rows:
                return
            last = rows[-1][0]
            yield [Missing(BlobId(row[1]), row[2], os.fsdecode(row[3])) for row in rows]

    def drop_unreadable(self, blobs: Sequence[BlobId]) -> None:
        """Leave out every file of *blobs*, which the source could not hand over this time."""
        with store_errors(self._path):
            self._conn.execute("BEGIN")
            for blob in blobs:
                self._conn.execute(
                    "INSERT INTO left_out SELECT path, 'unreadable', 'the object store does not hold it', 0 FROM entries"
                    " WHERE blob = ?",
                    (blob,),
                )
                self._conn.execute("DELETE FROM entries WHERE blob = ?", (blob,))
            self._conn.execute("COMMIT")

    def blobs(self, *, recipe: str) -> list[BlobId]:
        """Return each blob that is to be indexed once, in the order of the files that it stands at."""
        with store_errors(self._path):
            rows = self._conn.execute(f"SELECT e.blob {_JUDGED} WHERE b.reason = '' ORDER BY e.id", (recipe,))
            return list(dict.fromkeys(BlobId(row[0]) for row in rows))

    def refusals(self, *, recipe: str) -> dict[str, int] | None:
        """Return how many files are left out, by reason, if not one is left to be indexed; else None."""
        with store_errors(self._path):
            some = self._conn.execute(f"SELECT 1 {_JUDGED} WHERE b.reason = '' LIMIT 1", (recipe,)).fetchone()
            if some:
                return None
            rows = self._conn.execute(
                "SELECT reason, count(*) FROM"  # noqa: S608 - a literal
                f" (SELECT b.reason {_JUDGED} UNION ALL SELECT reason FROM left_out) GROUP BY 1",
                (recipe,),
            )
            return {row[0]: row[1] for row in rows}

    def close(self) -> None:
        """Close the database; its file stays for the writer."""
        self._conn.close()


def _row(listed: Listed) -> tuple[bytes, str, str, int]:
    return os.fsencode(listed.entry.path), listed.entry.blob, listed.hint, int(listed.flags)
