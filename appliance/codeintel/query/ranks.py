"""How much of the code leans on each of its definitions: PageRank, from each use to what is used."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from appliance.codeintel.query.asking import unknown
from appliance.codeintel.query.draft import Code, named
from appliance.codeintel.query.impact import WORTH
from appliance.codeintel.questions import StructureQuery
from appliance.codeintel.source.base import FileFlags
from appliance.codeintel.store.kinds import KIND_NUMBERS

_DAMPING: Final = 0.85
_ROUNDS: Final = 40
_ENOUGH: Final = 1e-4
_IMPORTED: Final = 0.3  # of what a call passes on
_ASIDE: Final = 0.1  # how often one begins to read at a test, an example, a document or foreign code
_FOCUSED: Final = 0.8  # how often at what is asked for
_MOST_FOCUSED: Final = 200  # files whose definitions are begun at
_REMEMBERED: Final = 16
Floats = npt.NDArray[np.float64]
_Key = tuple[str, str, str, int, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Ranks:
    """Symbols of one generation, and as -1 - f files, by rank: all ranks together are 1. ``file`` is where each stands."""

    ids: npt.NDArray[np.int64]
    file: npt.NDArray[np.int64]
    rank: Floats


class Ranker:
    """Ranks, and remembers the ranks of the last trees. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[_Key, Ranks] = OrderedDict()

    def ranks(self, code: Code, focus: Sequence[str]) -> Ranks:
        """Return the ranks of *code*; reading begins at *focus*, names and paths, or anywhere.

        Raise `NotFound` for a name or path in *focus* that nothing has.
        """
        graph = code.generation.graph
        made = ("", -1) if graph is None else (graph.info.recipe, graph.info.patch)
        key = (code.generation.folder.name, code.generation.info.tree, *made, tuple(focus))
        with self._lock:
            known = self._known.get(key)
        if known is None:
            known = _ranked(code, focus)
            with self._lock:
                self._known[key] = known
                while len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
        return known


def focused(code: Sequence[Code], focus: Sequence[str]) -> list[tuple[str, ...]]:
    """Return for each of *code* what of *focus* it has; raise `NotFound` for a name or path that none of it has."""
    held = [tuple(each for each in focus if _named(item, each)) for item in code]
    for each in focus:
        if not any(each in some for some in held):
            raise unknown(each, code, what="No definition, file or folder")
    return held


def _ranked(code: Code, focus: Sequence[str]) -> Ranks:
    files, graph = code.generation.files, code.generation.graph
    symbols, holders = code.generation.symbols.numbered()
    numbers = np.array(files.numbers, dtype=np.int64)
    ids = np.concatenate((-1 - numbers[::-1], symbols))  # in their order
    file = np.concatenate((numbers[::-1], holders))
    order = np.argsort(ids, kind="stable")
    ids, file = ids[order], file[order]
    starts = _starts(code, ids, file, focus)
    if graph is None or not len(graph.adjacency.ids):
        return Ranks(ids, file, starts)
    edges = graph.adjacency
    place = np.searchsorted(ids, edges.ids)
    weight = edges.confidence * (WORTH[edges.kind] + _IMPORTED * (edges.kind == KIND_NUMBERS["imports"]))
    source, target = place[edges.source], place[edges.target]
    out = np.bincount(source, weights=weight, minlength=len(ids))
    shares = weight / out[source]
    onward = csr_matrix((shares, (target, source)), shape=(len(ids), len(ids)))
    return Ranks(ids, file, _settled(onward, out == 0, starts))


def _settled(onward: csr_matrix, ends: npt.NDArray[np.bool_], starts: Floats) -> Floats:
    rank = starts
    for _ in range(_ROUNDS):
        lost = float(rank[ends].sum())
        following: Floats = _DAMPING * (onward @ rank + lost * starts) + (1 - _DAMPING) * starts
        moved = float(np.abs(following - rank).sum())
        rank = following
        if moved < _ENOUGH:
            break
    return rank


def _starts(code: Code, ids: npt.NDArray[np.int64], file: npt.NDArray[np.int64], focus: Sequence[str]) -> Floats:
    files = code.generation.files
    aside = FileFlags.TEST | FileFlags.EXAMPLE | FileFlags.DOC | FileFlags.VENDORED | FileFlags.GENERATED
    starts: Floats = np.where(files.flags[file] & aside, _ASIDE, 1.0)
    starts /= starts.sum()
    wanted = {number for each in focus for number in _named(code, each)}
    if wanted:
        there = np.isin(ids, np.array(sorted(wanted)))
        starts = (1 - _FOCUSED) * starts + _FOCUSED * there / there.sum()
    return starts


def _named(code: Code, name: str) -> list[int]:
    """Return the symbols called *name*, or the files at or below that path and what they define."""
    files, symbols = code.generation.files, code.generation.symbols
    wanted = name.strip().strip("/")
    paths = [path for path in files.by_path if path == wanted or path.startswith(f"{wanted}/")]
    if paths:
        inside = [row.id for path in paths[:_MOST_FOCUSED] for row in symbols.in_file(path)]
        return [*(-1 - files.by_path[path] for path in paths), *inside]
    return [item.row.id for item in named(StructureQuery("where", wanted.removesuffix("()"), plain=False), (code,))]
