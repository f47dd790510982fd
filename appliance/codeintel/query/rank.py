"""The search ranker: scores fused after min-max, then rules about code. What each is worth was measured by NDCG@10.

Ranks are never fused: what a score says about the distance between two candidates is lost in a rank.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from appliance.codeintel.query.querylang import ParsedQuery
from appliance.codeintel.query.signals import Floats, Signals
from appliance.codeintel.source.base import FileFlags


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each signal and each rule counts. The defaults were measured best on repositories set apart for that."""

    file_lexical: float = 1.2
    latent: float = 0.2  # of the signals other than the vectors
    dense_prose: float = 0.4
    dense_symbol: float = 0.2
    file_prior: float = 0.2
    named: float = 0.2
    central: float = 0.1  # for prose
    central_words: float = 0.2  # where there are no vectors
    coherence: float = 0.5
    stem: float = 0.15
    stem_symbol: float = 1.0
    defines_symbol: float = 1.5
    defines_prose: float = 0.3
    defines_central: float = 0.8  # for names that several files define
    test: float = 0.5
    example: float = 0.7
    doc: float = 0.7
    foreign: float = 0.5  # vendored or generated, where such files are indexed at all
    legacy: float = 0.7
    internal: float = 0.9  # for prose, as the one below: who asks for a name may mean one in there
    header: float = 0.8
    saturation: float = 0.5


DEFAULT = Weights()
_TEST, _EXAMPLE, _DOC = int(FileFlags.TEST), int(FileFlags.EXAMPLE), int(FileFlags.DOC)  # a flag is slow to ask for
_FOREIGN = int(FileFlags.VENDORED | FileFlags.GENERATED)
_LEGACY, _INTERNAL, _HEADER = int(FileFlags.LEGACY), int(FileFlags.INTERNAL), int(FileFlags.HEADER)
_COHERENT = 4  # chunks of a file that speak for it together


@dataclass(frozen=True, slots=True)
class Ranking:
    """Places in the signals' arrays, best first, with the score of each in the same order."""

    order: npt.NDArray[np.int64]
    scores: Floats


def rank(signals: Signals, query: ParsedQuery, *, weights: Weights = DEFAULT) -> Ranking:
    """Rank all candidates of *signals*."""
    if len(signals) == 0:
        return Ranking(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))
    scores = fuse(signals, query, weights=weights) + np.float32(weights.named) * signals.named
    scores = _coherent(scores, signals.files, weights.coherence)
    if query.style == "prose":
        central = weights.central if "vector" in signals.used else weights.central_words
        scores = scores + scores.max() * np.float32(central) * signals.central
    scores = _rules(scores, signals, query, weights)
    return _saturated(scores, signals.files, weights.saturation)


def fuse(signals: Signals, query: ParsedQuery, *, weights: Weights = DEFAULT) -> Floats:
    """Return one score a candidate, 0 to about 1, from what the signals say of its text alone."""
    lexical = _scaled(signals.lexical) + weights.file_lexical * _scaled(signals.file_lexical)
    words = _min_max(lexical)
    if "latent" in signals.used:
        words = (1 - weights.latent) * words + weights.latent * _min_max(signals.latent)
    if "vector" not in signals.used:
        return words
    share = weights.dense_prose if query.style == "prose" else weights.dense_symbol
    known = ~np.isnan(signals.dense)
    meaning = np.where(known, _min_max(signals.dense), words)  # a chunk without a vector is taken at its words
    scores = (1 - share) * words + share * meaning
    if query.style == "prose":
        prior = np.where(np.isnan(signals.file_dense), 0, _min_max(signals.file_dense))
        scores = scores + weights.file_prior * prior
    return scores.astype(np.float32)


def _coherent(scores: Floats, files: npt.NDArray[np.int64], weight: float) -> Floats:
    """Lift the best chunk of each file by what its best chunks score together."""
    result = scores.copy()
    order = np.lexsort((-scores, files))
    place = _place_in_file(files[order])
    starts = np.flatnonzero(place == 0)
    best, counted = scores[order], place < _COHERENT
    means = np.add.reduceat(best * counted, starts) / np.add.reduceat(counted, starts)
    result[order[starts]] += weight * (best[starts] + means / 2)
    return result


def _place_in_file(files: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return for each of *files*, those that are the same beside each other, how many of that file stand before it."""
    starts = np.flatnonzero(np.r_[True, files[1:] != files[:-1]])
    return np.arange(len(files)) - np.repeat(starts, np.diff(np.r_[starts, len(files)]))


def _rules(scores: Floats, signals: Signals, query: ParsedQuery, weights: Weights) -> Floats:
    top = float(scores.max())
    symbol = query.style == "symbol"
    defines = weights.defines_symbol * _meant(signals, weights) if symbol else weights.defines_prose * signals.defines
    stem = weights.stem_symbol if symbol else weights.stem
    result = scores + top * (stem * signals.stem + defines)
    there = int(np.bitwise_or.reduce(signals.flags))
    for flag, factor in _lowered(weights, symbol=symbol):
        if there & flag:
            result = np.where(signals.flags & flag, result * factor, result)
    return result.astype(np.float32)


def _meant(signals: Signals, weights: Weights) -> Floats:
    """Return what speaks for each definition of a name: of several that of the file on which more of the code leans."""
    if len(np.unique(signals.files[signals.defines > 0])) <= 1:
        return signals.defines
    meant: Floats = signals.defines * (1 + np.float32(weights.defines_central) * signals.central)
    return meant


def _lowered(weights: Weights, *, symbol: bool) -> Iterator[tuple[int, float]]:
    yield _TEST, weights.test
    yield _EXAMPLE, weights.example
    yield _DOC, weights.doc
    yield _FOREIGN, weights.foreign
    yield _LEGACY, weights.legacy
    if not symbol:
        yield _INTERNAL, weights.internal
        yield _HEADER, weights.header


def _saturated(scores: Floats, files: npt.NDArray[np.int64], factor: float) -> Ranking:
    """Order by score, where each further chunk of one file counts *factor* times the one before."""
    order = np.argsort(-scores, kind="stable")
    grouped = np.argsort(files[order], kind="stable")
    before = np.empty(len(order), dtype=np.int64)
    before[grouped] = _place_in_file(files[order][grouped])
    final = (scores[order] * factor**before).astype(np.float32)
    again = np.argsort(-final, kind="stable")
    return Ranking(order[again], final[again])


def _scaled(values: Floats) -> Floats:
    top = values.max(initial=0.0)
    return values / top if top > 0 else values


def _min_max(values: Floats) -> Floats:
    known = values[~np.isnan(values)]
    if len(known) == 0:
        return np.zeros_like(values)
    low, high = known.min(), known.max()
    return (values - low) / (high - low) if high > low else np.where(np.isnan(values), np.nan, np.float32(1.0))
