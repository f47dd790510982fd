"""What is known of each candidate for a query: the numbers that both rankers, for searches and for packs, start from."""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import numpy.typing as npt

from appliance.codeintel.parse.tokens import tokenize
from appliance.codeintel.query.naming import named
from appliance.codeintel.query.querylang import ParsedQuery, dotted, last_name
from appliance.codeintel.results import Signal
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.matrix import VectorMatrix
from appliance.codeintel.store.symbols import Defined, SymbolRow

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

_STRETCH = 256  # scores that are told from others by their highest
DEPTH = 50  # best chunks of each signal that become candidates
_TOP_OF_FILE = 3
_MOST_DEFINITIONS = 30  # of one name; "get" can have thousands
_OTHER_CASE = 0.6
_WITH_SIGIL = 0.9
_SIGILS = ("", "$", "_")  # what a name may begin with that is left out when it is asked for
_PART_OF_NAME = 0.7  # `stream` where `Client.stream` was asked and nothing has the whole name
_KINDS = {"variable": 0.6, "field": 0.5, "property": 0.6, "heading": 0.4, "module": 0.5, "constructor": 0.8}
_INNER = 0.7  # who asks for `Engine` means the type more often than a method of that name
_MOST_STEMS = 20_000  # paths whose file's name is remembered in tokens
_EMPTY_STEMS = frozenset({"__init__", "index", "mod", "lib", "main", "__main__"})


@dataclass(frozen=True, slots=True)
class Signals:
    """Candidate chunks of one generation, and an array each for what speaks for them; all arrays have one length.

    ``dense`` is NaN for a chunk without a vector. ``used`` says which signals had anything to say at all.
    """

    ids: Ids  # chunk
    files: Ids
    lexical: Floats  # BM25 of the chunk
    file_lexical: Floats  # BM25 of its file
    latent: Floats  # cosine
    dense: Floats  # cosine
    file_dense: Floats  # best cosine in the file + half of the mean of its best three; NaN where it has no vectors
    defines: Floats  # 1: defines a name of the query; less if only but for case, or only its last part; 0: does not
    named: Floats  # how much of the name of something that it defines is words of the query, for prose
    stem: Floats  # share of the words of the file's name that the query has
    central: Floats  # how central the file is in the repository, 0 to 1; all 0 where there is no graph
    flags: npt.NDArray[np.uint8]  # of the file: test, example, older version, …
    used: tuple[Signal, ...]

    def __len__(self) -> int:
        """Return the number of candidates."""
        return len(self.ids)


def collect(
    generation: Generation, query: ParsedQuery, *, vector: Floats | None, within: Ids | None = None, depth: int = DEPTH
) -> Signals:
    """Gather the candidates for *query*: the best *depth* of each signal, and what defines a name of the query.

    *vector* is the query's, None when there is none; with *within* only those chunks are candidates.
    """
    latent = _latent(generation, query)
    meaning = _meaning(generation, vector)
    words = generation.lexical.scored(query.tokens)
    defining = _definitions(generation, query)
    allowed = _holding(generation, query, within) if query.phrases else within
    top = _best(words.chunks, depth, allowed, above=0)
    pools = [top, np.fromiter(defining, dtype=np.int64)]
    if latent is not None:
        pools.append(_best(latent, depth, allowed))
    if meaning is not None:
        pools.append(meaning.matrix.nearest(meaning.vector, depth, among=allowed))
    ids = np.unique(np.concatenate(pools))
    if allowed is not None:
        ids = ids[np.isin(ids, allowed)]
    files = generation.chunk_file[ids].astype(np.int64)
    nothing = np.zeros(len(ids), dtype=np.float32)
    dense = None if meaning is None else _dense(generation, meaning, files)
    return Signals(
        ids=ids,
        files=files,
        lexical=words.chunks[ids],
        file_lexical=words.files[files],
        latent=nothing if latent is None else latent[ids],
        dense=np.full(len(ids), np.nan, dtype=np.float32) if dense is None else dense[ids],
        file_dense=_file_prior(generation, dense, files),
        defines=np.array([defining.get(int(i), 0.0) for i in ids], dtype=np.float32),
        named=named(generation, query, ids) if query.style == "prose" else nothing,
        stem=_stem(generation, query, files),
        central=_central(generation, files),
        flags=_flags(generation, query, files),
        used=_used(top, latent, dense),
    )


