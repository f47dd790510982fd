import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.base import sqlite
from appliance.base.clock import SystemClock
from appliance.errors import Conflict, NotFound
from appliance.ids import JobId
from appliance.jobs.queue import MAX_ATTEMPTS, MAX_DEATHS, WORKER_DIED, JobQueue, Lease
from appliance.jobs.schema import SCHEMA
from tests.support.clock import FakeClock


def take(queue: JobQueue, *, worker: str = "worker", seconds: float = 30) -> Lease:
    lease = queue.lease(worker=worker, kinds=["index"], seconds=seconds)
    assert lease is not None
    return lease


def test_a_waiting_job_of_the_same_kind_and_key_is_returned_and_not_doubled(queue: JobQueue) -> None:
    first = queue.enqueue("index", key="a")
    assert queue.enqueue("index", key="a").id == first.id
    assert queue.enqueue("index", key="b").id != first.id
    assert queue.enqueue("embed", key="a").id != first.id


def test_a_running_job_gets_one_successor_that_waits_for_its_end(queue: JobQueue) -> None:
    """A commit made while an index runs must be indexed too, but not side by side."""
    queue.enqueue("index", key="a")
    lease = take(queue)
    successor = queue.enqueue("index", key="a")
    assert successor.id != lease.job.id
    assert queue.enqueue("index", key="a").id == successor.id
    assert queue.lease(worker="other", kinds=["index"], seconds=30) is None
    queue.complete(lease)
    assert take(queue).job.id == successor.id


def test_jobs_are_leased_in_the_order_they_came_and_by_kind(queue: JobQueue) -> None:
    first, _, third = (queue.enqueue(kind, key=key) for kind, key in [("index", "a"), ("embed", "a"), ("index", "b")])
    assert take(queue).job.id == first.id
    assert take(queue).job.id == third.id
    assert queue.lease(worker="worker", kinds=["index"], seconds=30) is None


def test_what_is_due_is_what_can_be_leased(queue: JobQueue, clock: FakeClock) -> None:
    """A worker's lanes sleep until their kinds are due: one that is missing there would wait for ever."""
    assert not queue.due()
    queue.enqueue("index", key="a")
    queue.enqueue("embed", key="a")
    assert queue.due() == {"index", "embed"}
    lease = take(queue, seconds=30)
    queue.enqueue("index", key="a")
    assert queue.due() == {"embed"}, "the successor waits for the end of the first"
    queue.enqueue("index", key="b")
    assert queue.due() == {"index", "embed"}
    for _ in range(2):
        queue.complete(lease)
        lease = take(queue)
    assert queue.due() == {"embed"}
    clock.advance(100)
    assert queue.due() == {"index", "embed"}, "a lease that is over puts its job back"
    queue.fail(take(queue), "The disk is slow.", retryable=True)
    assert queue.due() == {"embed"}
    clock.advance(11)
    assert queue.due() == {"index", "embed"}


def test_a_lease_that_is_not_renewed_puts_its_job_back_with_the_reason(queue: JobQueue, clock: FakeClock) -> None:
    job = queue.enqueue("index", key="a", payload={"repo": "a"})
    take(queue, seconds=30)
    clock.advance(29)
    assert queue.get(job.id).state == "running"
    clock.advance(2)
    waiting = queue.get(job.id)
    assert (waiting.state, waiting.reason) == ("queued", WORKER_DIED)
    again = take(queue)
    assert (again.job.id, again.job.attempts, again.job.payload) == (job.id, 2, {"repo": "a"})


@pytest.mark.parametrize("renew", [JobQueue.heartbeat, lambda queue, lease: queue.progress(lease, "parse", 1, 2)])
def test_a_sign_of_life_renews_the_lease(
    queue: JobQueue, clock: FakeClock, renew: Callable[[JobQueue, Lease], object]
) -> None:
    queue.enqueue("index", key="a")
    lease = take(queue, seconds=30)
    for _ in range(5):
        clock.advance(25)
        renew(queue, lease)
    assert queue.look(lease) == "held"


