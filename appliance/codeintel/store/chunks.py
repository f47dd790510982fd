"""The chunks of one generation, in memory: arrays mapped from files, and after them what a patch added."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from appliance.codeintel.store.schema import ARRAYS
from appliance.errors import StoreCorrupt

_Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Chunks:
    """Columns, one entry a chunk. What chunk i defines is ``defines[defines_start[i] : defines_start[i + 1]]``."""

    file: _Numbers
    start: _Numbers
    end: _Numbers
    symbol: _Numbers
    defines_start: _Numbers
    defines: _Numbers
    latent: list[bytes]  # of the added ones: their rows in the latent space

    @classmethod
    def load(cls, folder: Path) -> "Chunks":
        """Map the chunks of the lowest layer of the generation in *folder*; raise `StoreCorrupt`."""
        file, start, end, symbol, defines_start, defines = (_mapped(folder / f"{name}.npy") for name in ARRAYS)
        return cls(file, start, end, symbol, defines_start, defines, [])

    def patched(self, conn: sqlite3.Connection) -> "Chunks":
        """Return these chunks and after them those that the patch in *conn* adds; which are dead, their files know."""
        rows = conn.execute("SELECT file, start_line, end_line, symbol FROM patch.chunks ORDER BY id").fetchall()
        added = np.array([tuple(row) for row in rows], dtype=np.int32).reshape(len(rows), 4)
        pairs = conn.execute("SELECT chunk, symbol FROM patch.defines ORDER BY chunk, symbol").fetchall()
        held = np.array([row[0] for row in pairs], dtype=np.int64) - len(self.file)
        starts = len(self.defines) + np.cumsum(np.bincount(held, minlength=len(rows)))
        return Chunks(
            np.concatenate((self.file, added[:, 0])),
            np.concatenate((self.start, added[:, 1])),
            np.concatenate((self.end, added[:, 2])),
            np.concatenate((self.symbol, added[:, 3])),
            np.concatenate((self.defines_start, starts.astype(np.int32))),
            np.concatenate((self.defines, np.array([row[1] for row in pairs], dtype=np.int32))),
            [row[0] for row in conn.execute("SELECT latent FROM patch.chunks ORDER BY id")],
        )


def _mapped(path: Path) -> _Numbers:
    try:
        array: _Numbers = np.asarray(np.load(path, mmap_mode="r"))  # as an array of its own kind: each look-up is cheaper
    except (OSError, ValueError, EOFError) as exc:
        raise StoreCorrupt(
            f"The file {path} of a generation cannot be read.", remedy="Index the repository again.", path=str(path)
        ) from exc
    return array
