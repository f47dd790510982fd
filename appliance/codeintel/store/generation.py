"""A generation: everything that searches read of one repository at one commit, written once and never changed after that.

It was built whole, or is a patch over one that was: then its folder holds links to that one's files, and what differs beside
them. Numbers of files, chunks and symbols stay from patch to patch; `Files` and ``dead`` say which are no more.
Only its vector matrix is filled in behind: each newer one is a folder of its own beside the older.
"""

import copy
import functools
import os
import sqlite3
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from appliance.base.sqlite import Guarded
from appliance.codeintel.source.base import LeftOut
from appliance.codeintel.source.secrets import is_masked
from appliance.codeintel.store.chunks import Chunks
from appliance.codeintel.store.files import Files
from appliance.codeintel.store.graph import CallGraph
from appliance.codeintel.store.latent import LatentSpace
from appliance.codeintel.store.layers import WHOLE_NAME, is_patched, open_tables
from appliance.codeintel.store.lexical import LexicalIndex
from appliance.codeintel.store.matrix import VectorMatrix
from appliance.codeintel.store.standing import Standing
from appliance.codeintel.store.symbols import Gone, SymbolRow, SymbolTable
from appliance.codeintel.store.text import TextIndex, Unpacked
from appliance.errors import StoreCorrupt
from appliance.ids import BlobId, CommitId, GenerationId, RepoId

_REMEDY = "Index the repository again."
_Key = tuple[tuple[int, ...], ...]


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
    torn: int = 0  # files that are no syntax in places
    secrets: int = 0  # that were found in files
    policy: str = ""  # of secrets, by `source.secrets.policy_of`
    vectors: int = 0
    vectors_skipped: int = 0
    vectors_failed: int = 0
    patches: int = 0  # laid, one over the other, over a generation that was built whole
    worn: int = 0  # chunks that they added, or left dead
    added_languages: str = ""  # beside those that are built in, by `parse.added.Languages.fingerprint`

    @property
    def completeness(self) -> float:
        """The share of the chunks that should have a vector which do have one, 0 to 1."""
        wanted = self.chunks - self.vectors_skipped
        return self.vectors / wanted if wanted > 0 else 1.0


class Finding(NamedTuple):
    """Where a secret of some kind was found."""

    path: str
    line: int
    kind: str


def vector_key(blob: str, hint: str, info: GenerationInfo, *, secret: bool) -> str:
    """Return what the vectors of a blob's chunks are stored under; *secret*: one was left in its text, and embedded."""
    return f"{blob}/{hint}/{info.parser_version}{'/open' if secret else ''}"


@dataclass(frozen=True, slots=True)
class _Below:
    """The lowest layer of a generation, which the patches over it share. ``key`` tells it from others, and if damaged."""

    key: _Key
    files: Files
    chunks: Chunks
    lexical: LexicalIndex
    latent: LatentSpace | None

    @classmethod
    def load(cls, folder: Path, conn: sqlite3.Connection, key: _Key) -> "_Below":
        chunks = Chunks.load(folder)
        files = Files.load(conn, chunks=len(chunks.file))
        return cls(
            key, files, chunks, LexicalIndex.open(folder / "lexical", chunks.file), LatentSpace.open(folder / "latent")
        )


