"""How often each word stands in each document: counted in one pass, and turned into TF-IDF over the words worth keeping."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

Floats = npt.NDArray[np.float32]
Whole = npt.NDArray[np.int32]

_MOST_WORDS = 20_000  # of the vocabulary: the rest is too rare to have learnt anything
_MOST_SHARE = 0.5  # a word in more than half of the documents tells them apart badly
_MOST_COUNTED = 400_000  # words counted at once while the vocabulary is gathered
_AT_ONCE = 256  # documents counted together: few enough to be quick to sort
_BITS = 40  # of a word's number, below its document's


class Frequencies:
    """The words of *documents*, each a text with blanks between words. ``count`` says how many documents there are.

    Of more than *most* words those that one document alone has held so far are forgotten, and begin anew.
    """

    def __init__(self, documents: Iterable[str], *, most: int = _MOST_COUNTED) -> None:
        self._numbers = defaultdict[str, int](itertools.count().__next__)
        self._holding = np.zeros(0, dtype=np.int64)  # by a word's number: documents that hold it
        self._words, self._times, self._lengths = list[Whole](), list[Whole](), list[Whole]()
        iterator = iter(documents)
        while batch := list(itertools.islice(iterator, _AT_ONCE)):
            self._add(batch)
            if len(self._numbers) > most:
                self._forget_single()
        self.count = sum(map(len, self._lengths))

    def _add(self, batch: Sequence[str]) -> None:
        split = [text.split() for text in batch]
        lengths = np.fromiter(map(len, split), np.int64, len(split))
        numbers = map(self._numbers.__getitem__, itertools.chain.from_iterable(split))
        words = np.fromiter(numbers, np.int64, int(lengths.sum()))
        pairs, times = np.unique(np.repeat(np.arange(len(split)), lengths) << _BITS | words, return_counts=True)
        words = pairs & ((1 << _BITS) - 1)
        self._words.append(words.astype(np.int32))
        self._times.append(times.astype(np.int32))
        self._lengths.append(np.bincount(pairs >> _BITS, minlength=len(split)).astype(np.int32))
        holding = np.bincount(words, minlength=len(self._holding))
        holding[: len(self._holding)] += self._holding
        self._holding = holding

    def _forget_single(self) -> None:
        for word in [word for word, number in self._numbers.items() if self._holding[number] == 1]:
            del self._numbers[word]

    def vocabulary(self) -> tuple[list[str], Floats]:
        """Return the words that are kept, in order, and the inverse document frequency of each."""
        words, numbers = list(self._numbers), np.fromiter(self._numbers.values(), np.int64, len(self._numbers))
        held = self._holding[numbers]
        kept = np.flatnonzero((held >= 2) & ((held <= _MOST_SHARE * self.count) | (self.count < 20))).tolist()
        best = sorted((-int(held[place]), words[place]) for place in kept)[:_MOST_WORDS]
        vocabulary = sorted(word for _, word in best)
        frequencies = self._holding[[self._numbers[word] for word in vocabulary]].astype(np.float32)
        return vocabulary, np.log((1 + self.count) / (1 + frequencies)) + 1

    def weighted(self, vocabulary: Sequence[str], idf: Floats) -> csr_matrix:
        """Return a row a document and a column a word of *vocabulary*; each row is of unit length, or empty."""
        places = np.full(len(self._holding), -1, dtype=np.int32)
        places[[self._numbers[word] for word in vocabulary]] = np.arange(len(vocabulary), dtype=np.int32)
        columns = places[np.concatenate(self._words)]
        kept = columns >= 0
        before = np.concatenate(([0], np.cumsum(kept)))  # kept ones before each pair
        bounds = before[np.concatenate(([0], np.cumsum(np.concatenate(self._lengths))))]
        shape = (self.count, len(vocabulary))
        rows = csr_matrix((np.concatenate(self._times)[kept].astype(np.float32), columns[kept], bounds), shape=shape)
        rows.sort_indices()
        rows.data = (1 + np.log(rows.data)) * idf[rows.indices]
        document = np.repeat(np.arange(self.count), np.diff(bounds))
        norms = np.sqrt(np.bincount(document, weights=rows.data * rows.data, minlength=self.count))
        rows.data /= np.maximum(norms, 1e-9)[document].astype(np.float32)
        return rows
