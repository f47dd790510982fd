"""Two lanes of work in one process: what somebody waits for passes what nobody does, in the queue and on the cores."""

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from appliance.inference.engines.base import Priority

BACKGROUND_NICENESS: Final = 15  # a thirtieth of the core time of whoever else wants it, the chat engine above all

_Made = TypeVar("_Made")


class Lanes:
    """A thread for each priority, each doing one thing after the other; the background's gives way to all else."""

    def __init__(self) -> None:
        self._interactive = ThreadPoolExecutor(max_workers=1, thread_name_prefix="interactive")
        self._background = ThreadPoolExecutor(max_workers=1, thread_name_prefix="background", initializer=_give_way)

    async def run(self, work: Callable[[], _Made], *, priority: Priority = "interactive") -> _Made:
        """Do *work* in the lane of *priority* and return what it makes; a wait that is cancelled takes it off the queue."""
        lane = self._background if priority == "background" else self._interactive
        return await asyncio.get_running_loop().run_in_executor(lane, work)

    def close(self) -> None:
        """Let go of what waits; what runs comes to its end."""
        for lane in (self._interactive, self._background):
            lane.shutdown(wait=False, cancel_futures=True)


def _give_way() -> None:
    """Lower the priority of this thread alone: Linux keeps one for each thread."""
    thread = threading.get_native_id()
    with contextlib.suppress(OSError):  # where it is forbidden the work is done all the same
        os.setpriority(os.PRIO_PROCESS, thread, max(BACKGROUND_NICENESS, os.getpriority(os.PRIO_PROCESS, thread)))
