"""A filter over system calls: no socket, no way out of the layers around, nothing that a kernel after ours has added.

What is refused fails with "Operation not permitted", or as if the kernel did not have it where programs have another way.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from appliance.base.confine import kernel

_FILTER: Final = 2
_LOAD, _EQUAL, _ABOVE, _ANY_BIT, _MASK, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_REFUSED: Final = _ERROR | errno.EPERM
_UNKNOWN: Final = _ERROR | errno.ENOSYS
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets
_NEWEST: Final = 456  # what came later is not known here, so nobody gets it
_OTHER_ABI: Final = 0x40000000  # x32's numbers, on x86-64
_NAMESPACES: Final = 0x7E020080
_STREAM_PAIR: Final = (1, 1)  # AF_UNIX, SOCK_STREAM: datagrams could be sent to any socket outside

_ARCHITECTURES: Final[Mapping[str, tuple[int, int]]] = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_CALLS: Final[Mapping[str, tuple[int | None, int | None]]] = {
    # sockets; io_uring makes them too
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201), "accept": (43, 202),
    "accept4": (288, 242),
    "sendmsg": (46, 211), "sendmmsg": (307, 269),  # carries open files out of every sight
    # ways around the layers
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "move_mount": (429, 429), "open_tree": (428, 428), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438), "kcmp": (312, 272), "process_madvise": (440, 440),
    "process_mrelease": (448, 448), "userfaultfd": (323, 282), "bpf": (321, 280), "perf_event_open": (298, 241),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "fanotify_init": (300, 262),
    # the machine
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "syslog": (103, 116),
    "acct": (163, 89), "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "iopl": (172, None), "ioperm": (173, None), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "vhangup": (153, 58), "sethostname": (170, 161), "setdomainname": (171, 162),
    "lookup_dcookie": (212, 18), "migrate_pages": (256, 238), "move_pages": (279, 239),
    # memory that no limit counts
    "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
}  # fmt: skip
_ABSENT: Final[Mapping[str, tuple[int | None, int | None]]] = {
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "clone3": (435, 435),
}  # fmt: skip
_TO_OTHERS: Final[Mapping[str, tuple[int | None, int | None]]] = {  # of the same user, outside
    "setpriority": (141, 140), "ioprio_set": (251, 30), "sched_setparam": (142, 118), "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274), "sched_setaffinity": (203, 122), "pidfd_open": (434, 434),
}  # fmt: skip
_SIGNALS: Final[Mapping[str, tuple[int | None, int | None]]] = {
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_send_signal": (424, 424),
}  # fmt: skip
_ABOUT_PATHS: Final[Mapping[str, tuple[int | None, int | None]]] = {  # Landlock does not know of them
    "chmod": (90, None), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None), "lchown": (94, None),
    "fchownat": (260, 54), "setxattr": (188, 5), "lsetxattr": (189, 6), "removexattr": (197, 14),
    "lremovexattr": (198, 15), "utime": (132, None), "utimes": (235, None), "futimesat": (261, None),
}  # fmt: skip
_CLONE, _PRLIMIT, _SOCKETPAIR, _UTIMENSAT = (56, 220), (302, 261), (53, 199), (280, 88)

Instruction = tuple[int, int, int, int]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def known() -> bool:
    """Return whether there is a filter for this machine's processor."""
    return os.uname().machine in _ARCHITECTURES


def install(*, others: bool, signals: bool, paths: bool) -> None:
    """Put this process and all that it will start under the filter; `kernel.NO_NEW_PRIVILEGES` must be set.

    *others*, *signals* and *paths* say which of what concerns processes outside, and names of files outside, is refused
    too, because no other layer does. Raise `OSError`, and `KeyError` where `known` says no.
    """
    architecture, column = _ARCHITECTURES[os.uname().machine]
    groups = [
        _CALLS,
        *([_TO_OTHERS] if others else []),
        *([_SIGNALS] if signals else []),
        *([_ABOUT_PATHS] if paths else []),
    ]
    refused = [number for group in groups for number in _numbers(group, column)]
    program = list(_program(architecture, column, refused, paths=paths))
    code = b"".join(struct.pack("HBBI", *each) for each in program)
    held = _Program(len(program), code)
    kernel.prctl(kernel.SECCOMP, _FILTER, ctypes.addressof(held))


def _program(architecture: int, column: int, refused: Iterable[int], *, paths: bool) -> Iterator[Instruction]:
    yield (_LOAD, 0, 0, _ARCHITECTURE)
    yield (_EQUAL, 1, 0, architecture)
    yield (_RETURN, 0, 0, _KILL)
    yield (_LOAD, 0, 0, _NUMBER)
    yield from _if(_ABOVE, _OTHER_ABI, _KILL)
    yield from _if(_ABOVE, _NEWEST + 1, _UNKNOWN)
    for number in _numbers(_ABSENT, column):
        yield from _if(_EQUAL, number, _UNKNOWN)
    for number in refused:
        yield from _if(_EQUAL, number, _REFUSED)
    yield from _checked(_CLONE[column], [*_argument(0), *_if(_ANY_BIT, _NAMESPACES, _REFUSED)])
    yield from _checked(_PRLIMIT[column], _only(0, 0))  # of itself
    pair, stream = _STREAM_PAIR
    kind = [*_argument(1), (_MASK, 0, 0, 0xF), *_unless(stream)]
    yield from _checked(_SOCKETPAIR[column], [*_argument(0), *_unless(pair), *kind])
    if paths:
        yield from _checked(_UTIMENSAT[column], _only(1, 0))  # of a file that is open
    yield (_RETURN, 0, 0, _ALLOW)


def _checked(number: int, looks: list[Instruction]) -> Iterator[Instruction]:
    """Yield what lets the call *number* through if none of *looks* returns first."""
    yield (_EQUAL, 0, len(looks) + 1, number)
    yield from looks
    yield (_RETURN, 0, 0, _ALLOW)


def _only(argument: int, value: int) -> list[Instruction]:
    high = (_LOAD, 0, 0, _ARGUMENTS + 8 * argument + 4)
    return [*_argument(argument), *_unless(value), high, *_unless(0)]


def _argument(number: int) -> list[Instruction]:
    return [(_LOAD, 0, 0, _ARGUMENTS + 8 * number)]  # its lower half: both processors are little-endian


def _if(how: int, value: int, then: int) -> list[Instruction]:
    return [(how, 0, 1, value), (_RETURN, 0, 0, then)]


def _unless(value: int) -> list[Instruction]:
    return [(_EQUAL, 1, 0, value), (_RETURN, 0, 0, _REFUSED)]


def _numbers(group: Mapping[str, tuple[int | None, int | None]], column: int) -> list[int]:
    return [number for numbers in group.values() if (number := numbers[column]) is not None]
