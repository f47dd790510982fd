"""The grapher: cached flows in, the graph of one generation out.

It is a program of its own (``python -m appliance.codeintel.build.grapher FOLDER PROJECT_DB MEMORY SECONDS``) for the reasons
that `build.writer` is one, and speaks as that one does. Whatever a repository holds, it takes no more than MEMORY bytes, and
learns nothing more after SECONDS; what is missing for that is said.
"""

import gc
import os
import sqlite3
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from appliance.base.durable import storage_errors
from appliance.base.proc import ChildLimits
from appliance.base.sqlite import store_errors
from appliance.codeintel.build import running
from appliance.codeintel.build.settings import read_settings
from appliance.codeintel.flow import Flow
from appliance.codeintel.resolve.edges import Edge, Edges
from appliance.codeintel.resolve.families import FAMILIES, Family
from appliance.codeintel.store.flows import FlowStore
from appliance.codeintel.store.graph import GRAPH_ASIDE, GRAPH_NAME, GRAPH_RECIPE, GraphInfo
from appliance.codeintel.store.layers import open_tables
from appliance.codeintel.store.schema import GRAPH, GRAPH_INDEXES

_ROWS: Final = 10_000
_DEEPEST: Final = 5_000  # frames; the most that was ever seen, in a chain of getters made for it, was 692
Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class _Part:
    """One file that is followed: its number in the generation, and its flow."""

    number: int
    path: str
    flow: Flow


def build(folder: Path, *, project_db: Path, seconds: float, tell: Tell) -> GraphInfo:
    """Write the graph of the generation in *folder* and return what it holds. Nothing is synced yet."""
    aside = folder / GRAPH_ASIDE
    aside.unlink(missing_ok=True)
    with (
        closing(open_tables(folder)) as generation,
        storage_errors(folder),
        store_errors(aside),
        closing(sqlite3.connect(aside, isolation_level=None)) as db,
    ):
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE"):
            db.execute(f"PRAGMA {pragma}")
        db.executescript(GRAPH)
        reading = _Reading(generation, project_db, read_settings(folder))
        solved = [_bounded(db, reading, family, seconds=seconds, tell=tell) for family in FAMILIES]
        db.executescript(GRAPH_INDEXES)
        counts = {table: _count(db, table) for table in ("edges", "outside", "unresolved")}
        candidates = _count(db, "edges WHERE how = 'candidate'")
    aside.replace(folder / GRAPH_NAME)
    return GraphInfo(
        recipe=GRAPH_RECIPE,
        files=sum(each.files for each in solved),
        skipped=sum(each.skipped for each in solved),
        candidates=candidates,
        cut=sum(each.cut for each in solved),
        settled=all(each.settled for each in solved),
        refused=tuple(each.refused for each in solved if each.refused),
        **counts,
    )


