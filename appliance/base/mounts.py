"""Where this machine has mounted what the kernel makes up: such files have no end, or do something when they are read."""

import os
import re
from pathlib import Path
from typing import Final

_TABLE: Final = Path("/proc/self/mountinfo")
_MADE_UP: Final = frozenset(
    (
        *("binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl"),
        *("hugetlbfs", "mqueue", "nsfs", "proc", "pstore", "rpc_pipefs", "securityfs", "selinuxfs", "sysfs", "tracefs"),
    )
)
_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")


def made_up_at(path: Path) -> str:
    """Return the type of the file system that *path* leads to if the kernel makes up what is in it, else ""."""
    mounts = _mounts()
    place = os.fsencode(os.path.realpath(path))
    while place not in mounts and place != b"/":
        place = os.path.dirname(place)  # noqa: PTH120 - names are bytes here
    return _of_kernel(mounts.get(place, ""))


def made_up_below(root: bytes) -> dict[bytes, str]:
    """Return the types of those that are mounted below *root*, a real path, by their places relative to it."""
    start = root.rstrip(b"/") + b"/"
    found = {place[len(start) :]: _of_kernel(kind) for place, kind in _mounts().items() if place.startswith(start)}
    return {place: kind for place, kind in found.items() if place and kind}


def _mounts() -> dict[bytes, str]:
    """Return the type of what is mounted at each place, nothing where the system does not tell."""
    try:
        table = _TABLE.read_bytes()
    except OSError:
        return {}
    found = {}
    for line in table.splitlines():
        mount, _, system = line.partition(b" - ")
        place = _ESCAPED.sub(lambda match: bytes((int(match[1], 8) & 0xFF,)), mount.split(b" ")[4])
        found[place] = system.split(b" ")[0].decode("ascii", "replace")  # what is mounted last hides the rest
    return found


def _of_kernel(kind: str) -> str:
    return kind if kind in _MADE_UP else ""
