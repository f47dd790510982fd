"""Ranked candidates as people read them: one page of spans with their lines, and why each is there."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from appliance.codeintel.citations import Texts, excerpt, guessed, verify_places
from appliance.codeintel.parse.tokens import query_tokens
from appliance.codeintel.query.copies import Alike, distinct
from appliance.codeintel.query.gather import Gathered
from appliance.codeintel.query.parts import MOST_PLACES, Part, copies, place_in, whereabouts
from appliance.codeintel.query.querylang import ParsedQuery, last_name
from appliance.codeintel.query.signals import Signals
from appliance.codeintel.results import Hit, Span
from appliance.codeintel.source.base import FileFlags, Source
from appliance.codeintel.store.generation import Generation
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
    page = groups[offset : offset + limit]
    spans = verify_places([_span(gathered, ranked) for ranked in page], sources=sources)
    warnings += lost(spans, sources)
    warnings += guessed(_encoded(gathered, ranked) for ranked in page)
    told = _Told(gathered, Texts(sources))
    places = copies(gathered.parts, (blob for ranked in page for blob in ranked.blobs))
    total = [sum(places[blob] for blob in ranked.blobs) for ranked in page]
    copied = (blob for ranked, count in zip(page, total, strict=True) if count > 1 for blob in ranked.blobs)
    also = whereabouts(gathered.parts, copied)
    hits = []
    for ranked, span, count in zip(page, spans, total, strict=True):
        try:
            hit = told.hit(ranked, span, places=count)
            hits.append(replace(hit, also=_others(gathered, ranked, span, also)) if count > 1 else hit)
        except StoreCorrupt as exc:  # symbols and text are read from the disk only now
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


def _encoded(gathered: Gathered, ranked: Alike) -> tuple[str, str]:
    """Return the path of a hit, and what its file was read as."""
    generation = gathered.parts[gathered.part[ranked.place]].generation
    file = int(generation.chunk_file[gathered.signals.ids[ranked.place]])
    return generation.files.paths[file], generation.files.encodings[file]


def lost(spans: Sequence[Span], sources: Mapping[RepoId, Source]) -> list[str]:
    """Return what to say of repos that are there, but do not hold what was indexed of them: their history was rewritten."""
    lost = Counter((span.repo_name, span.commit) for span in spans if not span.verified and span.repo in sources)
    return [
        f"{name}: {'1 hit' if count == 1 else f'{count} hits'} of this page could not be verified, it may have lost commit"
        f" {commit[:12]}. Index it again."
        for (name, commit), count in lost.items()
    ]


class _Told:
    """Tells of the hits of one page; what they have in common is looked up once."""

    def __init__(self, gathered: Gathered, texts: Texts) -> None:
        self._gathered = gathered
        self._texts = texts
        self._words = [_words(gathered.query, part) for part in gathered.parts]
        self._names = {last_name(name).casefold() for name in gathered.query.names}

    def hit(self, ranked: Alike, span: Span, *, places: int) -> Hit:
        """Return one hit, of lines that stand in so many *places* in all."""
        part = int(self._gathered.part[ranked.place])
        generation = self._gathered.parts[part].generation
        chunk = int(self._gathered.signals.ids[ranked.place])
        file = int(generation.chunk_file[chunk])
        text = self._text(generation, file, span)
        around, defined = int(generation.chunk_symbol_id[chunk]), generation.chunk_defines_ids(chunk)
        rows = {row.id: row for row in generation.symbols.rows([*defined, *([around] if around >= 0 else [])])}
        asked = next((rows[each] for each in defined if rows[each].name.casefold() in self._names), None)
        symbol = asked or rows.get(around) or (rows[defined[0]] if defined else None)
        return Hit(
            span=span,
            symbol="" if symbol is None else symbol.qualname,
            kind="" if symbol is None else symbol.kind,
            language=generation.files.languages[file],
            score=round(ranked.score, 4),
            why=tuple(self._why(ranked.place, text, self._words[part], asked=asked, places=places)),
            text=text,
        )

    def _text(self, generation: Generation, file: int, span: Span) -> str:
        number = int(generation.text.of_file[file]) if span.verified else -1
        if number < 0:  # what a repository has lost, or hides since, the index does not show either
            return excerpt(span, texts=self._texts)
        return "\n".join(generation.text.lines(number, span.start_line, span.end_line))

    def _why(
        self, place: int, text: str, words: Sequence["_Word"], *, asked: SymbolRow | None, places: int
    ) -> Iterable[str]:
        signals, there = self._gathered.signals, set(query_tokens(text))
        if asked is not None:
            yield f"defines {asked.qualname}"
        if signals.stem[place] >= _NAMED_AFTER:
            yield "the file is called so"
        found = [word.text for word in words if not there.isdisjoint(word.tokens)][:_MOST_WORDS]
        if found:
            yield f"words: {', '.join(found)}"
        if not np.isnan(signals.dense[place]):
            yield f"meaning {signals.dense[place]:.2f}"
        yield from _lowered(signals, place)
        yield from elsewhere(places)


def _others(gathered: Gathered, ranked: Alike, span: Span, also: Mapping[BlobId, list[str]]) -> tuple[str, ...]:
    shown = place_in(gathered.parts[gathered.part[ranked.place]], span.path)
    return tuple(sorted(place for blob in ranked.blobs for place in also[blob] if place != shown)[:MOST_PLACES])


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a query as it is shown, and the search tokens that it is."""

    text: str
    tokens: tuple[str, ...]


def _words(query: ParsedQuery, part: Part) -> list[_Word]:
    """Return the words of the query, those first that are rarest in *part*."""
    words = [
        _Word(word.strip("()[]{}<>,;:!?.'`\""), tuple(query_tokens(word))) for word in dict.fromkeys(query.text.split())
    ]
    words = [word for word in words if word.tokens]
    rarity = part.generation.lexical.rarity([word.tokens[-1] for word in words])
    return [words[n] for n in np.argsort(-rarity, kind="stable")]


def elsewhere(places: int) -> Iterable[str]:
    """Yield what to say of lines that stand in so many *places* in all."""
    if places > 1:
        yield "also in 1 place" if places == 2 else f"also in {places - 1} places"


def _lowered(signals: Signals, place: int) -> Iterable[str]:
    flags = int(signals.flags[place])
    if flags & FileFlags.TEST:
        yield "test file, lowered"
    if flags & FileFlags.EXAMPLE:
        yield "example, lowered"
    if flags & FileFlags.LEGACY:
        yield "older version, lowered"
    if flags & FileFlags.VENDORED:
        yield "vendored, lowered"
    if flags & FileFlags.GENERATED:
        yield "generated, lowered"
