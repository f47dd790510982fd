"""The edges of a graph as arrays: for whoever goes through many of them at once."""

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from appliance.codeintel.store.symbols import Gone
from appliance.errors import StoreCorrupt

COLUMNS: Final = {"target": np.int32, "source": np.int32, "line": np.int32, "kind": np.uint8, "confidence": np.uint8}
CENTRALITY: Final = "centrality"  # stands beside the columns: 32-bit floats, one a file number
_LARGE: Final = 20  # of so many nodes one
Ints = npt.NDArray[np.int64]


class Adjacency:
    """Edges in the order of their targets. A node is a place in ``ids``; ``first[n]`` is where the edges to node n begin."""

    def __init__(self, packed: Mapping[str, bytes], gone: Gone) -> None:
        """Read the columns *packed*, without what is *gone*; raise `StoreCorrupt` if they do not fit one another."""
        columns = {name: np.frombuffer(packed.get(name, b""), dtype=kind) for name, kind in COLUMNS.items()}
        if len({len(column) for column in columns.values()}) != 1:
            raise StoreCorrupt("The edges of a graph cannot be read.", remedy="Index the repository again.")
        self.ids, targets, sources = _numbered(columns["target"], columns["source"])
        if gone:
            dead = gone.among(self.ids)
            alive = ~(dead[targets] | dead[sources])
            targets, sources = targets[alive], sources[alive]
            columns = {name: column[alive] for name, column in columns.items()}
        order = np.argsort(targets, kind="stable")
        self.target = targets[order]
        self.source = sources[order]
        self.line = columns["line"][order]
        self.kind = columns["kind"][order]
        self.confidence = columns["confidence"][order].astype(np.float32) / 100
        self.first = np.searchsorted(self.target, np.arange(len(self.ids) + 1)).astype(np.int64)

    def nodes(self, ids: Iterable[int]) -> Ints:
        """Return the nodes of *ids*, without those that no edge ever touched."""
        wanted = np.unique(np.fromiter(ids, dtype=np.int64))
        places = np.searchsorted(self.ids, wanted)
        there = places < len(self.ids)
        there[there] = self.ids[places[there]] == wanted[there]
        nodes: Ints = places[there].astype(np.int64)
        return nodes

    def into(self, nodes: Ints) -> Ints:
        """Return the edges whose target is one of *nodes*."""
        starts, counts = self.first[nodes], self.first[nodes + 1] - self.first[nodes]
        ends = np.cumsum(counts)
        edges: Ints = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - counts), counts)
        return edges

    def closure(self, ids: Iterable[int], *, kinds: npt.NDArray[np.bool_]) -> Ints:
        """Return the ids of everything that leads to any of *ids*, however far, by edges of *kinds*, without themselves."""
        start = frontier = self.nodes(ids)
        seen = np.zeros(len(self.ids), dtype=np.bool_)
        seen[start] = True
        while len(frontier):
            coming = np.zeros_like(seen)
            coming[self._before(frontier, kinds)] = True
            frontier = np.flatnonzero(coming & ~seen)
            seen[frontier] = True
        seen[start] = False
        reached: Ints = self.ids[seen].astype(np.int64)
        return reached

    def _before(self, frontier: Ints, kinds: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
        """Return what has an edge to any of *frontier*; a large one is sooner found by looking at every edge."""
        if len(frontier) * _LARGE > len(self.ids):
            there = np.zeros(len(self.ids), dtype=np.bool_)
            there[frontier] = True
            edges = np.flatnonzero(there[self.target] & kinds[self.kind])
        else:
            edges = self.into(frontier)
            edges = edges[kinds[self.kind[edges]]]
        before: npt.NDArray[np.int32] = self.source[edges]
        return before


def _numbered(
    target: npt.NDArray[np.int32], source: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the ids that the edges have, in order, and the ends of the edges as places among these."""
    if not len(target):
        return target, target, source
    least = min(int(target.min()), int(source.min()))
    there = np.zeros(max(int(target.max()), int(source.max())) - least + 1, dtype=np.bool_)
    there[target - least] = True
    there[source - least] = True
    places = np.cumsum(there, dtype=np.int32) - 1
    return (np.flatnonzero(there) + least).astype(np.int32), places[target - least], places[source - least]
