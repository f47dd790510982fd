"""Candidates that say the same: copies of files, of chunks, and what was hardly changed since it was copied."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from appliance.codeintel.query.gather import Gathered
from appliance.codeintel.query.remoteness import remoteness_of
from appliance.codeintel.store.generation import Generation
from appliance.ids import BlobId

_ALIKE: Final = 0.8  # share of the lines of the longer of two chunks that both have
_LEAST_LINES: Final = 4  # of less nobody can say that it was copied
_NEAR: Final = 0.002  # of the latent cosines of two chunks of one repository: those of the same words are equal
_SAME_WORDS: Final = 0.8  # cosine in the latent space, under which two chunks have other words and need not be read
Lines = frozenset[str]


@dataclass(slots=True)
class Alike:
    """Candidates that say the same. ``place``, in the signals, is the one to show; ``score`` is that of the best."""

    place: int
    score: float
    blobs: set[BlobId]


def distinct(gathered: Gathered) -> list[Alike]:
    """Return the ranked candidates, those that say the same as one: shown in code that people work on, if it is there."""
    kept: list[Alike] = []
    exact: dict[tuple[BlobId, int, int], Alike] = {}
    chunks = _Chunks(gathered)
    near = _Near(gathered, chunks)
    for place, score in zip(gathered.ranking.order.tolist(), gathered.ranking.scores.tolist(), strict=True):
        key = chunks.keys[place]
        group = exact.get(key) or near.group(place)
        if group is None:
            group = exact[key] = Alike(place, score, {key[0]})
            kept.append(group)
            near.add(place, group)
            continue
        if chunks.remoteness(place) < chunks.remoteness(group.place):
            group.place = place
        exact[key] = group
        group.blobs.add(key[0])
    return kept


def lines_of(text: Iterable[str]) -> Lines:
    """Return what two texts are compared by."""
    return frozenset(stripped for line in text if (stripped := line.strip()))


def alike(one: Lines, two: Lines) -> bool:
    """Return whether two texts are copies of each other, or were before somebody changed a little."""
    if min(len(one), len(two)) < _LEAST_LINES:
        return False
    return len(one & two) >= _ALIKE * max(len(one), len(two))


class _Chunks:
    """Where each candidate stands. ``keys`` tell apart what does not have the very same lines."""

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered
        self.parts: list[int] = gathered.part.tolist()
        self.files = [0] * len(self.parts)
        self.names = [""] * len(self.parts)  # of files
        self.keys = [(BlobId(""), 0, 0)] * len(self.parts)
        for number, part in enumerate(gathered.parts):
            self._fill(part.generation, np.flatnonzero(gathered.part == number))

    def _fill(self, generation: Generation, places: npt.NDArray[np.int64]) -> None:
        chunks, blobs, paths = self._gathered.signals.ids[places], generation.files.blobs, generation.files.paths
        files = generation.chunk_file[chunks].tolist()
        starts, ends = generation.chunk_start[chunks].tolist(), generation.chunk_end[chunks].tolist()
        for place, file, start, end in zip(places.tolist(), files, starts, ends, strict=True):
            self.files[place], self.names[place] = file, paths[file].rpartition("/")[2]
            self.keys[place] = (blobs[file], start, end)

    def generation(self, place: int) -> Generation:
        return self._gathered.parts[self.parts[place]].generation

    def remoteness(self, place: int) -> int:
        """Return how far from being worked on the file of a candidate is."""
        return remoteness_of(self.generation(place), self.files[place])

    def said(self, place: int) -> Lines:
        generation, (_, start, end) = self.generation(place), self.keys[place]
        text = int(generation.text.of_file[self.files[place]])
        return lines_of(generation.text.lines(text, start, end)) if text >= 0 else frozenset()


class _Near:
    """Finds the group that a candidate belongs to among those that have the name of its file, or its words."""

    def __init__(self, gathered: Gathered, chunks: _Chunks) -> None:
        self._gathered = gathered
        self._chunks = chunks
        self._groups: defaultdict[object, list[tuple[int, Alike]]] = defaultdict(list)
        self._lines: dict[int, Lines] = {}
        self._directions: dict[int, tuple[npt.NDArray[np.float32], list[bool]] | None] = {}
        self._traits = _shared(gathered, chunks)

    def add(self, place: int, group: Alike) -> None:
        for trait in self._traits[place]:
            self._groups[trait].append((place, group))

    def group(self, place: int) -> Alike | None:
        keys = self._chunks.keys
        blob, start, end = keys[place]
        for trait in self._traits[place]:
            for other, group in self._groups.get(trait, ()):
                theirs, first, last = keys[other]
                if theirs == blob or not _like_in_length(end - start, last - first) or self._of_other_words(place, other):
                    continue
                if alike(self._said(place), self._said(other)):
                    return group
        return None

    def _of_other_words(self, one: int, two: int) -> bool:
        part = self._chunks.parts[one]
        if part != self._chunks.parts[two]:
            return False
        if part not in self._directions:
            self._directions[part] = _directions(self._gathered, part)
        held = self._directions[part]
        if held is None:
            return False
        rows, known = held
        return known[one] and known[two] and bool(rows[one] @ rows[two] < _SAME_WORDS)

    def _said(self, place: int) -> Lines:
        if place not in self._lines:
            self._lines[place] = self._chunks.said(place)
        return self._lines[place]


def _shared(gathered: Gathered, chunks: _Chunks) -> list[list[object]]:
    """Return for each candidate which traits it has in common with others: the name of its file, and its latent cosine."""
    near = np.rint(gathered.signals.latent.astype(np.float64) / _NEAR).tolist()
    latent = gathered.signals.latent.tolist()
    words = [(part, each) if cosine else None for part, each, cosine in zip(chunks.parts, near, latent, strict=True)]
    often: Counter[object] = Counter(chunks.names)
    often.update(words)
    often[None] = 0
    return [[trait for trait in pair if often[trait] > 1] for pair in zip(chunks.names, words, strict=True)]


def _directions(gathered: Gathered, part: int) -> tuple[npt.NDArray[np.float32], list[bool]] | None:
    """Return the rows of *part* in its latent space, one a candidate of whatever part, and which of them have a direction.

    The rest have only words that are too rare. Return None if it has no such space.
    """
    space = gathered.parts[part].generation.latent
    if space is None:
        return None
    mine = gathered.part == part
    rows = np.zeros((len(mine), space.matrix.shape[1]), dtype=np.float32)
    rows[mine] = space.rows(gathered.signals.ids[mine])
    known: list[bool] = np.any(rows, axis=1).tolist()
    return rows, known


def _like_in_length(one: int, two: int) -> bool:
    return 4 * abs(one - two) <= max(one, two) + 1
