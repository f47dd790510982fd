import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest

from appliance.base.clock import SystemClock
from appliance.base.sqlite import connect
from appliance.errors import Cancelled, DeadlineExceeded, InvalidInput, StoreBusy
from appliance.ids import JobId
from appliance.jobs.queue import Job, JobQueue, Lease
from appliance.jobs.schema import SCHEMA
from appliance.jobs.worker import Handler, JobContext, Worker
from tests.support.clock import FakeClock


@pytest.fixture
def clock() -> SystemClock:  # the worker's threads wait in real time
    return SystemClock()


@contextlib.contextmanager
def working(queue: JobQueue, handlers: Mapping[str, Handler]) -> Iterator[threading.Event]:
    stop = threading.Event()
    worker = Worker(queue, handlers, name="worker", clock=SystemClock())
    thread = threading.Thread(target=worker.run, args=(stop,))
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        thread.join(30)
        assert not thread.is_alive()


def until(queue: JobQueue, job: JobId, true: Callable[[Job], bool]) -> Job:
    deadline = time.monotonic() + 20
    while not true(found := queue.get(job)):
        assert time.monotonic() < deadline, found
        threading.Event().wait(0.02)
    return found


def test_a_handler_sees_its_job_and_its_progress_is_kept(queue: JobQueue) -> None:
    def index(context: JobContext) -> None:
        assert context.job.payload == {"repo": "r"}
        for done in range(1001):
            context.progress("parse", done, 1000)
            context.check()

    job = queue.enqueue("index", key="r", payload={"repo": "r"})
    with working(queue, {"index": index}):
        done = until(queue, job.id, lambda job: job.ended)
    assert done.state == "done"
    assert done.progress is not None
    assert (done.progress.phase, done.progress.done, done.progress.total) == ("parse", 1000, 1000)
    assert len(queue.events(job.id)) < 20, "progress is not written each time"


def test_one_kind_never_waits_for_another(queue: JobQueue) -> None:
    """Embedding a large repository takes an hour; meanwhile commits must be indexed."""
    release = threading.Event()
    embed = queue.enqueue("embed", key="r")
    index = queue.enqueue("index", key="r")

    def embed_slowly(_: JobContext) -> None:
        release.wait(20)

    with working(queue, {"embed": embed_slowly, "index": lambda _: None}):
        until(queue, embed.id, lambda job: job.state == "running")
        until(queue, index.id, lambda job: job.ended)
        assert queue.get(embed.id).state == "running"
        release.set()
        until(queue, embed.id, lambda job: job.ended)


@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [
        (InvalidInput("No such branch.", remedy="Name another."), "failed", "No such branch. Name another."),
        (StoreBusy("The database is locked."), "queued", "The database is locked."),
        (ValueError("secret content"), "failed", "An error of ours: ValueError. The log has the details."),
    ],
)
def test_a_failure_is_told_with_its_reason_and_others_go_on(
    queue: JobQueue, error: Exception, state: str, reason: str
) -> None:
    def index(context: JobContext) -> None:
        if context.job.key == "bad":
            raise error

    bad, good = queue.enqueue("index", key="bad"), queue.enqueue("index", key="good")
    with working(queue, {"index": index}):
        until(queue, good.id, lambda job: job.state == "done")
    ended = queue.get(bad.id)
    assert (ended.state, ended.reason) == (state, reason)


def test_a_running_job_stops_within_a_second_of_being_cancelled(queue: JobQueue) -> None:
    started = threading.Event()

    def index(context: JobContext) -> None:
        started.set()
        while True:
            context.check()
            threading.Event().wait(0.01)

    job = queue.enqueue("index", key="r")
    with working(queue, {"index": index}):
        assert started.wait(20)
        asked = time.monotonic()
        queue.cancel(job.id)
        assert until(queue, job.id, lambda job: job.ended).state == "cancelled"
        assert time.monotonic() - asked < 2


def test_a_worker_that_stops_puts_its_job_back_without_using_an_attempt(queue: JobQueue) -> None:
    started = threading.Event()

    def index(context: JobContext) -> None:
        started.set()
        while True:
            context.check()
            threading.Event().wait(0.01)

    job = queue.enqueue("index", key="r")
    with working(queue, {"index": index}):
        assert started.wait(20)
    again = queue.get(job.id)
    assert (again.state, again.attempts, again.reason) == ("queued", 0, "The worker stopped.")


def test_a_worker_whose_handlers_do_not_listen_still_ends_in_one_goodbye(queue: JobQueue) -> None:
    """However many kinds there are: its supervisor waits once, and then kills."""
    stop, release = threading.Event(), threading.Event()
    kinds = ("index", "embed", "sweep")
    for kind in kinds:
        queue.enqueue(kind, key="r")

    def deaf(_: JobContext) -> None:
        release.wait(20)

    worker = Worker(queue, dict.fromkeys(kinds, deaf), name="worker", clock=SystemClock())
    thread = threading.Thread(target=worker.run, args=(stop,), kwargs={"goodbye": 1.0})
    thread.start()
    jobs = queue.list()
    for job in jobs:
        until(queue, job.id, lambda job: job.state == "running")
    asked = time.monotonic()
    stop.set()
    thread.join(20)
    spent = time.monotonic() - asked
    release.set()
    for job in jobs:
        until(queue, job.id, lambda job: job.ended)
    assert not thread.is_alive()
    assert 1.0 <= spent < 2.0


