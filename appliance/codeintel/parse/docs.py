"""What the source says about a definition: the first paragraph of its docstring or of the comment above it."""

import re
from collections.abc import Sequence

_LONGEST = 500
_FARTHEST = 60  # rows looked at above a definition
_MARKS = {"python": ("#",), "ruby": ("#",), "bash": ("#",), "lua": ("--",), "php": ("//", "/*", "#")}
_BETWEEN = ("@", "#[", "[", "template")  # what may stand between a comment and what it speaks of
_STRING = re.compile(r"(?is)^[rbuf]{0,2}(\"\"\"|'''|\"|')(.*?)(?:\1)?$")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,100}>")
_EDGE = " \t/*!#-"


def docstring(literal: str) -> str:
    """Return the first paragraph of a string literal as written in the source."""
    match = _STRING.match(literal.strip())
    return _first_paragraph((match[2] if match else literal).strip().split("\n"))


def comment_above(lines: Sequence[str], row: int, *, language: str) -> str:
    """Return the first paragraph of the comment that ends right above *row*, "" if there is none."""
    first, last = _block_above(lines, row, language)
    return _first_paragraph([_TAG.sub("", each.strip().removesuffix("*/")).strip(_EDGE) for each in lines[first:last]])


def first_comment_row(lines: Sequence[str], row: int, *, language: str) -> int:
    """Return the row where the comment right above *row* begins, *row* itself if there is none."""
    first, last = _block_above(lines, row, language)
    return first if first < last else row


def _block_above(lines: Sequence[str], row: int, language: str) -> tuple[int, int]:
    """Return the first row of the comment and the row after its last; equal if there is none."""
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
