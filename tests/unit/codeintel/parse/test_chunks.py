"""Where files are cut."""

from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.codeintel.parse.chunks import CODE, TEXT, Piece, Shape, Span, cut


def covered(lines: list[str], pieces: list[Piece]) -> None:
    """Every line that is not blank is in exactly one piece, and pieces are in order."""
    held = [number for piece in pieces for number in range(piece.first, piece.last + 1)]
    assert held == sorted(set(held))
    assert {number for number, line in enumerate(lines, start=1) if line.strip()} <= set(held)


def body(count: int, *, width: int = 20) -> list[str]:
    return ["    " + "x" * width] * count


def test_a_small_file_is_one_piece() -> None:
    assert cut(["a", "b", "", "c"], [Span(4, 4, 4, -1)], head=1, shape=CODE) == [Piece(1, 4, -1)]


def test_definitions_of_a_large_file_are_cut_apart_with_the_comments_above_them() -> None:
    lines = ["import a" * 30, ""]
    spans = []
    for _ in range(3):
        lines += ["# why"]
        first = len(lines) + 1
        lines += ["def f():", *body(30), ""]
        spans.append(Span(first, first + 30, first - 1, -1))
    pieces = cut(lines, spans, head=1, shape=CODE)
    assert pieces == [Piece(1, 1, -1), Piece(3, 34, 0), Piece(36, 67, 1), Piece(69, 100, 2)]
    covered(lines, pieces)


def test_a_large_class_is_cut_at_its_methods() -> None:
    lines = ["class A:"]
    spans = [Span(1, 91, 1, -1)]
    for _ in range(3):
        first = len(lines) + 1
        lines += ["  def f():", *body(29)]
        spans.append(Span(first, first + 29, first, 0))
    pieces = cut(lines, spans, head=0, shape=CODE)
    assert pieces == [Piece(1, 31, 0), Piece(32, 61, 2), Piece(62, 91, 3)]


def test_a_long_function_is_cut_at_a_blank_line() -> None:
    lines = ["def f():", *body(40), "", *body(45)]
    pieces = cut(lines, [Span(1, 87, 1, -1)], head=0, shape=CODE)
    assert pieces == [Piece(1, 41, 0), Piece(43, 87, 0)]


def test_small_neighbours_stay_together() -> None:
    lines = ["x = 1", ""] * 30
    spans = [Span(number, number, number, -1) for number in range(1, 60, 2)]
    pieces = cut(lines, spans, head=0, shape=CODE)
    assert len(pieces) == 2
    covered(lines, pieces)


def test_text_without_borders_is_cut_at_blank_lines() -> None:
    lines = (["word " * 5] * 9 + [""]) * 10
    pieces = cut(lines, [], head=0, shape=TEXT)
    assert all(lines[piece.last : piece.last + 1] in ([""], []) for piece in pieces)
    covered(lines, pieces)


def test_a_deep_nest_is_cut_without_recursion() -> None:
    depth = 5000
    spans = [Span(number, 2 * depth - number + 1, number, number - 2) for number in range(1, depth + 1)]
    lines = ["x" * 40] * (2 * depth)
    covered(lines, cut(lines, spans, head=0, shape=CODE))


@st.composite
def nests(draw: st.DrawFn) -> tuple[list[str], list[Span]]:
    """Lines and spans that are nested and in order, as a parser gives them, also when they share lines."""
    lines = draw(st.lists(st.sampled_from(["", "x", "    y" * 5, "z" * 300, "# c"]), min_size=1, max_size=120))
    spans: list[Span] = []
    stack: list[int] = []
    at = 1
    while at <= len(lines) and len(spans) < 25:
        while stack and spans[stack[-1]].last < at:
            stack.pop()
        limit = spans[stack[-1]].last if stack else len(lines)
        first = draw(st.integers(at, limit))
        last = draw(st.integers(first, limit))
        start = draw(st.integers(max(1, first - 3), first))
        spans.append(Span(first, last, start, stack[-1] if stack else -1))
        stack.append(len(spans) - 1)
        at = draw(st.integers(first, last + 1))
    return lines, spans


@settings(max_examples=150, deadline=None)
@given(nests(), st.integers(0, 20), st.integers(2, 60))
def test_every_line_is_in_exactly_one_piece_whatever_the_nest(
    nest: tuple[list[str], list[Span]], head: int, most: int
) -> None:
    lines, spans = nest
    shape = Shape(lines=most, characters=500, most_lines=most, small_characters=80)
    pieces = cut(lines, spans, head=head, shape=shape)
    covered(lines, pieces)
    assert all(piece.last - piece.first < most for piece in pieces)
    assert all(-1 <= piece.span < len(spans) for piece in pieces)
