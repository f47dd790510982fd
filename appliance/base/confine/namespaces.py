"""Names of its own for a process: files, processes, network. What is not put there does not exist for it."""

import contextlib
import errno
import os
from pathlib import Path
from typing import Final

from appliance.base.confine import kernel

_NETWORK: Final = Path("/proc/self/ns/net")
_USER, _ALL = 0x10000000, 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000  # mount pid net ipc uts
_BIND, _RECURSIVE, _PRIVATE = 4096, 16384, 1 << 18
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_EXEC, _REMOUNT = 1, 2, 4, 8, 32
_SET_ATTRIBUTES: Final = 442
_HERE: Final = -100
_BELOW: Final = 0x8000
_DEVICES: Final = ("null", "zero", "full", "random", "urandom")
_STREAMS: Final = {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}
_SHARED_MEMORY: Final = "size=64m,nr_inodes=1k,mode=1777"
_ROOT_SIZE: Final = "size=4m,mode=0755"
_PIVOT: Final = {"x86_64": 155, "aarch64": 41}


def enter() -> None:
    """Give this process all namespaces; what it forks next is the first process in them. Raise `OSError`."""
    network = _NETWORK.stat().st_ino
    _unshare(os.geteuid(), os.getegid())
    if _NETWORK.stat().st_ino == network:
        raise OSError(errno.EPERM, "the network is still that of the machine")


def _unshare(user: int, group: int) -> None:
    if user == 0:
        with contextlib.suppress(PermissionError):  # root in a container that lacks the right: as any other user
            kernel.unshare(_ALL)
            return
    kernel.unshare(_USER | _ALL)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 - the kernel's, not a file
            file.write(text)


def furnish(*, root: str, readable: tuple[str, ...], writable: dict[str, str]) -> list[str]:
    """Make *root*, an empty folder, the root of this process and the first in its namespace; return what is lacking.

    *writable* says under which name each folder is found. Raise `OSError`.
    """
    lacking = []
    kernel.mount("", "/", "", _RECURSIVE | _PRIVATE)
    kernel.mount("tmpfs", root, "tmpfs", _NO_SETUID | _NO_DEVICES, _ROOT_SIZE)
    _devices(root)  # first: what is readable may lie in shared memory
    for path in sorted({*readable, *writable}):  # a folder before what is in it, which it would cover
        if path in writable:
            _bind(writable[path], _place(path, root, folder=True), _NO_SETUID | _NO_DEVICES)
        else:
            _show(path, root)
    Path(root, "proc").mkdir(exist_ok=True)
    try:
        kernel.mount("proc", f"{root}/proc", "proc", _READ_ONLY | _NO_SETUID | _NO_DEVICES | _NO_EXEC, "subset=pid")
    except OSError as exc:
        lacking.append(f"/proc cannot be had: {exc.strerror}")
    os.chdir(root)
    kernel.syscall(_PIVOT[os.uname().machine], b".", b".")
    kernel.detach(".")
    os.chdir("/")
    kernel.mount("", "/", "", _BIND | _REMOUNT | _READ_ONLY | _NO_SETUID | _NO_DEVICES)
    return lacking


def _show(path: str, root: str) -> None:
    there, place = Path(path), Path(f"{root}{path}")
    if there.is_symlink():
        place.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(place):
            place.symlink_to(there.readlink())
    elif there.exists():
        _bind(path, _place(path, root, folder=there.is_dir()), _READ_ONLY | _NO_SETUID | _NO_DEVICES)


def _place(path: str, root: str, *, folder: bool) -> str:
    """Return where *path* is under *root*, with something there to mount over."""
    place = Path(f"{root}{path}")
    if not place.exists():
        (place if folder else place.parent).mkdir(parents=True, exist_ok=True)
        if not folder:
            place.touch()
    return str(place)


def _bind(path: str, place: str, flags: int) -> None:
    kernel.mount(path, place, "", _BIND | _RECURSIVE)
    attributes = (flags).to_bytes(8, "little") + bytes(24)  # struct mount_attr: what to set, and nothing else
    kernel.syscall(_SET_ATTRIBUTES, _HERE, os.fsencode(place), _BELOW, attributes, len(attributes))


def _devices(root: str) -> None:
    folder = Path(root, "dev")
    folder.mkdir(exist_ok=True)
    for name in _DEVICES:
        (folder / name).touch()
        kernel.mount(f"/dev/{name}", str(folder / name), "", _BIND)
    for name, stream in _STREAMS.items():
        (folder / name).symlink_to(f"/proc/self/fd{stream}")
    (folder / "shm").mkdir()
    kernel.mount("tmpfs", str(folder / "shm"), "tmpfs", _NO_SETUID | _NO_DEVICES | _NO_EXEC, _SHARED_MEMORY)
