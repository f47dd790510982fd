"""The calls to the kernel that Python does not have, each with its error."""

import ctypes
import os
from typing import Final

NO_NEW_PRIVILEGES: Final = 38
CHILD_SUBREAPER: Final = 36
DUMPABLE: Final = 4
PARENT_DEATH_SIGNAL: Final = 1
SECCOMP: Final = 22

_CAPSET_VERSION: Final = 0x20080522
_CAP_BOUNDING_DROP: Final = 24
_CAP_AMBIENT: Final = 47
_CAP_AMBIENT_CLEAR: Final = 4
_MOST_CAPABILITIES: Final = 64

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.prctl.argtypes = [ctypes.c_int, *(ctypes.c_ulong,) * 4]


def checked(result: int) -> int:
    """Return *result* of a call, or raise the `OSError` that it stands for."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def syscall(number: int, *arguments: "int | ctypes.Array[ctypes.c_char] | ctypes.Structure | bytes | None") -> int:
    """Make the system call *number* and return its result; raise `OSError`. A structure is passed by its address."""
    return checked(_libc.syscall(ctypes.c_long(number), *map(_passed, arguments)))


def prctl(option: int, argument: int = 0, second: int = 0) -> int:
    """Make the call ``prctl``; raise `OSError`."""
    return checked(_libc.prctl(option, argument, second, 0, 0))


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Make the call ``mount``; raise `OSError`."""
    names = (os.fsencode(source), os.fsencode(target), kind.encode() or None)
    checked(_libc.mount(*names, ctypes.c_ulong(flags), data.encode() or None))


def detach(target: str) -> None:
    """Take what is mounted at *target* out of this process's names; raise `OSError`."""
    checked(_libc.umount2(os.fsencode(target), 2))


def unshare(flags: int) -> None:
    """Give this process namespaces of its own; raise `OSError`."""
    checked(_libc.unshare(ctypes.c_int(flags)))


def drop_bounding_set() -> None:
    """Have no program started from here ever get a capability from its file; raise `OSError` without the right to."""
    for number in range(_MOST_CAPABILITIES):
        try:
            prctl(_CAP_BOUNDING_DROP, number)
        except OSError as exc:
            if exc.errno == 22:  # the kernel knows no more of them
                return
            raise


def drop_capabilities() -> None:
    """Give up every capability of this process; raise `OSError`."""
    header, none = (ctypes.c_uint32 * 2)(_CAPSET_VERSION, 0), (ctypes.c_uint32 * 6)()
    checked(_libc.capset(header, none))
    prctl(_CAP_AMBIENT, _CAP_AMBIENT_CLEAR)


def capabilities() -> int:
    """Return how many capabilities this process has or could take; raise `OSError`."""
    header, held = (ctypes.c_uint32 * 2)(_CAPSET_VERSION, 0), (ctypes.c_uint32 * 6)()
    checked(_libc.capget(header, held))
    return sum(word.bit_count() for word in held)


def _passed(argument: object) -> object:
    return (
        ctypes.byref(argument)
        if isinstance(argument, ctypes.Structure)
        else (ctypes.c_long(argument) if isinstance(argument, int) else argument)
    )
