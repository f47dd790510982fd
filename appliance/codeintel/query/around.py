"""One step through the graph from what bears on a question best: what it calls is likely to be a part of the answer.

Only callees count. Callers of the best candidates, lifted in the same way, kept answering lines out of the packs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from appliance.codeintel.query.draft import plain_name
from appliance.codeintel.query.gather import Gathered
from appliance.codeintel.query.signals import Floats, chunk_at
from appliance.codeintel.store.generation import Generation

_FROM: Final = 3  # best candidates whose calls are followed
_LEAST: Final = 0.6  # confidence of a call
_MOST: Final = 25  # definitions that one may call; what calls more says little by each


@dataclass(frozen=True, slots=True)
class Around:
    """What the graph says of the candidates: by how much each is lifted, and, of those that are, who calls it."""

    lift: Floats
    why: dict[int, str]


def around(gathered: Gathered, scores: Floats) -> Around:
    """Return for each candidate the best score of a candidate that calls it, by its confidence; 0 for what none calls."""
    lift = np.zeros(len(scores), dtype=np.float32)
    why: dict[int, str] = {}
    places = {(part, int(chunk)): n for n, (part, chunk) in enumerate(zip(gathered.part, gathered.signals.ids, strict=True))}
    for best in np.argsort(-scores, kind="stable")[:_FROM]:
        part = int(gathered.part[best])
        for chunk, confidence, caller in _called(gathered.parts[part].generation, int(gathered.signals.ids[best])):
            place = places.get((part, chunk))
            if place is not None and confidence * scores[best] > lift[place]:
                lift[place] = confidence * scores[best]
                why[place] = f"called by {caller}, {confidence:.0%} sure"
    return Around(lift, why)


def _called(generation: Generation, chunk: int) -> Iterator[tuple[int, float, str]]:
    """Yield each chunk that defines what *chunk* calls, how surely, and the name of what calls it."""
    if generation.graph is None:
        return
    holder = int(generation.chunk_symbol_id[chunk])
    sources = {*generation.chunk_defines_ids(chunk), *([holder] if holder >= 0 else [])}
    edges = [edge for edge in generation.graph.callees(sources) if edge.confidence >= _LEAST]
    targets = {edge.target: edge for edge in reversed(edges) if edge.target >= 0 and edge.target not in sources}
    if not 0 < len(targets) <= _MOST:
        return
    rows = {row.id: row for row in generation.symbols.rows({*targets, *sources})}
    for target, edge in targets.items():
        row = rows[target]
        found = chunk_at(generation, file=row.file, line=row.start_line)
        if found is not None and not generation.files.flags[row.file]:
            yield found, edge.confidence, plain_name(rows[edge.source].qualname)
