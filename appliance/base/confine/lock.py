"""Every layer put on the calling process, and proved to hold, before anything foreign runs in it."""

import contextlib
import errno
import os
import resource
import signal
import socket
from collections.abc import Iterator
from typing import Final

from appliance.base.confine import kernel, landlock, seccomp
from appliance.base.confine.order import Layer, Limits, Order

_PRIVILEGES_ARE_GONE: Final = 39
_KINDS: Final = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW)
_FAMILIES: Final = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET, socket.AF_VSOCK)
_CUT_OFF: Final = {errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.EPERM, errno.EACCES}
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_NEVER: Final = (resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE, resource.RLIMIT_RTPRIO)


class Unconfined(Exception):
    """A layer that must hold does not; the sentence says which and why."""


def locked(order: Order, *, spaces: bool, user: int | None) -> tuple[list[Layer], int, list[str]]:
    """Lock this process in; return the layers that hold, the version of Landlock (0: none), and what is lacking and why.

    *spaces*: it is in namespaces of its own; *user* is who it is to become. It has no privilege and no other session's
    terminal afterwards. Raise `Unconfined` where a layer that *order* needs does not hold, or nothing keeps files or the
    network away; `OSError` where the kernel refuses what it has.
    """
    os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    layers: list[Layer] = ["namespaces"] if spaces else []
    kernel.prctl(kernel.NO_NEW_PRIVILEGES, 1)
    if _become(user):
        layers.append("own-user")
    kernel.prctl(kernel.PARENT_DEATH_SIGNAL, signal.SIGKILL)
    _limit(order.limits, others=0 if user is not None else order.threads)
    abi = landlock.version() if "landlock" in order.use else 0
    if abi >= landlock.WHOLE:
        landlock.restrict(
            readable=(*order.readable, "/proc") if spaces else order.readable,
            writable=_writable(order, spaces=spaces),
            abi=abi,
        )
        layers.append("landlock")
    if "seccomp" in order.use and seccomp.known():
        signals = not spaces and abi < landlock.SIGNALS
        seccomp.install(others=not spaces, signals=signals, paths=not spaces)
        layers.append("seccomp")
    _prove(layers)
    lacking = list(_lacking(layers, abi))
    missing = [layer for layer in order.needs if layer not in layers]
    if missing:
        raise Unconfined(f"{', '.join(missing)} cannot be had: {'; '.join(lacking) or 'it is not to be used'}")
    return sorted(layers), abi if "landlock" in layers else 0, lacking


def _become(user: int | None) -> bool:
    """Give up all privileges, and become *user* if there is one; return whether that is who this process is now."""
    with contextlib.suppress(PermissionError):  # it has no privilege that it could drop
        kernel.drop_bounding_set()
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    kernel.drop_capabilities()
    return user is not None


def _limit(limits: Limits, *, others: int) -> None:
    for which, value in (
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_FSIZE, limits.file_size),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_NPROC, limits.processes + others),
        (resource.RLIMIT_CORE, 1),  # a byte: with none at all, a program that the system pipes cores to would still get them
        *((each, 0) for each in _NEVER),
    ):
        hard = resource.getrlimit(which)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (bound, bound))


def _writable(order: Order, *, spaces: bool) -> tuple[str, ...]:
    own = ("/tmp", "/dev/shm") if spaces else ()  # noqa: S108 - in a namespace these are nobody else's
    return (order.folder, order.temporary, order.home, *own, *_DEVICES)


def _prove(layers: list[Layer]) -> None:
    if kernel.capabilities() or kernel.prctl(_PRIVILEGES_ARE_GONE) != 1:
        raise Unconfined("privileges are left")
    if "seccomp" in layers:
        made = [str(family.name) for family in _FAMILIES if _makes(family)]
        if made:
            raise Unconfined(f"sockets can still be made: {', '.join(made)}")
    elif "namespaces" not in layers:
        raise Unconfined("nothing keeps it from the network: neither seccomp nor namespaces can be had")
    elif _reaches():
        raise Unconfined("the network of its own reaches something")
    if "landlock" in layers and _lists("/"):
        raise Unconfined("Landlock lets it list the root")
    if "landlock" not in layers and "namespaces" not in layers:
        raise Unconfined("nothing keeps it from other files: neither Landlock nor namespaces can be had")


def _makes(family: socket.AddressFamily) -> bool:
    for kind in _KINDS:
        try:
            socket.socket(family, kind).close()
        except PermissionError:
            continue
        except OSError:  # the kernel would not have it anyway
            continue
        return True
    return False


def _reaches() -> bool:
    """Return whether there is an interface that is up, be it only the one to oneself."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
        return tried.connect_ex(("127.0.0.1", 9)) not in _CUT_OFF


def _lists(folder: str) -> bool:
    try:
        os.listdir(folder)  # noqa: PTH208 - as the command would
    except OSError:
        return False
    return True


def _lacking(layers: list[Layer], abi: int) -> Iterator[str]:
    if "landlock" not in layers:
        yield f"Landlock {abi} is too old" if abi else "Landlock is not in this kernel, or switched off"
    if "seccomp" not in layers:
        yield "there is no filter of system calls for this processor, or it is not to be used"
