"""What a patch adds to one field of a lexical index: its postings in ``patch.db``, after those of the index below it.

Segments of files would cost an edit several synced files, and now and then one merge of them all.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from appliance.base.sqlite import Guarded
from appliance.codeintel.store.postings import Floats, Found, Ids, Lists

WORDS, NAMES, PATH = range(3)
"""The fields: what stands in a chunk, the names of a chunk, the path of a file."""
Posting = tuple[int, str, int, int]
"""Field, token, document, times: a row of the table, in the order of its key."""


def postings(field: int, document: int, tokens: Iterable[str]) -> Iterator[Posting]:
    """Yield what stands in a *field* of *document*."""
    for token, times in Counter(tokens).items():
        yield field, token, document, times


def add_postings(conn: sqlite3.Connection, rows: list[Posting]) -> None:
    """Write *rows*, in the order that the table keeps them in, which is several times faster, and leave none."""
    rows.sort()
    conn.executemany("INSERT INTO postings VALUES (?, ?, ?, ?)", rows)
    rows.clear()


class Added:
    """The *field* of all *documents*: those *below*, dead ones too, and those that the patch in *db* adds."""

    def __init__(self, below: Lists, db: Guarded, field: int, *, documents: int) -> None:
        self._below = below
        self._db = db
        self._field = field
        self._documents = documents

    @cached_property
    def lengths(self) -> Floats:
        """How many words each document has."""
        below = self._below.lengths
        lengths = np.zeros(self._documents, dtype=np.float32)
        lengths[: len(below)] = below
        with self._db.read() as conn:
            rows = conn.execute("SELECT doc, length FROM patch.lengths WHERE field = ?", (self._field,)).fetchall()
        for row in rows:
            lengths[row[0]] = row[1]
        return lengths

    def find(self, words: Sequence[str]) -> Found:
        """Return where *words* stand."""
        query = (
            f"SELECT token, doc, times FROM patch.postings WHERE field = ? AND token IN ({','.join('?' * len(words))})"  # noqa: S608
            " ORDER BY token, doc"
        )
        rows: dict[str, list[tuple[int, int]]] = {}
        with self._db.read() as conn:
            for token, document, times in conn.execute(query, (self._field, *words)):
                rows.setdefault(token, []).append((document, times))
        found = self._below.find(words)
        return _with(found, [rows.get(word, []) for word in words]) if rows else found

    def holding(self, phrase: Sequence[str]) -> Ids:
        """Return the chunks in which the words of *phrase* stand side by side."""
        with self._db.read() as conn:
            rows = conn.execute(
                "SELECT id, tokens FROM patch.chunks WHERE id IN"
                " (SELECT doc FROM patch.postings WHERE field = ? AND token = ?) ORDER BY id",
                (self._field, phrase[0] if phrase else ""),
            ).fetchall()
        wanted = f" {' '.join(phrase)} "
        added = [row[0] for row in rows if wanted in f" {row[1]} "]
        return np.concatenate((self._below.holding(phrase), np.array(added, dtype=np.int64)))


def _with(found: Found, rows: Sequence[list[tuple[int, int]]]) -> Found:
    """Return *found* and after what each word has there its *rows*."""
    parts: list[tuple[Ids, Floats, int]] = []
    ends = np.cumsum(found.counts).tolist()
    for word, (start, end, more) in enumerate(zip([0, *ends], ends, rows, strict=False)):
        documents, times = np.array(more, dtype=np.int64).reshape(len(more), 2).T
        parts.append((found.documents[start:end], found.times[start:end], word))
        parts.append((documents, times.astype(np.float32), word))
    return Found.of(parts, words=len(rows))
