"""Programs that outlived their supervisor (killed, or lost with its terminal): found by what it put in their environment."""

import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from appliance.ops.programs import RunFiles
from appliance.ops.supervisor import alive, wait_until_gone


def find(files: RunFiles) -> list[int]:
    """Return the process ids of this data directory's programs, whoever supervises them now; our own is never among them."""
    mark = b"SUPERVISOR_SERVER_URL=unix://" + os.fsencode(files.socket)
    return [pid for pid in _processes() if pid != os.getpid() and mark in _environment(pid) and alive(pid)]


def end(pids: Sequence[int], *, grace: float) -> None:
    """End *pids*: SIGTERM, *grace* seconds for each, SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        if all(wait_until_gone(pid, seconds=grace) for pid in pids):
            return


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # gone, or somebody else's
        return []