class Generation:
    """A read-only handle; safe to use from many threads, cheap to keep, readable even after its folder was removed.

    What it has in common with *like* is not read again.
    """

    def __init__(
        self,
        folder: Path,
        info: GenerationInfo,
        *,
        vectors: VectorMatrix | None = None,
        like: "Generation | None" = None,
        unpacked: Unpacked | None = None,
    ) -> None:
        conn = open_tables(folder)
        self._db = Guarded(conn)
        weakref.finalize(self._db, conn.close)  # shared with copies; closed when the last reader lets go
        self.info = info
        self.folder = folder
        self.vectors = vectors
        self.graph: CallGraph | None = None
        key, below = _key(folder), None if like is None else like._below  # noqa: SLF001 - of its own kind
        with self._db.read() as tables:
            self._below: _Below = below if below is not None and below.key == key else _Below.load(folder, tables, key)
            self._lay(tables, self._below, patched=is_patched(folder))
            self.gone = Gone(self.files)
        self.standing = Standing(self.files.paths)
        self.symbols = SymbolTable(self._db, self.files)
        self.text = TextIndex(folder, self.files.blobs, unpacked=unpacked or Unpacked())
        alive = len(self.chunk_file) - int(self.dead.sum())
        if (info.chunks, info.files, info.patches > 0) != (alive, len(self.files), is_patched(folder)):
            raise StoreCorrupt(f"The generation in {folder} is not what was published.", remedy=_REMEDY)

    def _lay(self, tables: sqlite3.Connection, below: _Below, *, patched: bool) -> None:
        """Put together what is *below* and, where there is one, the patch in *tables*."""
        self._chunks = below.chunks.patched(tables) if patched else below.chunks
        chunks = self._chunks
        self.chunk_file, self.chunk_start, self.chunk_end = chunks.file, chunks.start, chunks.end
        self.chunk_symbol_id = chunks.symbol  # -1: none
        self.files, self.lexical, self.latent = below.files, below.lexical, below.latent
        self.dead: npt.NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        if patched:
            self.files = below.files.patched(tables, chunks=len(chunks.file))
            self.dead = ~self.files.alive[chunks.file]
            self.lexical = below.lexical.patched(self._db, chunks.file, chunks=~self.dead, files=self.files.alive)
            self.latent = None if below.latent is None else below.latent.patched(chunks.latent, dead=self.dead)

    def with_vectors(self, vectors: VectorMatrix | None, *, info: GenerationInfo) -> "Generation":
        """Return this generation with *vectors* instead of the ones it has; everything else is shared."""
        most, patched = len(self.chunk_file), len(self.dead) > 0
        if vectors is not None and (len(vectors.state) > most if patched else len(vectors.state) != most):
            raise StoreCorrupt(f"The vectors of {self.folder} are not those of its chunks.", remedy=_REMEDY)
        other = copy.copy(self)
        other.vectors = None if vectors is None else replace(vectors, dead=self.dead)
        other.info = info
        return other

    def with_graph(self, graph: CallGraph | None) -> "Generation":
        """Return this generation with *graph*; everything else is shared."""
        other = copy.copy(self)
        other.graph = graph
        return other

    def changed_since(self, patch: int) -> int:
        """Return how many files are not what they were when there were only *patch* patches."""
        if patch >= self.info.patches:
            return 0
        with self._db.read() as conn:
            query = (
                "SELECT count(DISTINCT path) FROM"
                " (SELECT (SELECT f.path FROM every_file f WHERE f.id = d.file) AS path FROM dead d WHERE d.patch > ?1"
                " UNION ALL SELECT path FROM patch.files WHERE patch > ?1)"
            )
            return int(conn.execute(query, (patch,)).fetchone()[0])

    def is_intact(self) -> bool:
        """Return whether the files of the lowest layer look as they did when they were read."""
        return _key(self.folder) == self._below.key

    def chunk_symbol(self, chunk: int) -> SymbolRow | None:
        """Return the innermost definition that holds *chunk*, or None for text at the top level."""
        number = int(self.chunk_symbol_id[chunk])
        return None if number < 0 else self.symbols.rows((number,))[0]

    def chunk_defines(self, chunk: int) -> tuple[SymbolRow, ...]:
        """Return the definitions whose head stands in *chunk*, in the order of lines."""
        return tuple(self.symbols.rows(self.chunk_defines_ids(chunk)))

    def chunk_defines_ids(self, chunk: int) -> list[int]:
        """Return the ids of `chunk_defines` without looking them up."""
        start, end = self._chunks.defines_start[chunk : chunk + 2].tolist()
        defined: list[int] = self._chunks.defines[start:end].tolist()
        return defined

    def files_of(self, blob: BlobId) -> Sequence[int]:
        """Return the numbers of the files that have *blob*, in their order."""
        first, others = self._by_blob
        return others.get(blob) or ((first[blob],) if blob in first else ())

    @functools.cached_property
    def _by_blob(self) -> tuple[dict[BlobId, int], dict[BlobId, list[int]]]:
        """By blob the first file that has it, and all of them where they are several: few are copied."""
        first: dict[BlobId, int] = {}
        others: dict[BlobId, list[int]] = {}
        for number, blob in enumerate(self.files.blobs):
            known = first.setdefault(blob, number)
            if known != number:
                others.setdefault(blob, [known]).append(number)
        return first, others

    def chunks_define_ids(self, chunks: npt.NDArray[np.int64], *, most: int) -> list[list[int]]:
        """Return for each of *chunks* the first *most* of its `chunk_defines_ids`."""
        starts = self._chunks.defines_start[chunks]
        ends = np.minimum(starts + most, self._chunks.defines_start[chunks + 1])
        defines = self._chunks.defines
        bounds = zip(starts.tolist(), ends.tolist(), strict=True)
        return [defines[start:end].tolist() if start < end else [] for start, end in bounds]

    def vector_key(self, file: int) -> str:
        """Return what the vectors of the chunks of *file* are stored under: the same for every copy of its blob."""
        return vector_key(self.files.blobs[file], self.files.hints[file], self.info, secret=file in self._open_files)

    def secrets(self, *, offset: int = 0, limit: int = 100) -> list[Finding]:
        """Return which secrets were found, in the order of paths and lines; never what they are."""
        query = (
            "SELECT f.path, s.line, s.kind FROM secrets s JOIN files f ON f.id = s.file ORDER BY f.path, s.line, s.kind"
            " LIMIT ? OFFSET ?"
        )
        with self._db.read() as conn:
            rows = conn.execute(query, (limit, offset)).fetchall()
        return [Finding(os.fsdecode(row[0]), row[1], row[2]) for row in rows]

    @functools.cached_property
    def _open_files(self) -> frozenset[int]:
        """The files whose secrets were left as they are."""
        if is_masked(self.info.policy):
            return frozenset()
        with self._db.read() as conn:
            return frozenset(row[0] for row in conn.execute("SELECT DISTINCT file FROM secrets"))

    def problem(self, file: int) -> str:
        """Return why the syntax of *file* could not be used, "" if it was."""
        with self._db.read() as conn:
            return str(conn.execute("SELECT problem FROM files WHERE id = ?", (file,)).fetchone()[0])

    def torn(self, file: int) -> int:
        """Return the percentage of the text of *file* that is no syntax: what stands there is not known."""
        with self._db.read() as conn:
            return int(conn.execute("SELECT torn FROM files WHERE id = ?", (file,)).fetchone()[0])

    def problems(self, *, limit: int) -> list[str]:
        """Return the paths of the first files whose syntax could not be used."""
        with self._db.read() as conn:
            rows = conn.execute("SELECT path FROM files WHERE problem <> '' ORDER BY path LIMIT ?", (limit,)).fetchall()
        return [os.fsdecode(row[0]) for row in rows]

    def lacks_blobs(self) -> bool:
        """Return whether a file of the tree could not be read: it may be there another time."""
        query = "SELECT 1 FROM left_out WHERE reason = 'unreadable' AND NOT beside LIMIT 1"
        with self._db.read() as conn:
            return conn.execute(query).fetchone() is not None

    def left_out_named(self, names: Sequence[str], *, limit: int) -> list[LeftOut]:
        """Return the first files that this generation does not hold and whose path is, or ends with, one of *names*.

        In a name ``*``, ``?`` and ``[…]`` stand for what they do in a shell, over slashes too.
        """
        fits = " OR ".join("CAST(path AS TEXT) GLOB ? OR CAST(path AS TEXT) GLOB ?" for _ in names)
        values = [pattern.encode(errors="replace").decode() for name in names for pattern in (name, f"*/{name}")]
        query = f"SELECT path, reason, detail FROM left_out WHERE {fits} ORDER BY path LIMIT ?"  # noqa: S608 - marks alone
        with self._db.read() as conn:
            rows = conn.execute(query, (*values, limit)).fetchall()
        return [LeftOut(os.fsdecode(row[0]), row[1], row[2]) for row in rows]

    def left_out(self, *, reason: str | None = None, offset: int = 0, limit: int = 100) -> list[LeftOut]:
        """Return files that this generation does not hold, by path; with *reason* only those left out for it."""
        where, values = ("", ()) if reason is None else ("WHERE reason = ? ", (reason,))
        with self._db.read() as conn:
            rows = conn.execute(
                f"SELECT path, reason, detail FROM left_out {where}ORDER BY path, id LIMIT ? OFFSET ?",  # noqa: S608 - two literals
                (*values, limit, offset),
            ).fetchall()
        return [LeftOut(os.fsdecode(row[0]), row[1], row[2]) for row in rows]

    def left_out_at(self, path: str) -> LeftOut | None:
        """Return why this generation does not hold the file at *path*, or a folder around it; None if it was not there."""
        name = os.fsencode(path)
        named = [name, *(name[: end + 1] for end, sign in enumerate(name) if sign == ord("/"))]
        marks = ", ".join("?" * len(named))
        with self._db.read() as conn:
            row = conn.execute(
                f"SELECT path, reason, detail FROM left_out WHERE path IN ({marks}) LIMIT 1",  # noqa: S608 - question marks
                named,
            ).fetchone()
        return None if row is None else LeftOut(os.fsdecode(row[0]), row[1], row[2])


def _key(folder: Path) -> _Key:
    """Return how the files of the lowest layer look: another one's, or damaged ones, look otherwise."""
    try:
        with os.scandir(folder) as entries:
            there = [*entries]
        looks = [(folder / WHOLE_NAME).stat(), *(entry.stat() for entry in there if entry.name.endswith(".npy"))]
        looks += [look for entry in there if entry.name.startswith("l") and entry.is_dir() for look in _looks(entry.path)]
    except OSError as exc:
        raise StoreCorrupt(f"The generation in {folder} cannot be opened.", remedy=_REMEDY) from exc
    return tuple(sorted((look.st_dev, look.st_ino, look.st_size, look.st_mtime_ns) for look in looks))


def _looks(folder: str) -> Iterator[os.stat_result]:
    """Yield how every file in *folder* looks, however deep it lies."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _looks(entry.path)
            else:
                yield entry.stat()
