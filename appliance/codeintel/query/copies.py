"""Candidates that say the same: copies of files, of chunks, and what was hardly changed since it was copied."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from appliance.codeintel.query.gather import Gathered
from appliance.codeintel.query.remoteness import remoteness
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
    blobs: set[BlobId] = field(default_factory=set)


def distinct(gathered: Gathered) -> list[Alike]:
    """Return the ranked candidates, those that say the same as one: shown in code that people work on, if it is there."""
    kept: list[Alike] = []
    exact: dict[tuple[BlobId, int, int], Alike] = {}
    near = _Near(gathered)
    remote = [remoteness(part.generation) for part in gathered.parts]
    for place, score in zip(gathered.ranking.order.tolist(), gathered.ranking.scores.tolist(), strict=True):
        key = near.key(place)
        group = exact.get(key) or near.group(place)
        if group is None:
            group = Alike(place, score)
            kept.append(group)
            near.add(place, group)
        elif remote[near.part(place)][near.file(place)] < remote[near.part(group.place)][near.file(group.place)]:
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


class _Near:
    """Finds the group that a candidate belongs to among those that have the name of its file, or its words."""

    def __init__(self, gathered: Gathered) -> None:
        self._gathered = gathered
        self._groups: defaultdict[object, list[tuple[int, Alike]]] = defaultdict(list)
        self._lines: dict[int, Lines] = {}
        self._parts = gathered.part.tolist()
        self._directions = {number: _directions(gathered, number) for number in set(self._parts)}
        self._keys = [self._key(part, chunk) for part, chunk in zip(self._parts, gathered.signals.ids.tolist(), strict=True)]

    def part(self, place: int) -> int:
        return int(self._parts[place])

    def file(self, place: int) -> int:
        generation = self._gathered.parts[self._parts[place]].generation
        return int(generation.chunk_file[self._gathered.signals.ids[place]])

    def key(self, place: int) -> tuple[BlobId, int, int]:
        return self._keys[place]

    def _key(self, part: int, chunk: int) -> tuple[BlobId, int, int]:
        generation = self._gathered.parts[part].generation
        blob = generation.files.blobs[generation.chunk_file[chunk]]
        return blob, int(generation.chunk_start[chunk]), int(generation.chunk_end[chunk])

    def add(self, place: int, group: Alike) -> None:
        for trait in self._traits(place):
            self._groups[trait].append((place, group))

    def group(self, place: int) -> Alike | None:
        blob, start, end = self.key(place)
        for trait in self._traits(place):
            for other, group in self._groups.get(trait, ()):
                theirs, first, last = self.key(other)
                if theirs == blob or not _like_in_length(end - start, last - first) or self._of_other_words(place, other):
                    continue
                if alike(self._said(place), self._said(other)):
                    return group
        return None

    def _of_other_words(self, one: int, two: int) -> bool:
        directions = self._directions[self._parts[one]]
        if directions is None or self._parts[one] != self._parts[two]:
            return False
        first, second = directions[one], directions[two]
        known = first.any() and second.any()  # of words that are too rare nothing is known
        return bool(known and first @ second < _SAME_WORDS)

    def _traits(self, place: int) -> list[object]:
        generation = self._gathered.parts[self.part(place)].generation
        latent = float(self._gathered.signals.latent[place])
        named: list[object] = [generation.files.paths[self.file(place)].rpartition("/")[2]]
        return [*named, (self.part(place), round(latent / _NEAR))] if latent else named

    def _said(self, place: int) -> Lines:
        if place not in self._lines:
            generation = self._gathered.parts[self.part(place)].generation
            text = int(generation.text.of_file[self.file(place)])
            _, start, end = self.key(place)
            self._lines[place] = lines_of(generation.text.lines(text, start, end)) if text >= 0 else frozenset()
        return self._lines[place]


def _directions(gathered: Gathered, part: int) -> npt.NDArray[np.float32] | None:
    """Return the rows of *part* in its latent space, one a candidate of whatever part; None if it has no such space."""
    space = gathered.parts[part].generation.latent
    if space is None:
        return None
    mine = gathered.part == part
    rows = np.zeros((len(mine), space.matrix.shape[1]), dtype=np.float32)
    rows[mine] = space.rows(gathered.signals.ids[mine])
    return rows


def _like_in_length(one: int, two: int) -> bool:
    return 4 * abs(one - two) <= max(one, two) + 1
