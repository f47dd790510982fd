"""The vectors of one generation's chunks, as searches use them: int8 rows with a scale each, mapped from files."""

from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

import numpy as np
import numpy.typing as npt

from appliance.base.durable import storage_errors, sync_directory, sync_file
from appliance.errors import InvalidInput, StoreCorrupt

_BLOCK = 512  # rows widened to float32 at a time: they stay in the cache, and BLAS starts no threads that would spin
_LEVELS = 127


class VectorState(IntEnum):
    """What is known about the vector of one chunk."""

    PENDING = 0
    PRESENT = 1
    SKIPPED = 2  # never meant to have one
    FAILED = 3
    DEAD = 4  # the chunk is no more


@dataclass(frozen=True, slots=True)
class VectorMatrix:
    """Row i is the vector of chunk i: ``rows[i] * scale[i]``. ``state[i]`` is a `VectorState`. Safe for threads.

    ``dead``, where it is not empty, says of each chunk of the generation whether it is no more: the matrix may have been
    made for a former one, and has no rows of the chunks that came later.
    """

    model: str
    rows: npt.NDArray[np.int8]  # (n, dimensions)
    scale: npt.NDArray[np.float32]  # (n,)
    state: npt.NDArray[np.uint8]  # (n,)
    dead: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    @classmethod
    def open(cls, folder: Path, *, model: str) -> "VectorMatrix":
        """Map the matrix in *folder*; raise `StoreCorrupt` if it is not one."""
        try:
            rows, scale, state = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("rows", "scale", "state"))
        except (OSError, ValueError, EOFError) as exc:
            raise StoreCorrupt(f"The vectors in {folder} cannot be read.", remedy="Index the repository again.") from exc
        if not len(rows) == len(scale) == len(state):
            raise StoreCorrupt(f"The vectors in {folder} do not fit together.", remedy="Index the repository again.")
        return cls(model, rows, scale, state)

    def scores(self, query: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return the cosine of the unit vector *query* with each chunk's vector, and nan where a chunk has none."""
        if query.shape != (self.rows.shape[1],):
            raise InvalidInput(
                f"The query has {query.shape} numbers, the vectors of {self.model} have {self.rows.shape[1]}."
            )
        count = len(self.rows)
        result = np.full(max(count, len(self.dead)), np.nan, dtype=np.float32)
        result[:count] = products(self.rows, query)
        result[:count] *= self.scale
        result[:count][self.state != VectorState.PRESENT] = np.nan
        result[: len(self.dead)][self.dead] = np.nan
        return result


def products(rows: npt.NDArray[np.int8], query: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the product of each of *rows* with *query*, one block that fits the cache after the other."""
    result = np.empty(len(rows), dtype=np.float32)
    wide = np.empty((_BLOCK, rows.shape[1]), dtype=np.float32)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        np.copyto(wide[: len(block)], block)
        np.matmul(wide[: len(block)], query, out=result[start : start + len(block)])
    return result


def matrix_folder(generation: Path, serial: int) -> Path:
    """Return where matrix number *serial* of the generation in folder *generation* stands."""
    return generation / f"vectors-{serial}"


def quantise(vectors: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Return *vectors* (n, d) as int8 rows and the scale that gives each row back; the cosine is off by about 0.001."""
    scale = np.abs(vectors).max(axis=1, initial=0.0) / _LEVELS
    safe = np.where(scale > 0, scale, 1.0)
    return np.rint(vectors / safe[:, None]).astype(np.int8), scale.astype(np.float32)


def write_matrix(folder: Path, matrix: VectorMatrix) -> None:
    """Write *matrix* into the new folder *folder*. On return it survives a power cut."""
    with storage_errors(folder):
        folder.mkdir()
        for name, array in (("rows", matrix.rows), ("scale", matrix.scale), ("state", matrix.state)):
            np.save(folder / f"{name}.npy", array, allow_pickle=False)
            sync_file(folder / f"{name}.npy")
        sync_directory(folder)
        sync_directory(folder.parent)
