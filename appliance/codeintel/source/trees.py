"""What differs between two trees of one repository, asked of a persistent `git diff-tree` child."""

import os
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from appliance.codeintel.source.gitchild import Child, broken
from appliance.codeintel.source.objects import is_id
from appliance.errors import InvalidInput, LimitExceeded, MalformedContent

_END: Final = b"end"  # no object's id: git says it back as it is, after what came before
_GONE: Final = "000000"
_PATH_BYTES: Final = 4096  # a path; a tree of a few objects can name longer ones


@dataclass(frozen=True, slots=True)
class Difference:
    """What stands at ``path`` now, by mode and blob; ``mode`` is "" where nothing does. ``was``: something stood there."""

    path: str
    mode: str
    blob: str
    was: bool


class Trees:
    """Compares trees, from any thread. A child that dies costs the one request and is replaced."""

    def __init__(self, git_dir: Path) -> None:
        self._git_dir = git_dir
        self._lock = threading.Lock()
        self._children: list[Child] = []
        weakref.finalize(self, _end, self._children).atexit = False

    def differences(self, before: str, after: str, *, most: int) -> list[Difference]:
        """Return what differs between the trees *before* and *after*, in the order of paths.

        Raise `LimitExceeded` for more than *most* files, `MalformedContent` where git cannot tell or the order does not
        hold: a tree may be forged.
        """
        if not (is_id(before) and is_id(after)):
            raise InvalidInput("A tree is named by its whole id.")
        with self._lock:
            try:
                return list(self._asked(before, after, most))
            except BaseException:
                _end(self._children)  # half a reply would be taken for the next one
                raise

    def close(self) -> None:
        """End the child."""
        with self._lock:
            _end(self._children)

    def _asked(self, before: str, after: str, most: int) -> Iterator[Difference]:
        if not self._children:
            arguments = ("diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames")
            self._children.append(Child(self._git_dir, arguments))
        child = self._children[0]
        child.write(f"{before} {after}\n".encode() + _END + b"\n")
        if child.until(b"\n") != f"{before} {after}".encode():
            raise broken()
        last, count, size = b"", 0, 0
        while (mark := child.exactly(1)) == b":":
            modes = child.until(b"\0").decode("ascii").split()
            path = child.until(b"\0")
            count, size = count + 1, size + len(path)
            if count > most or size > most * _PATH_BYTES:
                raise LimitExceeded(f"More than {most} files differ.", limit=most, spent=count)
            if path <= last:
                raise MalformedContent("A tree of the repository is out of order.", remedy="Run `git fsck` in it.")
            last = path
            yield _difference(modes, os.fsdecode(path))
        if mark + child.until(b"\n") != _END:
            raise broken()


def _difference(modes: list[str], path: str) -> Difference:
    former, mode, _, blob, _ = modes
    return Difference(path, "" if mode == _GONE else mode, blob, former != _GONE)


def _end(children: list[Child]) -> None:
    while children:
        children.pop().close()
