"""What stays of the graph before: the edges of a family of languages none of whose files says anything else than it did.

What is solved hangs on the flows of all files and not on their texts: a comment, a message or a bound that is edited moves
lines and leaves every edge what it was. Whether that is so is looked up for each file that changed; where it is not, or
cannot be told, the family is solved again as a whole.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from appliance.base.sqlite import connect_immutable
from appliance.codeintel.build.likeness import Unlike, lines_of
from appliance.codeintel.build.rows import Rows
from appliance.codeintel.resolve.packages import is_settings
from appliance.codeintel.source.base import FileFlags
from appliance.codeintel.store.adjacency import COLUMNS
from appliance.codeintel.store.flows import FlowStore, Key
from appliance.codeintel.store.graph import GRAPH_NAME
from appliance.codeintel.store.layers import is_patched
from appliance.errors import StoreCorrupt

_ROWS: Final = 50_000  # read at once
_COLUMNS: Final = {"edges": (0, 1), "outside": (0,), "unresolved": (0,)}  # which of a row's columns are of symbols
_LINE: Final = 2  # the column of the line, in all of them
_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _File:
    number: int
    path: bytes
    language: str
    key: Key
    flags: int
    first_symbol: int

    def stands_for(self, other: "_File") -> bool:
        return (self.path, self.language, self.key[1], self.flags) == (other.path, other.language, other.key[1], other.flags)


class Former:
    """The graph that a generation had before its newest patches."""

    def __init__(
        self, graph: sqlite3.Connection | None, generation: sqlite3.Connection, flows: FlowStore, *, patch: int
    ) -> None:
        self._graph = graph
        self._generation = generation
        self._flows = flows
        self._patch = patch
        self._files = int(generation.execute("SELECT coalesce(max(id), -1) + 1 FROM every_file").fetchone()[0])

    def close(self) -> None:
        """Close the graph."""
        if self._graph is not None:
            self._graph.close()

    @classmethod
    def open(cls, folder: Path, generation: sqlite3.Connection, flows: FlowStore, *, patch: int) -> Self:
        """Return the graph in *folder*, made when its generation had *patch* patches. Below 0 there is none."""
        there = patch >= 0 and is_patched(folder)
        return cls(connect_immutable(folder / GRAPH_NAME) if there else None, generation, flows, patch=patch)

    def carry(self, rows: Rows, languages: Sequence[str]) -> tuple[int, int, int]:
        """Write into *rows* what the graph says of files of *languages*, and return what it counted of them.

        Raise `Unlike`, with nothing written, where any of them may say something else now.
        """
        if self._graph is None:
            raise Unlike("There is no graph of a former state.")
        counted = self._graph.execute(
            "SELECT files, skipped, cut FROM families WHERE language = ?", languages[:1]
        ).fetchone()
        if counted is None:
            raise Unlike("They were not followed to the end before.")
        rows.begin()
        try:
            self._write(rows, self._graph, languages)
        except (Unlike, StoreCorrupt) as exc:
            rows.rollback()
            raise Unlike(str(exc)) from exc
        rows.commit()
        files, skipped, cut = counted
        return files, skipped, cut

    def _write(self, rows: Rows, graph: sqlite3.Connection, languages: Sequence[str]) -> None:
        if any(is_settings(os.fsdecode(path)) for path in self._touched()):
            raise Unlike("A file of settings changed.")
        changed = [(old, new, *self._alike(old, new)) for old, new in self._changed(languages)]
        moved = _Moved(self._file_of(), self._files)
        for each in changed:
            moved.add(*each)
        within = np.zeros(self._files, dtype=np.bool_)
        within[[file.number for file in self._then(languages)]] = True
        for table, columns in _COLUMNS.items():
            cursor = graph.execute(f"SELECT * FROM {table}")  # noqa: S608 - one of three
            while found := cursor.fetchmany(_ROWS):
                rows.again(table, list(moved.rows(found, columns, within, source=columns[-1])))
        packed = {name: data for name, data in graph.execute("SELECT name, data FROM packed") if name in COLUMNS}
        rows.pack(moved.packed({name: np.frombuffer(packed[name], dtype=kind) for name, kind in COLUMNS.items()}, within))

    def _file_of(self) -> _Numbers:
        """Return the file of each symbol that there ever was."""
        query = "SELECT id, file FROM main.symbols UNION ALL SELECT id, file FROM patch.symbols"
        rows = np.array(self._generation.execute(query).fetchall(), dtype=np.int64).reshape(-1, 2)
        files: _Numbers = np.zeros(int(rows[:, 0].max(initial=-1)) + 1, dtype=np.int64)
        files[rows[:, 0]] = rows[:, 1]
        return files

    def _touched(self) -> Iterator[bytes]:
        """Yield the paths of all files that came or went since."""
        yield from (
            row[0] for row in self._generation.execute("SELECT path FROM patch.files WHERE patch > ?", (self._patch,))
        )
        went = "SELECT path FROM every_file WHERE id IN (SELECT file FROM dead WHERE patch > ?)"
        yield from (row[0] for row in self._generation.execute(went, (self._patch,)))

    def _now(self, languages: Sequence[str]) -> list[_File]:
        return self._listed("files", "1", languages, ())

    def _then(self, languages: Sequence[str]) -> list[_File]:
        then = (
            "id NOT IN (SELECT file FROM dead WHERE patch <= ?) AND id NOT IN (SELECT id FROM patch.files WHERE patch > ?)"
        )
        return self._listed("every_file", then, languages, (self._patch, self._patch))

    def _listed(self, table: str, which: str, languages: Sequence[str], values: Sequence[int]) -> list[_File]:
        marks = ",".join("?" * len(languages))
        rows = self._generation.execute(
            f"SELECT id, path, language, blob, hint, flags, first_symbol FROM {table}"  # noqa: S608 - literals of this file
            f" WHERE language IN ({marks}) AND {which} ORDER BY path",
            (*languages, *values),
        )
        return [_File(row[0], row[1], row[2], (row[3], row[4]), row[5], row[6]) for row in rows]

    def _changed(self, languages: Sequence[str]) -> Iterator[tuple[_File, _File]]:
        """Yield the files of *languages* that are others now, each with what it was; raise `Unlike` if any came or went."""
        then, now = self._then(languages), self._now(languages)
        if len(then) != len(now):
            raise Unlike("Files came or went.")
        for old, new in zip(then, now, strict=True):
            if not old.stands_for(new):
                raise Unlike("Files came or went.")
            if old.number != new.number:
                yield old, new

    def _alike(self, old: _File, new: _File) -> tuple[int, dict[int, int]]:
        """Return how many symbols a file has, and which line each of its lines is now; raise `Unlike`."""
        flows = self._flows.flow(old.key), self._flows.flow(new.key)
        said = self._flows.mentions(old.key), self._flows.mentions(new.key)
        path = os.fsdecode(new.path)
        if flows[0] is None or flows[1] is None or said[0] is None or said[1] is None:
            raise Unlike(f"{path} could not be read.")
        try:
            return lines_of((flows[0], said[0]), (flows[1], said[1]), test=bool(old.flags & FileFlags.TEST))
        except Unlike as exc:
            raise Unlike(f"{path} {exc}.") from exc


class _Moved:
    """Which number everything has now, and which line."""

    def __init__(self, file_of: _Numbers, files: int) -> None:
        self._file_of = file_of
        self._symbols: _Numbers = np.arange(len(file_of), dtype=np.int64)
        self._files: _Numbers = np.arange(files, dtype=np.int64)
        self._lines: dict[int, dict[int, int]] = {}  # of the files that changed

    def add(self, old: _File, new: _File, symbols: int, lines: dict[int, int]) -> None:
        self._files[old.number] = new.number
        self._symbols[old.first_symbol : old.first_symbol + symbols] = np.arange(symbols) + new.first_symbol
        self._lines[old.number] = lines

    def rows(
        self, rows: Sequence[tuple[object, ...]], columns: Iterable[int], within: npt.NDArray[np.bool_], *, source: int
    ) -> Iterator[list[object]]:
        """Yield those of *rows* whose *source* is *within* the files that count, as they are now."""
        files = self._files_of(np.array([row[source] for row in rows], dtype=np.int64))
        ends = {
            column: self._numbers(np.array([row[column] for row in rows], dtype=np.int64)).tolist() for column in columns
        }
        for place in np.flatnonzero(within[files]).tolist():
            row = list(rows[place])
            for column, numbers in ends.items():
                row[column] = numbers[place]
            row[_LINE] = self._line(int(files[place]), int(row[_LINE]))  # type: ignore[call-overload]  # of SQLite
            yield row

    def packed(self, columns: dict[str, npt.NDArray[np.generic]], within: npt.NDArray[np.bool_]) -> dict[str, bytes]:
        """Return those of the packed edges whose source is *within* the files that count, as they are now."""
        target, source, line = (columns[name].astype(np.int64) for name in ("target", "source", "line"))
        files = self._files_of(source)
        for place in np.flatnonzero(np.isin(files, list(self._lines))).tolist():
            line[place] = self._line(int(files[place]), int(line[place]))
        moved = {**columns, "target": self._numbers(target), "source": self._numbers(source), "line": line}
        return {name: column[within[files]].astype(COLUMNS[name]).tobytes() for name, column in moved.items()}

    def _files_of(self, numbers: _Numbers) -> _Numbers:
        return np.where(numbers < 0, -1 - numbers, self._file_of[np.maximum(numbers, 0)])

    def _numbers(self, numbers: _Numbers) -> _Numbers:
        return np.where(numbers < 0, -1 - self._files[np.maximum(-1 - numbers, 0)], self._symbols[np.maximum(numbers, 0)])

    def _line(self, file: int, line: int) -> int:
        lines = self._lines.get(file)
        if lines is None:
            return line
        if line not in lines:
            raise Unlike("An edge stands in a line that nothing is known of.")
        return lines[line]
