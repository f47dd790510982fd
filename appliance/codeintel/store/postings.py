"""Which words stand in which documents, how often and where: one field of a lexical index, in segments.

A segment is a file of arrays that is written once and mapped. Its words are in order; of each there are the documents, the
times that it stands in each, and where it was asked for the distances from one place to the next.
"""

import heapq
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby, pairwise, repeat
from operator import itemgetter
from pathlib import Path
from typing import Final, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_matrix, csr_matrix, vstack

from appliance.codeintel.store.arrays import read_arrays
from appliance.errors import StoreCorrupt

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Whole = npt.NDArray[np.integer]

FAR: Final = 255  # stands for a distance of as much or more, which is kept beside
_OFTEN: Final = 2  # documents
_REMEMBERED: Final = 2_048  # words whose places are known without looking again
_PLACES: Final = 32  # bits of a place within a document, below the document's number
_REMEDY: Final = "Index the repository again."


_NOWHERE: Final = np.empty(0, dtype=np.int64)


class Found(NamedTuple):
    """Where words stand: word after word the documents, in order, and how often it stands in each.

    ``counts`` says of each word in how many documents it stands.
    """

    documents: Ids
    times: Floats
    counts: Ids

    @classmethod
    def of(cls, parts: Sequence[tuple[npt.NDArray[np.integer], npt.NDArray[np.number], int]], *, words: int) -> "Found":
        """Put together documents, times and the number of the word of each of *parts*, which are in the order of words."""
        counts = np.zeros(words, dtype=np.int64)
        for part in parts:
            counts[part[2]] += len(part[0])
        documents: Ids = np.concatenate([_NOWHERE, *(part[0] for part in parts)], dtype=np.int64)
        return cls(documents, np.concatenate([_NOWHERE, *(part[1] for part in parts)], dtype=np.float32), counts)

    def only(self, kept: npt.NDArray[np.bool_]) -> "Found":
        """Return those entries that are *kept*."""
        before = np.concatenate(([0], np.cumsum(kept)))
        ends = before[np.cumsum(self.counts)]
        return Found(self.documents[kept], self.times[kept], np.diff(ends, prepend=0))


class Lists(Protocol):
    """What is asked of one field: `Postings`, alone or with what was added."""

    @property
    def lengths(self) -> Floats:
        """How many words each document has."""

    def find(self, words: Sequence[str]) -> Found:
        """Return where *words* stand."""

    def holding(self, phrase: Sequence[str]) -> Ids:
        """Return the documents in which the words of *phrase* stand side by side."""


class Postings:
    """Reads the segments that an `Inverter` wrote. Opening maps files and reads no postings. Safe for threads."""

    def __init__(self, folder: Path, name: str) -> None:
        paths = sorted(folder.glob(f"{name}-*"), key=lambda path: int(path.name.rpartition("-")[2]))
        self._segments = [_Segment(path) for path in paths]
        if not paths or any(one.end != two.base for one, two in pairwise(self._segments)):
            raise StoreCorrupt(f"The lexical index in {folder} is not whole.", remedy=_REMEDY, path=str(folder))

    @cached_property
    def lengths(self) -> Floats:
        """How many words each document has."""
        return np.concatenate([each.lengths for each in self._segments]).astype(np.float32)

    def find(self, words: Sequence[str]) -> Found:
        """Return where *words* stand."""
        parts = [
            (*found, number)
            for number, word in enumerate(words)
            for each in self._segments
            if (found := each.find(word.encode())) is not None
        ]
        return Found.of(parts, words=len(words))

    def frequencies(self, words: Sequence[str]) -> Ids:
        """Return in how many documents each of *words* stands."""
        counts = [sum(each.frequency(word.encode()) for each in self._segments) for word in words]
        return np.array(counts, dtype=np.int64)

    def holding(self, phrase: Sequence[str]) -> Ids:
        """Return the documents in which the words of *phrase* stand side by side."""
        return np.concatenate([each.holding([word.encode() for word in phrase]) for each in self._segments])

    def vocabulary(self) -> tuple[list[str], Ids]:
        """Return the words that stand in two documents or more, in order, and in how many: most stand in one alone."""
        words, counts = list[str](), list[int]()
        for word, standing in groupby(heapq.merge(*(each.counted() for each in self._segments)), itemgetter(0)):
            if (count := sum(each for _, each in standing)) >= _OFTEN:
                words.append(word)
                counts.append(count)
        return words, np.array(counts, dtype=np.int64)

    def table(self, words: Sequence[str]) -> csr_matrix:
        """Return how often each of *words*, a column each, stands in each document, a row each."""
        places = {word: place for place, word in enumerate(words)}
        rows = [each.table(places) for each in self._segments]
        return rows[0] if len(rows) == 1 else vstack(rows, format="csr")


