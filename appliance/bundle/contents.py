"""The files of a bundle: listed without following a link, compared with what was signed, read to the last byte."""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import FileIO
from pathlib import Path, PurePosixPath
from typing import Final

from appliance.bundle.layout import MOST_FILES, Entry, named
from appliance.errors import DigestMismatch, ExtraFile, LimitExceeded, MissingPart, NotFound, UnsafePath, of_system

Progress = Callable[[int, int], None]
"""Hears the bytes done and the bytes in all."""

Heard = Callable[[int], None]
"""Hears the bytes done since it was called last."""

CHUNK: Final = 1 << 20
_DEEPEST: Final = 32
_AGAIN: Final = "Copy the bundle again from where it was built."


def unheard(done: int, total: int) -> None:
    """Hear progress, and say nothing."""
    del done, total


def listing(folder: Path) -> dict[str, int]:
    """Return every file under *folder* by its relative path, with its size; and, with a slash at its end, each empty folder.

    Raise `UnsafePath` for a link or anything else that is neither a file nor a folder, `LimitExceeded` where there are too
    many, `NotFound` where there is no folder.
    """
    check_folder(folder)
    found: dict[str, int] = {}
    for path, size in _walk(folder, ""):
        found[path] = size
        if len(found) > MOST_FILES:
            raise LimitExceeded(f"{folder} has more than {MOST_FILES:,} files.", limit=MOST_FILES)
    return found


def check_folder(folder: Path) -> None:
    """Raise `NotFound` unless *folder* is a folder."""
    if folder.is_symlink() or not folder.is_dir():
        but = ", but a link" if folder.is_symlink() else ""
        raise NotFound(f"There is no bundle at {folder}{but}.", remedy="Name the folder that holds metadata/ and targets/.")


def _walk(folder: Path, prefix: str) -> Iterator[tuple[str, int]]:
    if prefix.count("/") > _DEEPEST:
        raise UnsafePath(f"The folders of the bundle lie more than {_DEEPEST} deep.", remedy=_AGAIN, file=prefix)
    empty = True
    with reading(prefix or str(folder)), os.scandir(folder) as entries:
        for entry in entries:
            empty = False
            path = f"{prefix}{entry.name}"
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                yield from _walk(folder / entry.name, f"{path}/")
            elif stat.S_ISREG(status.st_mode):
                yield path, status.st_size
            else:
                raise UnsafePath(
                    f"{named([path])} is a link or a device; a bundle has only files and folders.", remedy=_AGAIN, file=path
                )
    if empty and prefix:
        yield prefix, 0


def compare(found: Mapping[str, int], signed: Mapping[str, Entry]) -> None:
    """Raise `MissingPart`, `ExtraFile` or `DigestMismatch` unless the *signed* files were *found*, and only those."""
    if missing := [path for path in signed if path not in found]:
        raise MissingPart(f"The bundle lacks {named(missing)}.", remedy=_AGAIN, file=min(missing), missing=len(missing))
    if extra := [path for path in found if path not in signed]:
        raise ExtraFile(
            f"The bundle has {named(extra)}, which nobody signed.",
            remedy="Remove it; if you do not know where it comes from, do not use this bundle.",
            file=min(extra),
            extra=len(extra),
        )
    for path, entry in signed.items():
        if found[path] != entry.size:
            raise DigestMismatch(
                f"{path} has {found[path]:,} bytes, and {entry.size:,} were signed.", remedy=_AGAIN, file=path
            )


def pieces(folder: Path, path: str, entry: Entry) -> Iterator[memoryview]:
    """Give the bytes of one signed file piece by piece; raise `DigestMismatch` at the end if they are not what was signed.

    Never reads more than one byte beyond the signed size, whatever grows there. A piece is overwritten by the next.
    """
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(CHUNK))
    left = entry.size + 1
    with reading(path), opened(folder / PurePosixPath(path)) as file:
        while left and (count := file.readinto(buffer[: min(CHUNK, left)])):
            digest.update(buffer[:count])
            left -= count
            yield buffer[:count]
    if left != 1 or digest.hexdigest() != entry.sha256:
        raise DigestMismatch(f"{path} is not what was signed.", remedy=_AGAIN, file=path)


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Tell of a medium that cannot be read, as of one that was pulled out, by the name of what was asked of it."""
    try:
        yield
    except OSError as exc:
        missing = MissingPart(f"{path} cannot be read: {exc.strerror}.", remedy=_AGAIN, file=path)
        raise of_system(exc, path) or missing from exc


def opened(path: Path) -> FileIO:
    """Open the file *path* for reading in pieces of the caller's choice; never waits for a pipe, never follows a link.

    Raise `UnsafePath` for what is no file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as exc:
        if exc.errno == errno.ELOOP:
            raise UnsafePath(f"{named([path.name])} is a link.", file=path.name) from exc
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UnsafePath(f"{named([path.name])} is not a file.", file=path.name)
    return os.fdopen(descriptor, "rb", buffering=0)


def check(folder: Path, signed: Mapping[str, Entry], *, progress: Progress = unheard) -> None:
    """Read every *signed* file of *folder*; raise `DigestMismatch` naming the first that is not what was signed."""
    total = sum(entry.size for entry in signed.values())
    done = 0
    for path, entry in sorted(signed.items()):
        for piece in pieces(folder, path, entry):
            done += len(piece)
            progress(done, total)
