"""What a patch adds to a lexical index: postings in ``patch.db``, scored as tantivy scores the documents beside them.

A segment of tantivy's own would cost twenty synced files an edit, and every eighth time a merge of all. The statistics of
words are those of the index below, so that scores can be compared; what died in it still counts there.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from appliance.base.sqlite import Guarded

Ids = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float32]

_K1: Final = 1.2
_B: Final = 0.75
_MOST_MARKS: Final = 10_000  # in one statement: SQLite takes 32,766
# tantivy keeps the length of a field in one byte: exact up to 40, then with four significant bits.
_LENGTHS: Final = np.array(
    [*range(24), *(24 + (low if high == 0 else (low | 8) << (high - 1)) for high in range(29) for low in range(8))],
    dtype=np.float64,
)


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the index below knows: how many documents it has, and of each field the mean length."""

    documents: int
    mean: Mapping[str, float]


Posting = tuple[int, str, int, int, int, int]
"""Whole or not, token, document, field, times, length: a row of the table, in the order of its key."""


def postings(*, whole: bool, document: int, texts: Sequence[str]) -> Iterator[Posting]:
    """Yield what stands in *document*: a text of search tokens for each field, in the order of the fields."""
    for field, text in enumerate(texts):
        tokens = text.split()
        for token, times in Counter(tokens).items():
            yield int(whole), token, document, field, times, len(tokens)


def add_postings(conn: sqlite3.Connection, rows: list[Posting]) -> None:
    """Write *rows*, in the order that the table keeps them in, which is several times faster, and leave none."""
    rows.sort()
    conn.executemany("INSERT INTO postings VALUES (?, ?, ?, ?, ?, ?)", rows)
    rows.clear()


class Added:
    """Looks up added chunks, or with *whole* added files. ``alive`` says of each document of all whether it is there."""

    def __init__(self, db: Guarded, fields: Mapping[str, float], *, whole: bool, alive: npt.NDArray[np.bool_]) -> None:
        self._db = db
        self._fields = list(fields.items())
        self._whole = int(whole)
        self._alive = alive

    def frequencies(self, tokens: Sequence[str], field: str) -> Scores:
        """Return in how many added documents each of *tokens* stands in *field*."""
        place = [name for name, _ in self._fields].index(field)
        with self._db.read() as conn:
            counts = [
                conn.execute(
                    "SELECT count(*) FROM patch.postings WHERE whole = ? AND token = ? AND field = ?",
                    (self._whole, token, place),
                ).fetchone()[0]
                for token in tokens
            ]
        return np.array(counts, dtype=np.float32)

    def scored(
        self, tokens: Sequence[str], statistics: Statistics, known: Mapping[tuple[str, str], int]
    ) -> tuple[Ids, Scores]:
        """Return the living documents in which any of *tokens* stands, in order, and their scores.

        *known* says by token and field in how many documents of the index below it stands.
        """
        wanted = list(dict.fromkeys(tokens))
        rows = self._rows(wanted)
        if not rows:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        table = np.array(rows, dtype=np.int64)
        table = table[self._alive[table[:, 0]]]
        weights = self._weights(wanted, statistics, known, table)
        means = np.array([max(statistics.mean[name], 1e-9) for name, _ in self._fields])
        each = weights[table[:, 1], table[:, 2]] * _saturated(table[:, 3], table[:, 4], means[table[:, 2]])
        ids, place = np.unique(table[:, 0], return_inverse=True)
        return ids, np.bincount(place, weights=each, minlength=len(ids)).astype(np.float32)

    def phrases(
        self, phrases: Sequence[Sequence[str]], statistics: Statistics, known: Mapping[tuple[str, str], int]
    ) -> tuple[Ids, Scores]:
        """Return the living chunks in which every one of *phrases* stands, in order, and what that adds to their scores."""
        ids: list[int] = []
        scores: list[float] = []
        for document, text in self._holding(phrases[0][0]):
            times = [_times(phrase, text) for phrase in phrases]
            if all(times) and self._alive[document]:
                length = np.array([len(text.split())])
                mean = np.array([max(statistics.mean["tokens"], 1e-9)])
                ids.append(document)
                scores.append(
                    sum(
                        sum(_rarity(known["tokens", word], statistics.documents) for word in phrase)
                        * (1 + _K1)
                        * float(_saturated(np.array([count]), length, mean)[0])
                        for phrase, count in zip(phrases, times, strict=True)
                    )
                )
        return np.array(ids, dtype=np.int64), np.array(scores, dtype=np.float32)

    def _rows(self, tokens: Sequence[str]) -> list[tuple[int, int, int, int, int]]:
        places = {token: place for place, token in enumerate(tokens)}
        marks = ",".join("?" * len(tokens))
        query = (
            "SELECT doc, token, field, times, length FROM patch.postings"  # noqa: S608 - marks alone
            f" WHERE whole = ? AND token IN ({marks})"
        )
        with self._db.read() as conn:
            found = conn.execute(query, (self._whole, *tokens)).fetchall()
        return [(row[0], places[row[1]], row[2], row[3], row[4]) for row in found]

    def _weights(
        self,
        tokens: Sequence[str],
        statistics: Statistics,
        known: Mapping[tuple[str, str], int],
        table: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.float64]:
        weights = np.zeros((len(tokens), len(self._fields)))
        added = np.zeros_like(weights)
        np.add.at(added, (table[:, 1], table[:, 2]), 1)
        for place, token in enumerate(tokens):
            for field, (name, boost) in enumerate(self._fields):
                count = known[name, token] or min(int(added[place, field]), statistics.documents)
                weights[place, field] = boost * (1 + _K1) * _rarity(count, statistics.documents)
        return weights

    def _holding(self, word: str) -> Iterable[tuple[int, str]]:
        with self._db.read() as conn:
            rows = conn.execute(
                "SELECT id, tokens FROM patch.chunks WHERE id IN"
                " (SELECT doc FROM patch.postings WHERE whole = 0 AND token = ? AND field = 0) ORDER BY id",
                (word,),
            ).fetchall()
        return [(row[0], row[1]) for row in rows]


def _rarity(count: int, documents: int) -> float:
    return float(np.log1p((documents - count + 0.5) / (count + 0.5)))


def _saturated(
    times: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], means: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    kept = _LENGTHS[np.searchsorted(_LENGTHS, lengths, side="right") - 1]
    counts = times.astype(np.float64)
    return counts / (counts + _K1 * (1 - _B + _B * kept / means))


def _times(phrase: Sequence[str], text: str) -> int:
    words = text.split()
    first, length = phrase[0], len(phrase)
    wanted = list(phrase)
    return sum(word == first and words[at : at + length] == wanted for at, word in enumerate(words))
