"""From a query and a scope to candidates of every repo in it, ranked together: what searches and answers both start from."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from appliance.base.clock import Clock
from appliance.base.figures import percent
from appliance.codeintel.needs import Embedder
from appliance.codeintel.query.absent import absent
from appliance.codeintel.query.filters import chunks_for, parts_for, unspoken
from appliance.codeintel.query.parts import Part, dated, lags, staleness, unreadable
from appliance.codeintel.query.patterns import unfinished, within_time
from appliance.codeintel.query.querylang import ParsedQuery
from appliance.codeintel.query.rank import Ranking, rank
from appliance.codeintel.query.signals import Floats, Signals, collect, joined
from appliance.codeintel.results import Scope
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.generations import Generations, Lag
from appliance.errors import EngineUnavailable, StoreCorrupt

_REMEMBERED = 256  # query vectors: paging through results, and asking again, embeds once
_T = TypeVar("_T")
_WORDS_ALONE = "results rest on words alone."


@dataclass(frozen=True, slots=True)
class Gathered:
    """The candidates of all repos of a scope, ranked together. ``part`` says for each candidate which repo it is of.

    ``signals.files`` are numbers across all parts: a file's number in its own generation plus the files of the parts before.
    """

    query: ParsedQuery
    parts: tuple[Part, ...]
    signals: Signals
    part: npt.NDArray[np.int64]
    ranking: Ranking
    warnings: tuple[str, ...]
    vector_warnings: tuple[str, ...]  # why meaning was not looked at, or not everywhere
    timings: dict[str, float]


@dataclass(frozen=True, slots=True)
class _Vector:
    """A query's vector, and the model whose space it lies in."""

    model: str
    values: Floats

    def of(self, generation: Generation) -> Floats | None:
        fits = generation.vectors is not None and generation.vectors.model == self.model
        return self.values if fits else None


