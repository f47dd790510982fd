"""What the lexical index scores, as lists with the best first."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from appliance.codeintel.store.lexical import LexicalIndex

Ranked = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]


def best_chunks(index: LexicalIndex, tokens: Sequence[str], limit: int) -> Ranked:
    """Return the best *limit* chunks for *tokens*, of those in which one of them stands, and their scores."""
    return _best(index.scored(tokens).chunks, limit)


def best_files(index: LexicalIndex, tokens: Sequence[str], limit: int) -> Ranked:
    """Return the best *limit* files for *tokens* likewise."""
    return _best(index.scored(tokens).files, limit)


def _best(scores: npt.NDArray[np.float32], limit: int) -> Ranked:
    there = np.flatnonzero(scores)
    order = there[np.argsort(-scores[there], kind="stable")][:limit]
    return order, scores[order]
