"""The files of one generation, in memory: a repository has thousands of files where it has millions of symbols."""

import os
import sqlite3
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from appliance.ids import BlobId


@dataclass(frozen=True, slots=True)
class Files:
    """Columns, one entry a number that a file has or had. ``flags`` holds `source.base.FileFlags`.

    The chunks of file i are ``first_chunk[i]`` up to but not including ``first_chunk[i + 1]``. A number that no file has any
    more is not ``alive``, and its names are empty: go through ``by_path``, in the order of paths, for what is there.
    """

    paths: list[str]
    blobs: list[BlobId]
    hints: list[str]
    languages: list[str]
    encodings: list[str]
    flags: npt.NDArray[np.uint8]
    lines: npt.NDArray[np.int32]
    first_chunk: npt.NDArray[np.int32]
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

    @classmethod
    def load(cls, conn: sqlite3.Connection, *, chunks: int) -> "Files":
        """Read the files of a generation that has *chunks* chunks, dead ones too, by `store.layers`."""
        rows = conn.execute(
            "SELECT path, blob, hint, language, encoding, flags, lines, first_chunk FROM every_file ORDER BY id"
        ).fetchall()
        dead = {row[0] for row in conn.execute("SELECT file FROM dead")}
        known: dict[str, str] = {}  # a few dozen different words, held once
        columns = [[known.setdefault(row[place], row[place]) for row in rows] for place in (2, 3, 4)]
        paths, blobs = [os.fsdecode(row[0]) for row in rows], [BlobId(row[1]) for row in rows]
        for number in dead:
            paths[number], blobs[number] = "", BlobId("")
            for column in columns:
                column[number] = ""
        numbers = sorted(set(range(len(rows))) - dead, key=lambda number: bytes(rows[number][0]))
        alive = np.zeros(len(rows), dtype=np.bool_)
        alive[numbers] = True
        return cls(
            paths=paths,
            blobs=blobs,
            hints=columns[0],
            languages=columns[1],
            encodings=columns[2],
            flags=np.array([row[5] for row in rows], dtype=np.uint8),
            lines=np.array([row[6] for row in rows], dtype=np.int32),
            first_chunk=np.array([*(row[7] for row in rows), chunks], dtype=np.int32),
            alive=alive,
            by_path={paths[number]: number for number in numbers},
        )
