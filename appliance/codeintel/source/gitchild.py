"""The git program as a child: nobody's configuration, no hook, no filter, no network.

Each command runs on a git directory of our own making (`view` for repositories, `folder` for plain folders), so that the
configuration of the repository that is read never reaches git at all.
"""

import os
import resource
import select
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from appliance.base import proc
from appliance.errors import DeadlineExceeded, MalformedContent

CONFIG = """[core]
	repositoryformatversion = 1
	bare = true
	hooksPath = /dev/null
	fsmonitor = false
	attributesFile = /dev/null
	excludesFile = /dev/null
	packedGitWindowSize = 32m
	packedGitLimit = 256m
	deltaBaseCacheLimit = 64m
[gc]
	auto = 0
[protocol]
	allow = never
[extensions]
	objectFormat = {format}
"""
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "HOME": "/nonexistent",
    "XDG_CONFIG_HOME": "/nonexistent",
    "LC_ALL": "C",
}
_MEMORY = 4 << 30  # a hostile delta chain makes git build its base in memory
_PATIENCE = 30.0  # seconds of silence before a child counts as stuck, e.g. on a pipe that poses as an object


def environment(git_dir: Path) -> dict[str, str]:
    """Return the variables under which git reads *git_dir* and nothing else."""
    return _ENVIRONMENT | {"GIT_DIR": str(git_dir)}


class Child:
    """A git process that is talked to through pipes. Silence for long, or an end in mid-reply, is an error."""

    def __init__(
        self,
        git_dir: Path,
        arguments: Sequence[str | bytes],
        *,
        extra: Mapping[str, str] | None = None,
        folder: Path | None = None,
        patience: float = _PATIENCE,
    ) -> None:
        self._patience = patience
        self._process = proc.spawn(
            ["git", *arguments],
            env=environment(git_dir) | dict(extra or {}),
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        resource.prlimit(self._process.pid, resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        self._buffer = bytearray()
        self._out = self._process.stdout.fileno() if self._process.stdout else -1
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)

    def write(self, data: bytes) -> None:
        """Send *data*, at most what a pipe holds; raise `MalformedContent` if the child has ended."""
        stdin = self._process.stdin
        try:
            if stdin is not None:
                stdin.write(data)
                stdin.flush()
        except BrokenPipeError as exc:
            raise broken() from exc

    def until(self, mark: bytes) -> bytes:
        """Return what comes before the next *mark*, a single byte, and take both off."""
        start = 0
        while (end := self._buffer.find(mark, start)) < 0:
            start = len(self._buffer)
            if not self._fill():
                raise broken()
        found = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return found

    def exactly(self, size: int) -> bytes:
        """Return the next *size* bytes."""
        while len(self._buffer) < size:
            if not self._fill():
                raise broken()
        found = bytes(memoryview(self._buffer)[:size])
        del self._buffer[:size]
        return found

    def records(self, mark: bytes) -> Iterator[bytes]:
        """Yield what the child says, cut at *mark*, to its end; raise `MalformedContent` unless it ends well."""
        rest = b""
        while self._fill():
            *whole, rest = (rest + bytes(self._buffer)).split(mark)
            self._buffer.clear()
            yield from whole
        if rest or self._process.wait(_PATIENCE) != 0:
            raise broken()

    def finish(self) -> int:
        """Say that no more input comes, wait for the end and return the exit code."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        while self._fill():  # its output ends as it does: to wait for that takes no naps
            self._buffer.clear()
        try:
            return self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired as exc:
            raise stuck() from exc

    def _fill(self) -> bool:
        if not self._poll.poll(self._patience * 1000):
            raise stuck(self._patience)
        data = os.read(self._out, 1 << 16)
        self._buffer += data
        return bool(data)

    def close(self) -> None:
        """End the child now."""
        proc.end_group(self._process, grace=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def broken() -> MalformedContent:
    """Return the error for a repository that git gives up on."""
    return MalformedContent(
        "Git could not read the repository.",
        remedy="Look whether it is still there. If so, run `git fsck` in it: objects may be damaged.",
    )


def stuck(seconds: float = _PATIENCE) -> DeadlineExceeded:
    """Return the error for a git that says nothing."""
    return DeadlineExceeded(f"Git said nothing for {seconds:g} s.", remedy="Look whether the disk answers.")
