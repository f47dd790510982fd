"""The vectors of one project, whichever repository, branch or generation their blob is in. Imported by the worker only.

LanceDB is where they are kept; searches read `store.matrix`. LanceDB syncs nothing itself, so a version of a table counts
only once the file system was synced and ``project.db`` says so: on opening, whatever came after that is undone.
LanceDB and pyarrow are loaded when a table is first opened: they take more time and memory than the rest of the worker.
"""

import importlib
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from appliance.base.durable import is_full, make_directory, sync_filesystem
from appliance.base.log import get
from appliance.codeintel.store.code import CodeStore
from appliance.errors import DiskFull, StorageFault

if TYPE_CHECKING:
    import lancedb

_SCAN_ROWS = 4096
_COMPACT_ABOVE = 24  # fragments: one is added with every commit
_FOR_EVER = timedelta(days=36_500)
_FORMER_KEPT = timedelta(hours=1)
_DELETED_AT_ONCE = 500  # keys
_SOUGHT_AT_ONCE = 500  # keys; for more all is read

_log = get("codeintel.vectors")


@dataclass(frozen=True, slots=True)
class VectorBatch:
    """Some stored vectors: chunk ``ordinals[i]`` of the blob ``keys[i]`` has ``rows[i] * scale[i]``."""

    keys: Sequence[str]
    ordinals: Sequence[int]
    rows: npt.NDArray[np.int8]
    scale: npt.NDArray[np.float32]


