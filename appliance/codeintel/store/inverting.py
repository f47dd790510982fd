"""Turns documents around: from the words of each to the documents of each word."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, count, repeat
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from appliance.codeintel.store.arrays import Array, write_arrays
from appliance.codeintel.store.postings import FAR

Numbers = npt.NDArray[np.int64]
Whole = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

_MOST: Final = 4_000_000  # search tokens of one segment, about: while they are turned around they take 30 bytes each
_NEW: Final = 10  # what a token of another word takes, in tokens that stand somewhere


class Inverter:
    """Writes the postings of one field into files of *folder*: what is added is kept in memory for one segment at a time.

    With *places* phrases can be found.
    """

    def __init__(self, folder: Path, name: str, *, places: bool, most: int = _MOST) -> None:
        self._folder = folder
        self._name = name
        self._places = places
        self._most = most
        self._segments = self._documents = 0
        self._begin()

    def _begin(self) -> None:
        self._numbers = defaultdict[str, int](count().__next__)  # of words as they are spelt
        self._words, self._counts = list[Whole](), list[Numbers]()
        self._held = 0
        self._base = self._documents

    def add(self, table: Sequence[str], sequence: npt.NDArray[np.integer], counts: Sequence[int]) -> None:
        """Take in the next documents: of each so many of *sequence* as *counts* says, places of words in *table*.

        A word is any number of search tokens, joined by blanks.
        """
        numbers, tokens = self._numbered(table)
        self._take(numbers[sequence], int(tokens[sequence].sum()), counts)

    def add_words(self, words: Sequence[str], counts: Sequence[int]) -> None:
        """Take in the next documents, of which each has so many of *words* as *counts* says."""
        numbers, tokens = self._numbered(words)
        self._take(numbers, int(tokens.sum()), counts)

    def finish(self) -> None:
        """Write what is left."""
        if self._counts or not self._segments:
            self._write()

    def _numbered(self, words: Sequence[str]) -> tuple[Whole, Whole]:
        """Return the numbers of *words*, which are held from now on, and how many tokens each has: one at least."""
        known = len(self._numbers)
        numbers = np.fromiter(map(self._numbers.__getitem__, words), np.int32, len(words))
        tokens = np.fromiter(map(str.count, words, repeat(" ")), np.int32, len(words)) + np.int32(1)
        self._held += _NEW * int(tokens[numbers >= known].sum())
        return numbers, tokens

    def _take(self, words: Whole, tokens: int, counts: Sequence[int]) -> None:
        self._words.append(words)
        self._counts.append(np.array(counts, dtype=np.int64))
        self._documents += len(counts)
        self._held += tokens
        if self._held >= self._most:
            self._write()

    def _write(self) -> None:
        path = self._folder / f"{self._name}-{self._segments}"
        counts = np.concatenate([np.zeros(0, np.int64), *self._counts])
        write_arrays(path, _segment(self._numbers, self._words, counts, base=self._base, places=self._places))
        self._segments += 1
        self._begin()


def _segment(spelt: Iterable[str], words: list[Whole], counts: Numbers, *, base: int, places: bool) -> dict[str, Array]:
    tokens, flat, per_word = _tokens(spelt)
    sequence, each = _spelt_out(np.concatenate([np.zeros(0, np.int32), *words]), flat, per_word)
    words.clear()
    ends = np.concatenate(([0], np.cumsum(each)))[np.concatenate(([0], np.cumsum(counts)))]  # of documents, in tokens
    lengths = np.diff(ends)
    place = np.arange(len(sequence), dtype=np.int32) - np.repeat(ends[:-1].astype(np.int32), lengths)
    turned = csr_matrix((place, sequence, ends), shape=(len(counts), len(tokens))).tocsc()
    del sequence, place
    return {
        "base": np.array([base], dtype=np.int64),
        "lengths": lengths.astype(np.int32),
        **_words(tokens),
        **_postings(turned.indptr, turned.indices, turned.data, most=len(counts), places=places),
    }


def _tokens(spelt: Iterable[str]) -> tuple[list[str], Whole, Numbers]:
    """Return the tokens of the words *spelt*, in order, those of each word as their places, and how many those are."""
    split = [word.split() for word in spelt]
    per_word = np.fromiter(map(len, split), np.int64, len(split))
    every = list(chain.from_iterable(split))
    tokens = sorted(set(every))  # as their bytes in UTF-8 are, too
    place = dict(zip(tokens, count()))
    return tokens, np.fromiter(map(place.__getitem__, every), np.int32, len(every)), per_word


def _spelt_out(words: Whole, flat: Whole, per_word: Numbers) -> tuple[Whole, Numbers]:
    """Return the tokens of *words* in order, and how many each of them has."""
    first, each = (np.cumsum(per_word) - per_word).astype(np.int32), per_word[words]
    before = np.cumsum(each) - each
    where = np.repeat(first[words] - before.astype(np.int32), each)
    where += np.arange(len(where), dtype=np.int32)
    return flat[where], each


def _postings(bounds: Whole, documents: Whole, place: Whole, *, most: int, places: bool) -> dict[str, Array]:
    """Return the postings of tokens that stand in *documents*, at *place*, those of token i from ``bounds[i]`` on."""
    new = np.ones(len(documents) + 1, dtype=np.bool_)  # where another document of a token begins
    np.not_equal(documents[1:], documents[:-1], out=new[1:-1])
    new[bounds] = True
    heads = np.flatnonzero(new)
    times = np.diff(heads)
    arrays: dict[str, Array] = {
        "first": np.searchsorted(heads, bounds).astype(np.uint32),
        "documents": documents[heads[:-1]].astype(np.uint16 if most <= 1 << 16 else np.uint32),
        "times": times.astype(np.min_scalar_type(int(times.max(initial=0)))),
    }
    return arrays | _distances(bounds, place, new[:-1]) if places else arrays


def _distances(bounds: Whole, place: Whole, new: Flags) -> dict[str, Array]:
    distance = place.copy()
    distance[1:] -= np.where(new[1:], np.int32(0), place[:-1])
    far = np.flatnonzero(distance >= FAR)  # one after the other in a byte each, they would be endless in a long document
    return {
        "distances": np.minimum(distance, FAR).astype(np.uint8),
        "reach": bounds.astype(np.uint32),
        "far_at": far.astype(np.uint32),
        "far": distance[far],
    }


def _words(tokens: Sequence[str]) -> dict[str, Array]:
    text = "".join(tokens)
    lengths = map(len, tokens) if text.isascii() else (len(token.encode()) for token in tokens)
    return {
        "words": np.frombuffer(text.encode(), dtype=np.uint8),
        "word_bounds": np.cumsum([0, *lengths], dtype=np.uint32),
    }
