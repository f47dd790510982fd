"""A model file on its way into the store: written aside, hashed while it is written, resumed where it stopped."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, BinaryIO, Self

import msgspec

from appliance.base.durable import make_directory, storage_errors, sync_directory, write_file
from appliance.errors import DigestMismatch, DiskFull, MalformedContent
from appliance.inference.catalog import ModelFile

CHUNK = 1 << 20
_MARGIN = 32 << 20
_POINTERS = (b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/", b"/annex/objects/")

Progress = Callable[[int, int], None]  # bytes of the model so far, bytes in all


class _Journal(msgspec.Struct, frozen=True):
    origin: str
    parts: int
    size: int


class Staged:
    """One file in the staging folder *folder*, open for appending within a ``with`` block."""

    def __init__(
        self, folder: Path, *, file: ModelFile, progress: Callable[[int], None], free: Callable[[Path], int]
    ) -> None:
        self.file = file
        self.folder = make_directory(folder)
        self._data = folder / "data"
        self._journal = folder / "journal.json"
        self._progress = progress
        self._free = free
        self._out: BinaryIO | None = None
        self._hash = hashlib.sha256()
        self.size = 0
        self.parts = 0

    def __enter__(self) -> Self:
        with storage_errors(self._data):
            self._out = os.fdopen(os.open(self._data, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._out is not None:
            self._out.close()

    def begin(self, origin: str) -> None:
        """Go on where the last attempt from *origin* stopped, or from the start; sets `size` and `parts`.

        Raise `DiskFull` when what is missing does not fit on the file system.
        """
        last = self._last(origin)
        self.parts, kept = last.parts, last.size
        self._rewind(kept)
        self.reserve(self.file.size - self.size)

    def restart(self) -> None:
        """Forget everything written: the source cannot go on from here."""
        self.parts = 0
        self._rewind(0)

    def reserve(self, count: int) -> None:
        """Raise `DiskFull` when *count* more bytes do not fit on the file system."""
        free = self._free(self.folder)
        if count + _MARGIN > free:
            raise DiskFull(
                f"{self.file.name} needs {count:,} more bytes, and {max(0, free - _MARGIN):,} are free on that file system.",
                remedy="Free space, then try again: what is already there is kept.",
                path=str(self.folder),
                needed=count,
                free=free,
            )

    def append(self, chunk: bytes) -> None:
        """Write and hash *chunk*; raise `DigestMismatch` once there is more than the catalogue says."""
        if self.size + len(chunk) > self.file.size:
            raise DigestMismatch(
                f"{self.file.name} is larger than the {self.file.size:,} bytes in the catalogue.", file=self.file.name
            )
        with storage_errors(self._data):
            self._file.write(chunk)
        self._hash.update(chunk)
        self.size += len(chunk)
        self._progress(self.size)

    def append_all(self, stream: IO[bytes]) -> None:
        """Write everything that *stream* has."""
        while chunk := stream.read(CHUNK):
            self.append(chunk)

    def note(self, origin: str, *, parts: int = 0) -> None:
        """Remember that everything so far came from *origin*, and is *parts* of its parts."""
        with storage_errors(self._data):
            self._file.flush()
            os.fsync(self._file.fileno())
        self.parts = parts
        write_file(self._journal, msgspec.json.encode(_Journal(origin, parts, self.size)))

    def publish(self, target: Path, *, source: str) -> None:
        """Move the file to *target*, durably, if it is what the catalogue says; else forget it and raise.

        Raise `MalformedContent` for a pointer file that stands for weights kept elsewhere, `DigestMismatch` for the rest.
        """
        digest = self._hash.hexdigest()
        if digest != self.file.sha256:
            head = self._head()
            self.discard()
            raise mismatch(self.file, size=self.size, digest=digest, head=head, source=source)
        with storage_errors(target):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._data.chmod(0o444)
            make_directory(target.parent)
            self._data.replace(target)
            sync_directory(target.parent)
            sync_directory(target.parent.parent)
        self._clear()

    def tidy(self) -> None:
        """Remove the staging folder if nothing was ever kept in it."""
        if not os.fstat(self._file.fileno()).st_size:
            self.discard()

    def discard(self) -> None:
        """Remove everything staged."""
        self._data.unlink(missing_ok=True)
        self._clear()

    @property
    def _file(self) -> BinaryIO:
        if self._out is None:
            raise RuntimeError("used outside of its with block")
        return self._out

    def _clear(self) -> None:
        for path in self.folder.iterdir():
            path.unlink()
        self.folder.rmdir()

    def _last(self, origin: str) -> _Journal:
        nothing = _Journal(origin, 0, 0)
        try:
            last = msgspec.json.decode(self._journal.read_bytes(), type=_Journal)
        except (OSError, msgspec.DecodeError):
            return nothing
        there = os.fstat(self._file.fileno()).st_size
        return last if last.origin == origin and last.size <= min(there, self.file.size) else nothing

    def _rewind(self, size: int) -> None:
        self._hash = hashlib.sha256()
        self._file.seek(0)
        self.size = 0
        while self.size < size:
            chunk = self._file.read(min(CHUNK, size - self.size))
            self._hash.update(chunk)
            self.size += len(chunk)
        with storage_errors(self._data):
            self._file.truncate(size)
        self._file.seek(size)
        self._progress(size)

    def _head(self) -> bytes:
        self._file.flush()
        self._file.seek(0)
        return self._file.read(256)


def is_pointer(head: bytes) -> bool:
    """Whether a file that begins with *head* only points at weights kept elsewhere (Git LFS, git-annex)."""
    return head.startswith(_POINTERS)


def mismatch(file: ModelFile, *, size: int, digest: str, head: bytes, source: str) -> DigestMismatch | MalformedContent:
    """Return the error for bytes that are not *file*: what they are instead, as far as can be told."""
    if is_pointer(head):
        return MalformedContent(
            f"{source} has a pointer file for {file.name}, not the weights.",
            remedy="Fetch the weights themselves (git lfs pull, git annex get), then try again.",
            file=file.name,
        )
    if size != file.size:
        return DigestMismatch(
            f"{file.name} from {source} has {size:,} bytes, and the catalogue says {file.size:,}. It is not used.",
            remedy="Get the file again, or from another source.",
            file=file.name,
        )
    return DigestMismatch(
        f"{file.name} from {source} has the sha256 {digest}, and the catalogue says {file.sha256}. It is not used.",
        remedy="Get the file again, or from another source.",
        file=file.name,
    )


def free_bytes(path: Path) -> int:
    """Return the bytes that this user may still write to the file system of *path*."""
    status = os.statvfs(path)
    return status.f_bavail * status.f_frsize
