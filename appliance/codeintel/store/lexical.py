"""The lexical index of one generation: BM25 over chunks, and over whole files.

Of each word it has the chunks by what stands in them and by the names that they define or stand in, and the files by their
paths. Each field is scored by BM25 of its own (Robertson and Zaragoza 2009) and weighted, and the sum counts; why it is not
BM25F is said in ADR 11. A file has the words of its chunks: nothing is stored twice.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from appliance.base.sqlite import Guarded
from appliance.codeintel.facts import Spelt, places
from appliance.codeintel.store.added import NAMES, PATH, WORDS, Added
from appliance.codeintel.store.inverting import Inverter
from appliance.codeintel.store.postings import Floats, Found, Ids, Lists, Postings
from appliance.errors import StoreCorrupt

Alive = npt.NDArray[np.bool_]
Files = npt.NDArray[np.int32]

_MOST_TOKENS: Final = 64  # of one query; the rest of a longer one adds nothing but time
_K1: Final = 1.2
_B: Final = 0.75
_FIELDS: Final = ("words", "names", "path")
_WORDS, _NAMES, _PATH = _FIELDS
_CHUNK_WEIGHTS: Final = {_WORDS: 1.0, _NAMES: 1.0, _PATH: 0.5}
_FILE_WEIGHTS: Final = {_WORDS: 1.0, _NAMES: 0.25, _PATH: 0.5}


@dataclass(frozen=True, slots=True)
class FileWords:
    """One file as it is indexed. A word is its search tokens, joined by blanks."""

    file: int
    first_chunk: int
    path: list[str]
    table: Sequence[str]
    texts: Spelt  # the words of each chunk
    names: Spelt  # of what each chunk defines, and of what holds it


class LexicalWriter:
    """Writes the index of files into *folder*. Nothing is synced: the caller does that before it publishes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._text = Inverter(folder, _WORDS, places=True)
        self._names = Inverter(folder, _NAMES, places=False)
        self._path = Inverter(folder, _PATH, places=False)

    def add(self, file: FileWords) -> None:
        """Take in the next file."""
        texts, names = (places(spelt, file.table) for spelt in (file.texts, file.names))
        self._text.add(file.table, np.asarray(texts), file.texts.counts)
        self._names.add_words([file.table[name] for name in names], file.names.counts)  # few of all words stand in names
        self._path.add_words(file.path, [len(file.path)])

    def finish(self) -> None:
        """Write what is left."""
        for each in (self._text, self._names, self._path):
            each.finish()


def chunk_texts(folder: Path) -> Postings:
    """Return the words that stand in the chunks of the index in *folder*; raise `StoreCorrupt`."""
    return Postings(folder, _WORDS)


class Scored(NamedTuple):
    """The scores of a query, one for each chunk and for each file: 0 where none of its words stands."""

    chunks: Floats
    files: Floats