def test_a_lost_lease_ends_the_work(queue: JobQueue) -> None:
    """Whoever took over writes the same files."""
    queue.enqueue("index", key="r")
    lease = queue.lease(worker="worker", kinds=["index"], seconds=30)
    assert lease
    clock = FakeClock()
    context = JobContext(queue, lease, stop=threading.Event(), clock=clock)
    context.check()
    queue.recover(worker="worker")
    clock.advance(1)
    with pytest.raises(Cancelled):
        context.check()
    with pytest.raises(Cancelled):
        context.progress("parse", 1, 2)


def test_a_job_without_a_sign_of_life_ends_the_worker_and_counts_as_an_attempt(queue: JobQueue) -> None:
    """A thread that hangs in foreign code cannot be ended; its process can, and is started again."""
    hang = threading.Event()
    job = queue.enqueue("index", key="r")
    clock = FakeClock()

    def index(_: JobContext) -> None:
        clock.advance(100)
        hang.wait(30)

    worker = Worker(queue, {"index": index}, name="worker", clock=clock, stuck=60, heartbeat=0.05)
    with pytest.raises(DeadlineExceeded, match="no sign of life"):
        worker.run(threading.Event())
    waiting = queue.get(job.id)
    assert (waiting.state, waiting.attempts) == ("queued", 1)
    assert waiting.reason.startswith("No sign of life")
    hang.set()
    deadline = time.monotonic() + 20
    while any(thread.name == "job-index" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)


def test_kinds_of_one_lane_are_never_worked_on_side_by_side(queue: JobQueue) -> None:
    """What tidies would fail on what indexes, again and again, for as long as that takes."""
    inside: list[str] = []
    met: list[str] = []
    release = threading.Event()

    def alone(context: JobContext) -> None:
        met.extend(inside)
        inside.append(context.job.kind)
        release.wait(20 if context.job.kind == "index" else 0)
        inside.remove(context.job.kind)

    first = queue.enqueue("index", key="p")
    stop = threading.Event()
    worker = Worker(queue, {"index": alone, "tidy": alone}, name="worker", clock=SystemClock(), lanes=[("index", "tidy")])
    thread = threading.Thread(target=worker.run, args=(stop,))
    thread.start()
    until(queue, first.id, lambda job: job.state == "running")
    second = queue.enqueue("tidy", key="p")
    assert queue.get(second.id).state == "queued"
    release.set()
    tidied = until(queue, second.id, lambda job: job.ended)
    stop.set()
    thread.join(30)
    assert (tidied.state, tidied.attempts, met) == ("done", 1, [])


def test_a_worker_without_work_looks_for_it_once_for_all_its_lanes(tmp_path: Path, clock: SystemClock) -> None:
    """Each lane looking for itself would keep a machine awake that nobody asks anything."""
    leased: list[str] = []

    class Told(JobQueue):
        def lease(self, *, worker: str, kinds: Sequence[str], seconds: float) -> Lease | None:
            leased.extend(kinds)
            return super().lease(worker=worker, kinds=kinds, seconds=seconds)

    queue = Told(connect(tmp_path / "told.db", migrations=[SCHEMA]), clock=clock)
    with contextlib.closing(queue), working(queue, {kind: lambda _: None for kind in ("index", "embed", "graph")}):
        until(queue, queue.enqueue("index", key="a").id, lambda job: job.ended)
        until(queue, queue.enqueue("index", key="b").id, lambda job: job.ended)
    assert set(leased) == {"index"}


def test_a_worker_one_of_whose_threads_dies_ends_with_its_error(queue: JobQueue, clock: SystemClock) -> None:
    """It would look well for ever, and take no jobs of that kind; its supervisor starts it anew."""

    class Broken(JobQueue):
        def __init__(self) -> None:
            """Lend everything to the real queue."""

        def recover(self, *, worker: str) -> int:
            return queue.recover(worker=worker)

        def present(self, *, worker: str) -> None:
            queue.present(worker=worker)

        def due(self) -> AbstractSet[str]:
            return frozenset({"index"})

        def lease(self, *, worker: str, kinds: Sequence[str], seconds: float) -> Lease | None:
            if "index" in kinds:
                raise sqlite3.OperationalError("what nobody has seen before")
            return queue.lease(worker=worker, kinds=kinds, seconds=seconds)

    handlers: Mapping[str, Handler] = {"index": lambda _: None, "embed": lambda _: None}
    with pytest.raises(sqlite3.OperationalError):
        Worker(Broken(), handlers, name="worker", clock=clock, heartbeat=0.05).run(threading.Event())
