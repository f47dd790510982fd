"""Lines that hold text as it is written in a query, or match its regular expressions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from appliance.base.clock import Clock
from appliance.codeintel.query.parts import Part
from appliance.codeintel.query.querylang import ParsedQuery, Pattern
from appliance.codeintel.query.regex import Expression, compiled, exactly
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.trigrams import Need

MOST_LISTED: Final = 10_000  # lines of one repository that are listed
MOST_LINES: Final = 100_000  # of one repository that words are ranked among
SECONDS: Final = 2.0  # that one search may look through text
Ids = npt.NDArray[np.int64]
Late = Callable[[], bool]  # whether time is up


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of the texts of one generation, in order. ``whole``: no more of them fit."""

    texts: Ids
    numbers: Ids
    whole: bool

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.texts)


class LineMatcher:
    """All patterns of a query: a line fits that matches every one of them, and none of the negative ones."""

    def __init__(self, query: ParsedQuery, patterns: Sequence[Pattern]) -> None:
        expressions = [(pattern, _expression(query, pattern)) for pattern in patterns]
        self._positive = [expression for pattern, expression in expressions if not pattern.negative]
        self._negative = [expression for pattern, expression in expressions if pattern.negative]
        self._lead = max(self._positive, key=lambda expression: len(expression.text))
        self._others = [expression for expression in self._positive if expression is not self._lead]
        self.need = Need(every=tuple(expression.need for expression in self._positive))

    def find(self, block: bytes) -> Iterator[int]:
        """Return where the lines of *block* that fit begin, in order."""
        lines = self._lead.lines(block)
        if not self._others and not self._negative:
            return (start for start, _ in lines)
        return (start for start, end in lines if self._fits(block, start, end))

    def columns(self, line: str, *, most: int) -> tuple[tuple[int, int], ...]:
        """Return the columns, from 1, at which the first *most* matches in *line* begin, and those after their ends."""
        content = line.encode("utf-8", "replace")
        spans: set[tuple[int, int]] = set()
        for expression in self._positive:
            at = 0
            while len(spans) < most and at <= len(content) and (found := expression.search(content, at, len(content))):
                spans.add(found)
                at = max(found[1], found[0] + 1)
        width = [len(content[:place].decode("utf-8", "replace")) + 1 for span in sorted(spans) for place in span]
        return tuple(zip(width[::2], width[1::2], strict=True))

    def _fits(self, block: bytes, start: int, end: int) -> bool:
        return all(each.search(block, start, end) for each in self._others) and not any(
            each.search(block, start, end) for each in self._negative
        )


def matching(generation: Generation, matcher: LineMatcher, *, files: npt.NDArray[np.bool_], late: Late, most: int) -> Lines:
    """Return the lines of *generation* that fit *matcher*, in those of its *files* that count.

    Stop once it is *late*, or more than *most* were found: those are no more than that.
    """
    index = generation.text
    wanted = np.zeros(len(index), dtype=np.bool_)
    numbers = index.of_file[files]
    wanted[numbers[numbers >= 0]] = True
    found: list[tuple[int, int]] = []
    whole = True
    for lines in index.search(matcher.need, matcher.find, wanted=wanted):
        found += lines
        if len(found) > most or late():
            whole = False
            break
    pairs = np.fromiter(chain.from_iterable(found[:most]), dtype=np.int64).reshape(-1, 2)
    return Lines(pairs[:, 0], pairs[:, 1], whole)


def chunks_with(generation: Generation, query: ParsedQuery, *, files: npt.NDArray[np.bool_], late: Late) -> tuple[Ids, bool]:
    """Return the chunks of *generation* that have every pattern of *query* in them, and whether time was for all."""
    chunks: Ids = np.flatnonzero(files[generation.chunk_file])
    whole = True
    for pattern in query.patterns:
        positive = Pattern(pattern.text, regex=pattern.regex, at=pattern.at)
        lines = matching(generation, LineMatcher(query, [positive]), files=files, late=late, most=MOST_LINES)
        having = _chunks_of(generation, lines)
        chunks = np.setdiff1d(chunks, having) if pattern.negative else np.intersect1d(chunks, having)
        whole = whole and lines.whole
    return chunks, whole


def within_time(clock: Clock) -> Late:
    """Return what says whether a search that begins now has looked through text for too long."""
    end = clock.monotonic() + SECONDS
    return lambda: clock.monotonic() > end


def unfinished(part: Part, query: ParsedQuery, *, whole: bool) -> list[str]:
    """Return a warning if not every file of *part* was looked through for the patterns of *query*, and what to do."""
    said = []
    if not whole:
        most = MOST_LISTED if query.lists_lines else MOST_LINES
        said.append(
            f"{part.label} was not looked through to its end: {most:,} lines or {SECONDS:.0f} seconds are the most."
            " Narrow the search with path: or lang:, or with a longer text."
        )
    lacking = int((part.generation.text.of_file[part.generation.files.numbers] < 0).sum()) if query.patterns else 0
    if lacking:
        files = "1 file has" if lacking == 1 else f"{lacking} files have"
        said.append(f"{part.label}: {files} no text in the index and could not be looked through. Index it again.")
    return said


def _chunks_of(generation: Generation, lines: Lines) -> Ids:
    """Return the chunks that hold one of *lines*, in every file that has that text."""
    if len(lines) == 0:
        return np.empty(0, dtype=np.int64)
    texts = generation.text.of_file[generation.chunk_file]
    width = max(int(generation.chunk_end.max(initial=0)), int(lines.numbers.max())) + 1
    keys = np.sort(lines.texts * width + lines.numbers)
    first = np.searchsorted(keys, texts * width + generation.chunk_start, side="left")
    after = np.searchsorted(keys, texts * width + generation.chunk_end, side="right")
    return np.flatnonzero((after > first) & (texts >= 0))


def _expression(query: ParsedQuery, pattern: Pattern) -> Expression:
    any_case = query.any_case(pattern)
    if pattern.regex:
        return compiled(pattern.text, any_case=any_case, at=pattern.at)
    return exactly(pattern.text, any_case=any_case)
