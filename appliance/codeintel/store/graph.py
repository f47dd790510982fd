"""The graph of one generation: what calls what, written once behind the generation, never changed after that."""

import sqlite3
import weakref
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Self

import msgspec
import numpy as np
import numpy.typing as npt

from appliance.base.sqlite import Guarded, connect_immutable
from appliance.codeintel.flow import FLOW_VERSION
from appliance.codeintel.store.adjacency import CENTRALITY, Adjacency
from appliance.codeintel.store.kinds import FIRST_USE, HOWS, KIND_NUMBERS, KINDS
from appliance.codeintel.store.symbols import Gone

Floats = npt.NDArray[np.float32]

GRAPH_NAME: Final = "graph.db"
GRAPH_ASIDE: Final = f".{GRAPH_NAME}"  # while it is written
GRAPH_RECIPE: Final = f"18/{FLOW_VERSION}"  # another format, or another solver, raises the first: every graph is made anew


class GraphInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a graph holds. Counts are of calls by place and target; ``kinds`` counts the edges of every kind.

    ``skipped`` counts the files of languages that are followed that were not: their syntax could not be used, their parser
    was stopped, or they were gone. ``cut`` counts those that were followed in part only.
    """

    recipe: str
    files: int
    skipped: int
    edges: int
    candidates: int
    outside: int
    unresolved: int
    cut: int
    settled: bool  # False: it was still learning when it was stopped
    kinds: Mapping[str, int] = {}
    refused: tuple[str, ...] = ()  # families of languages that there was not enough memory for, by their first
    patch: int = 0  # how many patches its generation had
    solved: tuple[str, ...] = ()  # families of languages that nothing was kept of from a former graph, each with the reason
    changed: int = 0  # files that are not what they were then


_MOST_MARKS: Final = 10_000  # in one statement: SQLite takes 32,766


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """An edge. ``source`` and ``target`` are symbols of the generation; -1 - f is the top level of file f, or that file."""

    target: int
    source: int
    line: int
    kind: str
    how: str
    confidence: float


@dataclass(frozen=True, slots=True)
class OutsideRow:
    """A call that leads out of the repository, to *name*."""

    source: int
    name: str
    line: int
    kind: str


class CallGraph:
    """Look-ups in one graph. Safe to use from many threads; readable even after its folder was removed.

    One that was made before files changed goes on for the others: what is ``gone`` is left out.
    """

    def __init__(self, db: Guarded, info: GraphInfo, gone: Gone) -> None:
        self._db = db
        self._gone = gone
        self.info = info

    @classmethod
    def open(cls, folder: Path, info: GraphInfo, gone: Gone) -> Self:
        """Open the graph of the generation in *folder*; raise `StoreCorrupt`."""
        conn = connect_immutable(folder / GRAPH_NAME)
        db = Guarded(conn)
        weakref.finalize(db, conn.close)
        return cls(db, info, gone)

    def callers(self, targets: Collection[int]) -> list[EdgeRow]:
        """Return the calls of any of *targets*, surest first, then in the order of files and lines."""
        return self._edges("target", targets, f"AND kind < {FIRST_USE}")

    def uses(self, targets: Collection[int]) -> list[EdgeRow]:
        """Return the edges of every kind that lead to any of *targets*, in the order of `callers`."""
        return self._edges("target", targets)

    def defining(self, targets: Collection[int]) -> list[int]:
        """Return the symbols that define, elsewhere, what one of *targets* declares."""
        edges = self._edges("target", targets, f"AND kind = {KIND_NUMBERS['defines']}")
        return [edge.source for edge in edges if edge.source >= 0]

    def callees(self, sources: Collection[int]) -> list[EdgeRow]:
        """Return the calls that stand in any of *sources*, surest first."""
        return self._edges("source", sources, f"AND kind < {FIRST_USE}")

    def used(self, sources: Collection[int]) -> list[EdgeRow]:
        """Return the edges of every kind that stand in any of *sources*, surest first."""
        return self._edges("source", sources)

    @cached_property
    def adjacency(self) -> Adjacency:
        """All edges as arrays; read once, in about a fifth of a second for a million of them. Raise `StoreCorrupt`."""
        with self._db.read() as conn:
            return Adjacency({row[0]: row[1] for row in conn.execute("SELECT name, data FROM packed")}, self._gone)

    @cached_property
    def centrality(self) -> Floats:
        """How central each file is, by its number, 1 on average; files that came after the graph are not in it."""
        with self._db.read() as conn:
            row = conn.execute("SELECT data FROM packed WHERE name = ?", (CENTRALITY,)).fetchone()
        return np.frombuffer(b"" if row is None else row[0], dtype=np.float32)

    def outside(self, sources: Collection[int]) -> list[OutsideRow]:
        """Return the calls in *sources* that lead out of the repository, in the order of lines."""
        with self._db.read() as conn:
            rows = conn.execute(
                "SELECT source, name, line, kind FROM outside"  # noqa: S608 - marks alone
                f" WHERE source IN ({_marks(sources)}) AND kind < {FIRST_USE} ORDER BY source, line, name",
                tuple(sources),
            ).fetchall()
        return [OutsideRow(source, name, line, KINDS[kind]) for source, name, line, kind in rows]

    def unresolved(self, sources: Collection[int]) -> int:
        """Return how many calls in *sources* could not be told."""
        with self._db.read() as conn:
            query = f"SELECT count(*) FROM unresolved WHERE source IN ({_marks(sources)})"  # noqa: S608 - marks alone
            return int(conn.execute(query, tuple(sources)).fetchone()[0])

    def unresolved_named(self, name: str) -> int:
        """Return how many calls of something called *name* could not be told."""
        with self._db.read() as conn:
            rows = conn.execute("SELECT source FROM unresolved WHERE name = ?", (name,)).fetchall()
        return len(rows) - int(self._gone.among([row[0] for row in rows]).sum())

    def _edges(self, column: str, ids: Collection[int], only: str = "") -> list[EdgeRow]:
        found: list[EdgeRow] = []
        wanted = list(ids)
        with self._db.read() as conn:
            for start in range(0, len(wanted), _MOST_MARKS):
                some = wanted[start : start + _MOST_MARKS]
                rows = conn.execute(
                    "SELECT target, source, line, kind, how, confidence FROM edges"  # noqa: S608 - a column of two, and marks
                    f" WHERE {column} IN ({_marks(some)}) {only}",
                    some,
                )
                found += [_row(*row) for row in self._there(rows.fetchall())]
        return sorted(found, key=lambda edge: (-edge.confidence, edge.source, edge.line, edge.target))

    def _there(self, rows: list[sqlite3.Row]) -> list[sqlite3.Row]:
        """Return those of *rows*, which begin with target and source, of which neither is gone."""
        if not self._gone:
            return rows
        gone = self._gone.among([row[0] for row in rows]) | self._gone.among([row[1] for row in rows])
        return [row for row, dead in zip(rows, gone.tolist(), strict=True) if not dead]


def _row(target: int, source: int, line: int, kind: int, how: int, confidence: int) -> EdgeRow:
    return EdgeRow(target, source, line, KINDS[kind], HOWS[how], confidence / 100)


def _marks(values: Collection[int]) -> str:
    return ",".join("?" * len(values))
