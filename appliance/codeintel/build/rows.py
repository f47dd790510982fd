"""The rows of a graph on their way to its database."""

import sqlite3
from array import array
from collections.abc import Mapping, Sequence
from typing import Final

from appliance.codeintel.build.centrality import centrality
from appliance.codeintel.store.adjacency import CENTRALITY, COLUMNS
from appliance.codeintel.store.kinds import HOW_NUMBERS, KIND_NUMBERS

_MOST_HELD: Final = 5_000
_TYPES: Final = {"target": "i", "source": "i", "line": "i", "kind": "B", "confidence": "B"}


class Rows:
    """Takes edges one by one and writes them by the thousand; what is rolled back is forgotten."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._edges: list[tuple[int, ...]] = []
        self._outside: list[tuple[object, ...]] = []
        self._unresolved: list[tuple[object, ...]] = []
        self._packed = {name: array(kind) for name, kind in _TYPES.items()}
        self._kept = 0

    def edge(self, target: int, source: int, line: int, *, kind: str, how: str, confidence: float) -> None:
        """Take an edge."""
        number, sure = KIND_NUMBERS[kind], round(confidence * 100)
        self._edges.append((target, source, line, number, HOW_NUMBERS[how], sure))

    def outside(self, source: int, name: str, line: int, *, kind: str) -> None:
        """Take an edge that leads out of the repository, to *name*."""
        self._outside.append((source, name, line, KIND_NUMBERS[kind]))

    def unresolved(self, source: int, name: str, line: int) -> None:
        """Take a call of *name* of which nothing is known."""
        self._unresolved.append((source, name, line))

    def again(self, table: str, rows: Sequence[Sequence[object]]) -> None:
        """Write *rows* of *table* as they stood in a former graph. `pack` takes the edges among them as arrays."""
        if rows:
            marks = ",".join("?" * len(rows[0]))
            self._db.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)  # noqa: S608 - one of three

    def pack(self, columns: Mapping[str, bytes]) -> None:
        """Take edges that are written as arrays."""
        for name, column in columns.items():
            self._packed[name].frombytes(column)

    def count(self, language: str, files: int, skipped: int, cut: int) -> None:
        """Write how the files of a family of languages went, by its first language."""
        self._db.execute("INSERT INTO families VALUES (?, ?, ?, ?)", (language, files, skipped, cut))

    def begin(self) -> None:
        """Begin the rows of a family of languages."""
        self._db.execute("BEGIN")
        self._kept = len(self._packed["target"])

    def commit(self) -> None:
        """Keep what was taken since `begin`."""
        self.flush(least=0)
        self._db.execute("COMMIT")

    def rollback(self) -> None:
        """Forget what was taken since `begin`."""
        for held in (self._edges, self._outside, self._unresolved):
            held.clear()
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        for column in self._packed.values():
            del column[self._kept :]

    def flush(self, *, least: int = _MOST_HELD) -> None:
        """Write what is held, once that is more than *least* rows."""
        if len(self._edges) + len(self._outside) + len(self._unresolved) <= least:
            return
        self._pack(self._edges)
        for table, held, marks in (
            ("edges", self._edges, "?,?,?,?,?,?"), ("outside", self._outside, "?,?,?,?"),
            ("unresolved", self._unresolved, "?,?,?"),
        ):  # fmt: skip
            self._db.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", held)  # noqa: S608 - one of three
            held.clear()

    def finish(self, generation: sqlite3.Connection) -> None:
        """Write the edges once more, as arrays, and how central they make each file of *generation*."""
        self._db.executemany("INSERT INTO packed VALUES (?, ?)", [(name, self._packed[name].tobytes()) for name in COLUMNS])
        self._db.execute("INSERT INTO packed VALUES (?, ?)", (CENTRALITY, centrality(generation, self._packed).tobytes()))

    def _pack(self, edges: Sequence[tuple[int, ...]]) -> None:
        if edges:
            target, source, line, kind, _, confidence = zip(*edges, strict=True)
            for name, values in zip(_TYPES, (target, source, line, kind, confidence), strict=True):
                self._packed[name].extend(values)
