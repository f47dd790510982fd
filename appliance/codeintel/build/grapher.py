"""The grapher: cached flows in, the graph of one generation out.

It is a program of its own (``python -m appliance.codeintel.build.grapher FOLDER PROJECT_DB MEMORY SECONDS PATCH``) for the
reasons that `build.writer` is one, and speaks as that one does. Whatever a repository holds, it takes no more than MEMORY
bytes, and learns nothing more after SECONDS; what is missing for that is said. The graph that the folder holds now was made
when its generation had PATCH patches; below 0 none is used.
"""

import gc
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from appliance.base.durable import storage_errors
from appliance.base.proc import ChildLimits
from appliance.base.sqlite import store_errors
from appliance.codeintel.build import running
from appliance.codeintel.build.carrying import Former
from appliance.codeintel.build.edging import Edging
from appliance.codeintel.build.likeness import Unlike
from appliance.codeintel.build.naming import write_names
from appliance.codeintel.build.places import Part, Places
from appliance.codeintel.build.rows import Rows
from appliance.codeintel.build.settings import read_settings
from appliance.codeintel.resolve.families import FAMILIES, FOLLOWED, Family
from appliance.codeintel.source.base import FileFlags
from appliance.codeintel.store.flows import FlowStore
from appliance.codeintel.store.graph import GRAPH_ASIDE, GRAPH_NAME, GRAPH_RECIPE, GraphInfo
from appliance.codeintel.store.kinds import FIRST_USE, HOW_NUMBERS, KINDS
from appliance.codeintel.store.layers import open_tables
from appliance.codeintel.store.schema import GRAPH, GRAPH_INDEXES

_DEEPEST: Final = 5_000  # frames; the most that was ever seen, in a chain of getters made for it, was 692
Tell = Callable[[int, int], None]


def build(folder: Path, *, project_db: Path, seconds: float, tell: Tell, patch: int = -1) -> GraphInfo:
    """Write the graph of the generation in *folder* and return what it holds. Nothing is synced yet.

    Where the generation had *patch* patches when the graph was made that stands there now, what still holds of that is kept.
    """
    tell(0, 1)
    aside = folder / GRAPH_ASIDE
    aside.unlink(missing_ok=True)
    with (
        closing(open_tables(folder)) as generation,
        closing(FlowStore(project_db)) as flows,
        storage_errors(folder),
        store_errors(aside),
        closing(sqlite3.connect(aside, isolation_level=None)) as db,
    ):
        for pragma in ("journal_mode=MEMORY", "synchronous=OFF", "locking_mode=EXCLUSIVE"):
            db.execute(f"PRAGMA {pragma}")
        db.executescript(GRAPH)
        rows, reading = Rows(db), _Reading(generation, flows, read_settings(folder))
        with closing(Former.open(folder, generation, flows, patch=patch)) as former:
            solved = [_family(rows, reading, former, family, seconds=seconds, tell=tell) for family in FAMILIES]
        solved += _by_name(rows, reading)
        rows.finish(generation)
        db.executescript(GRAPH_INDEXES)
        info = _info(db, solved)
    aside.replace(folder / GRAPH_NAME)
    return info