class _Segment:
    """One file: documents ``base`` to ``end``."""

    def __init__(self, path: Path) -> None:
        arrays = read_arrays(path)
        try:
            self.base = int(arrays["base"][0])
            self.lengths = cast("Whole", arrays["lengths"])
            self._text, self._bounds, self._first = (arrays[name].data for name in ("words", "word_bounds", "first"))
            self._documents = cast("Whole", arrays["documents"])
            self._times = cast("Whole", arrays["times"])
            kept = ("distances", "reach", "far_at", "far") if "reach" in arrays else ()  # where phrases can be found
            self._places_kept = tuple(cast("Whole", arrays[name]) for name in kept)
            fits = self._fits()
        except (KeyError, IndexError) as exc:
            raise _not_whole(path) from exc
        if not fits:
            raise _not_whole(path)
        self.end = self.base + len(self.lengths)
        self._known = dict[bytes, int]()

    def _fits(self) -> bool:
        """Return whether the arrays are as long as the others say: one look at the end of each."""
        whole = self._bounds[-1] == len(self._text) and self._first[-1] == len(self._documents) == len(self._times)
        whole = whole and len(self._bounds) == len(self._first)
        if not self._places_kept:
            return whole
        kept, reach, far_at, far = self._places_kept
        return whole and len(reach) == len(self._first) and reach[-1] == len(kept) and len(far_at) == len(far)

    def find(self, word: bytes) -> tuple[Whole, Whole] | None:
        place = self._place(word)
        if place < 0:
            return None
        first, last = self._first[place], self._first[place + 1]
        documents = self._documents[first:last]
        return documents + np.int64(self.base) if self.base else documents, self._times[first:last]

    def frequency(self, word: bytes) -> int:
        place = self._place(word)
        return 0 if place < 0 else self._first[place + 1] - self._first[place]

    def counted(self) -> Iterator[tuple[str, int]]:
        """Yield each word, in order, with how many documents it stands in."""
        for place, word in enumerate(self.words()):
            yield word, self._first[place + 1] - self._first[place]

    def words(self) -> Iterator[str]:
        for start, end in pairwise(self._bounds):
            yield str(self._text[start:end], "utf-8")

    def counts(self) -> Ids:
        first = np.array(self._first, dtype=np.int64)
        counts: Ids = first[1:] - first[:-1]
        return counts

    def table(self, places: Mapping[str, int]) -> csr_matrix:
        columns = np.fromiter(map(places.get, self.words(), repeat(-1)), np.int64, len(self._bounds) - 1)
        wanted, counts = np.flatnonzero(columns >= 0), self.counts()
        lengths = np.zeros(len(places), dtype=np.int64)
        lengths[columns[wanted]] = counts[wanted]
        ends = np.cumsum(lengths)  # columns are in the order of the words, as the segment has them
        chosen = np.repeat(columns >= 0, counts)
        shape = (len(self.lengths), len(places))
        times = self._times[chosen].astype(np.float32)
        return csc_matrix((times, self._documents[chosen].astype(np.int32), np.r_[0, ends]), shape=shape).tocsr()

    def holding(self, phrase: Sequence[bytes]) -> Ids:
        held: Ids | None = None
        for distance, word in enumerate(phrase):
            begins = self._places(word) - distance  # where the phrase begins, if this word is part of one
            held = begins if held is None else held[np.isin(held, begins, assume_unique=True)]
        return np.unique((_NOWHERE if held is None else held) >> _PLACES) + self.base

    def _places(self, word: bytes) -> Ids:
        """Return every place of *word*: the document, and in the lower bits the place in it."""
        place = self._place(word)
        if place < 0 or not self._places_kept:
            return _NOWHERE
        kept, reach, far_at, far = self._places_kept
        first, last = self._first[place], self._first[place + 1]
        start, end = int(reach[place]), int(reach[place + 1])
        distances = kept[start:end].astype(np.int64)
        low, high = np.searchsorted(far_at, (start, end))
        distances[far_at[low:high].astype(np.int64) - start] = far[low:high]
        times, places = self._times[first:last].astype(np.int64), np.cumsum(distances)
        starts = np.cumsum(times) - times  # of each document
        within: Ids = places - np.repeat(np.where(starts > 0, places[starts - 1], 0), times)
        documents: Ids = np.repeat(self._documents[first:last].astype(np.int64), times)
        return (documents << _PLACES) + within

    def _place(self, word: bytes) -> int:
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[word] = self._sought(word)
        return known

    def _sought(self, word: bytes) -> int:
        place = bisect_left(_Words(self._text, self._bounds), word)
        there = place < len(self._bounds) - 1 and self._text[self._bounds[place] : self._bounds[place + 1]] == word
        return place if there else -1


def _not_whole(path: Path) -> StoreCorrupt:
    return StoreCorrupt(f"The postings in {path} are not whole.", remedy=_REMEDY, path=str(path))


class _Words(Sequence[bytes]):
    """The words of a segment, cut out when they are looked at."""

    def __init__(self, text: memoryview, bounds: memoryview) -> None:
        self._text = text
        self._bounds = bounds

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def __getitem__(self, place: int) -> bytes:  # type: ignore[override]  # bisection asks for no slices
        return bytes(self._text[self._bounds[place] : self._bounds[place + 1]])
