"""What a command uses while it runs, told from outside of it, and the end of all that it started."""

import os
import signal
import stat
import time
from pathlib import Path
from typing import Final

_TRIES_S: Final = 10.0
_PAUSE_S: Final = 0.01
_OWN: Final = (b"RssAnon:", b"RssShmem:")


def can_see() -> bool:
    """Return whether this kernel tells the children of a process: without that nobody could be ended for sure."""
    return Path("/proc/thread-self/children").exists()


def descendants(pid: int) -> list[int]:
    """Return the processes that *pid* started, and those that these did, as far as the kernel tells."""
    found: list[int] = []
    pending = [pid]
    while pending:
        more = children(pending.pop())
        found += more
        pending += more
    return found


def children(pid: int) -> list[int]:
    """Return the processes that *pid* started, or was handed, and has not buried."""
    told = (_read(f"/proc/{pid}/task/{thread}/children") for thread in _names(f"/proc/{pid}/task"))
    return [int(child) for each in told for child in each.split()]


def is_dead(pid: int) -> bool:
    """Return whether *pid* has ended, buried or not."""
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2][:2] in {b"", b" Z", b" X"}


def threads(pids: list[int]) -> int:
    """Return how many threads *pids* have."""
    return sum(len(_names(f"/proc/{pid}/task")) for pid in pids)


def threads_of(user: int) -> int:
    """Return how many threads *user* has on this machine, as far as this process sees."""
    found = 0
    for name in filter(str.isdigit, _names("/proc")):
        try:
            found += len(_names(f"/proc/{name}/task")) if Path("/proc", name).stat().st_uid == user else 0
        except OSError:  # it has ended
            continue
    return found


def memory(pids: list[int]) -> int:
    """Return the bytes that *pids* hold, not counting files that are mapped; what two share counts twice."""
    return sum(_held(pid) for pid in pids)


def size(folders: tuple[str, ...], *, most: int) -> tuple[int, int]:
    """Return the bytes on the disk and the number of names in *folders*; it stops once there are more than *most* names.

    What cannot be looked into, because its path is endless, counts as if it were too many.
    """
    used = count = 0
    pending = list(folders)
    while pending and count <= most:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    count += 1
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    else:
                        used += entry.stat(follow_symlinks=False).st_blocks * 512
        except (FileNotFoundError, PermissionError):  # it is gone again, or hidden: the file system's free space tells
            continue
        except OSError:
            return used, most + 1
    return used, count


def nameless(pids: list[int]) -> int:
    """Return the bytes of files that *pids* hold open or mapped, and to which no name leads any more."""
    held: dict[tuple[int, int], int] = {}
    for task in (f"/proc/{pid}/task/{thread}" for pid in pids for thread in _names(f"/proc/{pid}/task")):
        for name in _names(f"{task}/fd"):
            try:
                found = Path(task, "fd", name).stat()
            except OSError:  # it was closed
                continue
            if stat.S_ISREG(found.st_mode) and not found.st_nlink:
                held[found.st_dev, found.st_ino] = found.st_blocks * 512
        for line in _read(f"{task}/maps").splitlines():
            if line.endswith(b" (deleted)"):
                bounds, _, _, device, number = line.split()[:5]
                first, last = (int(each, 16) for each in bounds.split(b"-"))
                held.setdefault((os.makedev(*(int(each, 16) for each in device.split(b":"))), int(number)), last - first)
    return sum(held.values())


def end_all(pid: int) -> int:
    """Kill all that *pid*, this process, started and return how many live on, 0 unless the kernel is stuck."""
    until = time.monotonic() + _TRIES_S
    while living := descendants(pid):
        for each in living:
            _kill(each)
        _reap()
        if time.monotonic() > until:
            return len(living)
        time.sleep(_PAUSE_S)
    return 0


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return


def _held(pid: int) -> int:
    lines = _read(f"/proc/{pid}/status").splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(_OWN))


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names are all that is wanted
    except OSError:  # it has ended
        return []


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - the kernel's, not a file
            return file.read()
    except OSError:  # it has ended
        return b""
