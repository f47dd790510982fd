"""The vector matrix of one generation while it fills."""

import shutil
from collections import defaultdict

import numpy as np
import numpy.typing as npt

from appliance.codeintel.source.base import FileFlags
from appliance.codeintel.store.code import CodeStore, MatrixRow
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.matrix import VectorMatrix, VectorState, matrix_folder, write_matrix
from appliance.codeintel.store.vectors import VectorBatch, VectorStore

_WITHOUT = FileFlags.TEST | FileFlags.VENDORED  # found by their words; vectors of them crowd out what they test
_KEPT = 2  # matrices: the published one, and the former for a reader that is about to open it


def states(generation: Generation, former: VectorMatrix | None) -> npt.NDArray[np.uint8]:
    """Return the state of each chunk of *generation*, given the vectors of *former*, made for it or for what it patches."""
    state = np.zeros(len(generation.chunk_file), dtype=np.uint8)
    state[(generation.files.flags & _WITHOUT)[generation.chunk_file] != 0] = VectorState.SKIPPED
    state[: len(generation.dead)][generation.dead] = VectorState.DEAD
    if former is not None:
        known = state[: len(former.state)]
        taken = (known == VectorState.PENDING) & (former.state == VectorState.PRESENT)
        taken |= (known == VectorState.PENDING) & (former.state == VectorState.FAILED)
        known[taken] = former.state[taken]
    return state


class GrowingMatrix:
    """Vectors by chunk of *generation*, and those of them that are not stored yet. Used by one thread.

    It begins with those of *former*, the matrix that the generation has so far.
    """

    def __init__(
        self,
        generation: Generation,
        vectors: VectorStore,
        store: CodeStore,
        *,
        model: str,
        dimensions: int,
        former: VectorMatrix | None = None,
    ) -> None:
        chunks = len(generation.chunk_file)
        self._generation = generation
        self._vectors = vectors
        self._store = store
        self._model = model
        self._rows = np.zeros((chunks, dimensions), dtype=np.int8)
        self._scale = np.zeros(chunks, dtype=np.float32)
        self._state = states(generation, former)
        self._state[self._state == VectorState.FAILED] = VectorState.PENDING
        if former is not None:
            self._rows[: len(former.rows)] = former.rows
            self._scale[: len(former.scale)] = former.scale
        self._files = defaultdict[str, list[int]](list)
        for file in generation.files.numbers:
            self._files[generation.vector_key(file)].append(file)
        self._unstored: list[tuple[str, int, int]] = []  # key, ordinal, chunk

    def reuse(self) -> int:
        """Take over every stored vector that fits where one is lacking, and return how many chunks have one now."""
        lacking = {self._place_of(chunk)[0] for chunk in np.flatnonzero(self._state == VectorState.PENDING).tolist()}
        for batch in self._vectors.read(lacking):
            for index, (key, ordinal) in enumerate(zip(batch.keys, batch.ordinals, strict=True)):
                if key in lacking:
                    self._place(key, ordinal, batch.rows[index], float(batch.scale[index]))
        return self.count(VectorState.PRESENT)

    def pending(self) -> list[int]:
        """Return the chunks that still want a vector, in order; of copies only the first."""
        seen = set[tuple[str, int]]()
        chunks = []
        for chunk in np.flatnonzero(self._state == VectorState.PENDING).tolist():
            place = self._place_of(chunk)
            if place not in seen:
                seen.add(place)
                chunks.append(chunk)
        return chunks

    def put(self, chunk: int, row: npt.NDArray[np.int8], scale: float) -> None:
        """Give *chunk* and every copy of it this vector."""
        key, ordinal = self._place_of(chunk)
        self._place(key, ordinal, row, scale)
        self._unstored.append((key, ordinal, chunk))

    def fail(self, chunk: int) -> None:
        """Note that *chunk* could not be embedded."""
        key, ordinal = self._place_of(chunk)
        for copy in self._copies(key, ordinal):
            if self._state[copy] == VectorState.PENDING:
                self._state[copy] = VectorState.FAILED

    def count(self, state: VectorState) -> int:
        """Return how many chunks are in *state*."""
        return int(np.count_nonzero(self._state == state))

    @property
    def wanted(self) -> int:
        """How many chunks are meant to have a vector."""
        return len(self._state) - self.count(VectorState.SKIPPED) - self.count(VectorState.DEAD)

    @property
    def unstored(self) -> int:
        """How many vectors `save` would store."""
        return len(self._unstored)

    def save(self) -> None:
        """Store the new vectors, then publish the matrix so that searches use them. Survives a power cut on return."""
        if self._unstored:
            keys, ordinals, chunks = zip(*self._unstored, strict=True)
            self._vectors.add(VectorBatch(keys, ordinals, self._rows[list(chunks)], self._scale[list(chunks)]))
            self._vectors.commit()
            self._unstored.clear()
        self._publish()

    def _publish(self) -> None:
        folder = self._generation.folder
        former = self._store.matrix(folder.name)
        row = MatrixRow(
            serial=1 if former is None else former.serial + 1,
            model=self._model,
            embedded=self.count(VectorState.PRESENT),
            skipped=self.count(VectorState.SKIPPED),
            failed=self.count(VectorState.FAILED),
        )
        if former is not None and (former.model, former.embedded, former.skipped, former.failed) == (
            row.model, row.embedded, row.skipped, row.failed,
        ):  # fmt: skip
            return
        target = matrix_folder(folder, row.serial)
        shutil.rmtree(target, ignore_errors=True)  # of an attempt that died before its row was written
        try:
            write_matrix(target, VectorMatrix(self._model, self._rows, self._scale, self._state))
        except FileNotFoundError:  # the generation was retired meanwhile, and its folder swept
            return
        if self._store.publish_matrix(folder.name, row):
            shutil.rmtree(matrix_folder(folder, row.serial - _KEPT), ignore_errors=True)

    def _place(self, key: str, ordinal: int, row: npt.NDArray[np.int8], scale: float) -> None:
        for chunk in self._copies(key, ordinal):
            if self._state[chunk] != VectorState.SKIPPED:
                self._rows[chunk], self._scale[chunk], self._state[chunk] = row, scale, VectorState.PRESENT

    def _copies(self, key: str, ordinal: int) -> list[int]:
        first = self._generation.files.first_chunk
        return [int(first[file]) + ordinal for file in self._files[key] if first[file] + ordinal < first[file + 1]]

    def _place_of(self, chunk: int) -> tuple[str, int]:
        file = int(self._generation.chunk_file[chunk])
        return self._generation.vector_key(file), chunk - int(self._generation.files.first_chunk[file])
