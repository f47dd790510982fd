"""The definitions of one generation, found by name in well under a millisecond."""

import os
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from appliance.base.sqlite import Guarded
from appliance.codeintel.store.files import Files
from appliance.ids import BlobId

_MOST_ROWS = 200  # of one look-up: names like __init__ have tens of thousands
_MOST_NEAR = 20_000
_NO_END = 1 << 62
_SAME_START = 2  # characters
_MOST_MARKS = 10_000  # in one statement: SQLite takes 32,766
_COLUMNS = (
    "SELECT s.id, s.file, s.name, s.qualname, s.kind, s.start_line, s.end_line, s.signature, s.doc,"
    " coalesce((SELECT p.qualname FROM symbols p WHERE p.id = s.parent), '') FROM symbols s "
)


@dataclass(frozen=True, slots=True)
class SymbolRow:
    """One definition. ``parent`` is the qualified name of the enclosing one, or ""."""

    id: int
    file: int  # index into the generation's files
    name: str
    qualname: str
    kind: str
    path: str
    start_line: int
    end_line: int
    signature: str
    doc: str
    parent: str
    blob: BlobId


class Gone:
    """Which numbers of symbols and files a generation does not have any more; a graph of a former state may name them."""

    def __init__(self, conn: sqlite3.Connection, files: Files) -> None:
        rows = conn.execute(
            "SELECT (SELECT f.first_symbol FROM every_file f WHERE f.id = d.file),"
            " (SELECT n.first_symbol FROM every_file n WHERE n.id = d.file + 1) FROM dead d ORDER BY d.file"
        ).fetchall()
        self._files = files
        self._starts = np.array([row[0] for row in rows], dtype=np.int64)
        self._ends = np.array([_NO_END if row[1] is None else row[1] for row in rows], dtype=np.int64)

    def __bool__(self) -> bool:
        return len(self._starts) > 0

    def among(self, numbers: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Return for each of *numbers*, symbols or as -1 - f files, whether it is no more."""
        asked = np.asarray(numbers, dtype=np.int64)
        dead = np.zeros(asked.shape, dtype=np.bool_)
        if self:
            place = np.searchsorted(self._starts, asked, side="right") - 1
            dead = (place >= 0) & (asked < self._ends[place])
        top = asked < 0
        dead[top] = ~self._files.alive[-1 - asked[top]]
        return dead


class SymbolTable:
    """Look-ups in the definitions of one generation. Safe to use from many threads.

    Every list is in the order of paths, then of lines, and holds at most *limit* rows; which of more is not promised.
    """

    def __init__(self, db: Guarded, files: Files) -> None:
        self._db = db
        self._files = files

    def named(self, name: str, *, limit: int = _MOST_ROWS) -> list[SymbolRow]:
        """Return the definitions called exactly *name*; if there is none, those that differ only in case."""
        plain = _storable(name)
        exact = self._select("WHERE s.folded = ? AND s.name = ?", (plain.casefold(), plain), limit)
        return exact or self._select("WHERE s.folded = ?", (plain.casefold(),), limit)

    def qualified(self, suffix: str, *, limit: int = _MOST_ROWS) -> list[SymbolRow]:
        """Return the definitions whose qualified name is *suffix* or ends in ``.suffix``, like "Client.stream"."""
        plain = _storable(suffix)
        last = plain.rpartition(".")[2]
        rows = self._select(
            "WHERE s.folded = ? AND s.name = ?"
            " AND (instr('.' || s.qualname || '#', '.' || ? || '#') > 0 OR instr(s.qualname, '#') > 0)",
            (last.casefold(), last, plain),
            limit,
        )
        return [row for row in rows if _ends_in(row.qualname, plain)]

    def numbered(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the ids of all definitions, in their order, and the file of each."""
        with self._db.read() as conn:
            rows = conn.execute("SELECT id, file FROM symbols ORDER BY id").fetchall()
        both = np.array([tuple(row) for row in rows], dtype=np.int64).reshape(-1, 2)
        return both[:, 0], both[:, 1]

    def near(self, name: str) -> list[str]:
        """Return names that begin as *name* does, for a guess at what was meant: twenty thousand at most."""
        start = _storable(name).casefold()[:_SAME_START]
        with self._db.read() as conn:
            rows = conn.execute(
                "SELECT DISTINCT name FROM symbols WHERE folded >= ? AND folded < ? LIMIT ?",
                (start, start + "\U0010ffff", _MOST_NEAR),
            ).fetchall()
        return [row[0] for row in rows]

    def in_file(self, path: str) -> list[SymbolRow]:
        """Return all definitions in the file at *path*, in the order of lines; none if the index has no such file."""
        number = self._files.number(path)
        return [] if number is None else self._select("WHERE s.file = ?", (number,), -1)

    def rows(self, ids: Iterable[int]) -> list[SymbolRow]:
        """Return the definitions with these ids, in the order of *ids*."""
        wanted = list(ids)
        found: dict[int, SymbolRow] = {}
        for start in range(0, len(wanted), _MOST_MARKS):
            some = wanted[start : start + _MOST_MARKS]
            marks = ",".join("?" * len(some))
            found |= {row.id: row for row in self._select(f"WHERE s.id IN ({marks})", tuple(some), -1)}
        return [found[number] for number in wanted]

    def _select(self, where: str, values: Sequence[object], limit: int) -> list[SymbolRow]:
        with self._db.read() as conn:
            rows = conn.execute(f"{_COLUMNS}{where} ORDER BY s.id LIMIT ?", (*values, limit)).fetchall()
        found = [self._row(row) for row in rows]
        return sorted(found, key=lambda row: os.fsencode(row.path))

    def _row(self, row: sqlite3.Row) -> SymbolRow:
        number, file, name, qualname, kind, start, end, signature, doc, parent = row
        return SymbolRow(
            id=number,
            file=file,
            name=name,
            qualname=qualname,
            kind=kind,
            path=self._files.paths[file],
            start_line=start,
            end_line=end,
            signature=signature,
            doc=doc,
            parent=parent,
            blob=self._files.blobs[file],
        )


def _storable(text: str) -> str:
    return text.encode(errors="replace").decode()  # a query may hold half a surrogate pair, which SQLite cannot take


def _ends_in(qualname: str, suffix: str) -> bool:
    plain = ".".join(part.partition("#")[0] for part in qualname.split("."))  # Client.stream#2 is called Client.stream too
    return f".{plain}".endswith(f".{suffix}") or f".{qualname}".endswith(f".{suffix}")
