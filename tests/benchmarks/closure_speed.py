"""How soon everything is known that a change can reach, in a made graph of a million edges."""

import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from appliance.codeintel.store.adjacency import COLUMNS, Adjacency
from appliance.codeintel.store.files import Files
from appliance.codeintel.store.symbols import Gone
from tests.benchmarks import targets
from tests.benchmarks.report import Figure

_EDGES = 1_000_000
_SYMBOLS = 200_000
_ASKED = 40
_ALL = np.ones(256, dtype=np.bool_)


def figures() -> Sequence[Figure]:
    """Make the graph, open it as a reader does, and go back from symbols drawn at random as far as it goes."""
    packed = {name: column.astype(COLUMNS[name]).tobytes() for name, column in _columns().items()}
    start = time.process_time()
    edges = Adjacency(packed, _nothing_gone())
    opened = (time.process_time() - start) * 1000
    chance = np.random.default_rng(3)
    took, reached = [], []
    for symbol in chance.integers(0, _SYMBOLS, _ASKED).tolist():
        start = time.process_time()
        reached.append(len(edges.closure((symbol,), kinds=_ALL)))
        took.append((time.process_time() - start) * 1000)
    load = f"{_EDGES:,} edges, {_SYMBOLS:,} symbols, {int(np.median(reached)):,} reached"
    return [
        Figure("edges laid out to go through all, processor time", opened, "ms", load=load),
        targets.reached("closure", float(np.percentile(took, 95)), load=f"{load}, processor time"),
    ]


def _columns() -> dict[str, npt.NDArray[np.int64]]:
    """Return edges as code has them: few definitions are used very often, most a few times, mostly from near by."""
    chance = np.random.default_rng(11)
    popular = (_SYMBOLS * chance.power(0.35, _EDGES // 2)).astype(np.int64)
    source = chance.integers(0, _SYMBOLS, _EDGES)
    near = np.clip(source[_EDGES // 2 :] + chance.integers(-40, 40, _EDGES - _EDGES // 2), 0, _SYMBOLS - 1)
    return {
        "target": np.concatenate((popular, near)),
        "source": source,
        "line": chance.integers(1, 2000, _EDGES),
        "kind": chance.integers(0, 6, _EDGES),
        "confidence": chance.integers(40, 101, _EDGES),
    }


def _nothing_gone() -> Gone:
    none = np.zeros(0, dtype=np.int32)
    flags, alive = np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.bool_)
    return Gone(Files([], [], [], [], [], flags, none, none, np.zeros(0, dtype=np.int64), none, alive, {}))
