"""Where a file is cut into what is searched and cited.

A chunk follows the borders of definitions: a small one whole, together with the comment above it; a large one cut at its
inner definitions, else at blank lines and low indentation; very small neighbours together; imports and the comment at the
top by themselves. Every line that is not blank is in exactly one chunk.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, NamedTuple


@dataclass(frozen=True, slots=True)
class Shape:
    """How large chunks are. Characters are counted without indentation."""

    lines: int = 50  # a longer stretch without inner borders is cut
    characters: int = 1500
    most_lines: int = 80  # a whole definition may have as many
    small_characters: int = 300  # a chunk below this is joined to a neighbour if the two stay within `characters`


CODE: Final = Shape()
TEXT: Final = Shape(lines=40, most_lines=40)


class Span(NamedTuple):
    """A definition that others may stand in: its lines, the first line of the comment above it, its parent or -1."""

    first: int
    last: int
    start: int
    parent: int


class Piece(NamedTuple):
    """Lines *first* to *last*; *span* is the innermost span that holds them (a comment above it counts as held), or -1."""

    first: int
    last: int
    span: int


def cut(lines: Sequence[str], spans: Sequence[Span], *, head: int, shape: Shape) -> list[Piece]:
    """Cut *lines* along *spans*, which are nested and in order; lines 1 to *head* are kept apart from what follows."""
    return _Cutter(lines, spans, head=head, shape=shape).pieces()


class _Cutter:
    def __init__(self, lines: Sequence[str], spans: Sequence[Span], *, head: int, shape: Shape) -> None:
        self._lines = lines
        self._spans = spans
        self._head = head
        self._shape = shape
        self._sizes = [0, *accumulate(map(len, map(str.strip, lines)))]  # characters before each row
        self._children: dict[int, list[int]] = {}
        for index, span in enumerate(spans):
            self._children.setdefault(span.parent, []).append(index)

    def pieces(self) -> list[Piece]:
        """Take regions from a stack, the first in the file on top: what is too large goes back in parts."""
        found: list[Piece] = []
        stack = [(1, len(self._lines), -1)]
        while stack:
            first, last, span = stack.pop()
            if first > last:
                continue
            if self._fits(first, last, whole=span >= 0):
                found.append(Piece(first, last, span))
            elif span in self._children and (parts := self._parts(first, last, span)):
                stack += reversed(parts)
            else:
                found += self._slices(first, last, span)
        return self._joined([trimmed for piece in found if (trimmed := self._trimmed(piece))])

    def _fits(self, first: int, last: int, *, whole: bool) -> bool:
        most = self._shape.most_lines if whole else self._shape.lines
        return last - first < most and self._size(first, last) <= self._shape.characters

    def _size(self, first: int, last: int) -> int:
        return self._sizes[last] - self._sizes[first - 1]

    def _parts(self, first: int, last: int, span: int) -> list[tuple[int, int, int]]:
        """Return the gaps and the inner definitions of a region, in order. A gap is never looked into again: see `_gap`."""
        parts: list[tuple[int, int, int]] = []
        at = first
        for child in self._children.pop(span):
            begin, end = max(self._spans[child].start, at), min(self._spans[child].last, last)
            if end < begin:
                continue  # on the line of the one before
            parts += self._gap(at, begin - 1, span)
            parts.append((begin, end, child))
            at = end + 1
        return parts + self._gap(at, last, span)

    def _gap(self, first: int, last: int, span: int) -> list[tuple[int, int, int]]:
        if first <= self._head < last and first == 1:
            return [(first, self._head, span), (self._head + 1, last, span)]
        return [(first, last, span)] if first <= last else []

    def _slices(self, first: int, last: int, span: int) -> list[Piece]:
        """Cut a stretch without inner borders, each time at the best line in the second half of what fits."""
        found = []
        while first <= last:
            end = first
            while (
                end < last and end - first + 1 < self._shape.lines and self._size(first, end + 1) <= self._shape.characters
            ):
                end += 1
            if end < last:
                end = self._best_cut(first + (end - first) // 2, end)
            found.append(Piece(first, end, span))
            first = end + 1
        return found

    def _best_cut(self, low: int, high: int) -> int:
        """Return the line in *low* to *high* after which to cut: before a blank or the least indented one, late first."""
        best, cost = high, float("inf")
        for line in range(low, high + 1):
            following = self._lines[line]
            stripped = following.lstrip()
            this = len(following) - len(stripped) if stripped else -100
            if this <= cost:
                best, cost = line, this
        return best

    def _trimmed(self, piece: Piece) -> Piece | None:
        first, last, span = piece
        while first <= last and self._sizes[first] == self._sizes[first - 1]:
            first += 1
        while last > first and self._sizes[last] == self._sizes[last - 1]:
            last -= 1
        return Piece(first, last, span) if first <= last else None

    def _joined(self, pieces: list[Piece]) -> list[Piece]:
        found: list[Piece] = []
        for piece in pieces:
            before = found[-1] if found else None
            if before and self._belong_together(before, piece):
                found[-1] = Piece(before.first, piece.last, self._common(before.span, piece.span))
            else:
                found.append(piece)
        return found

    def _belong_together(self, one: Piece, two: Piece) -> bool:
        small = self._shape.small_characters
        if one.last == self._head and self._size(one.first, one.last) >= small // 2:
            return False
        if self._size(one.first, one.last) >= small and self._size(two.first, two.last) >= small:
            return False
        lines = two.last - one.first + 1
        return lines <= self._shape.lines and self._size(one.first, two.last) <= self._shape.characters

    def _common(self, one: int, two: int) -> int:
        """Return the innermost span that holds both, -1 if none does within a sane depth."""
        above = {one}
        for _ in range(100):
            if one < 0:
                break
            one = self._spans[one].parent
            above.add(one)
        for _ in range(100):
            if two in above:
                return two
            two = self._spans[two].parent
        return -1
