"""A command that nobody trusts, run so that it reaches nothing but its own folder, and ended with all that it started.

No network, no files but those granted, no privileges, bounded in memory, processor, disk, processes, output and time. What
cannot be had on this machine is said, and what must hold is proved before the command starts: it fails closed.
"""

import contextlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from types import MappingProxyType
from typing import IO, Final, Literal, get_args

from appliance.base import durable, proc
from appliance.base.confine import watch
from appliance.base.confine.order import Layer, Limits, Order
from appliance.base.removal import remove_tree
from appliance.config import Sandbox
from appliance.errors import Conflict, HostUnfit, InvalidInput, NotFound

Ending = Literal["itself", "time", "output", "memory", "processes", "disk", "stopped", "broken"]
"""How a command ended: by itself, or because it took more than it may, or was stopped; ``broken``: killed from elsewhere."""

SYSTEM_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
"""Where a command looks for programs unless its policy says otherwise."""

LAYERS: Final = frozenset[Layer](get_args(Layer))

_ROOT: Final = Path(__file__).parents[2]
_SYSTEM: Final = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt/skellig"),
    *("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types"),
    *("/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/os-release", "/etc/passwd", "/etc/protocols", "/etc/services"),
)
_PREFIX: Final = "sandbox-"
_LOCK: Final = "lock"
_START_S: Final = 30.0
_END_S: Final = 30.0
_TICK_S: Final = 0.1
_FRESH_S: Final = 60.0
_PIECE: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Policy:
    """What a command may read and use, and which layers must hold.

    ``readable`` comes on top of the system's own programs and libraries. ``use`` are the layers to put on where they can be
    had, ``needs`` those without which nothing starts. Whatever they say, nothing starts with a way to the network, or with
    nothing between it and other files.
    """

    readable: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    limits: Limits = field(default_factory=Limits)
    use: frozenset[Layer] = LAYERS
    needs: frozenset[Layer] = frozenset({"landlock", "seccomp"})


def policy_of(settings: Sandbox) -> Policy:
    """Return how commands are confined by *settings*."""
    path = f"{settings.path}:{SYSTEM_PATH}" if settings.path else SYSTEM_PATH
    return Policy(
        readable=settings.readable,
        environment={"PATH": path},
        limits=Limits(seconds=settings.seconds, cpu_seconds=ceil(settings.seconds), memory=settings.memory),
        needs=frozenset(settings.needs),
    )


@dataclass(frozen=True, slots=True)
class Confinement:
    """What was in force, proved before the command started. ``landlock``: its version, 0 without it."""

    layers: tuple[Layer, ...]
    landlock: int
    lacking: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended and what it said. ``code`` is None unless it ended by itself and by no ``signal``.

    ``left`` counts the processes that it left behind, which were killed; ``cut``: it said more than is here.
    """

    ending: Ending
    code: int | None
    signal: int
    stdout: bytes
    stderr: bytes
    cut: bool
    left: int
    seconds: float
    confinement: Confinement


def run(
    command: Sequence[str],
    *,
    folder: Path,
    aside: Path,
    policy: Policy | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Run *command* in *folder*, all that it can change beside temporary files of its own, which are made in *aside*.

    Return how it ended once all that it started has ended too. Where the appliance runs as root all of *folder* belongs to
    a user of the command's own afterwards. *stop* is asked many times a second whether to end it now; call this in a thread.

    Raise `HostUnfit` where this machine cannot confine it as *policy* wants, `NotFound` for a program that is not there.
    """
    if not command or any("\0" in word for word in command):
        raise InvalidInput("This is no command.", remedy="Give a program and its arguments, without NUL.")
    if Path(os.path.realpath(aside)).is_relative_to(os.path.realpath(folder)):
        raise InvalidInput(f"{aside} is in {folder}.", remedy="Keep temporary files aside of the folder of the command.")
    policy = policy or Policy()
    with held(aside) as private:
        order = _order(command, folder, private, policy)
        return _Run(order, private / "order.json", stop).outcome()


@contextlib.contextmanager
def held(aside: Path) -> Iterator[Path]:
    """Hold a folder of ours in *aside* for the length of the block. Where this process dies of it, `sweep` removes it."""
    private = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=durable.make_directory(aside)))
    try:
        with durable.exclusive(private / _LOCK, what="a command in the sandbox"):
            yield private
    finally:
        remove_tree(private)


def sweep(aside: Path) -> int:
    """Remove the folders that processes that died held in *aside*; return of how many commands they were."""
    removed = 0
    for private in aside.glob(f"{_PREFIX}*"):
        if not (private / _LOCK).exists() and time.time() - private.stat().st_mtime < _FRESH_S:
            continue  # it is about to be locked
        with contextlib.suppress(Conflict, HostUnfit, OSError), durable.exclusive(private / _LOCK, what="a command"):
            remove_tree(private)
            removed += 1
    return removed


def _order(command: Sequence[str], folder: Path, private: Path, policy: Policy) -> Order:
    real = Path(os.path.realpath(private))
    for name in ("temporary", "home"):
        (real / name).mkdir(mode=0o700)
    readable = (str(each) for path in policy.readable for each in (path, Path(os.path.realpath(path))))
    user = os.geteuid()
    return Order(
        command=tuple(command),
        folder=os.path.realpath(folder),
        private=str(real),
        readable=tuple(dict.fromkeys((*_SYSTEM, *readable))),
        environment={"PATH": SYSTEM_PATH, "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", **policy.environment},
        use=tuple(sorted(policy.use)),
        needs=tuple(sorted(policy.needs)),
        limits=policy.limits,
        threads=watch.threads_of(user) if user else 0,
    )


