"""What the commits of a git repository say of its files: who changed some lines, and what changed together."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from appliance.base.budget import Budget, Deadline
from appliance.codeintel.source.gitchild import Child
from appliance.codeintel.source.objects import is_id
from appliance.errors import InvalidInput
from appliance.ids import CommitId

_SECONDS: Final = 20.0
_FEW_SECONDS: Final = 3.0  # for what is told beside something else
_MOST_OUTPUT: Final = 8 << 20
_LONGEST_NAME: Final = 200
_LONGEST_SUMMARY: Final = 500
_FIELDS: Final = 4
_WIDE: Final = 50  # files of one commit; one with more moves or reformats, and says nothing of what belongs together
_START: Final = b"\x01"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, as whoever made it describes it."""

    id: CommitId
    author: str
    date: str  # ISO 8601
    summary: str


@dataclass(frozen=True, slots=True)
class Together:
    """How often other files changed in the ``commits`` in which one file did, the newest of them."""

    commits: int
    files: Counter[str]


def commits(git_dir: Path, commit: CommitId, path: str, *, first: int, last: int, most: int) -> list[Commit]:
    """Return the newest *most* commits, back from *commit*, that changed the lines *first* to *last* of *path* in it.

    Raise `DeadlineExceeded` if that takes too long, `LimitExceeded` if it is too much, `MalformedContent` if git gives up.
    """
    lines = b"-L%d,%d:%s" % (first, last, _safe(path))
    said = _log(git_dir, commit, ("-s", "--format=%H%x00%an%x00%aI%x00%s", f"-n{most}", lines), b"", seconds=_SECONDS)
    fields = [field.decode("utf-8", "replace") for field in said]
    rows = (fields[start : start + _FIELDS] for start in range(0, len(fields) - _FIELDS + 1, _FIELDS))
    return [
        Commit(CommitId(number), author[:_LONGEST_NAME], date, summary[:_LONGEST_SUMMARY])
        for number, author, date, summary in rows
    ]


def together(git_dir: Path, commit: CommitId, path: str, *, most: int) -> Together:
    """Return what changed together with *path* in the newest *most* commits that changed it, back from *commit*.

    Raise as `commits` does. Commits that change very many files count for nothing.
    """
    arguments = ("--full-diff", "--name-only", "--no-renames", "--format=%x01", f"-n{most}")
    found: list[list[bytes]] = []
    for record in _log(git_dir, commit, arguments, _safe(path), seconds=_FEW_SECONDS):
        name = record.lstrip(b"\n")
        if name == _START:
            found.append([])
        elif name and found:
            found[-1].append(name)
    narrow = [names for names in found if 0 < len(names) <= _WIDE]
    return Together(len(narrow), Counter(_others(narrow, os.fsencode(path))))


def _others(narrow: list[list[bytes]], path: bytes) -> Iterator[str]:
    for names in narrow:
        yield from (os.fsdecode(name) for name in names if name != path)


def _log(
    git_dir: Path, commit: CommitId, arguments: tuple[str | bytes, ...], path: bytes, *, seconds: float
) -> Iterator[bytes]:
    """Yield what ``git log`` says, record by record."""
    if not is_id(commit):
        raise InvalidInput(f"{commit[:100]!r} is no commit.")
    behind = ("--", b":(top,literal)" + path) if path else ()
    said, deadline = Budget(_MOST_OUTPUT, what="bytes of history"), Deadline(seconds, what="the history of a file")
    with Child(git_dir, ("log", "--no-color", "-z", *arguments, commit, *behind), patience=seconds) as child:
        for record in child.records(b"\0"):
            said.spend(len(record) + 1)
            deadline.check()
            yield record


def _safe(path: str) -> bytes:
    if "\0" in path:
        raise InvalidInput("No path holds a NUL.")
    return os.fsencode(path)
