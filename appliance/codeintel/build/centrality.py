"""How central each file of a repository is: its PageRank over what uses what (Page et al., 1999)."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

Floats = npt.NDArray[np.float32]

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
    used = csr_matrix((values, (rows, columns)), shape=(len(aside), len(aside)))
    used.data = np.minimum(used.data, _MOST)
    return _ranks(used.multiply(np.where(aside, _ASIDE, 1.0)[:, None]).tocsr(), alive)


def _files(generation: sqlite3.Connection) -> npt.NDArray[np.int64]:
    """Return the file of each symbol, by the symbol's id."""
    rows = np.array(generation.execute("SELECT id, file FROM symbols").fetchall(), dtype=np.int64).reshape(-1, 2)
    files = np.zeros(int(rows[:, 0].max(initial=0)) + 1, dtype=np.int64)
    files[rows[:, 0]] = rows[:, 1]
    return files


def _ranks(used: csr_matrix, alive: npt.NDArray[np.bool_]) -> Floats:
    out = np.asarray(used.sum(axis=1)).ravel()
    onward = csr_matrix(used.multiply(1 / np.maximum(out, 1e-9)[:, None])).T.tocsr()
    ranks = alive.astype(np.float64)
    for _ in range(_TURNS):
        ranks = alive * ((1 - _DAMPING) + _DAMPING * (onward @ ranks + ranks[out == 0].sum() / max(1, alive.sum())))
    return ranks.astype(np.float32)