def joined(each: Sequence[Signals], *, sizes: Sequence[int]) -> Signals:
    """Return the signals of several generations as one, in order; *sizes* are their numbers of files.

    ``files`` are numbered on through all of them, ``ids`` stay what they are in each one's own generation.
    """
    if len(each) == 1:
        return each[0]
    bases = np.cumsum([0, *sizes])[: len(each)]
    columns = (
        "ids",
        "lexical",
        "file_lexical",
        "latent",
        "dense",
        "file_dense",
        "defines",
        "named",
        "stem",
        "central",
        "flags",
    )
    together = {name: np.concatenate([getattr(one, name) for one in each]) for name in columns}
    files = np.concatenate([one.files + base for one, base in zip(each, bases, strict=True)])
    used = tuple(name for name in get_args(Signal) if any(name in one.used for one in each))
    return Signals(files=files, used=used, **together)


def _holding(generation: Generation, query: ParsedQuery, within: Ids | None) -> Ids:
    """Return the chunks that hold every phrase of *query*: only the lexical index knows where one stands."""
    holding = generation.lexical.holding(query.phrases)
    return holding if within is None else np.intersect1d(holding, within)


def _latent(generation: Generation, query: ParsedQuery) -> Floats | None:
    space = generation.latent
    if space is None:
        return None
    folded = space.embed(query.tokens)
    return space.scores(folded) if folded.any() else None


@dataclass(frozen=True, slots=True)
class _Meaning:
    """A query's vector, and those of the chunks."""

    matrix: VectorMatrix
    vector: Floats


def _meaning(generation: Generation, vector: Floats | None) -> _Meaning | None:
    matrix = generation.vectors
    return None if vector is None or matrix is None or matrix.empty else _Meaning(matrix, vector)


def _dense(generation: Generation, meaning: _Meaning, files: Ids) -> Floats:
    """Return by chunk the cosine with the query's vector: nan outside of *files*, and where a chunk has none."""
    among, _ = _chunks_of(generation, np.unique(files))
    scores = np.full(len(generation.chunk_file), np.nan, dtype=np.float32)
    scores[among] = meaning.matrix.cosines(meaning.vector, among)
    return scores


def _chunks_of(generation: Generation, files: Ids) -> tuple[Ids, Ids]:
    """Return the chunks of *files*, file after file, and of each the place of its file among *files*."""
    bounds = generation.files.first_chunk
    first = bounds[files].astype(np.int64)
    counts = bounds[files + 1] - first
    owner = np.repeat(np.arange(len(files)), counts)
    return np.arange(len(owner)) + (first - (np.cumsum(counts) - counts))[owner], owner


def _used(lexical: Ids, latent: Floats | None, dense: Floats | None) -> tuple[Signal, ...]:
    pairs: tuple[tuple[Signal, bool], ...] = (
        ("lexical", len(lexical) > 0),
        ("latent", latent is not None),
        ("vector", dense is not None),
    )
    return tuple(name for name, there in pairs if there)


def _best(scores: Floats, depth: int, allowed: Ids | None, *, above: float = -np.inf) -> Ids:
    """Return the places of the best *depth* of *scores* that are *above* something, of those *allowed*; nan never is."""
    known = scores if allowed is None else scores[allowed]
    if np.isnan(known).any():
        known = np.where(np.isnan(known), -np.inf, known)
    best = _leading(known, depth, above)
    if len(best) > depth:
        best = best[np.argpartition(known[best], -depth)[-depth:]]
    return best if allowed is None else allowed[best]


def _leading(scores: Floats, depth: int, above: float) -> Ids:
    """Return places that hold the best *depth* of *scores* and few others, with no more than a look at each score.

    Each of the *depth* stretches with the highest tops has a score as high as the lowest of these tops: what is lower is not
    among the best.
    """
    stretches = len(scores) // _STRETCH
    if stretches > depth:
        tops = scores[: stretches * _STRETCH].reshape(stretches, _STRETCH).max(axis=1)
        low = np.partition(tops, -depth)[-depth]
        if low > above:
            return np.flatnonzero(scores >= low)
    return np.flatnonzero(scores > above)


