"""Ranked candidates as people read them: one page of spans with their lines, and why each is there."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from appliance.codeintel.citations import Texts, excerpt, guessed, verify
from appliance.codeintel.parse.tokens import query_tokens
from appliance.codeintel.query.copies import Alike, distinct
from appliance.codeintel.query.gather import Gathered
from appliance.codeintel.query.parts import Part, copies
from appliance.codeintel.query.querylang import ParsedQuery, last_name
from appliance.codeintel.query.signals import Signals
from appliance.codeintel.results import Hit, Span
from appliance.codeintel.source.base import FileFlags, Source
from appliance.codeintel.store.generations import Generations
from appliance.codeintel.store.symbols import SymbolRow
from appliance.errors import ApplianceError, StoreCorrupt
from appliance.ids import BlobId, RepoId

_MOST_WORDS = 5  # named in "why"
_NAMED_AFTER = 0.5  # share of a file name's words that must be asked for, to say so


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the hits, and how many there are in all."""

    hits: tuple[Hit, ...]
    total: int
    warnings: tuple[str, ...]


def page_of(gathered: Gathered, generations: Generations, *, limit: int, offset: int) -> Page:
    """Return the hits from *offset* on, at most *limit*; lines that stand in several places are one hit, at the best one.

    Each says whether its lines stand where it says; where they do not, or cannot be read, a warning says of which repo.
    """
    groups = distinct(gathered)
    sources, warnings = sources_of(gathered.parts, generations)
    texts = Texts(sources)
    page = groups[offset : offset + limit]
    _fetch(gathered, page, texts)
    spans, _ = verify([_span(gathered, ranked) for ranked in page], texts=texts)
    warnings += lost(spans, sources)
    warnings += guessed((span.path, texts.encoding(span.repo, span.blob)) for span in spans)
    places = copies(gathered.parts, (blob for ranked in page for blob in ranked.blobs))
    hits = []
    for ranked, span in zip(page, spans, strict=True):
        try:
            hits.append(_hit(gathered, ranked, span, texts, places=sum(places[blob] for blob in ranked.blobs)))
        except StoreCorrupt as exc:  # the symbols are read from the disk only now
            warnings.append(f"A hit in {span.repo_name} cannot be shown: {exc}")
    return Page(tuple(hits), len(groups), tuple(dict.fromkeys(warnings)))


def sources_of(parts: Sequence[Part], generations: Generations) -> tuple[dict[RepoId, Source], list[str]]:
    """Return the sources of *parts*, and a warning for each repo that cannot be opened."""
    sources, warnings = {}, []
    for part in parts:
        try:
            sources[part.repo.id] = generations.source(part.repo.id)
        except ApplianceError as exc:
            warnings.append(f"{part.repo.name} cannot be read now, its hits come without text: {exc.message}")
    return sources, warnings


def _fetch(gathered: Gathered, page: Sequence[Alike], texts: Texts) -> None:
    wanted: dict[RepoId, list[BlobId]] = {}
    for ranked in page:
        part = gathered.parts[gathered.part[ranked.place]]
        file = part.generation.chunk_file[gathered.signals.ids[ranked.place]]
        wanted.setdefault(part.repo.id, []).append(part.generation.files.blobs[file])
    for repo, blobs in wanted.items():
        texts.fetch(repo, blobs)


def _span(gathered: Gathered, ranked: Alike) -> Span:
    part = gathered.parts[gathered.part[ranked.place]]
    generation = part.generation
    chunk = int(gathered.signals.ids[ranked.place])
    file = int(generation.chunk_file[chunk])
    return Span(
        repo=part.repo.id,
        repo_name=part.repo.name,
        path=generation.files.paths[file],
        start_line=int(generation.chunk_start[chunk]),
        end_line=int(generation.chunk_end[chunk]),
        blob=generation.files.blobs[file],
        commit=generation.info.commit,
    )


def lost(spans: Sequence[Span], sources: Mapping[RepoId, Source]) -> list[str]:
    """Return what to say of repos that are there, but do not hold what was indexed of them: their history was rewritten."""
    lost = Counter((span.repo_name, span.commit) for span in spans if not span.verified and span.repo in sources)
    return [
        f"{name}: {'1 hit' if count == 1 else f'{count} hits'} of this page could not be verified, it may have lost commit"
        f" {commit[:12]}. Index it again."
        for (name, commit), count in lost.items()
    ]


def _hit(gathered: Gathered, ranked: Alike, span: Span, texts: Texts, *, places: int) -> Hit:
    part = gathered.parts[gathered.part[ranked.place]]
    generation = part.generation
    chunk = int(gathered.signals.ids[ranked.place])
    text = excerpt(span, texts=texts)
    defined = generation.chunk_defines(chunk)
    asked = _asked(defined, gathered.query)
    symbol = asked or generation.chunk_symbol(chunk) or (defined[0] if defined else None)
    return Hit(
        span=span,
        symbol="" if symbol is None else symbol.qualname,
        kind="" if symbol is None else symbol.kind,
        language=generation.files.languages[int(generation.chunk_file[chunk])],
        score=round(ranked.score, 4),
        why=tuple(_why(gathered, ranked.place, part=part, text=text, asked=asked, places=places)),
        text=text,
    )


def _asked(defined: Sequence[SymbolRow], query: ParsedQuery) -> SymbolRow | None:
    names = {last_name(name).casefold() for name in query.names}
    return next((row for row in defined if row.name.casefold() in names), None)


def _why(gathered: Gathered, place: int, *, part: Part, text: str, asked: SymbolRow | None, places: int) -> Iterable[str]:
    signals = gathered.signals
    if asked is not None:
        yield f"defines {asked.qualname}"
    if signals.stem[place] >= _NAMED_AFTER:
        yield "the file is called so"
    words = _words(gathered.query, part, text)
    if words:
        yield f"words: {', '.join(words)}"
    if not np.isnan(signals.dense[place]):
        yield f"meaning {signals.dense[place]:.2f}"
    yield from _lowered(signals, place)
    yield from elsewhere(places)


def elsewhere(places: int) -> Iterable[str]:
    """Yield what to say of lines that stand in so many *places* in all."""
    if places > 1:
        yield "also in 1 place" if places == 2 else f"also in {places - 1} places"


def _words(query: ParsedQuery, part: Part, text: str) -> list[str]:
    """Return the words of the query that stand in *text*, rarest first."""
    there = set(query_tokens(text))
    found = [word.strip("()[]{}<>,;:!?.'`\"") for word in dict.fromkeys(query.text.split()) if _stands(word, there)]
    tokens = [(query_tokens(word) or [""])[-1] for word in found]
    rarity = part.generation.lexical.rarity(tokens)
    return [found[n] for n in np.argsort(-rarity, kind="stable")[:_MOST_WORDS]]


def _stands(word: str, there: set[str]) -> bool:
    tokens = query_tokens(word)
    return bool(tokens) and any(token in there for token in tokens)


def _lowered(signals: Signals, place: int) -> Iterable[str]:
    flags = int(signals.flags[place])
    if flags & FileFlags.TEST:
        yield "test file, lowered"
    if flags & FileFlags.EXAMPLE:
        yield "example, lowered"
    if flags & FileFlags.LEGACY:
        yield "older version, lowered"
