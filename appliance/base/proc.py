"""The only door to child processes: bounded time, bounded output, a clean environment, whole groups ended."""

import contextlib
import ctypes
import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from appliance.errors import DeadlineExceeded, HostUnfit, LimitExceeded

_PIECE = 1 << 16
_PR_SET_PDEATHSIG = 1
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR")
# onnxruntime's wheels for Linux write a device id and a queue of events to send from the moment of their import (seen with
# 1.32); no call afterwards takes that back, so no child of ours may ever start without this.
_SILENT = {"DO_NOT_TRACK": "1", "ORT_DISABLE_TELEMETRY": "1"}


@dataclass(frozen=True, slots=True)
class Finished:
    """How a child ended and what it said."""

    code: int
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """What one child may use: address space in bytes, processor seconds, largest file written, open files."""

    memory: int | None = None
    cpu_seconds: int | None = None
    file_size: int | None = None
    open_files: int | None = None

    def apply(self) -> None:
        """Set these limits on the calling process; they can never be raised again."""
        for which, value in (
            (resource.RLIMIT_AS, self.memory),
            (resource.RLIMIT_CPU, self.cpu_seconds),
            (resource.RLIMIT_FSIZE, self.file_size),
            (resource.RLIMIT_NOFILE, self.open_files),
            (resource.RLIMIT_CORE, 0),
        ):
            if value is not None:
                _, hard = resource.getrlimit(which)
                bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.setrlimit(which, (bound, bound))


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the few variables that a child gets, and *extra*: no secret and no proxy travels by accident."""
    return {name: os.environ[name] for name in _KEPT if name in os.environ} | _SILENT | dict(extra or {})


def run(
    argv: Sequence[str | bytes | Path],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: bytes = b"",
    max_output: int = 64 << 20,
    pass_fds: Sequence[int] = (),
) -> Finished:
    """Run *argv* to its end and return how it ended; a code other than 0 is no error here.

    Raise `DeadlineExceeded` after *timeout* seconds (the whole process group is killed), `LimitExceeded` when it says more
    than *max_output* bytes, `HostUnfit` when the program is not installed. *env* is added to `clean_environment`.
    """
    child = spawn(
        argv, env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=pass_fds
    )
    talk = _Talk(child, stdin, name=_name(argv), limit=max_output)
    try:
        talk.until_end(timeout)
        child.wait()
    except BaseException:
        end_group(child, grace=0)
        raise
    finally:
        talk.close()
    return Finished(child.returncode, bytes(talk.stdout), bytes(talk.stderr))


class _Talk:
    """What goes into a child and comes out of it, while it lives: never more than *limit* bytes of either is held.

    What a child of the child says after that, be it for ever, is not waited for.
    """

    def __init__(self, child: "subprocess.Popen[bytes]", given: bytes, *, name: str, limit: int) -> None:
        self.stdout, self.stderr = bytearray(), bytearray()
        self._streams = [stream for stream in (child.stdin, child.stdout, child.stderr) if stream is not None]
        self._ends = os.pidfd_open(child.pid)
        self._given = memoryview(given)
        self._name = name
        self._limit = limit
        self._waiting = selectors.DefaultSelector()
        for stream, said in zip(self._streams, (None, self.stdout, self.stderr), strict=True):
            os.set_blocking(stream.fileno(), False)
            way = selectors.EVENT_WRITE if said is None else selectors.EVENT_READ
            self._waiting.register(stream, way, (stream, said))
        self._waiting.register(self._ends, selectors.EVENT_READ)

    def until_end(self, timeout: float) -> None:
        """Go on until the child has ended and all it said is read; raise `DeadlineExceeded` or `LimitExceeded`."""
        until = time.monotonic() + timeout
        ended = False
        while True:
            events = self._waiting.select(0 if ended else max(until - time.monotonic(), 0))
            if not ended and time.monotonic() >= until:
                raise DeadlineExceeded(f"{self._name} took longer than {timeout:g} s.", seconds=timeout)
            moved = [self._move(*key.data) for key, _ in events if key.data is not None]
            if ended and not any(moved):
                return
            ended = ended or any(key.data is None for key, _ in events)

    def close(self) -> None:
        """Let go of the pipes."""
        self._waiting.close()
        os.close(self._ends)
        for stream in self._streams:
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def _move(self, stream: IO[bytes], said: bytearray | None) -> bool:
        """Write or read one piece; return whether there was one."""
        fd = stream.fileno()
        try:
            if said is None:
                self._given = self._given[os.write(fd, self._given[:_PIECE]) :]
                if self._given:
                    return True
            elif piece := os.read(fd, _PIECE):
                said += piece
                if len(said) > self._limit:
                    raise LimitExceeded(f"{self._name} wrote more than {self._limit:,} bytes.", limit=self._limit)
                return True
        except BlockingIOError:
            return False
        except BrokenPipeError:
            pass
        self._waiting.unregister(stream)
        with contextlib.suppress(BrokenPipeError):
            stream.close()
        return False


def spawn(  # noqa: PLR0913 - one door, so it has every latch
    argv: Sequence[str | bytes | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: int | None = subprocess.DEVNULL,
    stdout: int | None = None,
    stderr: int | None = None,
    pass_fds: Sequence[int] = (),
    before_exec: Callable[[], None] | None = None,
    apart: bool = True,
) -> "subprocess.Popen[bytes]":
    """Start *argv* in a process group of its own with `clean_environment` plus *env*.

    *apart* also gives it a session of its own. On many kernels every session has the same share of the cores, whatever
    niceness says: what is to go before our nice threads must not be apart from them.

    Raise `HostUnfit` when the program is not installed.
    """
    try:
        return subprocess.Popen(  # noqa: S603 - an argument list, never a shell
            argv,
            env=clean_environment(env),
            cwd=cwd,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=pass_fds,
            preexec_fn=before_exec,  # noqa: PLW1509 - used by single-threaded callers only, to set limits
            start_new_session=apart,
            process_group=None if apart else 0,
        )
    except FileNotFoundError as exc:
        raise HostUnfit(
            f"The program {_name(argv)} is not installed.",
            remedy=f"Install the package that has it, e.g. apt-get install {_name(argv)}.",
        ) from exc


def end_with(parent: int, *, number: int) -> None:
    """Have the kernel send us the signal *number* when the process *parent*, which started us, ends; at once if it has."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:  # it ended before we asked
        os.kill(os.getpid(), number)


def end_group(child: "subprocess.Popen[bytes]", *, grace: float) -> None:
    """End *child* and everything in its group: SIGTERM, *grace* seconds, SIGKILL; and reap it."""
    if grace and child.poll() is None:
        _signal_group(child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(grace)
    _signal_group(child.pid, signal.SIGKILL)
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream:
            try:
                stream.close()
            except BrokenPipeError:
                continue
    child.wait()


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return


def _name(argv: Sequence[str | bytes | Path]) -> str:
    return Path(os.fsdecode(argv[0])).name
