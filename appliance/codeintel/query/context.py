"""The pack: which lines are shown as evidence, and which of them a model reads.

A pack is not a search result. The search ranker's variety, file-name rule and saturation keep the answering lines out of a
small pack; so the same signals are ranked by what they say of each chunk, and each chunk is widened to its function. The
fused score holds what the file as a whole says already: adding the file's rank in the search on top put the answering lines
into fewer packs, on this repository (22 questions) as on seven others.
"""

import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from appliance.base.paths import display
from appliance.codeintel.citations import Place, Texts
from appliance.codeintel.query.around import around
from appliance.codeintel.query.copies import alike, lines_of
from appliance.codeintel.query.gather import Gathered
from appliance.codeintel.query.rank import fuse
from appliance.codeintel.source.base import FileFlags
from appliance.codeintel.store.symbols import SymbolRow
from appliance.errors import ApplianceError

CARD_PLACES = 8
PACK_TOKENS = 800  # 12 seconds to the first token on two quiet cores and a 1.5B model
WHOLE_FUNCTION_LINES = 40
# Near to a code model's tokens: parts of words in camel case, single digits, runs of signs, a line end with its indent.
_PIECE = re.compile(r"[A-Z]?[a-z]{1,8}|[A-Z]{1,4}|\d|[^\w\s]{1,3}|\n\s*|[^\x00-\x7f]")
_TOKENS_A_PIECE = 0.92  # over 453 pieces of code in nine languages; for nine in ten of them within 15 %
_HEADING_TOKENS = 4  # brackets, number and line ends
_MERGED_LINES = 60  # overlapping places become one up to this length
_MOST_TRIED = 40  # candidates; those after that are far from the question
_FUNCTIONS = frozenset({"function", "method", "constructor"})
_WHOLE = _FUNCTIONS | frozenset({"class", "struct", "interface", "enum", "trait", "type", "macro"})


@dataclass(frozen=True, slots=True)
class Weights:
    """What a candidate's place in the pack rests on. Chosen by how many answering lines come into packs of 800 tokens."""

    defines: float = 0.3  # of the best score, for what defines a name of the question
    passive: float = 0.85  # for chunks without a function: a question wants what code does, declarations repeat its words
    test: float = 0.5
    example: float = 0.7
    doc: float = 0.6
    foreign: float = 0.5  # vendored or generated
    called: float = 0.05  # of the score of one of the best candidates, for what it calls; more keeps answering lines out


DEFAULT = Weights()


@dataclass(frozen=True, slots=True)
class Block:
    """Lines as a model reads them: dedented, without blank lines. ``n`` is the number of their citation."""

    n: int
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Pack:
    """The card, best place first, and the blocks for a model: those of the places that fit its budget of tokens."""

    places: tuple[Place, ...]
    blocks: tuple[Block, ...]


def pack(
    gathered: Gathered,
    *,
    texts: Texts,
    budget_tokens: int = PACK_TOKENS,
    most: int = CARD_PLACES,
    weights: Weights = DEFAULT,
) -> Pack:
    """Choose the evidence for a question: at most *most* places, no line twice, no text twice.

    A place whose text cannot be read any more stays on the card, and out of the blocks.
    """
    draft = _Draft(texts, budget_tokens, most)
    for chunk, whole in _wanted(gathered, weights):
        if draft.full:
            break
        draft.add(chunk, whole)
    return draft.done()


def order(gathered: Gathered, *, weights: Weights = DEFAULT) -> tuple[list[int], dict[int, str]]:
    """Return the candidates' places in the signals' arrays, best first, and what the graph says of some of them."""
    signals = gathered.signals
    if len(signals) == 0:
        return [], {}
    scores = fuse(signals, gathered.query)
    scores = scores + weights.defines * scores.max() * signals.defines
    for flag, factor in _lowered(weights):
        scores = scores * np.where(signals.flags & flag, factor, 1.0)
    if gathered.query.style == "prose":
        scores = scores * np.where(_acts(gathered), 1.0, weights.passive)
    graph = around(gathered, scores)
    best: list[int] = np.argsort(-(scores + weights.called * graph.lift), kind="stable").tolist()
    return best, graph.why


