"""A generation: everything that searches read of one repository at one commit, written once and never changed after that.

Only its vector matrix is filled in behind: each newer one is a folder of its own beside the older.
"""

import copy
import os
import weakref
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from appliance.base.sqlite import Guarded, connect_immutable
from appliance.codeintel.source.base import LeftOut
from appliance.codeintel.store.files import Files
from appliance.codeintel.store.graph import CallGraph
from appliance.codeintel.store.latent import LatentSpace
from appliance.codeintel.store.lexical import LexicalIndex
from appliance.codeintel.store.matrix import VectorMatrix
from appliance.codeintel.store.schema import ARRAYS
from appliance.codeintel.store.symbols import SymbolRow, SymbolTable
from appliance.errors import StoreCorrupt
from appliance.ids import CommitId, GenerationId, RepoId

_REMEDY = "Index the repository again."


class GenerationInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a generation holds, and of which commit. ``vectors`` counts the chunks that have one by now.

    ``vectors_skipped`` counts the chunks that are never meant to have one (tests), ``vectors_failed`` those that should
    and could not.
    """

    id: GenerationId
    repo: RepoId
    commit: CommitId
    branch: str
    tree: str
    created_at: float
    files: int
    lines: int
    chunks: int
    left_out: Mapping[str, int]
    encodings: Mapping[str, int]
    languages: Mapping[str, int]
    problems: int  # files whose syntax could not be used; their text is indexed
    parser_version: int
    vectors: int = 0
    vectors_skipped: int = 0
    vectors_failed: int = 0

    @property
    def completeness(self) -> float:
        """The share of the chunks that should have a vector which do have one, 0 to 1."""
        wanted = self.chunks - self.vectors_skipped
        return self.vectors / wanted if wanted > 0 else 1.0


class Generation:
    """A read-only handle; safe to use from many threads, cheap to keep, readable even after its folder was removed."""

    def __init__(self, folder: Path, info: GenerationInfo, *, vectors: VectorMatrix | None = None) -> None:
        arrays = {name: _mapped(folder / f"{name}.npy") for name in ARRAYS}
        self.info = info
        self.folder = folder
        self.vectors = vectors
        self.graph: CallGraph | None = None
        self.chunk_file: npt.NDArray[np.int32] = arrays["chunk_file"]
        self.chunk_start: npt.NDArray[np.int32] = arrays["chunk_start"]
        self.chunk_end: npt.NDArray[np.int32] = arrays["chunk_end"]
        self.chunk_symbol_id: npt.NDArray[np.int32] = arrays["chunk_symbol"]  # -1: none
        self._defines_start = arrays["defines_start"]
        self._defines = arrays["defines"]
        conn = connect_immutable(folder / "generation.db")
        self._db = Guarded(conn)
        weakref.finalize(self._db, conn.close)  # shared with copies; closed when the last reader lets go
        with self._db.read() as rows:
            self.files = Files.load(rows, chunks=len(self.chunk_file))
        self.symbols = SymbolTable(self._db, self.files)
        self.lexical = LexicalIndex.open(folder / "lexical")
        self.latent = LatentSpace.open(folder / "latent")
        if info.chunks != len(self.chunk_file) or info.files != len(self.files):
            raise StoreCorrupt(f"The generation in {folder} is not what was published.", remedy=_REMEDY)

    def with_vectors(self, vectors: VectorMatrix | None, *, info: GenerationInfo) -> "Generation":
        """Return this generation with *vectors* instead of the ones it has; everything else is shared."""
        if vectors is not None and len(vectors.state) != len(self.chunk_file):
            raise StoreCorrupt(f"The vectors of {self.folder} are not those of its chunks.", remedy=_REMEDY)
        other = copy.copy(self)
        other.vectors = vectors
        other.info = info
        return other

    def with_graph(self, graph: CallGraph | None) -> "Generation":
        """Return this generation with *graph*; everything else is shared."""
        other = copy.copy(self)
        other.graph = graph
        return other

    def chunk_symbol(self, chunk: int) -> SymbolRow | None:
        """Return the innermost definition that holds *chunk*, or None for text at the top level."""
        number = int(self.chunk_symbol_id[chunk])
        return None if number < 0 else self.symbols.rows((number,))[0]

    def chunk_defines(self, chunk: int) -> tuple[SymbolRow, ...]:
        """Return the definitions whose head stands in *chunk*, in the order of lines."""
        return tuple(self.symbols.rows(self.chunk_defines_ids(chunk)))

    def chunk_defines_ids(self, chunk: int) -> list[int]:
        """Return the ids of `chunk_defines` without looking them up."""
        start, end = self._defines_start[chunk : chunk + 2]
        return [int(number) for number in self._defines[start:end]]

    def vector_key(self, file: int) -> str:
        """Return what the vectors of the chunks of *file* are stored under: the same for every copy of its blob."""
        return f"{self.files.blobs[file]}/{self.files.hints[file]}/{self.info.parser_version}"

    def problem(self, file: int) -> str:
        """Return why the syntax of *file* could not be used, "" if it was."""
        with self._db.read() as conn:
            return str(conn.execute("SELECT problem FROM files WHERE id = ?", (file,)).fetchone()[0])

    def problems(self, *, limit: int) -> list[str]:
        """Return the paths of the first files whose syntax could not be used."""
        with self._db.read() as conn:
            rows = conn.execute("SELECT path FROM files WHERE problem <> '' ORDER BY id LIMIT ?", (limit,)).fetchall()
        return [os.fsdecode(row[0]) for row in rows]

    def left_out(self, *, reason: str | None = None, offset: int = 0, limit: int = 100) -> list[LeftOut]:
        """Return files that this generation does not hold, by path; with *reason* only those left out for it."""
        where, values = ("", ()) if reason is None else ("WHERE reason = ? ", (reason,))
        with self._db.read() as conn:
            rows = conn.execute(
                f"SELECT path, reason, detail FROM left_out {where}ORDER BY id LIMIT ? OFFSET ?",  # noqa: S608 - two literals
                (*values, limit, offset),
            ).fetchall()
        return [LeftOut(os.fsdecode(row[0]), row[1], row[2]) for row in rows]


def _mapped(path: Path) -> npt.NDArray[np.int32]:
    try:
        array: npt.NDArray[np.int32] = np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError) as exc:
        raise StoreCorrupt(f"The file {path} of a generation cannot be read.", remedy=_REMEDY, path=str(path)) from exc
    return array
