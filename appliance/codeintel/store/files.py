"""The files of one generation, in memory: a repository has thousands of files where it has millions of symbols."""

import os
import sqlite3
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from appliance.ids import BlobId


@dataclass(frozen=True, slots=True)
class Files:
    """Columns, one entry a file, in the order of paths. ``flags`` holds `source.base.FileFlags`.

    The chunks of file i are ``first_chunk[i]`` up to but not including ``first_chunk[i + 1]``.
    """

    paths: list[str]
    blobs: list[BlobId]
    hints: list[str]
    languages: list[str]
    encodings: list[str]
    flags: npt.NDArray[np.uint8]
    lines: npt.NDArray[np.int32]
    first_chunk: npt.NDArray[np.int32]
    _numbers: dict[str, int] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._numbers.update({path: number for number, path in enumerate(self.paths)})

    def __len__(self) -> int:
        return len(self.paths)

    def number(self, path: str) -> int | None:
        """Return the index of the file at *path*, or None if this generation has no such file."""
        return self._numbers.get(path)

    @classmethod
    def load(cls, conn: sqlite3.Connection, *, chunks: int) -> "Files":
        """Read the files of a generation that has *chunks* chunks."""
        rows = conn.execute(
            "SELECT path, blob, hint, language, encoding, flags, lines, first_chunk FROM files ORDER BY id"
        ).fetchall()
        known: dict[str, str] = {}  # a few dozen different words, held once
        return cls(
            paths=[os.fsdecode(row[0]) for row in rows],
            blobs=[BlobId(row[1]) for row in rows],
            hints=[known.setdefault(row[2], row[2]) for row in rows],
            languages=[known.setdefault(row[3], row[3]) for row in rows],
            encodings=[known.setdefault(row[4], row[4]) for row in rows],
            flags=np.array([row[5] for row in rows], dtype=np.uint8),
            lines=np.array([row[6] for row in rows], dtype=np.int32),
            first_chunk=np.array([*(row[7] for row in rows), chunks], dtype=np.int32),
        )
