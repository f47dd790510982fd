"""The only door to child processes: bounded time, bounded output, a clean environment, whole groups ended."""

import contextlib
import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance.errors import DeadlineExceeded, HostUnfit, LimitExceeded

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
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = spawn(
            argv, env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=out.fileno(), stderr=err.fileno(), pass_fds=pass_fds
        )
        try:
            child.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired as exc:
            end_group(child, grace=0)
            raise DeadlineExceeded(f"{_name(argv)} took longer than {timeout:g} s.", seconds=timeout) from exc
        except BaseException:
            end_group(child, grace=0)
            raise
        return Finished(child.returncode, _read(out.fileno(), max_output, argv), _read(err.fileno(), max_output, argv))


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
) -> "subprocess.Popen[bytes]":
    """Start *argv* in a process group of its own with `clean_environment` plus *env*.

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
            start_new_session=True,
        )
    except FileNotFoundError as exc:
        raise HostUnfit(
            f"The program {_name(argv)} is not installed.",
            remedy=f"Install the package that has it, e.g. apt-get install {_name(argv)}.",
        ) from exc


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


def _read(fd: int, limit: int, argv: Sequence[str | bytes | Path]) -> bytes:
    size = os.fstat(fd).st_size
    if size > limit:
        raise LimitExceeded(f"{_name(argv)} wrote more than {limit:,} bytes.", limit=limit, spent=size)
    return os.pread(fd, size, 0)


def _name(argv: Sequence[str | bytes | Path]) -> str:
    return Path(os.fsdecode(argv[0])).name
