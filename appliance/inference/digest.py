"""SHA-256 of files, and the verdicts that keep a large file from being read twice."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from appliance.base.durable import write_file
from appliance.errors import StorageFault


class _Verdict(msgspec.Struct, frozen=True):
    """This very file, unchanged since, had the digest."""

    inode: int
    size: int
    mtime_ns: int


def file_digest(path: Path, *, progress: Callable[[int], None] | None = None) -> str:
    """Return the sha256 of *path* in hex; *progress* hears the bytes read so far."""
    digest = hashlib.sha256()
    done = 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
            done += len(chunk)
            if progress is not None:
                progress(done)
    return digest.hexdigest()


def remembered(path: Path) -> bool:
    """Whether *path* was found good and has not been replaced or written since."""
    try:
        return msgspec.json.decode(_beside(path).read_bytes(), type=_Verdict) == _verdict(path)
    except (OSError, msgspec.DecodeError):
        return False


def remember(path: Path) -> None:
    """Note that *path* was found good. In a store that cannot be written the file is simply read again next time."""
    try:
        write_file(_beside(path), msgspec.json.encode(_verdict(path)))
    except (OSError, StorageFault):
        return


def forget(path: Path) -> None:
    """Drop what was noted of *path*."""
    try:
        _beside(path).unlink(missing_ok=True)
    except OSError:
        return


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.verified")


def _verdict(path: Path) -> _Verdict:
    status = path.stat()
    return _Verdict(status.st_ino, status.st_size, status.st_mtime_ns)