def test_setting_the_clock_neither_ends_nor_prolongs_a_lease(queue: JobQueue, clock: FakeClock) -> None:
    queue.enqueue("index", key="a")
    lease = take(queue, seconds=30)
    clock.set(10 * 365 * 86400)
    assert queue.get(lease.job.id).state == "running"
    clock.set(-20 * 365 * 86400)
    clock.advance(31)
    assert queue.get(lease.job.id).state == "queued"


def test_a_lease_from_before_a_reboot_is_over(queue: JobQueue, clock: FakeClock) -> None:
    """The monotonic clock starts anew with the machine, and an old end may lie years ahead of it."""
    clock.advance(90 * 86400)
    job = queue.enqueue("index", key="a")
    take(queue, seconds=30)
    clock.reboot()
    assert queue.get(job.id).state == "queued"


def test_a_job_whose_worker_dies_each_time_fails_in_the_end(queue: JobQueue, clock: FakeClock) -> None:
    job = queue.enqueue("index", key="a")
    for _ in range(MAX_ATTEMPTS):
        take(queue, seconds=30)
        clock.advance(31)
    ended = queue.get(job.id)
    assert ended.state == "failed"
    assert ended.reason.startswith(WORKER_DIED)
    assert queue.lease(worker="worker", kinds=["index"], seconds=30) is None


def test_a_worker_killed_again_and_again_in_the_middle_does_not_fail_its_job(queue: JobQueue, clock: FakeClock) -> None:
    """It got somewhere each time: the kills are to blame, not the job. A bound holds all the same."""
    job = queue.enqueue("index", key="a")
    for _ in range(MAX_DEATHS):
        queue.progress(take(queue, seconds=30), "parse", 1, 2)
        clock.advance(31)
    assert queue.get(job.id).state == "queued"
    queue.progress(take(queue, seconds=30), "parse", 1, 2)
    for _ in range(MAX_ATTEMPTS):
        clock.advance(31)
        if queue.get(job.id).state == "queued":
            take(queue, seconds=30)
    assert queue.get(job.id).state == "failed"


def test_a_worker_that_starts_again_takes_back_what_it_held(queue: JobQueue) -> None:
    """Without it a killed index would lie still until its lease runs out."""
    queue.enqueue("index", key="a")
    queue.enqueue("index", key="b")
    mine, others = take(queue, worker="w1"), take(queue, worker="w2")
    assert queue.recover(worker="w1") == 1
    assert queue.get(mine.job.id).state == "queued"
    assert queue.get(others.job.id).state == "running"


def test_whoever_lost_the_lease_cannot_write(queue: JobQueue, clock: FakeClock) -> None:
    """Else a worker that was only slow would end the job of the one that took over."""
    queue.enqueue("index", key="a")
    slow = take(queue, worker="slow", seconds=30)
    clock.advance(31)
    held = take(queue, worker="next")
    assert queue.heartbeat(slow) == "lost"
    for write in (
        lambda: queue.complete(slow),
        lambda: queue.fail(slow, "x", retryable=True),
        lambda: queue.progress(slow, "parse", 1, 2),
        lambda: queue.release(slow, "x"),
        lambda: queue.cancelled(slow),
    ):
        with pytest.raises(Conflict):
            write()
    assert queue.look(held) == "held"


def test_a_retryable_failure_waits_longer_each_time_and_ends_with_its_reason(queue: JobQueue, clock: FakeClock) -> None:
    job = queue.enqueue("index", key="a")
    for pause in (5, 10):
        assert queue.fail(take(queue), "The disk is slow.", retryable=True).state == "queued"
        clock.advance(pause - 1)
        assert queue.lease(worker="worker", kinds=["index"], seconds=30) is None
        clock.advance(2)
    ended = queue.fail(take(queue), "The disk is slow.", retryable=True)
    assert (ended.id, ended.state, ended.reason) == (job.id, "failed", "The disk is slow.")


def test_a_failure_that_cannot_pass_is_not_tried_again(queue: JobQueue) -> None:
    queue.enqueue("index", key="a")
    assert queue.fail(take(queue), "Not a repository.", retryable=False).state == "failed"


def test_a_job_put_back_in_good_order_has_not_used_an_attempt(queue: JobQueue) -> None:
    queue.enqueue("index", key="a")
    for _ in range(MAX_ATTEMPTS + 2):
        queue.release(take(queue), "The worker stopped.")
    assert take(queue).job.attempts == 1


