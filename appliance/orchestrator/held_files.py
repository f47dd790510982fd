"""Files of a scratch worktree, reached through no link: commands that nobody trusts have written in it."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from appliance.base import durable
from appliance.base.paths import contained, display
from appliance.errors import LimitExceeded, UnsafePath

_USUAL: Final = 0o644
_LARGEST: Final = 64 << 20  # what is compared, when it is only compared


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
    place = _checked(worktree, path)
    try:
        fd = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return absent()
    except OSError as exc:
        raise UnsafePath(f"{display(path)!r} is no file that can be edited: {exc.strerror}.", path=display(path)) from exc
    try:
        found, bound = os.fstat(fd), _LARGEST if most is None else most
        if not stat.S_ISREG(found.st_mode):
            raise UnsafePath(f"{display(path)!r} is no file.", path=display(path))
        if found.st_size > bound:
            raise LimitExceeded(f"{display(path)} has more than {bound:,} bytes.", limit=bound, size=found.st_size)
        with os.fdopen(fd, "rb", closefd=False) as file:
            return FileState(file.read(bound + 1), stat.S_IMODE(found.st_mode) & 0o777)
    finally:
        os.close(fd)


def write_state(worktree: Path, path: str, state: FileState) -> None:
    """Give the file at *path* that *state*. On return it survives a power cut; until then the former one stands."""
    place = _checked(worktree, path)
    if state.content is None:
        place.unlink(missing_ok=True)
        _remove_empty(worktree, place.parent)
        return
    for folder in reversed([each for each in place.parents if each.is_relative_to(worktree) and not each.exists()]):
        folder.mkdir(mode=0o755)
        durable.sync_directory(folder.parent)
    durable.write_file(place, state.content, mode=state.mode)


def _remove_empty(worktree: Path, folder: Path) -> None:
    while folder != worktree:
        try:
            folder.rmdir()
        except FileNotFoundError:
            pass
        except OSError:  # something else is in it
            break
        folder = folder.parent
    durable.sync_directory(folder)


def _checked(worktree: Path, path: str) -> Path:
    """Return where *path* is; raise `UnsafePath` where it leaves *worktree*, or a link stands on the way or at its end."""
    place = contained(worktree, path)
    for each in (place, *place.parents):
        if each == worktree:
            return place
        if each.is_symlink():
            raise UnsafePath(f"{display(path)!r} leads through a link.", path=display(path))
        if each != place and each.exists() and not each.is_dir():
            raise UnsafePath(f"{display(path)!r} leads through a file.", path=display(path))
    raise UnsafePath(f"{display(path)!r} leaves its folder.", path=display(path))