@dataclass(frozen=True, slots=True)
class _Solved:
    """How the files of one family of languages went."""

    files: int = 0
    skipped: int = 0
    cut: int = 0
    settled: bool = True
    refused: str = ""  # its first language, where there was not enough memory


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a graph is made from."""

    generation: sqlite3.Connection
    project_db: Path
    settings: dict[str, bytes]


def _bounded(db: sqlite3.Connection, reading: _Reading, family: Family, *, seconds: float, tell: Tell) -> _Solved:
    try:
        return _solved(db, reading, family, seconds=seconds, tell=tell)
    except MemoryError:
        if db.in_transaction:
            db.execute("ROLLBACK")
        return _Solved(refused=family.languages[0])


def _solved(db: sqlite3.Connection, reading: _Reading, family: Family, *, seconds: float, tell: Tell) -> _Solved:
    found = list(_parts(reading.generation, reading.project_db, family.languages))
    parts = [part for part in found if part is not None]
    solver = family.solver([part.path for part in parts], [part.flow for part in parts], reading.settings)
    solver.solve(tell, seconds=seconds)
    _write(db, Edges(solver), _Places(reading.generation, parts), files=len(parts))
    return _Solved(len(parts), len(found) - len(parts), sum(part.flow.cut for part in parts), solver.settled)


def _count(db: sqlite3.Connection, what: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM {what}").fetchone()[0])  # noqa: S608 - literals of this file


def _parts(generation: sqlite3.Connection, project_db: Path, languages: Sequence[str]) -> Iterator[_Part | None]:
    """Yield the files of *languages*, None for one whose syntax could not be used."""
    marks = ",".join("?" * len(languages))
    rows = generation.execute(
        f"SELECT id, path, blob, hint FROM files WHERE language IN ({marks}) ORDER BY path",  # noqa: S608 - marks alone
        tuple(languages),
    )
    with closing(FlowStore(project_db)) as flows:
        for number, path, blob, hint in rows:
            flow = flows.flow((blob, hint))
            yield None if flow is None else _Part(number, os.fsdecode(path), flow)


class _Places:
    """Which symbol of the generation each scope is; what has none stands in the next one around, or at the top level."""

    def __init__(self, generation: sqlite3.Connection, parts: list[_Part]) -> None:
        self.of: list[int] = []
        self.own: list[bool] = []
        for part in parts:
            known = _definitions(generation, part.number)
            placed: list[int] = []
            for scope in part.flow.scopes:
                symbol = _symbol(known.get(scope.name, ()), scope.line)
                self.own.append(symbol is not None or scope.kind == "module")
                placed.append(-1 - part.number if scope.parent < 0 else placed[scope.parent] if symbol is None else symbol)
            self.of += placed


def _definitions(generation: sqlite3.Connection, file: int) -> dict[str, list[tuple[int, int, int]]]:
    known: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    rows = generation.execute("SELECT name, start_line, end_line, id FROM symbols WHERE file = ? ORDER BY id", (file,))
    for name, start, end, number in rows:
        known[name].append((start, end, number))
    return known


def _symbol(named: "list[tuple[int, int, int]] | tuple[()]", line: int) -> int | None:
    """Return the last of the definitions *named*, by first line, last line and id, that begins by *line* and holds it."""
    at = bisect_right(named, line, key=lambda each: each[0])
    return next((number for start, end, number in reversed(named[:at]) if start <= line <= end), None)


def _write(db: sqlite3.Connection, edges: Edges, places: _Places, *, files: int) -> None:
    rows: dict[str, list[tuple[object, ...]]] = {"edges": [], "outside": [], "unresolved": []}
    db.execute("BEGIN")
    for file in range(files):
        for each in edges.of(file):
            source = places.of[each.caller]
            if not isinstance(each, Edge):
                rows["unresolved"].append((source, each.name, each.line))
            elif each.target is None:
                rows["outside"].append((source, each.external, each.line, each.kind))
            elif places.own[each.target]:
                rows["edges"].append((places.of[each.target], source, each.line, each.kind, each.how, each.confidence))
        if sum(map(len, rows.values())) > _ROWS:
            _flush(db, rows)
    _flush(db, rows)
    db.execute("COMMIT")


def _flush(db: sqlite3.Connection, rows: dict[str, list[tuple[object, ...]]]) -> None:
    for table, held in rows.items():
        marks = ",".join("?" * {"edges": 6, "outside": 4, "unresolved": 3}[table])
        db.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", held)  # noqa: S608 - one of three
        held.clear()


def main() -> int:
    """Do what the arguments say; return the exit status."""
    folder, project_db, memory, seconds = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    ChildLimits(memory=memory).apply()
    gc.disable()  # it makes millions of small objects and ends soon
    sys.setrecursionlimit(_DEEPEST)

    def work(tell: Tell) -> running.Said:
        return running.Said(graph=build(folder, project_db=project_db, seconds=seconds, tell=tell))

    return running.serve(folder, work)


if __name__ == "__main__":
    sys.exit(main())
