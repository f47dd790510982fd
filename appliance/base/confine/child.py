"""The program that confines a command: ``python -m appliance.base.confine.child ORDER STATUS LIFE``.

It is four processes. The *watcher* stays outside, ends everything when a limit or its caller says so, and tells how it
ended. The *entrance* takes namespaces, the *first* is the first process in them, and the *inner* one puts on every other
layer, proves each, says so, and becomes the command. Without namespaces there is no entrance.

STATUS and LIFE are descriptors: JSON lines go out of one; the other is closed by the caller to end everything.
"""

import contextlib
import errno
import json
import os
import select
import signal
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from appliance.base.confine import kernel, namespaces, watch
from appliance.base.confine.lock import Unconfined, locked
from appliance.base.confine.order import Order

_TICK_S: Final = 0.05
_UNFIT: Final = 126
_FIRST_USER, _USERS = 61184, 4336  # what systemd hands out for a while, so nobody's
_DEFAULT: Final = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM, signal.SIGINT)  # Python ignores some, the watcher others


def main(order_file: str, status: int, life: int) -> None:
    """Watch over one command from its start to the end of all that it started."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # its caller closes *life*: it ends by itself then, and last of all
    os.umask(
        0o022
    )  # what it is shown is made by this process, and the command may be another user; its caller's may be stricter
    order = Order.of_json(Path(order_file).read_text(encoding="utf-8"))
    kernel.prctl(kernel.CHILD_SUBREAPER, 1)
    for descriptor in (status, life):
        os.set_inheritable(descriptor, False)
    if not watch.can_see():
        _say(status, unfit="the kernel does not tell who started whom")
        return
    started, lacking = _begun(order, status, spaces=True) if "namespaces" in order.use else (None, [])
    if started is None:
        started, _ = _begun(order, status, spaces=False, notes=lacking)
    kernel.prctl(kernel.DUMPABLE, 0)
    how, code, left = "broken", 0, 0
    if started is not None:
        how, code = _until_end(order, started.news, life)
        left = len(started.left())
    _say(status, ended=how, status=code, left=left, unkilled=watch.end_all(os.getpid()))


@dataclass(frozen=True, slots=True)
class _Started:
    """What was started: the process that was forked, and where the command's end is told."""

    pid: int
    news: int
    spaces: bool

    def left(self) -> list[int]:
        """Return what lives on beside our own processes."""
        ours = {self.pid, *(watch.children(self.pid) if self.spaces else ())}
        return [pid for pid in watch.descendants(os.getpid()) if pid not in ours and not watch.is_dead(pid)]


def _begun(order: Order, status: int, *, spaces: bool, notes: Sequence[str] = ()) -> tuple[_Started | None, list[str]]:
    """Start the first process; return it, or what it lacks."""
    news, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(news)
        with _as_child(status):
            if spaces:
                _enter(order, status, tell)
            else:
                _first(order, status, tell, notes)
    os.close(tell)
    if (said := _line(news)) == "up":
        return _Started(pid, news, spaces), []
    os.close(news)
    return None, [said or "the first process ended"]