def _lowered(weights: Weights) -> Iterator[tuple[FileFlags, float]]:
    yield FileFlags.TEST, weights.test
    yield FileFlags.EXAMPLE, weights.example
    yield FileFlags.DOC, weights.doc
    yield FileFlags.VENDORED | FileFlags.GENERATED, weights.foreign


def tokens_of(text: str) -> int:
    """Return about how many tokens *text* is for a code model; to ask its engine would cost a call for each candidate."""
    return math.ceil(sum(1 for _ in _PIECE.finditer(text)) * _TOKENS_A_PIECE)


def shown(lines: Sequence[str]) -> str:
    """Return *lines* as a model reads them: dedented, without blank ones."""
    return textwrap.dedent("\n".join(line.rstrip() for line in lines if line.strip()))


def smaller(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return about the first half of *blocks* by length; of a single one, its first half."""
    half = sum(len(block.text) for block in blocks) / 2
    kept: list[Block] = []
    for block in blocks:
        if kept and sum(len(held.text) for held in kept) + len(block.text) > half:
            break
        kept.append(block)
    if len(kept) == 1 and len(kept[0].text) > half:
        lines = kept[0].text.split("\n")
        kept[0] = replace(kept[0], text="\n".join(lines[: max(1, len(lines) // 2)]))
    return tuple(kept)


@dataclass(slots=True)
class _Held:
    place: Place
    text: str
    cost: int  # tokens in the prompt; 0: not in the prompt


class _Draft:
    """A pack in the making: each place that comes is merged, dropped, or takes the next number."""

    def __init__(self, texts: Texts, budget: int, most: int) -> None:
        self._texts = texts
        self._left = budget
        self._most = most
        self._held: list[_Held] = []

    @property
    def full(self) -> bool:
        return len(self._held) >= self._most

    def add(self, chunk: Place, whole: Place) -> None:
        """Take *whole*, or, where only that fits the model's budget, the *chunk* in it; no line a second time."""
        for held in self._held:
            if _overlap(held.place, whole):
                if self._grow(held, whole):
                    return
                rest, fresh = _without(whole, held.place), _without(chunk, held.place)
                if rest is None:
                    return
                whole, chunk = rest, fresh or rest
        place, text, cost = self._fitting(chunk, whole)
        said = lines_of(text.split("\n"))
        if text and any(held.text == text or alike(said, lines_of(held.text.split("\n"))) for held in self._held):
            return
        self._left -= cost
        self._held.append(_Held(place, text, cost))

    def _fitting(self, chunk: Place, whole: Place) -> tuple[Place, str, int]:
        """Return what of a candidate to take, its text, and what that costs the model's budget: 0 for the card alone."""
        for place in dict.fromkeys((whole, chunk)):
            text = self._text(place)
            cost = _cost(place, text)
            if text and cost <= self._left:
                return place, text, cost
        if self._held:
            return whole, self._text(whole), 0
        place, text = self._cut(chunk)
        return place, text, _cost(place, text)

    def done(self) -> Pack:
        numbered = list(enumerate(self._held, start=1))
        blocks = tuple(Block(n, _heading(held.place), held.text) for n, held in numbered if held.cost and held.text)
        return Pack(tuple(held.place for _, held in numbered), blocks)

    def _grow(self, held: _Held, other: Place) -> bool:
        """Let *held* take in *other*, which overlaps it, and say whether that could be."""
        start, end = min(held.place.start_line, other.start_line), max(held.place.end_line, other.end_line)
        grown = replace(held.place, start_line=start, end_line=end)
        if grown == held.place:
            return True
        if end - start >= _MERGED_LINES:
            return False
        text = self._text(grown)
        cost = _cost(grown, text) if held.cost else 0
        if cost - held.cost > self._left:
            return False
        self._left -= cost - held.cost
        held.place, held.text, held.cost = grown, text, cost
        return True

    def _cut(self, place: Place) -> tuple[Place, str]:
        """Return the first lines of *place*, as many as the budget lets through, at least one."""
        end = place.end_line
        while end > place.start_line and _cost(place, self._text(replace(place, end_line=end))) > self._left:
            end -= 1
        cut = replace(place, end_line=end)
        return cut, self._text(cut)

    def _text(self, place: Place) -> str:
        try:
            lines = self._texts.lines(place.repo, place.blob)
        except (ApplianceError, OSError):
            return ""
        return shown(lines[place.start_line - 1 : place.end_line])


def _wanted(gathered: Gathered, weights: Weights) -> Iterator[tuple[Place, Place]]:
    """Yield the best candidates: the chunk, and the chunk widened to the definition that holds it where that is short."""
    best, said = order(gathered, weights=weights)
    for index in best[:_MOST_TRIED]:
        part = gathered.parts[gathered.part[index]]
        generation = part.generation
        chunk = int(gathered.signals.ids[index])
        file = int(generation.chunk_file[chunk])
        symbol = generation.chunk_symbol(chunk)
        place = Place(
            repo=part.repo.id,
            repo_name=part.repo.name,
            commit=generation.info.commit,
            path=generation.files.paths[file],
            blob=generation.files.blobs[file],
            start_line=int(generation.chunk_start[chunk]),
            end_line=int(generation.chunk_end[chunk]),
            symbol=symbol.qualname if symbol else "",
            kind=symbol.kind if symbol else "",
            why=said.get(index, ""),
        )
        yield place, _widened(place, symbol)


def _widened(place: Place, symbol: SymbolRow | None) -> Place:
    if symbol is None or symbol.kind not in _WHOLE or symbol.end_line - symbol.start_line >= WHOLE_FUNCTION_LINES:
        return place
    return replace(place, start_line=min(place.start_line, symbol.start_line), end_line=max(place.end_line, symbol.end_line))


def _acts(gathered: Gathered) -> npt.NDArray[np.bool_]:
    """Say for each candidate whether it holds, or is held by, a function."""
    ids = gathered.signals.ids
    result = np.zeros(len(ids), dtype=np.bool_)
    for number, part in enumerate(gathered.parts):
        generation = part.generation
        places = np.flatnonzero(gathered.part == number)
        near = {}
        for place in places.tolist():
            chunk = int(ids[place])
            holder = int(generation.chunk_symbol_id[chunk])
            near[place] = [*generation.chunk_defines_ids(chunk), *([holder] if holder >= 0 else [])]
        rows = generation.symbols.rows({symbol for symbols in near.values() for symbol in symbols})
        functions = {row.id for row in rows if row.kind in _FUNCTIONS}
        for place, symbols in near.items():
            result[place] = not functions.isdisjoint(symbols)
    return result


def _overlap(held: Place, other: Place) -> bool:
    return (
        (held.repo, held.path) == (other.repo, other.path)
        and other.start_line <= held.end_line
        and held.start_line <= other.end_line
    )


def _without(place: Place, held: Place) -> Place | None:
    """Return the longer part of *place* before or after *held*, or None when nothing of it is left."""
    if not _overlap(held, place):
        return place
    before = replace(place, end_line=held.start_line - 1)
    after = replace(place, start_line=held.end_line + 1)
    longer = max(before, after, key=lambda part: part.end_line - part.start_line)
    return longer if longer.end_line >= longer.start_line else None


def _heading(place: Place) -> str:
    said = "; ".join(filter(None, (place.symbol, place.why)))
    inside = f" ({said})" if said else ""
    return f"{display(place.path)}:{place.start_line}-{place.end_line}{inside}"


def _cost(place: Place, text: str) -> int:
    return tokens_of(text) + tokens_of(_heading(place)) + _HEADING_TOKENS
