"""What the source says about a definition: the first paragraph of its docstring or of the comment above it."""

import re
from collections.abc import Sequence

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


def comment_above(lines: Sequence[str], row: int, *, language: str) -> str:
    """Return the first paragraph of the comment that ends right above *row*, "" if there is none."""
    first, last = _block_above(lines, row, language)
    return _first_paragraph([_words(each) for each in lines[first:last]]) if first < last else ""


def _words(line: str) -> str:
    line = line.strip().removesuffix("*/")
    return (_TAG.sub("", line) if "<" in line else line).strip(_EDGE)


def first_comment_row(lines: Sequence[str], row: int, *, language: str) -> int:
    """Return the row where the comment right above *row* begins, *row* itself if there is none."""
    first, last = _block_above(lines, row, language)
    return first if first < last else row


def _block_above(lines: Sequence[str], row: int, language: str) -> tuple[int, int]:
    """Return the first row of the comment and the row after its last; equal if there is none."""
    above = lines[row - 1].strip() if row else ""
    if not above or not (above[0] in _FIRST or above.endswith("*/")):  # most often
        return row, row
    marks = _MARKS.get(language, ("//", "/*"))
    last = row
    while last > 0 and row - last < 5 and _stands_between(lines[last - 1]):
        last -= 1
    first, block = last, False
    while first > 0 and last - first < _FARTHEST:
        line = lines[first - 1].strip()
        block = block or (line.endswith("*/") and marks[0] != "#")
        if not (block or line.startswith(marks)):
            break
        block = block and "/*" not in line
        first -= 1
    return first, last


def _stands_between(line: str) -> bool:
    return line.lstrip().startswith(_BETWEEN) and "{" not in line and ";" not in line


def _first_paragraph(lines: list[str]) -> str:
    kept: list[str] = []
    for line in lines:
        stripped = line.strip()
        if stripped.startswith(("@param", "@return", ":param", "Args:", "Parameters")) or (kept and not stripped):
            break
        if stripped:
            kept.append(stripped)
    text = " ".join(" ".join(kept).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