@dataclass(frozen=True, slots=True)
class _Solved:
    """How the files of one family of languages went."""

    files: int = 0
    skipped: int = 0
    cut: int = 0
    settled: bool = True
    refused: str = ""  # its first language, where there was not enough memory
    why: str = ""  # its first language, and what was to be solved


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a graph is made from."""

    generation: sqlite3.Connection
    flows: FlowStore
    settings: dict[str, bytes]


def _info(db: sqlite3.Connection, solved: Sequence[_Solved]) -> GraphInfo:
    kinds = {KINDS[kind]: count for kind, count in db.execute("SELECT kind, count(*) FROM edges GROUP BY kind")}
    calls = f"edges WHERE kind < {FIRST_USE}"
    return GraphInfo(
        recipe=GRAPH_RECIPE,
        files=sum(each.files for each in solved),
        skipped=sum(each.skipped for each in solved),
        edges=_count(db, calls),
        candidates=_count(db, f"{calls} AND how = {HOW_NUMBERS['candidate']}"),
        outside=_count(db, f"outside WHERE kind < {FIRST_USE}"),
        unresolved=_count(db, "unresolved"),
        cut=sum(each.cut for each in solved),
        settled=all(each.settled for each in solved),
        refused=tuple(each.refused for each in solved if each.refused),
        kinds=kinds,
        solved=tuple(each.why for each in solved if each.why),
    )


def _count(db: sqlite3.Connection, what: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM {what}").fetchone()[0])  # noqa: S608 - literals of this file


def _family(rows: Rows, reading: _Reading, former: Former, family: Family, *, seconds: float, tell: Tell) -> _Solved:
    """Keep what *former* says of *family*, or solve it."""
    try:
        one = _Solved(*former.carry(rows, family.languages))
    except Unlike as why:
        one = _bounded(rows, reading, family, seconds=seconds, tell=tell)
        one = replace(one, why=f"{family.languages[0]}: {why}" if one.files or one.refused else "")
    if one.settled and not one.refused:
        rows.count(family.languages[0], one.files, one.skipped, one.cut)
    return one


def _bounded(rows: Rows, reading: _Reading, family: Family, *, seconds: float, tell: Tell) -> _Solved:
    with suppress(MemoryError):
        solved = _solved(rows, reading, family, seconds=seconds, tell=tell)
        if solved.files:
            gc.collect()  # the parts of a solver hold one another
        return solved
    return _refused(rows, family.languages[0])


def _by_name(rows: Rows, reading: _Reading) -> list[_Solved]:
    with suppress(MemoryError):
        write_names(rows, reading.generation, reading.flows, but=FOLLOWED)
        return []
    return [_refused(rows, "other languages")]


def _refused(rows: Rows, language: str) -> _Solved:
    """Give back what was taken for *language*: the error that held it is gone by now, the rings in it are not."""
    gc.collect()
    rows.rollback()
    return _Solved(refused=language)


def _solved(rows: Rows, reading: _Reading, family: Family, *, seconds: float, tell: Tell) -> _Solved:
    found = list(_parts(reading, family.languages))
    parts = [part for part in found if part is not None]
    solver = family.solver([part.path for part in parts], [part.flow for part in parts], reading.settings)
    solver.solve(tell, seconds=seconds)
    Edging(rows, solver, parts, Places(reading.generation, parts)).write(reading.flows)
    return _Solved(len(parts), len(found) - len(parts), sum(part.flow.cut for part in parts), solver.settled)


def _parts(reading: _Reading, languages: Sequence[str]) -> Iterator[Part | None]:
    """Yield the files of *languages*, None for one whose syntax could not be used."""
    marks = ",".join("?" * len(languages))
    listed = reading.generation.execute(
        f"SELECT id, path, blob, hint, flags, first_symbol FROM files WHERE language IN ({marks}) ORDER BY path",  # noqa: S608 - marks alone
        tuple(languages),
    )
    for number, path, blob, hint, flags, symbol in listed:
        flow = reading.flows.flow((blob, hint))
        if flow is None:
            yield None
            continue
        yield Part(number, os.fsdecode(path), (blob, hint), flow, symbol, bool(flags & FileFlags.TEST))


def main() -> int:
    """Do what the arguments say; return the exit status."""
    folder, project_db, memory, seconds = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    patch = int(sys.argv[5])
    ChildLimits(memory=memory).apply()
    gc.disable()  # it makes millions of small objects and ends soon
    sys.setrecursionlimit(_DEEPEST)

    def work(tell: Tell) -> running.Said:
        return running.Said(graph=build(folder, project_db=project_db, seconds=seconds, tell=tell, patch=patch))

    return running.serve(folder, work)


if __name__ == "__main__":
    sys.exit(main())
