"""What must hold before anything starts; each failure is one sentence with its remedy."""

import contextlib
import errno
import ipaddress
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from appliance.base import durable
from appliance.base.paths import DataPaths
from appliance.config import Web
from appliance.errors import Conflict, HostUnfit
from appliance.ops.programs import SOCKET_LIMIT

_LISTENING = "0A"  # the state of a listening socket in /proc/net/tcp


@contextlib.contextmanager
def data_directory(paths: DataPaths) -> Iterator[int]:
    """Make the data directory and hold its lock for the length of the block, which gets the lock's descriptor.

    Raise `HostUnfit` unless it can be written, `Conflict` if another appliance holds it, or a start of one.
    """
    durable.make_directory(paths.root)
    remedy = "Another `skellig up` may be at work on it: `skellig status` says what runs."
    with durable.exclusive(paths.lock, what=f"the data directory {paths.root}", remedy=remedy) as lock:
        yield lock


def listening_address(web: Web) -> None:
    """Return if the web process can listen where the settings say; raise `Conflict` naming who does already."""
    if web.socket is not None:
        _unix_socket(web.socket)
    else:
        _tcp(web)


def holder(port: int) -> str:
    """Return who listens on TCP *port*, ``nginx (process 4711)``, or "" where that cannot be seen."""
    inodes = set(_listeners(port))
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and inodes & set(_sockets(process)):
            with contextlib.suppress(OSError):
                return f"{(process / 'comm').read_text().strip()} (process {process.name})"
    return ""


def _tcp(web: Web) -> None:
    try:
        where = ipaddress.ip_address("127.0.0.1" if web.host == "localhost" else web.host)
    except ValueError as exc:
        raise HostUnfit(f"{web.host!r} is not an address.", remedy="Set web.host to an IP address of this machine.") from exc
    family = socket.AF_INET if where.version == 4 else socket.AF_INET6
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((str(where), web.port))
            probe.listen(1)
        except OSError as exc:
            raise _not_bound(web, exc) from exc


def _not_bound(web: Web, exc: OSError) -> Conflict | HostUnfit:
    if exc.errno == errno.EADDRINUSE:
        who = holder(web.port) or "another program"
        return Conflict(
            f"Port {web.port} is taken by {who}.",
            remedy="Stop it, or choose another port with SKELLIG_WEB__PORT.",
            port=web.port,
        )
    return HostUnfit(f"Cannot listen on {web.host}:{web.port}: {exc.strerror}.", remedy="See web.host and web.port.")


def _unix_socket(path: Path) -> None:
    if not path.is_absolute() or len(os.fsencode(path)) > SOCKET_LIMIT:
        raise HostUnfit(f"web.socket is no absolute path of at most {SOCKET_LIMIT} bytes.", remedy="Choose another one.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise HostUnfit(f"The folder {path.parent} of web.socket is not there or not writable.", remedy="Create it first.")
    try:
        is_socket = stat.S_ISSOCK(path.stat().st_mode)
    except FileNotFoundError:
        return
    if not is_socket:
        raise Conflict(f"{path} exists and is no socket.", remedy="Choose another path for web.socket.")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)  # nobody listens: a leftover
            return
        except OSError as exc:
            raise Conflict(f"{path} is in use: {exc.strerror}.", remedy="Choose another path for web.socket.") from exc
    raise Conflict(f"Another program listens on {path}.", remedy="Stop it, or choose another path for web.socket.")


def _listeners(port: int) -> Iterator[str]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                    yield f"socket:[{fields[9]}]"


def _sockets(process: Path) -> Iterator[str]:
    with contextlib.suppress(OSError):  # gone, or somebody else's
        for fd in (process / "fd").iterdir():
            with contextlib.suppress(OSError):
                yield str(fd.readlink())
