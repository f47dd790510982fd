"""Which blocks of text may hold a pattern: lists of the blocks that have a trigram in them.

A trigram index narrows, it never decides: what it lets through is looked at again (Cox, "Regular Expression Matching with a
Trigram Index", 2012). So letters lose their case here, and the rarer signs share places: three signs of 64 are 18 bits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from appliance.errors import StoreCorrupt

Blocks = npt.NDArray[np.bool_]
MOST_BLOCKS: Final = 4096  # in one set of lists: they are numbered in 16 bits, and built in memory

_SIGNS: Final = b"_ \t()[]{}.,:;=\"'#-+*/\\<>@"
_BITS: Final = 6
_ALL: Final = 1 << 3 * _BITS
_FOLDED: Final = ((b"\xe2\x84\xaa", b"k"), (b"\xc5\xbf", b"s"))  # what matches k and s where case does not matter


def _sign_table() -> npt.NDArray[np.uint32]:
    """Return each byte's sign, 1 to 63; 0 for the end of a line and what no text has."""
    table = np.zeros(256, dtype=np.uint32)
    letters = np.arange(26, dtype=np.uint32)
    table[ord("a") + letters] = table[ord("A") + letters] = 1 + letters
    table[ord("0") : ord("9") + 1] = 27 + np.arange(10)
    table[list(b"!?$%&^|~`")] = 63
    table[list(_SIGNS)] = 37 + np.arange(len(_SIGNS))
    table[128:] = 1 + np.arange(128) % 36
    return table


_TABLE: Final = _sign_table()


@dataclass(frozen=True, slots=True)
class Need:
    """What a text must have to match: *literal* in it, and *every* one of some needs, and *some* one of others.

    A need of nothing lets every text through.
    """

    literal: bytes = b""
    every: "tuple[Need, ...]" = ()
    some: "tuple[Need, ...]" = ()


ANYTHING: Final = Need()


class TrigramBuilder:
    """Gathers the trigrams of up to `MOST_BLOCKS` blocks."""

    def __init__(self) -> None:
        self._seen = np.zeros(_ALL, dtype=np.bool_)
        self._rows: list[npt.NDArray[np.int32]] = []

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self._rows)

    def add(self, block: bytes) -> None:
        """Take in the next block; no trigram reaches over the end of a line."""
        self._seen[:] = False
        self._seen[_grams(block)] = True
        self._seen[0] = False
        self._rows.append(np.flatnonzero(self._seen).astype(np.int32))

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the lists, as `Trigrams` takes them."""
        bounds = np.cumsum([0, *(len(row) for row in self._rows)])
        grams = np.concatenate(self._rows)
        matrix = csr_matrix((np.ones(len(grams), dtype=np.bool_), grams, bounds), shape=(len(self._rows), _ALL)).tocsc()
        counts = np.diff(matrix.indptr)
        width = _width(len(self._rows))
        listed = np.flatnonzero((counts > 0) & (2 * counts < width))
        mapped = np.flatnonzero(2 * counts >= width)
        dense = np.zeros((len(mapped), width), dtype=np.uint8)
        for place, gram in enumerate(mapped):
            bits = np.zeros(len(self._rows), dtype=np.bool_)
            bits[matrix.indices[matrix.indptr[gram] : matrix.indptr[gram + 1]]] = True
            dense[place] = np.packbits(bits)
        return {
            "dense": dense,
            "dense_grams": mapped.astype(np.uint32),
            "sparse": matrix.indices[np.repeat(2 * counts < width, counts)].astype(np.uint16),
            "sparse_grams": listed.astype(np.uint32),
            "sparse_start": np.cumsum([0, *counts[listed]]).astype(np.uint32),
        }


class Trigrams:
    """Reads what `TrigramBuilder` made of *blocks* blocks: *held* has each array's bytes. Safe to use from many threads."""

    def __init__(self, held: Mapping[str, memoryview], *, blocks: int) -> None:
        try:
            self._dense = np.frombuffer(held["dense"], dtype=np.uint8).reshape(-1, _width(blocks))
            self._dense_grams = np.frombuffer(held["dense_grams"], dtype=np.uint32)
            self._sparse = np.frombuffer(held["sparse"], dtype=np.uint16)
            self._sparse_grams = np.frombuffer(held["sparse_grams"], dtype=np.uint32)
            self._sparse_start = np.frombuffer(held["sparse_start"], dtype=np.uint32)
        except (KeyError, ValueError) as exc:
            raise StoreCorrupt("The trigrams of a text cannot be read.", remedy="Index the repository again.") from exc
        if len(self._dense) != len(self._dense_grams) or len(self._sparse_start) != len(self._sparse_grams) + 1:
            raise StoreCorrupt("The trigrams of a text are not whole.", remedy="Index the repository again.")
        self._count = blocks

    def may_have(self, need: Need) -> Blocks:
        """Return for each block whether it may have what *need* says: false means that it surely has not."""
        found = np.ones(self._count, dtype=np.bool_)
        for gram in np.unique(_grams(need.literal)) if need.literal else ():
            if gram:
                found &= self._having(int(gram))
        for each in need.every:
            found &= self.may_have(each)
        if need.some:
            found &= np.logical_or.reduce([self.may_have(each) for each in need.some])
        return found

    def _having(self, gram: int) -> Blocks:
        place = int(np.searchsorted(self._dense_grams, gram))
        if place < len(self._dense_grams) and self._dense_grams[place] == gram:
            return np.unpackbits(self._dense[place], count=self._count).view(np.bool_)
        found = np.zeros(self._count, dtype=np.bool_)
        place = int(np.searchsorted(self._sparse_grams, gram))
        if place < len(self._sparse_grams) and self._sparse_grams[place] == gram:
            found[self._sparse[self._sparse_start[place] : self._sparse_start[place + 1]]] = True
        return found


def _width(blocks: int) -> int:
    return (blocks + 7) // 8


def _grams(text: bytes) -> npt.NDArray[np.uint32]:
    """Return the trigrams of *text*, 0 for one that holds the end of a line."""
    for wide, plain in _FOLDED:
        text = text.replace(wide, plain)
    signs = _TABLE[np.frombuffer(text, dtype=np.uint8)]
    if len(signs) < 3:
        return np.empty(0, dtype=np.uint32)
    whole = (signs[:-2] > 0) & (signs[1:-1] > 0) & (signs[2:] > 0)
    grams = signs[:-2] << 2 * _BITS | signs[1:-1] << _BITS | signs[2:]
    return np.where(whole, grams, 0)
