"""Files of a scratch worktree, reached through no link: commands that nobody trusts write in it, maybe at this moment.

Each folder on the way is opened in the one before it and held, so none can be put in another's place meanwhile.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from appliance.base import durable
from appliance.base.paths import contained, display
from appliance.errors import LimitExceeded, UnsafePath

_USUAL: Final = 0o644
_LARGEST: Final = 64 << 20  # what is compared, when it is only compared
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class FileState:
    """What a file holds, and its permissions. No content: there is no file."""

    content: bytes | None
    mode: int


def absent() -> FileState:
    """Return the state of a file that is not there."""
    return FileState(None, _USUAL)


def read_state(worktree: Path, path: str, *, most: int | None) -> FileState:
    """Return the state of the file at *path*; raise `UnsafePath` or, for more than *most* bytes, `LimitExceeded`."""
    try:
        with _folders(worktree, path, make=False) as (folders, names):
            return _read(folders[-1], names[-1], path, bound=_LARGEST if most is None else most)
    except FileNotFoundError:
        return absent()


def write_state(worktree: Path, path: str, state: FileState) -> None:
    """Give the file at *path* that *state*. On return it survives a power cut; until then the former one stands."""
    if state.content is None:
        with suppress(FileNotFoundError), _folders(worktree, path, make=False) as (folders, names):
            _remove(folders, names)
        return
    with _folders(worktree, path, make=True) as (folders, names):
        durable.write_file(Path(f"/proc/self/fd/{folders[-1]}", names[-1]), state.content, mode=state.mode)


def _read(folder: int, name: str, path: str, *, bound: int) -> FileState:
    try:
        fd = os.open(name, _FILE, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as exc:
        raise UnsafePath(f"{display(path)!r} is no file that can be edited: {exc.strerror}.", path=display(path)) from exc
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise UnsafePath(f"{display(path)!r} is no file.", path=display(path))
        if found.st_size > bound:
            raise LimitExceeded(f"{display(path)} has more than {bound:,} bytes.", limit=bound, size=found.st_size)
        with os.fdopen(fd, "rb", closefd=False) as file:
            return FileState(file.read(bound + 1), stat.S_IMODE(found.st_mode) & 0o777)
    finally:
        os.close(fd)


def _remove(folders: Sequence[int], names: Sequence[str]) -> None:
    """Remove the file, and each folder on the way that is empty then."""
    os.unlink(names[-1], dir_fd=folders[-1])
    os.fsync(folders[-1])
    for folder, name in reversed(list(zip(folders, names[:-1], strict=False))):
        try:
            os.rmdir(name, dir_fd=folder)
        except OSError:  # something else is in it
            return
        os.fsync(folder)


@contextmanager
def _folders(worktree: Path, path: str, *, make: bool) -> Iterator[tuple[list[int], list[str]]]:
    """Hold *worktree* and each folder from there to *path*, with the names on the way.

    Raise `UnsafePath` where *path* leaves *worktree*, or a link or a file stands on the way, and `FileNotFoundError` where a
    folder is not there, unless it is to *make* them.
    """
    contained(worktree, path)
    names = path.split("/")
    with ExitStack() as held:
        folders = [_opened(str(worktree), None, path, held)]
        for name in names[:-1]:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o755, dir_fd=folders[-1])
                    os.fsync(folders[-1])
            folders.append(_opened(name, folders[-1], path, held))
        yield folders, names


def _opened(name: str, folder: int | None, path: str, held: ExitStack) -> int:
    try:
        fd = os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as exc:
        raise UnsafePath(f"{display(path)!r} leads through a link or a file.", path=display(path)) from exc
    held.callback(os.close, fd)
    return fd
