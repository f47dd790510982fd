"""A process that works on a queue beside the tests': ``python -m tests.unit.jobs.program hold|rush DATABASE``.

``hold`` keeps the first job until it is killed; ``rush`` asks for twenty jobs and leases whatever there is, a line for each.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from appliance.base import sqlite
from appliance.base.clock import SystemClock
from appliance.jobs.queue import JobQueue
from appliance.jobs.schema import SCHEMA
from appliance.jobs.worker import JobContext, Worker


def hold(queue: JobQueue) -> None:
    Worker(queue, {"index": _hold}, name="worker", clock=SystemClock()).run(threading.Event())


def rush(queue: JobQueue) -> None:
    for number in range(20):
        queue.enqueue("index", key=f"key {number}")
    while lease := queue.lease(worker=str(os.getpid()), kinds=["index"], seconds=60):
        sys.stdout.write(f"{lease.job.id}\n")


def _hold(context: JobContext) -> None:
    while True:
        context.progress("parse", 1, 10)
        context.check()
        time.sleep(0.01)


WAYS: Final[Mapping[str, Callable[[JobQueue], None]]] = {"hold": hold, "rush": rush}

if __name__ == "__main__":
    WAYS[sys.argv[1]](JobQueue(sqlite.connect(Path(sys.argv[2]), migrations=[SCHEMA]), clock=SystemClock()))
