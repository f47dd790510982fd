"""Landlock: a process gives up for ever, for itself and all that it starts, the files that it is not granted."""

import ctypes
import os
import stat
from collections.abc import Iterable
from typing import Final

from appliance.base.confine import kernel

WHOLE: Final = 3
"""The first version that keeps files outside from being emptied; an older one is no wall."""
SIGNALS: Final = 6
"""The first version that keeps signals inside."""

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION: Final = 1
_PATH_BENEATH: Final = 1
_NETWORK: Final = 4  # the first version that knows TCP ports

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIRECTORY = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _DEVICE = 1 << 14, 1 << 15
_EVERYTHING: Final = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_EVERYTHING_NOW: Final = (1 << 16) - 1
_TCP: Final = 0b11
_SCOPES: Final = 0b11  # abstract unix sockets, signals
_OF_FILES: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _DEVICE
_READING: Final = _EXECUTE | _READ_FILE | _READ_DIRECTORY
_SIZES: Final = {1: 8, 2: 8, 3: 8, 4: 16, 5: 16}
_SIZE_NOW: Final = 24


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version() -> int:
    """Return the version that this kernel has, 0 where it has none or it is switched off."""
    try:
        return kernel.syscall(_CREATE, None, 0, _VERSION)
    except OSError:
        return 0


def restrict(*, readable: Iterable[str], writable: Iterable[str], abi: int) -> None:
    """Keep this process and all that it will start to reading and starting *readable*, and doing all to *writable*.

    No TCP, and no signal or abstract socket outside, where version *abi* knows of them. A path that is not there is passed
    over. `kernel.NO_NEW_PRIVILEGES` must be set. Raise `OSError`.
    """
    everything = _EVERYTHING.get(abi, _EVERYTHING_NOW)
    asked = _Ruleset(everything, _TCP if abi >= _NETWORK else 0, _SCOPES if abi >= SIGNALS else 0)
    ruleset = kernel.syscall(_CREATE, asked, _SIZES.get(abi, _SIZE_NOW), 0)
    try:
        for path in readable:
            _grant(ruleset, path, _READING & everything)
        for path in writable:
            _grant(ruleset, path, everything)
        kernel.syscall(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _grant(ruleset: int, path: str, allowed: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            allowed &= _OF_FILES
        kernel.syscall(_ADD, ruleset, _PATH_BENEATH, _Beneath(allowed, fd), 0)
    finally:
        os.close(fd)