class _Run:
    """One run, from its start to the end of all its processes."""

    def __init__(self, order: Order, file: Path, stop: Callable[[], bool]) -> None:
        self._limits = order.limits
        self._stop = stop
        self._said = {"stdout": bytearray(), "stderr": bytearray(), "status": bytearray()}
        self._over = False
        file.write_text(order.to_json(), encoding="utf-8")
        self._status, status = os.pipe()
        life, self._life = os.pipe()
        started = time.monotonic()
        try:
            self._process = proc.spawn(
                (sys.executable, "-s", "-S", "-P", "-m", "appliance.base.confine.child", str(file), str(status), str(life)),
                env={"PYTHONPATH": str(_ROOT)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(status, life),
            )
        except BaseException:
            os.close(self._life)
            os.close(self._status)
            raise
        finally:
            os.close(status)
            os.close(life)
        self._started = started

    def outcome(self) -> Outcome:
        """Follow it to its end."""
        try:
            stopped = self._follow()
        finally:
            self._let_go()
            proc.end_group(self._process, grace=_END_S)
            os.close(self._status)
        return self._told(stopped=stopped)

    def _follow(self) -> bool:
        """Take in what it says until its end; return whether it was stopped from here."""
        until = self._started + self._limits.seconds + _START_S + _END_S
        stopped = False
        with selectors.DefaultSelector() as waiting:
            for name, stream in self._streams():
                waiting.register(stream, selectors.EVENT_READ, name)
            while waiting.get_map():
                for key, _ in waiting.select(_TICK_S):
                    if not (piece := os.read(key.fd, _PIECE)):
                        waiting.unregister(key.fileobj)
                    self._take(str(key.data), piece)
                if self._life >= 0 and (self._over or self._stop()):
                    stopped = True
                    self._let_go()
                if time.monotonic() > until:
                    return stopped
        return stopped

    def _streams(self) -> Iterator[tuple[str, IO[bytes] | int]]:
        yield "status", self._status
        for name, stream in (("stdout", self._process.stdout), ("stderr", self._process.stderr)):
            if stream is not None:
                yield name, stream

    def _take(self, name: str, piece: bytes) -> None:
        said = self._said[name]
        if name == "status":
            said += piece
            return
        room = self._limits.output - len(self._said["stdout"]) - len(self._said["stderr"])
        said += piece[:room]
        self._over = self._over or len(piece) > room

    def _let_go(self) -> None:
        """Have the watcher end everything."""
        if self._life >= 0:
            os.close(self._life)
            self._life = -1

    def _told(self, *, stopped: bool) -> Outcome:
        seconds = time.monotonic() - self._started
        told: dict[str, object] = {}
        with contextlib.suppress(ValueError):  # it broke off in the middle of a line
            for line in bytes(self._said["status"]).splitlines():
                told |= json.loads(line)
        confinement = _confinement(told, said=bytes(self._said["stderr"]))
        ending = _ending(told, over=self._over, stopped=stopped)
        status = _number(told.get("status")) if ending == "itself" else -1
        return Outcome(
            ending=ending,
            code=os.WEXITSTATUS(status) if status >= 0 and os.WIFEXITED(status) else None,
            signal=os.WTERMSIG(status) if status >= 0 and os.WIFSIGNALED(status) else 0,
            stdout=bytes(self._said["stdout"]),
            stderr=bytes(self._said["stderr"]),
            cut=self._over,
            left=_number(told.get("left")),
            seconds=seconds,
            confinement=confinement,
        )


def _confinement(told: Mapping[str, object], *, said: bytes) -> Confinement:
    """Return what was in force; raise `HostUnfit` if the command never started, `NotFound` if it could not be."""
    if "unfit" not in told and told.get("ended") == "stopped" and "layers" not in told:
        return Confinement((), 0, ("it was stopped before it started",))
    if "unfit" in told or "layers" not in told:
        why = str(told.get("unfit") or said[-500:].decode("utf-8", "replace") or "the program that confines broke off")
        raise HostUnfit(
            f"The command was not started, because this machine cannot confine it: {why}.",
            remedy="`skellig doctor` tries it; the page about the sandbox says what each layer takes.",
        )
    if "missing" in told:
        raise NotFound(f"The program cannot be started: {told['missing']}.", remedy="Name one that is in the sandbox.")
    layers, lacking = told["layers"], told.get("notes")
    return Confinement(
        layers=tuple(layer for layer in get_args(Layer) if isinstance(layers, list) and layer in layers),
        landlock=_number(told.get("landlock")),
        lacking=tuple(map(str, lacking)) if isinstance(lacking, list) else (),
    )


def _ending(told: Mapping[str, object], *, over: bool, stopped: bool) -> Ending:
    ended = told.get("ended")
    if over:
        return "output"
    if stopped and ended != "itself":
        return "stopped"
    return next((each for each in get_args(Ending) if each == ended), "broken")


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
