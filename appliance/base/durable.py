"""Writing so that an acknowledgement survives a power cut: write aside, sync, flip.

Only this module syncs. LanceDB does not sync what it writes (measured: 18 of 18 tables lost after a simulated cut), so
whatever it wrote is made durable with `sync_filesystem` before a row that names it is committed.
"""

import ctypes
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from appliance.errors import Conflict, HostUnfit, StorageFault, of_system

_NEARLY_NOTHING = 1 << 20  # bytes

_libc = ctypes.CDLL(None, use_errno=True)


def write_file(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace *path* with *data*, of exactly *mode*. On return it survives a power cut; until then the old one stands."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with storage_errors(path):
        try:
            aside.unlink(missing_ok=True)  # of a former process of our number, or a link that somebody laid there
            fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
            with os.fdopen(fd, "wb") as file:
                os.fchmod(fd, mode)  # whatever the umask is
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(path)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)


def sync_file(path: Path) -> None:
    """Flush one finished file to the disk."""
    with storage_errors(path):
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def sync_directory(path: Path) -> None:
    """Flush a directory's names to the disk: a rename is durable only then."""
    sync_file(path)


def sync_filesystem(path: Path) -> None:
    """Flush everything written to the file system that holds *path* (``syncfs``)."""
    with storage_errors(path):
        fd = os.open(path, os.O_RDONLY)
        try:
            if _libc.syncfs(fd) != 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number), str(path))
        finally:
            os.close(fd)


def sync_own(folder: Path) -> None:
    """Flush what *folder* has for itself: every file but those that have another name too, and all names in it.

    Only for a folder whose shared files were flushed under their other name.
    """
    for place, _folders, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if path.lstat().st_nlink == 1:
                sync_file(path)
        sync_directory(Path(place))
    sync_directory(folder.parent)


def make_directory(path: Path, *, mode: int = 0o700, choose: str = "with --data or SKELLIG_DATA") -> Path:
    """Create *path* and its parents if need be and return it; raise `HostUnfit` if it cannot be written, or `DiskFull`.

    *choose* says how another folder is chosen.
    """
    try:
        there = path.exists()
        path.mkdir(parents=True, exist_ok=True, mode=mode)
        if not there:
            path.chmod(mode)  # whatever the umask is
    except OSError as exc:
        if isinstance(found := of_system(exc, str(path)), StorageFault):
            raise found from exc
        raise HostUnfit(
            f"The folder {path} cannot be created: {exc.strerror}.",
            remedy=f"Choose another {choose}.",
            path=str(path),
        ) from exc
    if not os.access(path, os.W_OK | os.X_OK):
        raise HostUnfit(
            f"The folder {path} is not writable.",
            remedy=f"Change its owner, or choose another {choose}.",
            path=str(path),
        )
    return path


@contextmanager
def exclusive(path: Path, *, what: str, remedy: str = "") -> Iterator[int]:
    """Hold the lock file *path* for the length of the block; raise `Conflict` if another process holds it.

    Raise `DiskFull`, `StorageFault` or `HostUnfit` where it cannot be opened.

    The kernel releases it when the holder dies, however it dies. The block gets the descriptor: a child that inherits it
    holds the lock too, and alone once the block is left.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except OSError as exc:
        unfit = HostUnfit(f"The lock {path} cannot be opened: {exc.strerror}.", remedy="Remove it.", path=str(path))
        raise of_system(exc, str(path)) or unfit from exc
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            raise Conflict(f"Another process holds {what}.", remedy=remedy, path=str(path)) from exc
        yield fd
    finally:
        os.close(fd)


def is_full(path: Path) -> bool:
    """Return whether so little space is left for *path* that what failed there failed for want of it.

    Libraries tell of a full disk each in their own way, many as some other error.
    """
    try:
        return shutil.disk_usage(path).free < _NEARLY_NOTHING
    except OSError:
        return False


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn the operating system's disk errors into `DiskFull` and `StorageFault`."""
    try:
        yield
    except OSError as exc:
        if isinstance(found := of_system(exc, str(path)), StorageFault):
            raise found from exc
        raise
