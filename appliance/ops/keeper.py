"""``python -m appliance.ops.keeper DATA [--lock FD] [--parent PID]``: holds the data directory's lock and is the supervisor.

The lock is taken here, or taken over from the one who started us as the descriptor FD. The kernel drops it when the process
dies, however it dies, so that a data directory is never locked by nobody. What an earlier supervisor left running is ended
before the first program starts.
"""

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from supervisor import supervisord

from appliance.base import durable, proc
from appliance.base.paths import DataPaths
from appliance.errors import ApplianceError
from appliance.ops import strays
from appliance.ops.programs import RunFiles


def main(argv: list[str]) -> int:
    """Supervise, in the background unless it is for a parent; the configuration must stand. Return the exit status."""
    asked = _parser().parse_args(argv)
    if asked.parent is not None:
        proc.end_with(asked.parent, number=signal.SIGTERM)
    os.umask(0o077)  # the supervisor sets its own only where it goes into the background
    files = RunFiles(DataPaths(asked.data))
    try:
        with _held(files.paths, lock=asked.lock):
            strays.end(strays.find(files), grace=10.0)
            for leftover in (files.socket, files.pid):
                leftover.unlink(missing_ok=True)
            supervisord.main(["-c", os.fspath(files.config), *([] if asked.parent is None else ["-n"])])
    except ApplianceError as exc:
        sys.stderr.write(f"error: {exc} [{exc.code}]\n")
        return 1
    return 0


@contextlib.contextmanager
def _held(paths: DataPaths, *, lock: int | None) -> Iterator[None]:
    if lock is not None:
        os.set_inheritable(lock, False)
        yield
        return
    with durable.exclusive(paths.lock, what=f"the data directory {paths.root}"):
        yield


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(allow_abbrev=False, description="Hold a data directory and supervise its programs.")
    parser.add_argument("data", type=Path, help="the data directory")
    parser.add_argument("--lock", type=int, help="the descriptor of its lock, held already")
    parser.add_argument("--parent", type=int, help="stay in the foreground, and end when this process, our parent, does")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
