"""The grapher: cached flows in, the graph of one generation out.

It is a program of its own (``python -m appliance.codeintel.build.grapher FOLDER PROJECT_DB RECIPE``) for the reasons that
`build.writer` is one, and speaks as that one does.
"""

import gc
import os
import sqlite3
import sys
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from appliance.base.durable import storage_errors
from appliance.base.sqlite import connect_immutable, store_errors
from appliance.codeintel.build import running
from appliance.codeintel.flow import Flow, unpack_flow
from appliance.codeintel.resolve.edges import Edge, Edges
from appliance.codeintel.resolve.modules import Modules
from appliance.codeintel.resolve.solve import Solver
from appliance.codeintel.store.code import unpack_facts
from appliance.codeintel.store.graph import GRAPH_ASIDE, GRAPH_NAME, GraphInfo, graph_recipe
from appliance.codeintel.store.schema import GRAPH, GRAPH_INDEXES
from appliance.errors import StoreCorrupt

FOLLOWED: Final = ("python",)  # languages whose values are followed
_ROWS: Final = 10_000
Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class _Part:
    """One file that is followed: its number in the generation, and its flow."""

    number: int
    path: str
    flow: Flow


def build(folder: Path, *, project_db: Path, facts_recipe: str, tell: Tell) -> GraphInfo:
    """Write the graph of the generation in *folder* and return what it holds. Nothing is synced yet."""
    with closing(connect_immutable(folder / "generation.db")) as generation:
        parts = list(_parts(generation, project_db, facts_recipe))
        solver = Solver([part.flow for part in parts], Modules([part.path for part in parts]))
        solver.solve(tell)
        places = _Places(generation, parts)
    edges = Edges(solver)
    aside = folder / GRAPH_ASIDE
    aside.unlink(missing_ok=True)
    with storage_errors(folder), store_errors(aside), closing(sqlite3.connect(aside, isolation_level=None)) as db:
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE"):
            db.execute(f"PRAGMA {pragma}")
        db.executescript(GRAPH)
        counts = _write(db, edges, places, files=len(parts))
        db.executescript(GRAPH_INDEXES)
    aside.replace(folder / GRAPH_NAME)
    return GraphInfo(
        recipe=graph_recipe(facts_recipe),
        files=len(parts),
        edges=counts["edges"],
        candidates=counts["candidates"],
        outside=counts["outside"],
        unresolved=counts["unresolved"],
        cut=sum(part.flow.cut for part in parts),
        settled=solver.settled,
    )


def _parts(generation: sqlite3.Connection, project_db: Path, facts_recipe: str) -> Iterator[_Part]:
    uri = f"{project_db.absolute().as_uri()}?mode=ro"
    with store_errors(project_db), closing(sqlite3.connect(uri, uri=True)) as project:
        marks = ",".join("?" * len(FOLLOWED))
        rows = generation.execute(
            f"SELECT id, path, blob, hint FROM files WHERE language IN ({marks}) ORDER BY id",  # noqa: S608 - marks alone
            FOLLOWED,
        )
        for number, path, blob, hint in rows:
            found = project.execute(
                "SELECT facts FROM blobs WHERE blob = ? AND hint = ? AND recipe = ?", (blob, hint, facts_recipe)
            ).fetchone()
            if found is None:
                raise StoreCorrupt("The facts of an indexed file are missing.", remedy="Index the repository again.")
            packed = unpack_facts(found[0]).flow
            if packed:
                yield _Part(number, os.fsdecode(path), _flow(packed))


def _flow(packed: bytes) -> Flow:
    try:
        return unpack_flow(packed)
    except msgspec.DecodeError as exc:
        raise StoreCorrupt("Cached facts of a file cannot be read.", remedy="Index the repository again.") from exc


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


def _write(db: sqlite3.Connection, edges: Edges, places: _Places, *, files: int) -> Counter[str]:
    counts: Counter[str] = Counter()
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
                counts["candidates"] += each.how == "candidate"
        if sum(map(len, rows.values())) > _ROWS:
            _flush(db, rows)
    _flush(db, rows)
    db.execute("COMMIT")
    for table in rows:
        counts[table] = db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - one of three
    return counts


def _flush(db: sqlite3.Connection, rows: dict[str, list[tuple[object, ...]]]) -> None:
    for table, held in rows.items():
        marks = ",".join("?" * {"edges": 6, "outside": 4, "unresolved": 3}[table])
        db.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", held)  # noqa: S608 - one of three
        held.clear()


def main() -> int:
    """Do what the arguments say; return the exit status."""
    folder, project_db, facts_recipe = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    gc.disable()  # it makes millions of small objects and ends soon
    return running.serve(
        folder, lambda tell: running.Said(graph=build(folder, project_db=project_db, facts_recipe=facts_recipe, tell=tell))
    )


if __name__ == "__main__":
    sys.exit(main())