class VectorStore:
    """The table of one model. Used by one thread of one process at a time."""

    def __init__(self, store: CodeStore, *, model: str, dimensions: int) -> None:
        self._store = store
        self._model = model
        self._dimensions = dimensions
        self._folder = make_directory(store.paths.vectors)
        self._name = re.sub(r"[^A-Za-z0-9_.-]", "_", f"{model}.{dimensions}")
        self._arrow = pa = importlib.import_module("pyarrow")
        self._schema = pa.schema([
            ("key", pa.string()),
            ("ordinal", pa.int32()),
            ("scale", pa.float32()),
            ("vector", pa.list_(pa.int8(), dimensions)),
        ])  # fmt: skip
        self._table = self._open()

    def read(self, keys: AbstractSet[str] | None = None) -> Iterator[VectorBatch]:
        """Yield everything stored, in batches of a few thousand; with *keys* what is of those, and maybe of others.

        What cannot be read any more is forgotten.
        """
        if keys is not None and not keys:
            return
        try:
            yield from self._batches(keys)
        except RuntimeError as exc:
            self._table = self._afresh(exc)

    def _batches(self, keys: AbstractSet[str] | None) -> Iterator[VectorBatch]:
        query = self._table.search()
        if keys is not None and len(keys) <= _SOUGHT_AT_ONCE:
            query = query.where(_among(sorted(keys)))
        for batch in query.to_batches(batch_size=_SCAN_ROWS):
            rows = batch.column("vector").flatten().to_numpy(zero_copy_only=False).reshape(-1, self._dimensions)
            yield VectorBatch(
                batch.column("key").to_pylist(),
                batch.column("ordinal").to_pylist(),
                rows,
                batch.column("scale").to_numpy(zero_copy_only=False),
            )

    def add(self, batch: VectorBatch) -> None:
        """Append *batch*. It is not durable before `commit`."""
        pa = self._arrow
        values = pa.array(np.ascontiguousarray(batch.rows).ravel(), type=pa.int8())
        table = pa.table(
            {
                "key": pa.array(batch.keys, type=pa.string()),
                "ordinal": pa.array(batch.ordinals, type=pa.int32()),
                "scale": pa.array(batch.scale, type=pa.float32()),
                "vector": pa.FixedSizeListArray.from_arrays(values, self._dimensions),
            },
            schema=self._schema,
        )
        with self._writing():
            self._table.add(table)

    def commit(self) -> None:
        """Make everything added so far survive a power cut."""
        sync_filesystem(self._folder)
        self._store.set_vector_version(self._name, self._table.version)

    def compact(self) -> None:
        """Join the many small pieces that commits leave; the former version goes only once the new one is durable."""
        stats = cast("Mapping[str, Mapping[str, int]]", self._table.stats())  # typed as a class, returned as a dict
        if stats["fragment_stats"]["num_fragments"] <= _COMPACT_ABOVE:
            return
        with self._writing():
            self._table.optimize(cleanup_older_than=_FOR_EVER)
            self.commit()
            self._table.optimize(cleanup_older_than=_FORMER_KEPT)
        self.commit()

    def _open(self) -> "lancedb.table.Table":
        known = self._store.vector_version(self._name)
        if not known:
            return self._afresh(None)
        try:
            table = _tables(self._store).open_table(self._name)
            if table.version != known:
                table.checkout(known)
                table.restore()
        except (RuntimeError, ValueError) as exc:
            return self._afresh(exc)
        return table

    def _afresh(self, reason: Exception | None) -> "lancedb.table.Table":
        """Start over: vectors are derived, what cannot be read is embedded again. Not for want of space, though."""
        if reason is not None:
            if is_full(self._folder):
                raise self._fault(reason) from reason
            _log.warning("vectors.unreadable", model=self._model, reason=type(reason).__name__)
        shutil.rmtree(self._folder / f"{self._name}.lance", ignore_errors=True)
        with self._writing():
            return _tables(self._store).create_table(self._name, schema=self._schema)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn what LanceDB raises for a failed write into `DiskFull` and `StorageFault`."""
        try:
            yield
        except (RuntimeError, ValueError, OSError) as exc:
            raise self._fault(exc) from exc

    def _fault(self, exc: Exception) -> StorageFault:
        if is_full(self._folder):
            return DiskFull(f"No space is left for {self._folder}.", remedy="Free space, then try again.")
        return StorageFault(f"The vectors in {self._folder} cannot be written: {exc}.", path=str(self._folder))


def prune(store: CodeStore, *, used: AbstractSet[str]) -> int:
    """Remove every vector, of any model, whose key is not *used*, from the disk too; return how many keys that were.

    Call it only while no `VectorStore` of the project is open.
    """
    gone = 0
    for name, version in store.vector_tables().items():
        path = store.paths.vectors / f"{name}.lance"
        try:
            gone += _pruned(store, name, version, used)
        except (RuntimeError, ValueError, OSError) as exc:  # derived, and unreadable: it would be started over anyway
            _log.warning("vectors.unreadable", model=name, reason=type(exc).__name__)
            store.forget_vector_table(name)
            shutil.rmtree(path, ignore_errors=True)
    return gone


def _pruned(store: CodeStore, name: str, version: int, used: AbstractSet[str]) -> int:
    table = _tables(store).open_table(name)
    if table.version != version:
        table.checkout(version)
        table.restore()
    stored = {key for batch in table.search().select(["key"]).to_batches() for key in batch.column("key").to_pylist()}
    gone = sorted(stored - used)
    if gone and len(gone) == len(stored):
        store.forget_vector_table(name)
        shutil.rmtree(store.paths.vectors / f"{name}.lance", ignore_errors=True)
        return len(gone)
    for start in range(0, len(gone), _DELETED_AT_ONCE):
        table.delete(_among(gone[start : start + _DELETED_AT_ONCE]))
    if gone:
        table.optimize(cleanup_older_than=_FOR_EVER)
        sync_filesystem(store.paths.vectors)
        store.set_vector_version(name, table.version)
        table.optimize(cleanup_older_than=timedelta(milliseconds=1))
        sync_filesystem(store.paths.vectors)
        store.set_vector_version(name, table.version)
    return len(gone)


def _tables(store: CodeStore) -> "lancedb.DBConnection":
    """Open the folder of all tables of *store*."""
    connection: lancedb.DBConnection = importlib.import_module("lancedb").connect(str(store.paths.vectors))
    return connection


def _among(keys: Sequence[str]) -> str:
    """Return the condition that a row's key is one of *keys*."""
    return "key IN (" + ", ".join("'" + key.replace("'", "''") + "'" for key in keys) + ")"
