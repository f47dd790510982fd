"""A latent space trained on the repository itself: TF-IDF and a truncated SVD, so that related words meet.

It needs no model and no network. Training is deterministic: the same documents give the same bytes on one machine.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from appliance.codeintel.store.frequencies import weighted
from appliance.codeintel.store.matrix import products, quantise
from appliance.codeintel.store.postings import Floats, Postings
from appliance.errors import StoreCorrupt

_SEED = 7
_BLOCK = 4_096  # rows projected at once
_SPARE = 10  # directions sought beyond those kept
_PASSES = 4


def train_latent(folder: Path, postings: Postings, *, dims: int = 64) -> None:
    """Train on the documents of *postings*, the texts of chunks, and write the space into *folder*.

    With too few documents or words the space has fewer dimensions, or none and then nothing but that fact is written.
    Memory stays under about 300 MB at 50,000 documents. Nothing is synced.
    """
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary, idf, rows = weighted(postings)
    count = len(postings.lengths)
    dims = min(dims, count - 1, len(vocabulary) - 1)
    if dims < 2:
        _write(folder, words=[], weights=np.zeros((0, 0), np.float32), matrix=np.zeros((count, 0), np.float32))
        return
    basis = _basis(rows, dims)
    matrix = np.empty((count, dims), dtype=np.float32)
    for start in range(0, count, _BLOCK):
        matrix[start : start + _BLOCK] = _unit(rows[start : start + _BLOCK] @ basis)
    _write(folder, words=vocabulary, weights=basis * idf[:, None], matrix=matrix)


@dataclass(frozen=True, slots=True)
class LatentSpace:
    """Reads what `train_latent` wrote. ``matrix`` has one row a document, a unit one times ``scale``; mapped from the disk.

    ``added`` has the rows of documents that came after the training, as `embed` makes them; ``dead`` says of each of all
    documents whether it is no more, and is empty while all are there.
    """

    matrix: npt.NDArray[np.int8]
    scale: Floats
    _words: dict[str, int]
    _weights: npt.NDArray[np.float16]  # a word's direction, times its inverse document frequency
    added: Floats
    dead: npt.NDArray[np.bool_]

    @classmethod
    def open(cls, folder: Path) -> "LatentSpace | None":
        """Open *folder*; return None where there was too little to train on; raise `StoreCorrupt` for anything else."""
        try:
            words = json.loads((folder / "words.json").read_bytes())
            matrix = np.asarray(np.load(folder / "matrix.npy", mmap_mode="r", allow_pickle=False))
            scale = np.asarray(np.load(folder / "scale.npy", mmap_mode="r", allow_pickle=False))
            weights = np.asarray(np.load(folder / "weights.npy", mmap_mode="r", allow_pickle=False))
        except (OSError, ValueError) as exc:
            raise StoreCorrupt(
                f"The latent space in {folder} cannot be read.", remedy="Index the repository again.", path=str(folder)
            ) from exc
        if not words:
            return None
        nothing, none = np.zeros((0, matrix.shape[1]), dtype=np.float32), np.zeros(0, dtype=np.bool_)
        return cls(matrix, scale, {word: place for place, word in enumerate(words)}, weights, nothing, none)

    def patched(self, added: Sequence[bytes], *, dead: npt.NDArray[np.bool_]) -> "LatentSpace":
        """Return this space with the rows of documents that came after the training, as `packed` gave them."""
        rows = np.frombuffer(b"".join(added), dtype=np.float32).reshape(len(added), self.matrix.shape[1])
        return replace(self, added=rows, dead=dead)

    def packed(self, text: str) -> bytes:
        """Return the row of a document of search tokens *text* that comes after the training."""
        return self.embed(text.split()).tobytes()

    def embed(self, tokens: Sequence[str]) -> Floats:
        """Return the unit vector of a query's *tokens*; all zeros when the space knows none of them."""
        counts = Counter(place for token in tokens if (place := self._words.get(token)) is not None)
        if not counts:
            return np.zeros(self.matrix.shape[1], dtype=np.float32)
        frequency = 1 + np.log(np.fromiter(counts.values(), dtype=np.float32))
        folded: Floats = frequency @ self._weights[list(counts)].astype(np.float32)
        return _unit(folded[None, :]).ravel()

    def rows(self, documents: npt.NDArray[np.int64]) -> Floats:
        """Return the unit vectors of *documents*."""
        rows = np.empty((len(documents), self.matrix.shape[1]), dtype=np.float32)
        old = documents < len(self.matrix)
        rows[old] = self.matrix[documents[old]] * self.scale[documents[old], None]
        rows[~old] = self.added[documents[~old] - len(self.matrix)]
        return rows

    def scores(self, query: Floats) -> Floats:
        """Return the cosine of *query* with every document, nan for one that is no more."""
        result: Floats = np.concatenate((products(self.matrix, query) * self.scale, self.added @ query))
        result[: len(self.dead)][self.dead] = np.nan
        return result


def _basis(weighted: csr_matrix, dims: int) -> Floats:
    """Return about the *dims* strongest directions over the words, as columns, signs fixed.

    Randomised range finding with power iterations (Halko, Martinsson and Tropp 2011): a few passes, and it always ends.
    """
    draw = np.random.default_rng(_SEED)
    width = min(dims + _SPARE, *weighted.shape)
    probe = draw.standard_normal((weighted.shape[1], width)).astype(np.float32)
    for _ in range(_PASSES):
        probe, _ = np.linalg.qr(weighted.T @ (weighted @ probe))  # of this side alone: 32 bits hold what one pass spreads
    small = weighted @ probe
    _, rotation = np.linalg.eigh(small.T @ small)  # ascending
    basis: Floats = (probe @ rotation[:, ::-1][:, :dims]).astype(np.float32)
    signs: Floats = np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(dims)])
    return np.multiply(basis, signs)


def _unit(rows: Floats) -> Floats:
    norms: Floats = np.linalg.norm(rows, axis=1, keepdims=True).astype(np.float32)
    return np.divide(rows, np.maximum(norms, np.float32(1e-9)))


def _write(folder: Path, *, words: list[str], weights: Floats, matrix: Floats) -> None:
    (folder / "words.json").write_text(json.dumps(words, ensure_ascii=True), encoding="ascii")
    np.save(folder / "weights.npy", weights.astype(np.float16), allow_pickle=False)
    rows, scale = quantise(matrix)
    np.save(folder / "matrix.npy", rows, allow_pickle=False)
    np.save(folder / "scale.npy", scale, allow_pickle=False)
