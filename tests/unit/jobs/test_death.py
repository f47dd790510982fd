import subprocess
import sys
import threading
import time
from pathlib import Path

from appliance.base import sqlite
from appliance.base.clock import SystemClock
from appliance.jobs.queue import WORKER_DIED, JobQueue
from appliance.jobs.schema import SCHEMA
from appliance.jobs.worker import Worker


def test_a_worker_that_is_killed_loses_nothing_and_its_successor_goes_on_at_once(tmp_path: Path) -> None:
    path = tmp_path / "global.db"
    queue = JobQueue(sqlite.connect(path, migrations=[SCHEMA]), clock=SystemClock())
    job = queue.enqueue("index", key="r", payload={"repo": "r"})
    other = queue.enqueue("index", key="s")
    victim = subprocess.Popen([sys.executable, "-m", "tests.unit.jobs.program", "hold", str(path)])
    deadline = time.monotonic() + 60
    while queue.get(job.id).progress is None:
        assert time.monotonic() < deadline
        assert victim.poll() is None
        time.sleep(0.02)
    victim.kill()
    victim.wait()
    stop = threading.Event()
    successor = Worker(queue, {"index": lambda _: None}, name="worker", clock=SystemClock())
    thread = threading.Thread(target=successor.run, args=(stop,))
    began = time.monotonic()
    thread.start()
    while not (queue.get(job.id).ended and queue.get(other.id).ended):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert time.monotonic() - began < 10, "it does not wait for the old lease to run out"
    stop.set()
    thread.join()
    done = queue.get(job.id)
    assert (done.state, done.payload) == ("done", {"repo": "r"})
    assert done.attempts == 1, "a death after progress is not held against the job"
    assert [event.reason for event in queue.events(job.id) if event.state == "queued"] == ["", WORKER_DIED]
    queue.close()
