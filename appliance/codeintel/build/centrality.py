"""How central each file of a repository is: its PageRank over what uses what (Page et al., 1999)."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

_DAMPING: Final = 0.85
_TURNS: Final = 40
_MOST: Final = 3.0  # of one file by another: what is used all over counts, not how often in one place
_ASIDE: Final = 0.3  # tests and examples use what they are about, and say less of what matters
_SURE: Final = 50  # per cent


def centrality(generation: sqlite3.Connection, edges: Mapping[str, Sequence[int]]) -> Floats:
    """Return for each file number of *generation* how central the file is, 1 on average, from *edges* of every kind.

    *edges* has columns, as `store.adjacency` names them. A file that is no more is not central at all.
    """
    query = "SELECT flags > 0, id NOT IN (SELECT file FROM dead) FROM every_file ORDER BY id"
    aside, alive = np.array(generation.execute(query).fetchall(), dtype=np.bool_).reshape(-1, 2).T
    files = _files(generation)
    target, source, sure = (np.asarray(edges[name], dtype=np.int64) for name in ("target", "source", "confidence"))
    kept = sure >= _SURE
    target, source = (np.where(ids < 0, -1 - ids, files[np.maximum(ids, 0)]) for ids in (target[kept], source[kept]))
    apart = target != source
    rows, columns, values = source[apart], target[apart], sure[kept][apart] / 100
    pairs, places = np.unique(rows * len(aside) + columns, return_inverse=True)
    used = np.minimum(np.bincount(places, weights=values), _MOST)
    rows, columns = np.divmod(pairs, max(1, len(aside)))
    return _ranks(rows, columns, used * np.where(aside[rows], _ASIDE, 1.0), alive)


def _files(generation: sqlite3.Connection) -> npt.NDArray[np.int64]:
    """Return the file of each symbol, by the symbol's id."""
    rows = np.array(generation.execute("SELECT id, file FROM symbols").fetchall(), dtype=np.int64).reshape(-1, 2)
    files = np.zeros(int(rows[:, 0].max(initial=0)) + 1, dtype=np.int64)
    files[rows[:, 0]] = rows[:, 1]
    return files


def _ranks(rows: Ints, columns: Ints, used: npt.NDArray[np.float64], alive: npt.NDArray[np.bool_]) -> Floats:
    """Return the ranks of the files that are *alive*: each of *rows* uses the one of *columns* beside it so much."""
    count = len(alive)
    out = np.bincount(rows, weights=used, minlength=count)
    onward = used / np.maximum(out, 1e-9)[rows]
    ranks = alive.astype(np.float64)
    for _ in range(_TURNS):
        handed = np.bincount(columns, weights=onward * ranks[rows], minlength=count)
        ranks = alive * ((1 - _DAMPING) + _DAMPING * (handed + ranks[out == 0].sum() / max(1, alive.sum())))
    return ranks.astype(np.float32)