class LexicalIndex:
    """Answers from what `LexicalWriter` wrote. *of_file* has the file of each chunk. Safe to use from many threads.

    What is not among the *living* chunks and files counts nowhere: scores are those of an index of the rest.
    """

    def __init__(self, fields: Mapping[str, Lists], of_file: Files, living: tuple[Alive, Alive] | None = None) -> None:
        self._fields = fields
        self._of_file = of_file
        self._living = living

    @classmethod
    def open(cls, folder: Path, of_file: Files) -> "LexicalIndex":
        """Open *folder*; raise `StoreCorrupt` if it does not hold an index of so many chunks."""
        index = cls({name: Postings(folder, name) for name in _FIELDS}, of_file)
        if len(index._fields[_WORDS].lengths) != len(of_file):
            raise StoreCorrupt(f"The lexical index in {folder} is of other chunks.", remedy="Index the repository again.")
        return index

    def patched(self, db: Guarded, of_file: Files, *, chunks: Alive, files: Alive) -> "LexicalIndex":
        """Return this index with what the patch in *db* adds, and without what is not alive any more.

        *of_file*, *chunks* and *files* are of all chunks and files that there ever were, here and in the patch.
        """
        fields = {
            name: Added(self._fields[name], db, number, documents=len(files if name == _PATH else chunks))
            for name, number in zip(_FIELDS, (WORDS, NAMES, PATH), strict=True)
        }
        return LexicalIndex(fields, of_file, (chunks, files))

    @property
    def count(self) -> int:
        """How many chunks count."""
        return int(self._sizes.sum())

    def scored(self, tokens: Sequence[str]) -> Scored:
        """Return how well each chunk and each file fits *tokens*."""
        wanted = list(dict.fromkeys(tokens))[:_MOST_TOKENS]
        of_chunks, of_files = self._scorers
        text, names, path = (self._find(name, wanted) for name in _FIELDS)
        by_path = of_chunks[_PATH].scores(path, holding=_sums(self._sizes[path.documents], path.counts))
        chunks = of_chunks[_WORDS].scores(text) + of_chunks[_NAMES].scores(names) + by_path[self._of_file]
        files = of_files[_PATH].scores(path)
        for name, found in ((_WORDS, text), (_NAMES, names)):
            files += of_files[name].scores(_in_files(found, self._of_file))
        return Scored(chunks, files)

    def holding(self, phrases: Sequence[Sequence[str]]) -> Ids:
        """Return the chunks, in order, in each of which every one of *phrases* stands as it is."""
        ids = functools.reduce(np.intersect1d, map(self._fields[_WORDS].holding, phrases))
        return ids if self._living is None else ids[self._living[0][ids]]

    def rarity(self, tokens: Sequence[str]) -> Floats:
        """Return for each token its inverse document frequency over the chunks, 0 for one that stands nowhere."""
        words = self._fields[_WORDS]
        counts = words.frequencies(tokens) if isinstance(words, Postings) else self._find(_WORDS, tokens).counts
        return np.where(counts > 0, _rarity(counts, self.count), 0).astype(np.float32)

    def _find(self, name: str, tokens: Sequence[str]) -> Found:
        found = self._fields[name].find(tokens)
        return found if self._living is None else found.only(self._living[name == _PATH][found.documents])

    @cached_property
    def _sizes(self) -> Ids:
        """How many living chunks each file has."""
        living = self._of_file if self._living is None else self._of_file[self._living[0]]
        return np.bincount(living, minlength=len(self._fields[_PATH].lengths))

    @cached_property
    def _scorers(self) -> tuple[dict[str, "_Scorer"], dict[str, "_Scorer"]]:
        """What scores chunks and files by each field; chunks by their paths are scored as their file, once for all of it."""
        text, names, path = (self._fields[name].lengths for name in _FIELDS)
        one, sizes = np.ones(len(text)) if self._living is None else self._living[0], self._sizes
        of_chunks = {
            _WORDS: _Scorer(text, one, _CHUNK_WEIGHTS[_WORDS]),
            _NAMES: _Scorer(names, one, _CHUNK_WEIGHTS[_NAMES]),
            _PATH: _Scorer(path, sizes, _CHUNK_WEIGHTS[_PATH]),
        }
        whole: dict[str, Floats] = {
            _WORDS: np.bincount(self._of_file, weights=text * one, minlength=len(sizes)).astype(np.float32),
            _NAMES: np.bincount(self._of_file, weights=names * one, minlength=len(sizes)).astype(np.float32),
            _PATH: path,
        }
        return of_chunks, {name: _Scorer(whole[name], sizes > 0, _FILE_WEIGHTS[name]) for name in _FIELDS}


class _Scorer:
    """BM25 by one field of documents of such *lengths*, each of which stands for so *many*."""

    def __init__(self, lengths: Floats, many: npt.NDArray[np.generic], weight: float) -> None:
        counts = many.astype(np.float64)
        self._every = int(counts.sum())
        mean = max(float((lengths * counts).sum()) / max(self._every, 1), 1e-9)  # no dot: BLAS starts threads that spin
        self._norm = (_K1 * (1 - _B + _B * lengths / mean)).astype(np.float32)
        self._weight = weight * (1 + _K1)

    def scores(self, found: Found, *, holding: Ids | None = None) -> Floats:
        """Return what words *found* there give each document, of which so many are *holding* each word if not its count."""
        rarity = self._weight * _rarity(found.counts if holding is None else holding, self._every)
        worth = np.repeat(rarity.astype(np.float32), found.counts)
        each = worth * found.times / (found.times + self._norm[found.documents])
        return np.bincount(found.documents, weights=each, minlength=len(self._norm)).astype(np.float32)


def _in_files(found: Found, of_file: Files) -> Found:
    """Return how often each word stands in files, by how often it is *found* in their chunks."""
    files = of_file[found.documents]
    new = np.ones(len(files) + 1, dtype=np.bool_)  # where another file, or another word, begins
    np.not_equal(files[1:], files[:-1], out=new[1:-1])
    ends = np.cumsum(found.counts)
    new[ends] = True
    heads = np.flatnonzero(new)
    counts = np.diff(np.searchsorted(heads, ends), prepend=0)
    heads = heads[:-1]
    return Found(files[heads].astype(np.int64), np.add.reduceat(found.times, heads) if len(heads) else found.times, counts)


def _sums(values: Ids, counts: Ids) -> Ids:
    """Return the sum of each of the runs that *values* has, one of each of *counts* after the other."""
    return np.diff(np.concatenate(([0], np.cumsum(values)))[np.concatenate(([0], np.cumsum(counts)))])


def _rarity(counts: Ids, every: int) -> npt.NDArray[np.float64]:
    return np.log1p((every - counts + 0.5) / (counts + 0.5))
