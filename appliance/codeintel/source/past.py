"""What the commits of a git repository say of its files: who changed some lines, and what changed together."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from appliance.base import proc
from appliance.codeintel.source.gitchild import broken, environment
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

    Raise `DeadlineExceeded` if that takes too long, `MalformedContent` where git gives up.
    """
    lines = b"-L%d,%d:%s" % (first, last, _safe(path))
    said = _log(git_dir, commit, ("-s", "--format=%H%x00%an%x00%aI%x00%s%x00", f"-n{most}", lines), b"")
    fields = [field.decode("utf-8", "replace").strip("\n") for field in said.split(b"\0")]
    rows = (fields[start : start + _FIELDS] for start in range(0, len(fields) - _FIELDS + 1, _FIELDS))
    return [
        Commit(CommitId(number), author[:_LONGEST_NAME], date, summary[:_LONGEST_SUMMARY])
        for number, author, date, summary in rows
    ]


def together(git_dir: Path, commit: CommitId, path: str, *, most: int) -> Together:
    """Return what changed together with *path* in the newest *most* commits that changed it, back from *commit*.

    Raise as `commits` does. Commits that change very many files count for nothing.
    """
    arguments = ("--full-diff", "--name-only", "--no-renames", "-z", "--format=%x01", f"-n{most}")
    said = _log(git_dir, commit, arguments, _safe(path), seconds=_FEW_SECONDS)
    found = [[name for name in each.lstrip(b"\0\n").split(b"\0") if name] for each in said.split(b"\x01")[1:]]
    narrow = [names for names in found if 0 < len(names) <= _WIDE]
    return Together(len(narrow), Counter(_others(narrow, os.fsencode(path))))


def _others(commits: list[list[bytes]], path: bytes) -> Iterator[str]:
    for names in commits:
        yield from (os.fsdecode(name) for name in names if name != path)


def _log(
    git_dir: Path, commit: CommitId, arguments: tuple[str | bytes, ...], path: bytes, *, seconds: float = _SECONDS
) -> bytes:
    if not is_id(commit):
        raise InvalidInput(f"{commit[:100]!r} is no commit.")
    behind = ("--", b":(top,literal)" + path) if path else ()
    argv = ("git", "log", "--no-color", *arguments, commit, *behind)
    done = proc.run(argv, timeout=seconds, env=environment(git_dir), max_output=_MOST_OUTPUT)
    if done.code:
        raise broken()
    return done.stdout


def _safe(path: str) -> bytes:
    if "\0" in path:
        raise InvalidInput("No path holds a NUL.")
    return os.fsencode(path)
