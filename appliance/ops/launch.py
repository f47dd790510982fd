"""Starting the supervisor in a session of its own, and ending everything that it or an earlier one left."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from appliance.base import durable, proc
from appliance.errors import HostUnfit, Unavailable
from appliance.ops import strays
from appliance.ops.programs import ENVIRONMENT, Program, RunFiles, render
from appliance.ops.supervisor import Supervisor, wait_until_gone

_ANSWER_SECONDS = 30.0
_STEP = 0.05


def prepare(programs: Sequence[Program], *, files: RunFiles) -> None:
    """Make the directories and write the supervisor's configuration."""
    text = render(programs, files=files)
    for folder in (files.paths.root, files.paths.run, files.paths.logs):
        durable.make_directory(folder)
    durable.write_file(files.config, text.encode())


def start(files: RunFiles, *, environment: Mapping[str, str], lock: int | None = None) -> None:
    """Start the supervisor in the background; on return it answers, and holds the data directory.

    *lock* is the descriptor of the data directory's lock where the caller holds it: the supervisor takes it over. Raise
    `HostUnfit` with its own words when it does not come up.
    """
    ended = proc.run(
        keeper(files, lock=lock),
        timeout=_ANSWER_SECONDS,
        env={**ENVIRONMENT, **environment},
        cwd=files.paths.run,
        pass_fds=() if lock is None else (lock,),
    )
    if ended.code == 0 and answers(Supervisor(files), until=lambda: False):
        return
    words = ended.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2] or "it said nothing"
    raise HostUnfit(f"The supervisor did not start: {words}", remedy=f"Its log is {files.log('supervisord')}.")


def stop(files: RunFiles, *, seconds: float) -> int:
    """End every program of this data directory and return how many there were beside the supervisor.

    Works too when the supervisor was killed and its programs were not, and when nothing runs.
    """
    ended = 0
    supervisor = Supervisor(files)
    with contextlib.suppress(Unavailable):
        pid = supervisor.pid()
        ended = sum(program.pid is not None for program in supervisor.programs())
        supervisor.shut_down()
        if not wait_until_gone(pid, seconds=seconds):
            strays.end([pid], grace=1.0)
    left = strays.find(files)
    strays.end(left, grace=seconds)
    for leftover in (files.socket, files.pid):
        leftover.unlink(missing_ok=True)
    return ended or len(left)


def keeper(files: RunFiles, *, lock: int | None) -> list[str]:
    """Return the command that becomes the supervisor, in the background."""
    held = [] if lock is None else ["--lock", str(lock)]
    return [sys.executable, "-P", "-m", "appliance.ops.keeper", os.fspath(files.paths.root), *held]


def answers(supervisor: Supervisor, *, until: Callable[[], bool]) -> bool:
    """Return whether *supervisor* answers, once it does, or *until* says that it never will."""
    end = time.monotonic() + _ANSWER_SECONDS
    while time.monotonic() < end and not until():
        with contextlib.suppress(Unavailable):
            supervisor.pid()
            return True
        time.sleep(_STEP)
    return False
