"""The supervisor as our own child: for the entry of a container or a service, which stays and ends with everything."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from typing import Final

from appliance.base import proc
from appliance.errors import HostUnfit, Unavailable
from appliance.ops import launch
from appliance.ops.programs import ENVIRONMENT, RunFiles
from appliance.ops.supervisor import Supervisor

_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Entry:
    """The supervisor that runs for the length of a `supervising` block."""

    def __init__(self, keeper: "subprocess.Popen[bytes]", *, files: RunFiles) -> None:
        self._keeper = keeper
        self._files = files

    def wait(self) -> None:
        """Return when the supervisor was told to end; raise `Unavailable` if it ended in another way.

        The first process of a container inherits what others leave behind: it is reaped here.
        """
        while (ended := os.wait())[0] != self._keeper.pid:
            continue
        self._keeper.returncode = os.waitstatus_to_exitcode(ended[1])
        if self._keeper.returncode:
            raise Unavailable(
                f"The supervisor ended with the status {self._keeper.returncode}.",
                remedy=f"Its log is {self._files.log('supervisord')}.",
            )


@contextlib.contextmanager
def supervising(
    files: RunFiles, *, environment: Mapping[str, str], lock: int, says: int | None, seconds: float
) -> Iterator[Entry]:
    """Supervise for the length of the block; it gets *lock*, and logs to the descriptor *says* or our standard output.

    SIGINT, SIGTERM and SIGHUP end the block without an error. Nothing runs after it, at the latest after *seconds* for the
    supervisor and as many for what it left. Raise `HostUnfit` when the supervisor does not come up.
    """
    before = {number: signal.signal(number, signal.default_int_handler) for number in _ENDING}
    keeper = None
    try:
        keeper = proc.spawn(
            [*launch.keeper(files, lock=lock), "--parent", str(os.getpid())],
            env={**ENVIRONMENT, **environment},
            cwd=files.paths.run,
            stdout=says,
            pass_fds=(lock,),
        )
        if not launch.answers(Supervisor(files), until=lambda: keeper.poll() is not None):
            raise HostUnfit("The supervisor did not start.", remedy=f"Its log is {files.log('supervisord')}.")
        yield Entry(keeper, files=files)
    except KeyboardInterrupt:
        pass
    finally:
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)  # the end that it asks for has begun
        if keeper is not None and keeper.returncode is None:
            proc.end_group(keeper, grace=seconds)
        launch.stop(files, seconds=seconds)
        for number, handler in before.items():
            signal.signal(number, handler)
