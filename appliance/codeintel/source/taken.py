"""What a plain folder looked like when it was taken in last: only files that look otherwise are read again."""

import hashlib
import os
import stat
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from appliance.base import durable
from appliance.codeintel.source.base import Changed, LeftOut, Reason
from appliance.codeintel.source.scan import Mark, mark_of

SETTLED_S: Final = 2.0  # a file that changed later than this before it was read may change again within one time stamp
_NAME: Final = "folder.taken"
_MOST_HINTED: Final = 1_000  # paths; for more the whole folder is looked through
_RULING: Final = frozenset({b".git", b".gitignore"})  # what they are concerns other files


class Taken(msgspec.Struct, frozen=True):
    """A commit of ours, and how each file of the folder looked when it was read for it."""

    commit: str
    tree: str
    marks: dict[bytes, Mark]
    unsettled: list[bytes]  # may hold something else though they look the same
    unread: list[bytes]


@dataclass(frozen=True, slots=True)
class Seen:
    """The files of a folder as they look, and what of it is left out."""

    files: dict[bytes, Mark]
    left_out: list[LeftOut]

    @property
    def fingerprint(self) -> str:
        """What tells apart two looks of a folder, whatever the order in which its files come."""
        paths = sorted(self.files)
        marks = msgspec.msgpack.encode((paths, [self.files[path] for path in paths]))
        return hashlib.blake2b(marks, digest_size=16).hexdigest()

    def changed(self, taken: Taken) -> list[bytes]:
        """Return, sorted, the files that may hold something else than when they were taken, or that could not be read."""
        again = self.files.keys() & {*taken.unsettled, *taken.unread}
        return sorted(again.union(path for path, mark in self.files.items() if taken.marks.get(path) != mark))

    def gone(self, taken: Taken) -> list[bytes]:
        """Return, sorted, the paths that were taken and hold no file any more."""
        return sorted(taken.marks.keys() - self.files.keys())

    def unsettled(self, paths: Iterable[bytes], *, at: float) -> list[bytes]:
        """Return which of *paths*, read at the moment *at* or after it, may change and look as they do now."""
        return [path for path in paths if max(self.files[path][2:4]) / 1e9 >= at - SETTLED_S]


def hinted(root: Path, before: Seen, hint: Changed, *, max_bytes: int) -> Seen | None:
    """Return how the folder looks now if only what *hint* names changed since *before*; None if that is not enough to tell.

    It is enough for files that were there, or are ignored, and for what is gone, as a file that is saved aside and renamed.
    What is new may be ignored, and a folder may hold anything: for those all of it is looked through.
    """
    if not hint.whole or len(hint.paths) > _MOST_HINTED:
        return None
    files, start = dict(before.files), os.fsencode(root)
    left_out = {os.fsencode(item.path): item.reason for item in before.left_out}
    for path in map(os.fsencode, hint.paths):
        if (above := _above(path, left_out)) is not None:
            if not _stands(start, above, as_what=left_out[above]):
                return None
            continue
        found = _found(start, path, max_bytes=max_bytes)
        if (
            found is None
            or _RULING & set(path.split(b"/"))
            or (path not in files and (found or _had_any(path, files, left_out)))
        ):
            return None
        if found:
            files[path] = found[0]
        else:
            files.pop(path, None)
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


def _above(path: bytes, left_out: Container[bytes]) -> bytes | None:
    """Return which of *left_out*, where folders have a slash at the end, *path* is, or is below, if any."""
    parts = path.split(b"/")
    folders = (b"/".join(parts[:end]) + b"/" for end in range(1, len(parts) + 1))
    return next((name for name in (*folders, path) if name in left_out), None)


def _stands(root: bytes, path: bytes, *, as_what: Reason) -> bool:
    """Return whether what is left out at *path* is still that, and may change as it will."""
    try:
        mode = os.lstat(root + b"/" + path.removesuffix(b"/")).st_mode
        if as_what == "nested-repository":
            os.lstat(root + b"/" + path + b".git")
    except OSError:
        return False
    return as_what in ("ignored", "nested-repository") and stat.S_ISDIR(mode) == path.endswith(b"/")


def _had_any(folder: bytes, *places: Iterable[bytes]) -> bool:
    inside = folder + b"/"
    return any(path.startswith(inside) for paths in places for path in paths)


def _found(root: bytes, path: bytes, *, max_bytes: int) -> tuple[Mark, ...] | None:
    """Return the look of the regular file at *path*, nothing if nothing is there, None if it is of another kind."""
    try:
        status = os.lstat(root + b"/" + path)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_size > max_bytes:
        return None
    return (mark_of(status),)
