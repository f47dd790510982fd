"""Lines of code as a page shows them, and the place that they stand at."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Final
from urllib.parse import urlencode

from markupsafe import Markup

from appliance.base.paths import display
from appliance.codeintel.citations import split_lines
from appliance.codeintel.results import Span
from appliance.console.highlight import highlight

_LONGEST_LINE: Final = 500  # characters of one line that a page shows
_FILES_KEPT: Final = 16

LINE_CHARACTERS: Final = 70
"""Characters of HTML around one line."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line. ``hot`` ones are those that were cited; with ``anchor`` the line can be linked to."""

    number: int
    html: Markup
    hot: bool = False
    anchor: bool = False


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A run of lines; ``cut`` says so when lines are missing at its end."""

    lines: tuple[Line, ...]
    first: int
    last: int
    cut: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where lines stand, in words that are safe to show, and the page that opens them."""

    repo: str
    folder: str
    name: str
    start: int
    end: int
    commit: str
    href: str

    @classmethod
    def of(cls, span: Span) -> "Place":
        """Return the place of *span*."""
        folder, _, name = span.path.rpartition("/")
        return cls(
            repo=span.repo_name,
            folder=display(folder + "/") if folder else "",
            name=display(name),
            start=span.start_line,
            end=span.end_line,
            commit=span.commit,
            href=file_url(span.repo, path=span.path, commit=span.commit, start=span.start_line, end=span.end_line),
        )


def file_url(repo: str, *, path: str, commit: str, start: int, end: int) -> str:
    """Return the address of the page that shows these lines at this commit; the bytes of *path* survive in it."""
    query = urlencode(
        {"repo": repo, "path": path, "commit": commit, "start": start, "end": end},
        encoding="utf-8",
        errors="surrogateescape",
    )
    return f"/file?{query}#L{start}"


def folder_url(repo: str, *, path: str) -> str:
    """Return the address of the page that shows what the folder *path*, "" for the root, of *repo* holds."""
    return f"/browse?{urlencode({'repo': repo, 'path': path}, encoding='utf-8', errors='surrogateescape')}"


def cited(content: bytes, *, language: str, start: int, end: int, limit: int) -> Excerpt:
    """Return at most *limit* of the lines *start* to *end* of a whole file: its first lines tell how to colour the rest."""
    lines = whole(content, language)[start - 1 : end]
    shown = tuple(Line(start + i, html) for i, html in enumerate(lines[:limit]))
    return Excerpt(shown, start, start + len(shown) - 1, _cut(len(lines) - len(shown)))


def slimmed(shown: Excerpt, *, characters: int) -> Excerpt:
    """Return *shown* without the lines at its end that are more than *characters* of HTML; its first line stays."""
    sizes = accumulate(len(line.html) + LINE_CHARACTERS for line in shown.lines)
    kept = shown.lines[: max(1, sum(size <= characters for size in sizes))]
    if len(kept) == len(shown.lines):
        return shown
    return Excerpt(kept, shown.first, shown.first + len(kept) - 1, "More lines: open the file to see all.")


@lru_cache(maxsize=_FILES_KEPT)
def whole(content: bytes, language: str) -> tuple[Markup, ...]:
    """Return every line of a file, coloured; kept for the next page that shows the same file."""
    return tuple(_lines(split_lines(content), language=language))


def excerpt(text: str, *, language: str, start: int, limit: int) -> Excerpt:
    """Return at most *limit* lines of *text*, whose first line has the number *start*."""
    lines = split(text)
    shown = [Line(start + i, html) for i, html in enumerate(_lines(lines[:limit], language=language))]
    return Excerpt(tuple(shown), start, start + len(shown) - 1, _cut(len(lines) - len(shown)))


def window(lines: Sequence[Markup], *, first: int, hot: range) -> Excerpt:
    """Return *lines*, the first of which has the number *first*, each with an anchor and those in *hot* marked."""
    shown = tuple(Line(first + i, html, hot=first + i in hot, anchor=True) for i, html in enumerate(lines))
    return Excerpt(shown, first, first + len(lines) - 1)


def split(text: str) -> list[str]:
    """Return the lines of *text* as they are counted everywhere: parted by LF alone, without their ends."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def _cut(left: int) -> str:
    return f"{left} more line{'s' if left != 1 else ''}: open the file to see all." if left > 0 else ""


def _lines(lines: Sequence[str], *, language: str) -> list[Markup]:
    return highlight([_shown(line) for line in lines], language=language)


def _shown(line: str) -> str:
    """Return *line* bounded, with what could reorder or hide text written as an escape."""
    line = line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + " …"
    if line.replace("\t", "").isprintable():
        return line
    return "".join(c if c.isprintable() or c == "\t" else ascii(c)[1:-1] for c in line)
