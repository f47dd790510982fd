"""The vectors of one generation's chunks, as searches use them: int8 rows with a scale each, mapped from files.

The nearest ones are sought among those whose signs agree most with the query's: one bit a number, 48 bytes a chunk.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from appliance.base.durable import storage_errors, sync_directory, sync_file
from appliance.errors import InvalidInput, StoreCorrupt

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

_BLOCK = 196_608  # numbers widened to float32 at a time: they stay in the cache, and BLAS starts no threads that would spin
_LEVELS = 127
# Of all rows, how many are looked at exactly. On 9,332 vectors of real code that misses one in 200 of the best fifty.
_EXACT_LEAST = 4_096
_EXACT_SHARE = 16


class VectorState(IntEnum):
    """What is known about the vector of one chunk."""

    PENDING = 0
    PRESENT = 1
    SKIPPED = 2  # never meant to have one
    FAILED = 3
    DEAD = 4  # the chunk is no more


@dataclass(frozen=True)
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
            rows, scale, state = (
                np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r")) for name in ("rows", "scale", "state")
            )
        except (OSError, ValueError, EOFError) as exc:
            raise StoreCorrupt(f"The vectors in {folder} cannot be read.", remedy="Index the repository again.") from exc
        if not len(rows) == len(scale) == len(state):
            raise StoreCorrupt(f"The vectors in {folder} do not fit together.", remedy="Index the repository again.")
        return cls(model, rows, scale, state)

    def nearest(self, query: Floats, count: int, *, among: Ids | None = None) -> Ids:
        """Return about the *count* chunks whose vectors are nearest to the unit vector *query*, in no order.

        Only chunks that have a vector count, and with *among* only those. Of `_EXACT_LEAST` of them none is missed; of more
        one in a hundred may be.
        """
        self._refuse_other(query)
        usable = self._usable
        chunks = np.flatnonzero(usable) if among is None else among[among < len(usable)]
        chunks = chunks if among is None else chunks[usable[chunks]]
        most = max(_EXACT_LEAST, count, len(chunks) // _EXACT_SHARE)
        if len(chunks) > most:
            apart = self._apart(query)[chunks]
            chunks = chunks[np.argpartition(apart, most)[:most]]
        if len(chunks) <= count:
            return chunks
        return chunks[np.argpartition(-self.cosines(query, chunks), count)[:count]]

    def cosines(self, query: Floats, chunks: Ids) -> Floats:
        """Return the cosine of the unit vector *query* with the vector of each of *chunks*, and nan where one has none."""
        self._refuse_other(query)
        result = np.full(len(chunks), np.nan, dtype=np.float32)
        there = np.flatnonzero(chunks < len(self.rows))
        there = there[self._usable[chunks[there]]]
        wanted = chunks[there]
        result[there] = products(self.rows, query, wanted) * self.scale[wanted]
        return result

    @property
    def empty(self) -> bool:
        """Whether no chunk has a vector."""
        return not self._usable.any()

    @cached_property
    def _usable(self) -> npt.NDArray[np.bool_]:
        usable: npt.NDArray[np.bool_] = self.state == VectorState.PRESENT
        dead = self.dead[: len(usable)]
        usable[: len(dead)] &= ~dead
        return usable

    @cached_property
    def _signs(self) -> npt.NDArray[np.uint64]:
        """One bit a number, a column a row: words of 64 bits are compared with one of the query's at a time."""
        width = -(-self.rows.shape[1] // 64) * 64
        signs = np.zeros((width // 64, len(self.rows)), dtype=np.uint64)
        for start in range(0, len(self.rows), _BLOCK // width):
            block = self.rows[start : start + _BLOCK // width]
            signs[:, start : start + len(block)] = _bits(block, width).T
        return signs

    def _apart(self, query: Floats) -> npt.NDArray[np.uint16]:
        """Return of each row in how many signs it differs from *query*."""
        apart = np.zeros(len(self.rows), dtype=np.uint16)
        for column, word in zip(self._signs, _bits(query[None, :], 64 * len(self._signs))[0], strict=True):
            apart += np.bitwise_count(column ^ word)
        return apart

    def _refuse_other(self, query: Floats) -> None:
        if query.shape != (self.rows.shape[1],):
            raise InvalidInput(
                f"The query has {query.shape} numbers, the vectors of {self.model} have {self.rows.shape[1]}."
            )


def _bits(rows: npt.NDArray[np.number], width: int) -> npt.NDArray[np.uint64]:
    """Return the signs of each of *rows*, filled up to *width* bits."""
    bits = np.zeros((len(rows), width), dtype=np.bool_)
    np.greater(rows, 0, out=bits[:, : rows.shape[1]])
    packed: npt.NDArray[np.uint64] = np.packbits(bits, axis=1).view(np.uint64)
    return packed


def products(rows: npt.NDArray[np.int8], query: Floats, chosen: Ids | None = None) -> Floats:
    """Return the product of each of *rows*, or of those *chosen*, with *query*, one block that fits the cache at a time."""
    count = len(rows) if chosen is None else len(chosen)
    result = np.empty(count, dtype=np.float32)
    step = max(1, _BLOCK // max(1, rows.shape[1]))
    wide = np.empty((min(step, count), rows.shape[1]), dtype=np.float32)
    for start in range(0, count, step):
        block = rows[start : start + step] if chosen is None else rows[chosen[start : start + step]]
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
