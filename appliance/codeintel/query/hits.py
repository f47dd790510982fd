"""Ranked candidates as people read them: one page of spans with their lines, and why each is there."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Final, NamedTuple

import numpy as np

from appliance.codeintel.citations import Texts, excerpt, guessed, verify_places
from appliance.codeintel.parse.tokens import parts_of, query_tokens, tokenize, words_of
from appliance.codeintel.query.copies import Alike, distinct
from appliance.codeintel.query.gather import Gathered
from appliance.codeintel.query.parts import MOST_PLACES, Part, copies, place_in, whereabouts
from appliance.codeintel.query.querylang import ParsedQuery, last_name
from appliance.codeintel.results import Hit, Span
from appliance.codeintel.source.base import FileFlags, Source
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.generations import Generations
from appliance.codeintel.store.symbols import Head
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
    chunks = [_Chunk.of(gathered, ranked) for ranked in page]
    spans = verify_places([chunk.span() for chunk in chunks], sources=sources)
    warnings += lost(spans, sources)
    warnings += guessed(chunk.encoded() for chunk in chunks)
    told = _Told(gathered, Texts(sources), chunks)
    hits = []
    for chunk, span, (count, also) in zip(chunks, spans, _elsewhere(gathered.parts, chunks), strict=True):
        try:
            hits.append(told.hit(chunk, span, places=count, also=also))
        except StoreCorrupt as exc:  # symbols and text are read from the disk only now
            warnings.append(f"A hit in {span.repo_name} cannot be shown: {exc}")
    return Page(tuple(hits), len(groups), tuple(dict.fromkeys(warnings)))


def sources_of(parts: Sequence[Part], generations: Generations) -> tuple[dict[RepoId, Source], list[str]]:
    """Return the sources of *parts*, and a warning for each repo that cannot be opened."""
    sources, warnings = {}, []
    for part in parts:
        try:
            sources[part.repo.id] = generations.source(part.repo)
        except ApplianceError as exc:
            warnings.append(f"{part.repo.name} cannot be read now, its hits come without text: {exc.message}")
    return sources, warnings


class _Chunk(NamedTuple):
    """A candidate of the page, and which chunk of its part it is. ``around`` is the symbol that it stands in, or -1."""

    ranked: Alike
    part: Part
    number: int
    file: int
    around: int
    defined: list[int]

    @classmethod
    def of(cls, gathered: Gathered, ranked: Alike) -> "_Chunk":
        part = gathered.parts[gathered.part[ranked.place]]
        number, generation = int(gathered.signals.ids[ranked.place]), part.generation
        file, around = int(generation.chunk_file[number]), int(generation.chunk_symbol_id[number])
        return cls(ranked, part, number, file, around, generation.chunk_defines_ids(number))

    def span(self) -> Span:
        generation = self.part.generation
        return Span(
            repo=self.part.repo.id,
            repo_name=self.part.repo.name,
            path=generation.files.paths[self.file],
            start_line=int(generation.chunk_start[self.number]),
            end_line=int(generation.chunk_end[self.number]),
            blob=generation.files.blobs[self.file],
            commit=generation.info.commit,
        )

    def encoded(self) -> tuple[str, str]:
        """Return the path of the file, and what it was read as."""
        files = self.part.generation.files
        return files.paths[self.file], files.encodings[self.file]

    def others(self, also: Mapping[BlobId, list[str]]) -> tuple[str, ...]:
        """Return the first places where the same lines stand, without the one that is shown."""
        shown = place_in(self.part, self.part.generation.files.paths[self.file])
        return tuple(sorted(place for blob in self.ranked.blobs for place in also[blob] if place != shown)[:MOST_PLACES])


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

    def __init__(self, gathered: Gathered, texts: Texts, chunks: Sequence[_Chunk]) -> None:
        self._signals = gathered.signals
        self._texts = texts
        self._words = {part.generation: _words(gathered.query, part) for part in gathered.parts}
        self._names = {last_name(name).casefold() for name in gathered.query.names}
        self._symbols: defaultdict[Generation, list[int]] = defaultdict(list)
        for chunk in chunks:
            self._symbols[chunk.part.generation] += [chunk.around, *chunk.defined]
        self._heads: dict[Generation, Mapping[int, Head]] = {}

    def hit(self, chunk: _Chunk, span: Span, *, places: int, also: tuple[str, ...]) -> Hit:
        """Return one hit, of lines that stand in so many *places* in all, *also* in these."""
        text = self._text(chunk, span)
        heads = self._heads_of(chunk.part.generation)
        asked = next((heads[each] for each in chunk.defined if heads[each].name.casefold() in self._names), None)
        symbol = asked or heads.get(chunk.around) or (heads[chunk.defined[0]] if chunk.defined else None)
        return Hit(
            span=span,
            symbol="" if symbol is None else symbol.qualname,
            kind="" if symbol is None else symbol.kind,
            language=chunk.part.generation.files.languages[chunk.file],
            score=round(chunk.ranked.score, 4),
            why=tuple(self._why(chunk, text, asked=asked, places=places)),
            text=text,
            also=also,
        )

    def _heads_of(self, generation: Generation) -> Mapping[int, Head]:
        if generation not in self._heads:
            self._heads[generation] = generation.symbols.heads(dict.fromkeys(self._symbols[generation]))
        return self._heads[generation]

    def _text(self, chunk: _Chunk, span: Span) -> str:
        texts = chunk.part.generation.text
        number = int(texts.of_file[chunk.file]) if span.verified else -1
        if number < 0:  # what a repository has lost, or hides since, the index does not show either
            return excerpt(span, texts=self._texts)
        return "\n".join(texts.lines(number, span.start_line, span.end_line))

    def _why(self, chunk: _Chunk, text: str, *, asked: Head | None, places: int) -> Iterable[str]:
        signals, place = self._signals, chunk.ranked.place
        if asked is not None:
            yield f"defines {asked.qualname}"
        if signals.stem[place] >= _NAMED_AFTER:
            yield "the file is called so"
        there = f" {tokenize(text)} "
        words = self._words[chunk.part.generation]
        if found := list(dict.fromkeys(each for word in words for each in word.standing(there)))[:_MOST_WORDS]:
            yield f"words: {', '.join(found)}"
        meaning = float(signals.dense[place])
        if not isnan(meaning):
            yield f"meaning {meaning:.2f}"
        yield from _lowered(int(signals.flags[place]))
        yield from elsewhere(places)


def _elsewhere(parts: Sequence[Part], chunks: Sequence[_Chunk]) -> list[tuple[int, tuple[str, ...]]]:
    """Return for each of *chunks* in how many places its lines stand in all, and the first others of those."""
    places = copies(parts, (blob for chunk in chunks for blob in chunk.ranked.blobs))
    counts = [sum(places[blob] for blob in chunk.ranked.blobs) for chunk in chunks]
    copied = (blob for chunk, count in zip(chunks, counts, strict=True) if count > 1 for blob in chunk.ranked.blobs)
    also = whereabouts(parts, copied)
    return [(count, chunk.others(also) if count > 1 else ()) for chunk, count in zip(chunks, counts, strict=True)]


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a query as it is shown, and the search tokens, between blanks, that it and its parts are."""

    text: str
    token: str
    parts: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, word: str) -> "_Word | None":
        tokens = query_tokens(word)
        parts = ((part, " ".join(query_tokens(part))) for part in parts_of(word))
        return (
            cls(word, f" {tokens[-1]} ", tuple((part, f" {token} ") for part, token in parts if token)) if tokens else None
        )

    def standing(self, there: str) -> list[str]:
        """Return the word where it is among the tokens *there*, which stand between blanks, else those parts that are."""
        return [self.text] if self.token in there else [part for part, token in self.parts if token in there]


def _words(query: ParsedQuery, part: Part) -> list[_Word]:
    """Return the words of the query, those first that are rarest in *part*."""
    words = [word for each in dict.fromkeys(words_of(query.text)) if (word := _Word.of(each))]
    rarity = part.generation.lexical.rarity([word.token.strip() for word in words])
    return [words[n] for n in np.argsort(-rarity, kind="stable")]


def elsewhere(places: int) -> Iterable[str]:
    """Yield what to say of lines that stand in so many *places* in all."""
    if places > 1:
        yield "also in 1 place" if places == 2 else f"also in {places - 1} places"


_LOWERED: Final = (
    (int(FileFlags.TEST), "test file, lowered"),
    (int(FileFlags.EXAMPLE), "example, lowered"),
    (int(FileFlags.LEGACY), "older version, lowered"),
    (int(FileFlags.VENDORED), "vendored, lowered"),
    (int(FileFlags.GENERATED), "generated, lowered"),
)


def _lowered(flags: int) -> Iterable[str]:
    return (said for flag, said in _LOWERED if flags & flag)
