"""What the source says about a definition: the first paragraph of its docstring or of the comment above it."""

import re
from collections.abc import Iterable, Sequence

_LONGEST = 500
_FARTHEST = 60  # rows looked at above a definition
_MARKS = {"python": ("#",), "ruby": ("#",), "bash": ("#",), "lua": ("--",), "php": ("//", "/*", "#")}
_BETWEEN = ("@", "#[", "[", "template")  # what may stand between a comment and what it speaks of
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,100}>")
_FIRST = "/#-@[t*"  # how a line can begin that is a comment or stands below one
_EDGE = " \t/*!#-"


def docstring(literal: str) -> str:
    """Return the first paragraph of a string literal as written in the source."""
    text = literal.strip().lstrip("rRbBuUfF")
    quote = text[:3] if text[:3] in {'"""', "'''"} else text[:1]
    return _first_paragraph(text.removeprefix(quote).removesuffix(quote).split("\n"))


def comment_of(lines: Sequence[str], first: int, last: int) -> str:
    """Return the first paragraph of the comment in the rows from *first* to before *last*."""
    return _first_paragraph(map(_words, lines[first:last]))


def _words(line: str) -> str:
    line = line.strip().removesuffix("*/")
    return (_TAG.sub("", line) if "<" in line else line).strip(_EDGE)


def comment_rows(lines: Sequence[str], row: int, *, language: str) -> tuple[int, int]:
    """Return the first row of the comment right above *row* and the row after its last; *row* for both if there is none."""
    above = lines[row - 1].strip() if row else ""
    if not above or not (above[0] in _FIRST or above.endswith("*/")):  # most often
        return row, row
    marks = _MARKS.get(language, ("//", "/*"))
    last = row
    while last > 0 and row - last < 5 and _stands_between(lines[last - 1]):
        last -= 1
    farthest = max(0, last - _FARTHEST)
    first = last
    while first > farthest:
        line = lines[first - 1].strip()
        if line.endswith("*/") and marks[0] != "#":
            opening = first
            while opening > farthest and "/*" not in lines[opening - 1]:
                opening -= 1
            if opening == farthest or not lines[opening - 1].lstrip().startswith("/*"):
                break  # it speaks of the code that it stands behind
            first = opening
        elif not line.startswith(marks):
            break
        first -= 1
    return (first, last) if first < last else (row, row)


def _stands_between(line: str) -> bool:
    return line.lstrip().startswith(_BETWEEN) and "{" not in line and ";" not in line


def _first_paragraph(lines: Iterable[str]) -> str:
    kept: list[str] = []
    for line in lines:
        stripped = line.strip()
        if stripped.startswith(("@param", "@return", ":param", "Args:", "Parameters")) or (kept and not stripped):
            break
        if stripped:
            kept.append(stripped)
    text = " ".join(" ".join(kept).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
