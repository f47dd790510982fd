"""Scratch worktrees: the files of a commit, written out aside of every repository, for commands and edits.

They are made from what the source reads, so nothing of a repository runs on the way: no checkout, hook, filter, attribute or
submodule. Secrets are masked in them as everywhere.
"""

import errno
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from appliance.base import durable, sandbox
from appliance.base.budget import Budget
from appliance.base.paths import DataPaths
from appliance.base.removal import remove_tree
from appliance.codeintel.source.base import Entry, LeftOut, Source
from appliance.codeintel.source.secrets import is_secret_file
from appliance.errors import Conflict, Forbidden, HostUnfit
from appliance.ids import BlobId, CommitId

_PREFIX: Final = "worktree-"
_LOCK: Final = ".lock"
_PLAIN: Final = {"100644": 0o644, "100755": 0o755}
_LINK: Final = "120000"
_NO_SUCH_NAME: Final = {errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR}  # a hostile tree's
_RESERVED: Final = frozenset({".git", "git~1"})  # no repository stands in a worktree, and none is made there


@dataclass(frozen=True, slots=True)
class Worktree:
    """The files of *commit* in a folder of their own, and what of it is not there."""

    path: Path
    commit: CommitId
    files: int
    left_out: tuple[LeftOut, ...]


class Worktrees:
    """Makes scratch worktrees in the data directory, of at most *most_bytes* and *most_files*, and removes them."""

    def __init__(self, paths: DataPaths, *, most_bytes: int = 512 << 20, most_files: int = 50_000) -> None:
        self._folder = paths.scratch
        self._most_bytes = most_bytes
        self._most_files = most_files

    @property
    def aside(self) -> Path:
        """Where commands keep temporary files."""
        return self._folder / "commands"

    @contextmanager
    def of(self, source: Source, commit: CommitId) -> Iterator[Worktree]:
        """Hold a worktree of *commit* for the length of the block; whatever became of it, it is removed then.

        Raise `NotFound` for a commit that is not there, `LimitExceeded` for too many or too large files, `DiskFull`.
        """
        folder = durable.make_directory(self._folder) / f"{_PREFIX}{secrets.token_hex(8)}"
        lock = folder.with_name(f"{folder.name}{_LOCK}")
        try:
            with durable.exclusive(lock, what="a scratch worktree"):
                try:
                    durable.make_directory(folder)
                    yield self._written(source, commit, folder)
                finally:
                    remove_tree(folder)
        finally:
            lock.unlink(missing_ok=True)

    def owned(self, path: Path) -> Path:
        """Return *path* if it is a worktree of ours that is there; raise `Forbidden` for any other folder."""
        if path.parent != self._folder or not path.name.startswith(_PREFIX) or path.is_symlink() or not path.is_dir():
            raise Forbidden("This is no scratch worktree.", remedy="Nothing else is ever written to.")
        return path

    def sweep(self) -> int:
        """Remove what processes that died left behind, and return how many worktrees and commands that was of.

        What cannot be removed is left to the next time.
        """
        removed = sandbox.sweep(self._folder) + sandbox.sweep(self.aside)
        for lock in sorted(self._folder.glob(f"{_PREFIX}*{_LOCK}")):
            with suppress(Conflict, HostUnfit, OSError), durable.exclusive(lock, what="a scratch worktree"):
                remove_tree(lock.with_suffix(""))
                lock.unlink(missing_ok=True)
                removed += 1
        return removed

    def _written(self, source: Source, commit: CommitId, folder: Path) -> Worktree:
        snapshot = source.tree(commit=commit)
        size, count = Budget(self._most_bytes, what="bytes in the worktree"), Budget(self._most_files, what="files in it")
        writing = _Writing(folder, source)
        for entry in source.entries(snapshot):
            count.spend()
            size.spend(max(entry.size, 0))
            writing.take(entry)
        with durable.storage_errors(folder):
            files = writing.finish()
        return Worktree(folder, commit, files, (*source.left_out(snapshot), *writing.left_out))


class _Writing:
    """The files of a tree on their way to a folder."""

    def __init__(self, folder: Path, source: Source) -> None:
        self._folder = folder
        self._source = source
        self._plain: dict[BlobId, list[Entry]] = {}
        self._links: dict[BlobId, list[Entry]] = {}
        self.left_out: list[LeftOut] = []

    def take(self, entry: Entry) -> None:
        """Note that *entry* is to be written, or why it is not."""
        if not is_safe(entry.path):
            self.left_out.append(LeftOut(entry.path, "unsafe-path"))
        elif is_secret_file(entry.path):
            self.left_out.append(LeftOut(entry.path, "secret"))
        elif entry.mode in _PLAIN:
            self._plain.setdefault(entry.blob, []).append(entry)
        elif entry.mode == _LINK:
            self._links.setdefault(entry.blob, []).append(entry)
        else:
            self.left_out.append(LeftOut(entry.path, "submodule"))

    def finish(self) -> int:
        """Write the files, then the links, so that nothing is written through one; return how many files that were."""
        written = self._each(self._plain, _write)
        made = self._each(self._links, _link)
        for entry in made:
            place = self._folder / entry.path
            if not Path(os.path.realpath(place)).is_relative_to(os.path.realpath(self._folder)):
                place.unlink()
                self.left_out.append(LeftOut(entry.path, "symlink", "leads out of the repository"))
        return len(written)

    def _each(self, entries: dict[BlobId, list[Entry]], write: Callable[[Path, Entry, bytes], None]) -> list[Entry]:
        missing, done = set(entries), []
        for blob, content in self._source.read(list(entries)):
            missing.discard(blob)
            for entry in entries[blob]:
                try:
                    write(self._folder / entry.path, entry, content)
                    done.append(entry)
                except OSError as exc:
                    if exc.errno not in _NO_SUCH_NAME:
                        raise
                    self.left_out.append(LeftOut(entry.path, "unsafe-path", exc.strerror or ""))
        unread = (entry for blob in missing for entry in entries[blob])
        self.left_out += [LeftOut(entry.path, "unreadable", "missing, damaged or too large") for entry in unread]
        return done


def _write(place: Path, entry: Entry, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _PLAIN[entry.mode])
    with os.fdopen(fd, "wb") as file:
        file.write(content)


def _link(place: Path, entry: Entry, content: bytes) -> None:
    target = os.fsdecode(content)
    if not _stays_inside(entry.path, target):
        raise OSError(errno.ELOOP, "leads out of the repository")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


def is_safe(path: str) -> bool:
    """Return whether a file at *path* stays in its worktree, and is none of a repository's own."""
    parts = path.split("/")
    return "\0" not in path and not any(part in {"", ".", ".."} or part.casefold() in _RESERVED for part in parts)


def _stays_inside(path: str, target: str) -> bool:
    """Return whether a link at *path* that says *target* leads to something in the worktree, by its words alone."""
    if not target or "\0" in target or target.startswith("/") or len(target) > 1_000:
        return False
    depth = len(PurePosixPath(path).parts) - 1
    for part in target.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if depth < 0:
            return False
    return True
