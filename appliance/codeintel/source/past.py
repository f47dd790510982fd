"""What the commits of a git repository say of its files: who changed some lines, and what changed together."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from appliance.base import proc
from appliance.base.budget import Budget, Deadline
from appliance.codeintel.source.gitchild import Child, broken, environment
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
_FORMAT: Final = ("-s", "--format=%H%x00%an%x00%aI%x00%s")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, as whoever made it describes it."""

    id: CommitId
    author: str
    date: str  # ISO 8601
    summary: str


@dataclass(frozen=True, slots=True)
class Blamed:
    """A line, counted from 1, and the commit that made it what it is."""

    line: int
    commit: Commit


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A commit that another one descends from, or is: its tree, and its first parent, "" for none."""

    commit: CommitId
    tree: str
    parent: str


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
    return _commits(_log(git_dir, commit, (*_FORMAT, f"-n{most}", lines), b"", seconds=_SECONDS))


def log(git_dir: Path, commit: CommitId, path: str, *, most: int) -> list[Commit]:
    """Return the newest *most* commits, back from *commit*, that changed *path*, a file or a folder ("": whatever).

    Raise as `commits` does.
    """
    return _commits(_log(git_dir, commit, (*_FORMAT, f"-n{most}"), _safe(path), seconds=_SECONDS))


def blame(git_dir: Path, commit: CommitId, path: str, *, first: int, last: int) -> list[Blamed]:
    """Return who made the lines *first* to *last* of *path* what they are in *commit*; raise as `commits` does."""
    if not is_id(commit):
        raise InvalidInput(f"{commit[:100]!r} is no commit.")
    said, deadline = Budget(_MOST_OUTPUT, what="bytes of history"), Deadline(_SECONDS, what="the history of a file")
    argv = ("blame", "--porcelain", f"-L{first},{last}", commit, "--", _safe(path))
    known: dict[str, Commit] = {}
    found: list[Blamed] = []
    number, line = "", 0
    with Child(git_dir, argv, patience=_SECONDS) as child:
        for record in child.records(b"\n"):
            said.spend(len(record) + 1)
            deadline.check()
            word, _, rest = record.partition(b" ")
            if record.startswith(b"\t"):
                found.append(Blamed(line, known[number]))
                number = ""
            elif not number:
                number, line = word.decode("ascii", "replace"), int(rest.split(b" ")[1])
                known.setdefault(number, Commit(CommitId(number), "", "", ""))
            else:
                known[number] = _told(known[number], word, rest.decode("utf-8", "replace"))
    return [replace(each, commit=known[each.commit.id]) for each in found]


def is_ancestor(git_dir: Path, old: CommitId, new: CommitId) -> bool:
    """Return whether *new* descends from *old*, or is it; raise `DeadlineExceeded` or `MalformedContent`."""
    argv = ("git", "merge-base", "--is-ancestor", old, new)
    code = proc.run(argv, timeout=_SECONDS, env=environment(git_dir)).code
    if code not in {0, 1}:
        raise broken()
    return code == 0


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


def _commits(fields: Iterator[bytes]) -> list[Commit]:
    said = [field.decode("utf-8", "replace") for field in fields]
    rows = (said[start : start + _FIELDS] for start in range(0, len(said) - _FIELDS + 1, _FIELDS))
    return [
        Commit(CommitId(number), author[:_LONGEST_NAME], date, summary[:_LONGEST_SUMMARY])
        for number, author, date, summary in rows
    ]


def _told(commit: Commit, field: bytes, value: str) -> Commit:
    match field:
        case b"author":
            return replace(commit, author=value[:_LONGEST_NAME])
        case b"author-time":
            return replace(commit, date=datetime.fromtimestamp(int(value), UTC).isoformat())
        case b"summary":
            return replace(commit, summary=value[:_LONGEST_SUMMARY])
    return commit


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
