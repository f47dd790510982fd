"""Vectors and graph of one generation, made those of another that holds the same under other numbers."""

import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from appliance.base.durable import storage_errors
from appliance.base.sqlite import connect_immutable, store_errors
from appliance.codeintel.build.growing import states
from appliance.codeintel.store.adjacency import CENTRALITY, COLUMNS
from appliance.codeintel.store.code import CodeStore, MatrixRow
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.graph import GRAPH_NAME, GRAPH_RECIPE, GraphInfo
from appliance.codeintel.store.layers import open_tables
from appliance.codeintel.store.matrix import VectorMatrix, VectorState, matrix_folder, write_matrix
from appliance.codeintel.store.schema import GRAPH, GRAPH_INDEXES
from appliance.errors import StoreCorrupt

_ROWS: Final = 10_000
_ENDS: Final = ("target", "source")
_TABLES: Final = {"edges": (0, 1), "outside": (0,), "unresolved": (0,)}  # which of their columns are numbers of symbols
_Numbers = npt.NDArray[np.int64]


def moved_vectors(store: CodeStore, before: Generation, after: Generation) -> MatrixRow | None:
    """Write the vectors that *before* has by now into the folder of *after*; None if it has none that can be read."""
    row = store.matrix(before.folder.name)
    if row is None:
        return None
    try:
        matrix = VectorMatrix.open(matrix_folder(before.folder, row.serial), model=row.model)
    except StoreCorrupt:
        return None
    chunks = len(after.chunk_file)
    rows, scale = np.zeros((chunks, matrix.rows.shape[1]), dtype=np.int8), np.zeros(chunks, dtype=np.float32)
    state = states(after, None)
    former = states(before, matrix)
    old, new = _chunks(before, after)
    there = old < len(matrix.state)
    old, new = old[there], new[there]
    rows[new], scale[new], state[new] = matrix.rows[old], matrix.scale[old], former[old]
    target = matrix_folder(after.folder, 1)
    shutil.rmtree(target, ignore_errors=True)
    write_matrix(target, VectorMatrix(row.model, rows, scale, state))
    counts = {
        name: int((state == each).sum())
        for name, each in (
            ("embedded", VectorState.PRESENT), ("skipped", VectorState.SKIPPED), ("failed", VectorState.FAILED)
        )
    }  # fmt: skip
    return MatrixRow(serial=1, model=row.model, **counts)


def moved_graph(store: CodeStore, before: Generation, after: Generation) -> GraphInfo | None:
    """Write the graph of *before* into the folder of *after*; None if it has none, or not of its newest state."""
    info = store.graph(before.folder.name)
    if info is None or info.patch != before.info.patches or not (before.folder / GRAPH_NAME).is_file():
        return None
    symbols, files = _symbols(before, after), _files(before, after)
    path = after.folder / GRAPH_NAME
    with (
        closing(connect_immutable(before.folder / GRAPH_NAME)) as old,
        storage_errors(path),
        store_errors(path),
        closing(sqlite3.connect(path, isolation_level=None)) as new,
    ):
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE"):
            new.execute(f"PRAGMA {pragma}")
        new.executescript(GRAPH)
        new.execute("BEGIN")
        for table, columns in _TABLES.items():
            for rows in _read(old, table):
                for column in columns:
                    moved = _moved(np.array([row[column] for row in rows], dtype=np.int64), symbols, files)
                    for row, number in zip(rows, moved.tolist(), strict=True):
                        row[column] = number
                marks = ",".join("?" * len(rows[0]))
                new.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)  # noqa: S608 - one of three
        if info.recipe == GRAPH_RECIPE:  # older ones counted nothing
            new.executemany("INSERT INTO families VALUES (?, ?, ?, ?)", old.execute("SELECT * FROM families"))
        packed = {row[0]: row[1] for row in old.execute("SELECT name, data FROM packed")}
        new.executemany("INSERT INTO packed VALUES (?, ?)", _repacked(packed, symbols, files).items())
        new.execute("COMMIT")
        new.executescript(GRAPH_INDEXES)
    return msgspec.structs.replace(info, patch=after.info.patches)


def _repacked(packed: Mapping[str, bytes], symbols: _Numbers, files: _Numbers) -> dict[str, bytes]:
    """Return the edges as arrays and how central each file is, *packed*, under the new numbers."""
    moved = {
        name: _moved(np.frombuffer(packed[name], dtype=COLUMNS[name]).astype(np.int64), symbols, files) for name in _ENDS
    }
    ranks = np.frombuffer(packed[CENTRALITY], dtype=np.float32)
    central = np.zeros(int(files.max(initial=-1)) + 1, dtype=np.float32)
    central[files[files >= 0]] = ranks[files >= 0]
    return {
        **packed,
        **{name: column.astype(COLUMNS[name]).tobytes() for name, column in moved.items()},
        CENTRALITY: central.tobytes(),
    }


def _moved(numbers: _Numbers, symbols: _Numbers, files: _Numbers) -> _Numbers:
    return np.where(numbers < 0, -1 - files[-1 - numbers], symbols[numbers])


def _read(conn: sqlite3.Connection, table: str) -> Iterator[list[list[object]]]:
    cursor = conn.execute(f"SELECT * FROM {table}")  # noqa: S608 - one of three
    while rows := cursor.fetchmany(_ROWS):
        yield [list(row) for row in rows]


def _chunks(before: Generation, after: Generation) -> tuple[_Numbers, _Numbers]:
    """Return the chunks of *before*, and the same ones' numbers in *after*."""
    pairs = [(before.files.by_path[path], number) for path, number in after.files.by_path.items()]
    bounds, others = before.files.first_chunk, after.files.first_chunk
    old = [np.arange(bounds[one], bounds[one + 1]) for one, _ in pairs]
    new = [np.arange(others[two], others[two + 1]) for _, two in pairs]
    return np.concatenate(old).astype(np.int64), np.concatenate(new).astype(np.int64)


def _files(before: Generation, after: Generation) -> _Numbers:
    """Return by number in *before* the number in *after*, -1 for what is no more."""
    moved = np.full(before.files.end, -1, dtype=np.int64)
    for path, number in after.files.by_path.items():
        moved[before.files.by_path[path]] = number
    return moved


def _symbols(before: Generation, after: Generation) -> _Numbers:
    """Return by number in *before* the number in *after*: a file's symbols come in the same order in both."""
    files = _files(before, after)
    with closing(open_tables(before.folder)) as old, closing(open_tables(after.folder)) as new:
        firsts = dict(new.execute("SELECT id, first_symbol FROM files").fetchall())
        former = dict(old.execute("SELECT id, first_symbol FROM files").fetchall())
        rows = old.execute("SELECT id, file FROM symbols").fetchall()
    moved = np.zeros(max((row[0] + 1 for row in rows), default=0), dtype=np.int64)
    for number, file in rows:
        moved[number] = firsts[int(files[file])] + number - former[file]
    return moved
