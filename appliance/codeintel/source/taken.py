"""What a plain folder looked like when it was taken in last: only files that look otherwise are read again."""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from appliance.base import durable
from appliance.codeintel.source.base import Changed, LeftOut
from appliance.codeintel.source.scan import Found

SETTLED_S: Final = 2.0  # a file that changed later than this before it was read may change again within one time stamp
_NAME: Final = "folder.taken"
_MOST_HINTED: Final = 1_000  # paths; for more the whole folder is looked through
_RULING: Final = frozenset({b".git", b".gitignore"})  # what they are concerns other files


class Look(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How a file looked when it was read. ``settled``: while it looks so, its content is the same."""

    link: bool
    executable: bool
    size: int
    stamp: int
    inode: int
    settled: bool


class Taken(msgspec.Struct, frozen=True):
    """A commit of ours, and how each file of the folder looked when it was read for it."""

    commit: str
    tree: str
    looks: dict[bytes, Look]
    unread: list[bytes]


@dataclass(frozen=True, slots=True)
class Seen:
    """The files of a folder as they look, and what of it is left out."""

    files: Mapping[bytes, Found]
    left_out: list[LeftOut]

    @property
    def fingerprint(self) -> str:
        """What tells apart two looks of a folder, whatever the order in which its files come."""
        marks = sorted(
            b"%s\0%d %d %d %d" % (each.path, each.executable, each.size, each.stamp, each.inode)
            for each in self.files.values()
        )
        return hashlib.blake2b(b"\0".join(marks), digest_size=16).hexdigest()

    def changed(self, taken: Taken) -> list[Found]:
        """Return the files that may hold something else than when they were taken, or that could not be read."""
        unread = set(taken.unread)
        return [found for path, found in self.files.items() if path in unread or not _is_same(found, taken.looks.get(path))]

    def gone(self, taken: Taken) -> list[bytes]:
        """Return the paths that were taken and hold no file any more."""
        return [path for path in taken.looks if path not in self.files]


def look(found: Found, *, at: float) -> Look:
    """Return how *found* looked when it was read, at the moment *at* or after it."""
    settled = found.stamp / 1e9 < at - SETTLED_S
    return Look(found.link, found.executable, found.size, found.stamp, found.inode, settled)


def hinted(root: Path, before: Seen, hint: Changed, *, max_bytes: int) -> Seen | None:
    """Return how the folder looks now if only what *hint* names changed since *before*; None if that is not enough to tell.

    It is enough for files that were there, or are ignored, and for those that are gone. What is new may be ignored, and a
    folder may hold anything: for those all of it is looked through.
    """
    ignored = {os.fsencode(item.path) for item in before.left_out if item.reason == "ignored"}
    if not hint.whole or len(hint.paths) > _MOST_HINTED:
        return None
    files = dict(before.files)
    for path in map(os.fsencode, hint.paths):
        if _is_below(path, ignored):
            continue
        if path not in files or _RULING & set(path.split(b"/")):
            return None
        found = _found(os.fsencode(root), path, max_bytes=max_bytes)
        if found is None:
            return None
        if found:
            files[path] = found[0]
        else:
            del files[path]
    return Seen(files, before.left_out)


def load(mirror: Path) -> Taken | None:
    """Return what `save` kept in *mirror*, None if that is nothing that can be read."""
    try:
        return msgspec.msgpack.decode((mirror / _NAME).read_bytes(), type=Taken)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def save(mirror: Path, taken: Taken) -> None:
    """Keep *taken* in *mirror* for the next process."""
    durable.write_file(mirror / _NAME, msgspec.msgpack.encode(taken))


def _is_same(found: Found, before: Look | None) -> bool:
    if before is None or not before.settled:
        return False
    now = (found.link, found.executable, found.size, found.stamp, found.inode)
    return now == (before.link, before.executable, before.size, before.stamp, before.inode)


def _is_below(path: bytes, ignored: Iterable[bytes]) -> bool:
    parts = path.split(b"/")
    return path in ignored or any(b"/".join(parts[:end]) + b"/" in ignored for end in range(1, len(parts)))


def _found(root: bytes, path: bytes, *, max_bytes: int) -> tuple[Found, ...] | None:
    """Return the regular file at *path*, nothing if nothing is there, None if it is of another kind."""
    try:
        status = os.lstat(root + b"/" + path)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_size > max_bytes:
        return None
    stamp = max(status.st_mtime_ns, status.st_ctime_ns)
    return (Found(path, False, bool(status.st_mode & 0o100), status.st_size, stamp, status.st_ino),)