def steps(times: Sequence[float], *names: str) -> dict[str, float]:
    """Return milliseconds by step: *names* of those between the *times* taken."""
    return {name: round((after - before) * 1000, 3) for name, before, after in zip(names, times, times[1:], strict=False)}


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds that a search waits for what it can do without."""

    vector: float = 0.08  # of the query
    behind: float = 0.05  # once all else is done, to hear how many commits are not indexed yet


class Gatherer:
    """Opens repos, embeds queries and collects signals. Nothing here blocks the event loop."""

    def __init__(self, generations: Generations, embedder: Embedder | None, clock: Clock, *, patience: Patience) -> None:
        self._generations = generations
        self._embedder = embedder
        self._clock = clock
        self._patience = patience
        self._vectors: OrderedDict[tuple[str, str], Floats] = OrderedDict()

    async def gather(self, query: ParsedQuery, *, scope: Scope, then: Callable[[Gathered], _T]) -> _T:
        """Return what *then* makes of the ranked candidates for *query* in *scope*, in the thread that found them.

        Raise `NotFound` when nothing of it is indexed.
        """
        if self._embedder is None:  # one thread can do it all: there is nothing to wait for
            return await asyncio.to_thread(lambda: then(self._ranked(query, self._open(query, scope), None, [])))
        opened = await asyncio.to_thread(self._open, query, scope)
        vector, unembedded = await self._embed(query, opened.parts)
        lacking = [*_unfilled(opened.parts), *unembedded]
        return await asyncio.to_thread(lambda: then(self._ranked(query, opened, vector, lacking)))

    def _open(self, query: ParsedQuery, scope: Scope) -> "_Opened":
        start = self._clock.monotonic()
        parts, warnings = parts_for(query, scope, self._generations)
        return _Opened(parts, warnings, lags(parts, self._generations), start, self._clock.monotonic())

    def _ranked(self, query: ParsedQuery, opened: "_Opened", vector: _Vector | None, lacking: Sequence[str]) -> Gathered:
        times = [opened.start, opened.end, self._clock.monotonic()]
        found = _candidates(query, opened.parts, vector, self._clock)
        times.append(self._clock.monotonic())
        parts = dated(opened.parts, opened.asked, within=self._patience.behind)
        times.append(self._clock.monotonic())
        return Gathered(
            query=query,
            parts=tuple(parts),
            signals=found.signals,
            part=found.part,
            ranking=found.ranking,
            warnings=(*opened.warnings, *found.warnings, *staleness(parts)),
            vector_warnings=tuple(lacking),
            timings=steps(times, "open_ms", "embed_ms", "rank_ms", "freshness_ms"),
        )

    async def _embed(self, query: ParsedQuery, parts: Sequence[Part]) -> tuple[_Vector | None, list[str]]:
        if self._embedder is None:
            return None, []  # as the settings have it: nothing is amiss
        model = self._embedder.model
        others = [p.repo.name for p in parts if p.generation.vectors is not None and p.generation.vectors.model != model]
        warnings = [f"The vectors of {name} are of another model than {model}: they are not used." for name in others]
        if not any(p.generation.vectors is not None and p.generation.vectors.model == model for p in parts):
            return None, warnings
        key = (model, query.text)
        if key in self._vectors:
            self._vectors.move_to_end(key)
            return _Vector(model, self._vectors[key]), warnings
        try:
            async with asyncio.timeout(self._patience.vector):
                values: Floats = (await self._embedder.embed([query.text]))[0]
        except TimeoutError:
            late = f"The embedding engine did not answer within {self._patience.vector * 1000:.0f} ms: {_WORDS_ALONE}"
            return None, [*warnings, late]
        except EngineUnavailable as exc:
            return None, [*warnings, f"The embedding engine is not available: {_WORDS_ALONE} {exc.message}"]
        self._vectors[key] = values
        if len(self._vectors) > _REMEMBERED:
            self._vectors.popitem(last=False)
        return _Vector(model, values), warnings


@dataclass(frozen=True, slots=True)
class _Opened:
    """What is to be searched, and when it began and ended to be opened."""

    parts: list[Part]
    warnings: list[str]
    asked: list[Lag]
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class _Found:
    signals: Signals
    part: npt.NDArray[np.int64]
    ranking: Ranking
    warnings: tuple[str, ...]


def _candidates(query: ParsedQuery, parts: Sequence[Part], vector: _Vector | None, clock: Clock) -> _Found:
    """Rank what each of *parts* has; one whose index turns out to be damaged has nothing, unless it is the only one."""
    each: dict[int, Signals] = {}
    broken: list[StoreCorrupt] = []
    warnings: list[str] = []
    late = within_time(clock)
    for number, part in enumerate(parts):
        generation = part.generation
        values = None if vector is None else vector.of(generation)
        try:
            within, whole = chunks_for(query, generation, late=late)
            each[number] = collect(generation, query, vector=values, within=within)
        except StoreCorrupt as exc:
            broken.append(exc)
            warnings.append(unreadable(part.repo, exc))
        else:
            warnings += unfinished(part, query, whole=whole)
    if broken and not each:
        raise broken[0]
    warnings += unspoken(query, [parts[number].generation for number in each])
    warnings += absent(query, [parts[number] for number in each])
    signals = joined(list(each.values()), sizes=[parts[number].generation.files.end for number in each])
    warnings += _wordless(query, signals)
    part_of = np.repeat(np.array(list(each)), [len(one) for one in each.values()])
    return _Found(signals, part_of, rank(signals, query), tuple(warnings))


def _wordless(query: ParsedQuery, signals: Signals) -> list[str]:
    if "lexical" in signals.used or not len(signals) or signals.defines.any():
        return []
    where = " that the filters let through" if query.filters else ""
    return [f"No file{where} holds these words; the hits are by meaning alone."]


def _unfilled(parts: Sequence[Part]) -> list[str]:
    return [
        f"{part.repo.name}: {percent(part.freshness.vectors)} of the vectors are there; the rest goes by words alone."
        for part in parts
        if part.freshness.vectors < 1
    ]
