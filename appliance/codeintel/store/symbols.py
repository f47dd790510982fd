"""The definitions of one generation, found by name in well under a millisecond."""

import os
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from appliance.base.sqlite import Guarded
from appliance.codeintel.store.files import Files
from appliance.ids import BlobId

_MOST_ROWS = 200  # of one look-up: names like __init__ have tens of thousands
_MOST_NEAR = 20_000
_SAME_START = 2  # characters
_MOST_MARKS = 10_000  # in one statement: SQLite takes 32,766
_MOST_HEADS = 20_000  # remembered
_MARKS_ALIKE = 16  # statements of as many marks are compiled once
_PARENT = "coalesce((SELECT p.qualname FROM symbols p WHERE p.id = s.parent), '') FROM symbols s "
_COLUMNS = f"SELECT s.id, s.file, s.name, s.qualname, s.kind, s.start_line, s.end_line, s.signature, s.doc, {_PARENT}"
_FEW_COLUMNS = f"SELECT s.id, s.file, s.name, s.kind, s.start_line, {_PARENT}"


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


class Head(NamedTuple):
    """What a definition is called. ``inner``: it stands in another one."""

    name: str
    qualname: str
    kind: str
    inner: bool


class Defined(NamedTuple):
    """Where a definition stands, and as much of it as tells a better from a worse one of the same name."""

    id: int
    file: int
    name: str
    kind: str
    start_line: int
    parent: str


class Gone:
    """Which numbers of symbols and files a generation does not have any more; a graph of a former state may name them."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._any = not files.alive.all()

    def __bool__(self) -> bool:
        return self._any

    def among(self, numbers: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Return for each of *numbers*, symbols or as -1 - f files, whether it is no more."""
        dead: npt.NDArray[np.bool_] = ~self._files.alive[self._files.file_of(numbers)]
        return dead


class SymbolTable:
    """Look-ups in the definitions of one generation. Safe to use from many threads.

    Every list is in the order of paths, then of lines, and holds at most *limit* rows; which of more is not promised.
    """

    def __init__(self, db: Guarded, files: Files) -> None:
        self._db = db
        self._files = files
        self._heads: dict[int, Head] = {}  # that were asked for

    def named(self, name: str, *, limit: int = _MOST_ROWS) -> list[SymbolRow]:
        """Return the definitions called exactly *name*; if there is none, those that differ only in case."""
        plain = _storable(name)
        exact = self._select("WHERE s.folded = ? AND s.name = ?", (plain.casefold(), plain), limit)
        return exact or self._select("WHERE s.folded = ?", (plain.casefold(),), limit)

    def defined(self, name: str, *, limit: int = _MOST_ROWS) -> list[Defined]:
        """Return little of each of the definitions that `named` returns, in the order of ids, in less time."""
        plain = _storable(name)
        with self._db.read() as conn:
            values: tuple[object, ...] = (plain.casefold(), plain, limit)
            rows = conn.execute(f"{_FEW_COLUMNS}WHERE s.folded = ? AND s.name = ? ORDER BY s.id LIMIT ?", values).fetchall()
            if not rows:
                values = (plain.casefold(), limit)
                rows = conn.execute(f"{_FEW_COLUMNS}WHERE s.folded = ? ORDER BY s.id LIMIT ?", values).fetchall()
        return [Defined(*row) for row in rows]

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

    def inside(self, row: SymbolRow) -> list[int]:
        """Return the ids of the definitions in the lines of *row*, in their order, without itself."""
        query = "SELECT id FROM symbols WHERE file = ? AND id > ? AND start_line >= ? AND end_line <= ? ORDER BY id"
        with self._db.read() as conn:
            return [each[0] for each in conn.execute(query, (row.file, row.id, row.start_line, row.end_line))]

    def makers(self, row: SymbolRow) -> list[int]:
        """Return the ids of the constructors of the class *row*."""
        query = "SELECT id FROM symbols WHERE file = ? AND parent = ? AND (name = '__init__' OR kind = 'constructor')"
        with self._db.read() as conn:
            return [each[0] for each in conn.execute(query, (row.file, row.id))]

    def qualnames(self, ids: Sequence[int]) -> list[str]:
        """Return the qualified names of the definitions with these ids, in no order."""
        found: list[str] = []
        with self._db.read() as conn:
            for start in range(0, len(ids), _MOST_MARKS):
                some = ids[start : start + _MOST_MARKS]
                marks = ",".join("?" * len(some))
                rows = conn.execute(f"SELECT qualname FROM symbols WHERE id IN ({marks})", tuple(some))  # noqa: S608 - marks
                found += [each[0] for each in rows]
        return found

    def rows(self, ids: Iterable[int]) -> list[SymbolRow]:
        """Return the definitions with these ids, in the order of *ids*."""
        wanted = list(ids)
        found: dict[int, SymbolRow] = {}
        for start in range(0, len(wanted), _MOST_MARKS):
            some = wanted[start : start + _MOST_MARKS]
            marks = ",".join("?" * len(some))
            found |= {row.id: row for row in self._select(f"WHERE s.id IN ({marks})", tuple(some), -1)}
        return [found[number] for number in wanted]

    def heads(self, ids: Iterable[int]) -> dict[int, Head]:
        """Return what little is shown, and asked by a ranker, of those definitions with these ids that there are."""
        known = self._heads
        found = {number: known.get(number) for number in ids}
        missing = [number for number, head in found.items() if head is None]
        for start in range(0, len(missing), _MOST_MARKS):
            some = missing[start : start + _MOST_MARKS]
            some += some[-1:] * (-len(some) % _MARKS_ALIKE)
            marks = ",".join("?" * len(some))
            query = f"SELECT id, name, qualname, kind, parent >= 0 FROM symbols WHERE id IN ({marks})"  # noqa: S608 - marks
            with self._db.read() as conn:
                rows = conn.execute(query, some).fetchall()
            found |= {number: Head(name, qualname, kind, bool(inner)) for number, name, qualname, kind, inner in rows}
        there = {number: head for number, head in found.items() if head is not None}
        if missing:
            if len(known) > _MOST_HEADS:
                known = self._heads = {}
            known.update(there)
        return there

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
