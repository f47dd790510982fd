"""The files of one generation, in memory: a repository has thousands of files where it has millions of symbols."""

import os
import sqlite3
from bisect import insort
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from appliance.ids import BlobId

_COLUMNS: Final = "path, blob, hint, language, encoding, flags, lines, first_chunk, first_symbol"


@dataclass(frozen=True, slots=True)
class Files:
    """Columns, one entry a number that a file has or had. ``flags`` holds `source.base.FileFlags`.

    The chunks of file i are ``first_chunk[i]`` up to but not including ``first_chunk[i + 1]``, and its symbols begin with
    ``first_symbol[i]``. ``rank`` has its place in the order of paths. A number that no file has any more is not ``alive``,
    and its names are empty: go through ``by_path``, in the order of paths, for what is there.
    """

    paths: list[str]
    blobs: list[BlobId]
    hints: list[str]
    languages: list[str]
    encodings: list[str]
    flags: npt.NDArray[np.uint8]
    lines: npt.NDArray[np.int32]
    first_chunk: npt.NDArray[np.int32]
    first_symbol: npt.NDArray[np.int64]
    rank: npt.NDArray[np.int32]
    alive: npt.NDArray[np.bool_]
    by_path: dict[str, int]

    def __len__(self) -> int:
        return len(self.by_path)

    @property
    def numbers(self) -> list[int]:
        """The numbers of the files that are there, in the order of paths."""
        return list(self.by_path.values())

    @property
    def end(self) -> int:
        """The number after the last one that was ever given."""
        return len(self.paths)

    def number(self, path: str) -> int | None:
        """Return the number of the file at *path*, or None if this generation has no such file."""
        return self.by_path.get(path)

    def file_of(self, numbers: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return the file of each of *numbers*: that of a symbol, there or not, and of -1 - f file f itself."""
        asked = np.asarray(numbers, dtype=np.int64)
        files: npt.NDArray[np.int64] = np.where(
            asked < 0, -1 - asked, np.searchsorted(self.first_symbol, asked, side="right") - 1
        )
        return files

    @classmethod
    def load(cls, conn: sqlite3.Connection, *, chunks: int) -> "Files":
        """Read the files of the lowest layer, which has *chunks* chunks; they are in the order of paths."""
        rows = conn.execute(f"SELECT {_COLUMNS} FROM main.files ORDER BY id").fetchall()  # noqa: S608 - a literal
        return _read(rows, chunks=chunks, known={})

    def patched(self, conn: sqlite3.Connection, *, chunks: int) -> "Files":
        """Return these files as the patch in *conn* leaves them, with *chunks* chunks in all."""
        rows = conn.execute(f"SELECT {_COLUMNS} FROM patch.files ORDER BY id").fetchall()  # noqa: S608 - a literal
        added = _read(rows, chunks=chunks, known={word: word for word in set(self.languages)})
        dead = [row[0] for row in conn.execute("SELECT file FROM patch.dead")]
        paths, blobs = [*self.paths, *added.paths], [*self.blobs, *added.blobs]
        columns = [
            [*self.hints, *added.hints], [*self.languages, *added.languages], [*self.encodings, *added.encodings]
        ]  # fmt: skip
        alive = np.concatenate((self.alive, added.alive))
        alive[dead] = False
        by_path = _with(self.by_path, {path: n for n, path in enumerate(added.paths, start=self.end) if alive[n]})
        for number in dead:
            if by_path.get(paths[number]) == number:
                del by_path[paths[number]]
            paths[number], blobs[number] = "", BlobId("")
            for column in columns:
                column[number] = ""
        return Files(
            paths=paths,
            blobs=blobs,
            hints=columns[0],
            languages=columns[1],
            encodings=columns[2],
            flags=np.concatenate((self.flags, added.flags)),
            lines=np.concatenate((self.lines, added.lines)),
            first_chunk=np.concatenate((self.first_chunk[:-1], added.first_chunk)),
            first_symbol=np.concatenate((self.first_symbol, added.first_symbol)),
            rank=_ranks(by_path, len(paths)),
            alive=alive,
            by_path=by_path,
        )


def _read(rows: list[sqlite3.Row], *, chunks: int, known: dict[str, str]) -> Files:
    """Return *rows*; *known* are a few dozen different words, held once."""
    paths = [os.fsdecode(row[0]) for row in rows]
    by_path = {path: number for number, path in enumerate(paths)}
    return Files(
        paths=paths,
        blobs=[BlobId(row[1]) for row in rows],
        hints=[known.setdefault(row[2], row[2]) for row in rows],
        languages=[known.setdefault(row[3], row[3]) for row in rows],
        encodings=[known.setdefault(row[4], row[4]) for row in rows],
        flags=np.array([row[5] for row in rows], dtype=np.uint8),
        lines=np.array([row[6] for row in rows], dtype=np.int32),
        first_chunk=np.array([*(row[7] for row in rows), chunks], dtype=np.int32),
        first_symbol=np.array([row[8] for row in rows], dtype=np.int64),
        rank=_ranks(by_path, len(rows)),
        alive=np.ones(len(rows), dtype=np.bool_),
        by_path=by_path,
    )


def _ranks(by_path: dict[str, int], count: int) -> npt.NDArray[np.int32]:
    ranks = np.zeros(count, dtype=np.int32)
    ranks[list(by_path.values())] = np.arange(len(by_path))
    return ranks


def _with(by_path: dict[str, int], added: dict[str, int]) -> dict[str, int]:
    """Return *by_path*, which is in the order of paths, with those *added*, in that order too."""
    together = by_path | added  # in which a path that was there keeps its place
    if not (new := added.keys() - by_path.keys()):
        return together
    order = list(by_path)
    for path in new:
        insort(order, path, key=os.fsencode)
    return {path: together[path] for path in order}
