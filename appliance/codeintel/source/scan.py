"""A plain folder, walked without following anything: what is in it, and what is left out before it is read."""

import os
import stat
from pathlib import Path

from appliance.base.budget import Budget
from appliance.base.mounts import made_up_below
from appliance.codeintel.source.base import LeftOut, Reason
from appliance.codeintel.source.ignore import IgnoreRules
from appliance.errors import MalformedContent

_MOST_ENTRIES = 2_000_000
_RULES_LIMIT = 1 << 20
_LONGEST_PATH = 4000  # the operating system's own limit is 4096 for the whole path
_KIND = 0o170000  # the bits of a mode that say what it is
_SPECIAL = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFBLK: "a device", stat.S_IFCHR: "a device"}


Mark = tuple[int, int, int, int, int]
"""Mode, size, times of content and of inode in nanoseconds, and inode: while they stay, so does a file that has settled."""


def mark_of(status: os.stat_result) -> Mark:
    """Return what tells whether a file changed."""
    return status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


class Scan:
    """One walk through *root*. Never enters nested repositories, ignored folders or what the kernel makes up."""

    def __init__(self, root: Path, *, git_dir: Path, max_bytes: int) -> None:
        self._root = os.fsencode(root).rstrip(b"/")
        self._git_dir = git_dir
        self._max_bytes = max_bytes
        self._made_up = made_up_below(self._root)
        self._rules: IgnoreRules | None = None
        self.left_out: list[LeftOut] = []

    def files(self) -> dict[bytes, Mark]:
        """Return the paths of what may be read, relative to the root; `left_out` then holds the rest."""
        found: dict[bytes, Mark] = {}
        budget = Budget(_MOST_ENTRIES, what="entries in the folder")
        folders: list[tuple[bytes, bool]] = [(b"", False)]  # and whether rules stand above
        try:
            while folders:
                folder, ruled = folders.pop()
                entries = self._entries(folder)
                budget.spend(len(entries))
                names = [entry.name for entry in entries]
                if b".gitignore" in names:
                    ruled = self._learn(folder, entries[names.index(b".gitignore")]) or ruled
                if folder and b".git" in names:
                    self._leave(folder, "nested-repository", "Add it as a repository of its own.")
                    continue
                inner = self._look(folder, self._kept(folder, entries) if ruled else entries, found)
                folders += [(path, ruled) for path in inner if self._is_entered(path)]
        finally:
            if self._rules is not None:
                self._rules.close()
        return found

    def _entries(self, folder: bytes) -> "list[os.DirEntry[bytes]]":
        try:
            with os.scandir(self._root + b"/" + folder) as entries:
                return list(entries)
        except OSError as exc:
            self._leave(folder, "unreadable", exc.strerror or "")
            return []

    def _is_entered(self, folder: bytes) -> bool:
        if kind := self._made_up.get(folder[:-1]):
            self._leave(folder, "special", f"It is a file system of the kind {kind}.")
            return False
        if len(self._root) + 1 + len(folder) > _LONGEST_PATH:
            self._leave(folder, "unreadable", "Its path is too long.")
            return False
        return True

    def _learn(self, folder: bytes, entry: "os.DirEntry[bytes]") -> bool:
        if not entry.is_file(follow_symlinks=False):
            return False
        content = read_inside(self._root, folder + entry.name, limit=_RULES_LIMIT)
        if content is None:
            return False
        if self._rules is None:
            self._rules = IgnoreRules(self._git_dir)
        self._rules.learn(folder, content)
        return True

    def _kept(self, folder: bytes, entries: "list[os.DirEntry[bytes]]") -> "list[os.DirEntry[bytes]]":
        if self._rules is None:
            raise MalformedContent("A folder has rules that were not read.")
        asked = [folder + entry.name + (b"/" if entry.is_dir(follow_symlinks=False) else b"") for entry in entries]
        ignored = self._rules.ignored(asked)
        for path in ignored:
            self._leave(path, "ignored", "")
        return [entry for entry, path in zip(entries, asked, strict=True) if path not in ignored]

    def _look(self, folder: bytes, entries: "list[os.DirEntry[bytes]]", found: dict[bytes, Mark]) -> list[bytes]:
        """Put into *found* what may be read of *entries*, and return the folders among them."""
        inner, most = list[bytes](), self._max_bytes
        for entry in entries:
            path = folder + entry.name
            if entry.is_dir(follow_symlinks=False):
                inner.append(path + b"/")
                continue
            try:
                mark = mark_of(entry.stat(follow_symlinks=False))
            except OSError as exc:
                self._leave(path, "unreadable", exc.strerror or "")
                continue
            if (kind := mark[0] & _KIND) in _SPECIAL:
                self._leave(path, "special", f"It is {_SPECIAL[kind]}.")
            elif mark[1] > most:
                self._leave(path, "oversize", f"{mark[1]:,} bytes")
            else:
                found[path] = mark
        return inner

    def _leave(self, path: bytes, reason: Reason, detail: str) -> None:
        self.left_out.append(LeftOut(os.fsdecode(path), reason, detail))


def read_inside(root: bytes, path: bytes, *, limit: int) -> bytes | None:
    """Return the content of the regular file *path* below *root*, None if it is not one, is larger, or cannot be read.

    No link is followed: not as the file, and not on the way to it, even if somebody swaps a folder for one meanwhile.
    """
    whole = root + b"/" + path
    try:
        fd = os.open(whole, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return None
        if os.readlink(b"/proc/self/fd/%d" % fd) != whole:  # noqa: PTH115 - names are bytes here
            return None
        with os.fdopen(fd, "rb", buffering=0, closefd=False) as file:
            content = file.read(limit + 1)
    except OSError:
        return None
    finally:
        os.close(fd)
    return content if content is not None and len(content) <= limit else None