def _enter(order: Order, status: int, tell: int) -> None:
    try:
        namespaces.enter()
    except OSError as exc:
        os.write(tell, f"namespaces cannot be had: {exc.strerror}\n".encode())
        return
    kernel.prctl(kernel.PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if (pid := os.fork()) == 0:
        with _as_child(status):
            _first(order, status, tell, None)
    os.close(tell)
    os.waitpid(pid, 0)


def _first(order: Order, status: int, tell: int, notes: Sequence[str] | None) -> None:
    """Be the first process: start the inner one, bury whoever dies, tell when that one has. *notes* None: in namespaces."""
    spaces, user = notes is None, None
    lacking = list(notes or ())
    if not spaces:
        _outlive_nobody()
    else:
        kernel.prctl(kernel.PARENT_DEATH_SIGNAL, signal.SIGKILL)  # and all that is in the namespace ends with its first
        try:
            lacking = _furnished(order)
            user = _own_user(order)
        except OSError as exc:
            os.write(tell, f"namespaces cannot be furnished: {exc.strerror}\n".encode())
            return
    os.write(tell, b"up\n")
    kernel.prctl(kernel.DUMPABLE, 0)
    inner = os.fork()
    if inner == 0:
        os.close(tell)
        with _as_child(status):
            _become(order, status, lacking, spaces=spaces, user=user)
    kernel.drop_capabilities()  # to bury and to tell takes none
    while True:
        pid, code = os.waitpid(-1, 0)
        if pid == inner:
            break
    os.write(tell, f"{code}\n".encode())
    signal.pause()  # what is left behind is counted from outside, then all of us are killed


def _outlive_nobody() -> None:
    """Have this process end all that it started once the watcher dies: no namespace does that for it."""

    def end(number: int, frame: object) -> None:
        del number, frame
        watch.end_all(os.getpid())
        os._exit(_UNFIT)

    kernel.prctl(kernel.CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGTERM, end)
    kernel.prctl(kernel.PARENT_DEATH_SIGNAL, signal.SIGTERM)


def _furnished(order: Order) -> list[str]:
    root = f"{order.private}/root"
    Path(root).mkdir()
    own = {order.temporary: order.temporary, order.home: order.home, "/tmp": order.temporary}  # noqa: S108 - its own
    return namespaces.furnish(root=root, readable=order.readable, writable={**own, order.folder: order.folder})


def _own_user(order: Order) -> int | None:
    """Return a user whom what is writable belongs to from now on, None where this process is not root outside."""
    if os.geteuid() != 0 or "own-user" not in order.use:
        return None
    user = _FIRST_USER + time.monotonic_ns() % _USERS
    try:
        for top in (order.folder, order.temporary, order.home):
            for path in (top, *_below(top)):
                os.chown(path, user, user, follow_symlinks=False)
    except OSError as exc:
        if exc.errno == errno.EINVAL:  # this container has no such user
            return None
        raise
    return user


def _below(top: str) -> Iterator[str]:
    pending = [top]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                yield entry.path
                if stat.S_ISDIR(entry.stat(follow_symlinks=False).st_mode):
                    pending.append(entry.path)


def _become(order: Order, status: int, notes: list[str], *, spaces: bool, user: int | None) -> None:
    for number in _DEFAULT:
        signal.signal(number, signal.SIG_DFL)
    os.chdir(order.folder)
    layers, abi, lacking = locked(order, spaces=spaces, user=user)
    _say(status, layers=layers, landlock=abi, notes=[*notes, *lacking])
    places = {"HOME": order.home, "TMPDIR": order.temporary}
    try:
        os.execvpe(order.command[0], order.command, {**order.environment, **places})  # noqa: S606 - what all this is for
    except OSError as exc:
        _say(status, missing=exc.strerror or "it cannot be started")


def _until_end(order: Order, news: int, life: int) -> tuple[str, int]:
    """Return how the command ended, by itself or because it must, and its status."""
    limits, until = order.limits, time.monotonic() + order.limits.seconds
    folders = (order.folder, order.private)
    free = _free(folders)
    while True:
        ready, _, _ = select.select([news, life], [], [], _TICK_S)
        if news in ready:
            said = _line(news)
            return ("itself", int(said)) if said else ("broken", 0)
        if life in ready:
            return "stopped", 0
        if time.monotonic() > until:
            return "time", 0
        living = watch.descendants(os.getpid())
        if watch.threads(living) > limits.processes + 2:
            return "processes", 0
        if watch.memory(living) > limits.memory:
            return "memory", 0
        if any(before - now > most / 2 for before, now, most in zip(free, _free(folders), _most(order), strict=True)):
            used, count = watch.size(folders, most=limits.files)
            if used + watch.nameless(living) > limits.disk or count > limits.files:
                return "disk", 0
            free = _free(folders)


def _free(folders: tuple[str, ...]) -> list[int]:
    systems = [os.statvfs(folder) for folder in folders]
    return [value for each in systems for value in (each.f_bavail * each.f_frsize, each.f_favail)]


def _most(order: Order) -> list[int]:
    return [order.limits.disk, order.limits.files] * 2


@contextlib.contextmanager
def _as_child(status: int) -> Iterator[None]:
    """Run the block as a forked process, which never returns; whatever goes wrong in it is said."""
    try:
        yield
    except Unconfined as exc:
        _say(status, unfit=str(exc))
    except Exception as exc:  # noqa: BLE001 - the outermost frame of a process: nobody else could tell
        _say(status, unfit=f"{type(exc).__name__}: {exc}")
    finally:
        os._exit(_UNFIT)


def _say(to: int, **said: object) -> None:
    with contextlib.suppress(OSError):  # the caller is gone
        os.write(to, json.dumps(said).encode() + b"\n")


def _line(fd: int) -> str:
    said = b""
    while not said.endswith(b"\n"):
        if not (byte := os.read(fd, 1)):
            return ""
        said += byte
    return said.decode("utf-8", "replace").rstrip("\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