def test_a_waiting_job_is_cancelled_at_once_and_a_running_one_is_told(queue: JobQueue) -> None:
    queue.enqueue("index", key="a")
    lease = take(queue)
    waiting = queue.enqueue("index", key="b")
    assert queue.cancel(waiting.id).state == "cancelled"
    assert queue.cancel(lease.job.id).state == "running"
    assert queue.heartbeat(lease) == "cancel"
    assert queue.cancelled(lease).state == "cancelled"
    with pytest.raises(Conflict, match="ended already"):
        queue.cancel(lease.job.id)


def test_a_cancelled_job_whose_worker_dies_stays_cancelled(queue: JobQueue, clock: FakeClock) -> None:
    queue.enqueue("index", key="a")
    lease = take(queue, seconds=30)
    queue.cancel(lease.job.id)
    clock.advance(31)
    assert queue.get(lease.job.id).state == "cancelled"


def test_events_tell_each_change_once_in_order_and_can_be_resumed(queue: JobQueue) -> None:
    job = queue.enqueue("index", key="a")
    lease = take(queue)
    queue.progress(lease, "parse", 3, 9)
    seen = queue.events(job.id)
    queue.complete(lease)
    assert [(event.type, event.state, event.done) for event in seen] == [
        ("state", "queued", 0),
        ("state", "running", 0),
        ("progress", "running", 3),
    ]
    assert [event.state for event in queue.events(job.id, after=seen[-1].seq)] == ["done"]


def test_old_progress_and_old_jobs_are_forgotten_and_changes_are_not(queue: JobQueue) -> None:
    oldest = queue.enqueue("index", key="a")
    lease = take(queue)
    for done in range(150):
        queue.progress(lease, "parse", done, 150)
    events = queue.events(oldest.id)
    assert sum(event.type == "progress" for event in events) == 100
    assert events[0].state == "queued"
    queue.complete(lease)
    for number in range(501):
        queue.cancel(queue.enqueue("index", key=str(number)).id)
    with pytest.raises(NotFound):
        queue.get(oldest.id)


def test_a_job_that_is_passed_on_is_the_same_job_of_another_kind_with_all_its_attempts(queue: JobQueue) -> None:
    job = queue.enqueue("index", key="a", payload={"repo": "a"})
    passed = queue.pass_on(take(queue), "graph")
    assert (passed.id, passed.kind, passed.state, passed.attempts) == (job.id, "graph", "queued", 0)
    assert queue.lease(worker="worker", kinds=["index"], seconds=30) is None
    lease = queue.lease(worker="worker", kinds=["graph"], seconds=30)
    assert lease is not None
    assert lease.job.payload == {"repo": "a"}
    queue.cancel(job.id)
    assert queue.pass_on(lease, "embed").state == "cancelled"


def test_an_unknown_job_is_not_found(queue: JobQueue) -> None:
    for ask in (queue.get, queue.events, queue.cancel):
        with pytest.raises(NotFound):
            ask(JobId("job_none"))


def test_a_worker_that_is_silent_is_seen_to_be(queue: JobQueue, clock: FakeClock) -> None:
    assert queue.absent_for() is None
    queue.present(worker="worker")
    clock.advance(7)
    assert queue.absent_for() == 7
    clock.reboot()
    assert queue.absent_for() is None


def test_processes_that_rush_neither_double_a_job_nor_share_a_lease(tmp_path: Path) -> None:
    path = tmp_path / "global.db"
    sqlite.connect(path, migrations=[SCHEMA]).close()
    argv = [sys.executable, "-m", "tests.unit.jobs.program", "rush", str(path)]
    processes = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    leased = [line for process in processes for line in process.communicate(timeout=60)[0].splitlines()]
    assert [process.returncode for process in processes] == [0, 0]
    queue = JobQueue(sqlite.connect(path, migrations=[SCHEMA]), clock=SystemClock())
    running = {job.id for job in queue.list(limit=100) if job.state == "running"}
    queue.close()
    assert sorted(leased) == sorted(running)
    assert len(running) == 20