def _file_prior(generation: Generation, dense: Floats | None, files: Ids) -> Floats:
    distinct, place = np.unique(files, return_inverse=True)
    priors = np.full(len(distinct), np.nan, dtype=np.float32)
    if dense is not None:
        chunks, owner = _chunks_of(generation, distinct)
        scores = dense[chunks]
        known = np.flatnonzero(~np.isnan(scores))
        known = known[np.lexsort((-scores[known], owner[known]))]
        scores, owner = scores[known], owner[known]
        heads = np.flatnonzero(np.diff(owner, prepend=-1))  # the best of each file
        nth = np.arange(len(owner)) - np.repeat(heads, np.diff(np.append(heads, len(owner))))
        top = nth < _TOP_OF_FILE
        sums = np.bincount(owner[top], weights=scores[top], minlength=len(distinct))[owner[heads]]
        counts = np.bincount(owner[top], minlength=len(distinct))[owner[heads]]
        priors[owner[heads]] = scores[heads] + sums / counts / 2
    return priors[place]


def _definitions(generation: Generation, query: ParsedQuery) -> dict[int, float]:
    """Return the chunks that define a name of the query, with how well they do."""
    found: dict[int, float] = {}
    for name in query.names:
        for row, worth in _rows(generation, name):
            chunk = chunk_at(generation, file=row.file, line=row.start_line)
            if chunk is not None:
                found[chunk] = max(found.get(chunk, 0.0), worth)
    return found


def _rows(generation: Generation, name: str) -> list[tuple[SymbolRow | Defined, float]]:
    qualified, last = dotted(name), last_name(name)
    rows: list[SymbolRow | Defined] = [*generation.symbols.qualified(qualified)] if qualified != last else []
    worth = 1.0 if rows else _PART_OF_NAME if qualified != last else 1.0
    rows = rows or [row for sigil in _SIGILS for row in generation.symbols.defined(sigil + last)]
    flagged = generation.files.flags != 0
    rows.sort(key=lambda row: (bool(flagged[row.file]), row.parent.count("."), row.id))
    return [(row, worth * _fit(row, qualified, last)) for row in rows[:_MOST_DEFINITIONS]]


def _fit(row: SymbolRow | Defined, qualified: str, last: str) -> float:
    case = 1.0 if row.name == last else _WITH_SIGIL if row.name[1:] == last else _OTHER_CASE
    inner = _INNER if row.parent and qualified == last else 1.0
    return case * inner * _KINDS.get(row.kind, 1.0)


def chunk_at(generation: Generation, *, file: int, line: int) -> int | None:
    """Return the first chunk of *file* that holds *line*, or None when none does."""
    first, last = generation.files.first_chunk[file : file + 2]
    inside = (generation.chunk_start[first:last] <= line) & (line <= generation.chunk_end[first:last])
    return int(first + inside.argmax()) if inside.any() else None


def _central(generation: Generation, files: Ids) -> Floats:
    ranks = np.ones(len(files), dtype=np.float32)
    if generation.graph is None or len(files) == 0:
        return np.zeros(len(files), dtype=np.float32)
    known = files < len(generation.graph.centrality)
    ranks[known] = generation.graph.centrality[files[known]]
    spread = np.log1p(ranks)
    central: Floats = spread / spread.max()
    return central


def _flags(generation: Generation, query: ParsedQuery, files: Ids) -> npt.NDArray[np.uint8]:
    asked = frozenset(re.findall(r"\w+", query.text.lower()))
    flags: npt.NDArray[np.uint8] = generation.files.flags[files] | generation.standing.flags(files.tolist(), asked=asked)
    return flags


def _stem(generation: Generation, query: ParsedQuery, files: Ids) -> Floats:
    asked, paths = frozenset(query.tokens), generation.files.paths
    return np.array([_share(asked, stem_tokens(paths[file])) for file in files.tolist()], dtype=np.float32)


@functools.lru_cache(maxsize=_MOST_STEMS)
def stem_tokens(path: str) -> tuple[str, ...]:
    """Return the search tokens of a file's name without its ending; none for a name that every package has."""
    name = path.rpartition("/")[2]
    stem = name.partition(".")[0] or name
    return () if stem.lower() in _EMPTY_STEMS else tuple(tokenize(stem).split())


def _share(asked: frozenset[str], stem: Sequence[str]) -> float:
    if asked.isdisjoint(stem):
        return 0.0
    if stem[-1] in asked:  # the whole name, or its only word
        return 1.0
    parts = stem[:-1]
    return sum(map(asked.__contains__, parts)) / len(parts) if parts else 0.0
