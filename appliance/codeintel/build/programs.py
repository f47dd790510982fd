"""The programs of a build: each a process of its own that never outlives the one that started it."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from appliance.base import proc

if TYPE_CHECKING:
    from appliance.config import Index  # a program that is started takes 15 MB less without the settings

# One thread: the latent space then comes out the same on every machine, and spinning helpers do not slow the neighbours.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[3])}


def at_once(limits: "Index") -> int:
    """Return how many processes may work on one index at the same time."""
    return limits.workers or len(os.sched_getaffinity(0))


def start(module: str, *arguments: str, stdout: int | None = None) -> "subprocess.Popen[bytes]":
    """Start *module* as a program. Its standard input is a pipe that closes when this process ends."""
    argv = [sys.executable, "-s", "-P", "-m", module, *arguments]
    return proc.spawn(argv, env=_ENVIRONMENT, stdin=subprocess.PIPE, stdout=stdout)


def end_with_parent() -> None:
    """From now on, end this process as soon as its standard input closes."""
    threading.Thread(target=_wait_for_the_end, daemon=True).start()


def _wait_for_the_end() -> None:
    while os.read(0, 1024):
        continue
    os._exit(1)
