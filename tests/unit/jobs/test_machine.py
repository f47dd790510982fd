"""Whatever workers do and however they die, a job is done at least once or says why not."""

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from appliance.base import sqlite
from appliance.errors import Conflict
from appliance.ids import JobId
from appliance.jobs.queue import MAX_ATTEMPTS, Job, JobQueue, Lease
from appliance.jobs.schema import SCHEMA
from tests.support.clock import FakeClock

KEYS = st.sampled_from(["a", "b"])
LEASE_S = 30


class Queue(RuleBasedStateMachine):
    """Two workers, of which any may be killed at any time, and a clock that anybody may set."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = FakeClock()
        conn = sqlite.connect(Path(self.folder.name) / "global.db", migrations=[SCHEMA])
        conn.execute("PRAGMA synchronous=OFF")  # power is not cut here, and each example syncs hundreds of times
        self.queue = JobQueue(conn, clock=self.clock)
        self.leases: list[Lease] = []
        self.asked: list[JobId] = []  # in order: their ids are random, and a failure must be found again
        self.cancelled: set[JobId] = set()

    def teardown(self) -> None:
        self.queue.close()
        self.folder.cleanup()

    @rule(key=KEYS)
    def enqueue(self, key: str) -> None:
        job = self.queue.enqueue("index", key=key)
        assert job.state == "queued"
        if job.id not in self.asked:
            self.asked.append(job.id)

    @rule(worker=st.sampled_from(["w1", "w2"]))
    def lease(self, worker: str) -> None:
        lease = self.queue.lease(worker=worker, kinds=["index"], seconds=LEASE_S)
        if lease:
            self.leases.append(lease)

    @rule(seconds=st.sampled_from([1, 20, 31, 400]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule(years=st.sampled_from([-10, 10]))
    def set_clock(self, years: int) -> None:
        self.clock.set(years * 365 * 86400)

    @rule()
    def reboot(self) -> None:
        self.clock.reboot()
        self.leases.clear()

    @rule(worker=st.sampled_from(["w1", "w2"]))
    def die_and_start_again(self, worker: str) -> None:
        self.queue.recover(worker=worker)
        self.leases = [lease for lease in self.leases if lease.worker != worker]

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), how=st.sampled_from(["complete", "retry", "fail", "release", "progress", "heartbeat"]))
    def act(self, data: st.DataObject, how: str) -> None:
        lease = data.draw(st.sampled_from(self.leases))
        was = self.queue.look(lease)
        try:
            match how:
                case "complete":
                    self.queue.complete(lease)
                case "retry":
                    self.queue.fail(lease, "slow", retryable=True)
                case "fail":
                    self.queue.fail(lease, "wrong", retryable=False)
                case "release":
                    self.queue.release(lease, "stop")
                case "progress":
                    self.queue.progress(lease, "parse", 1, 2)
                case _:
                    assert self.queue.heartbeat(lease) == was
                    return
        except Conflict:
            assert was == "lost"
            return
        assert was != "lost"
        if how != "progress":
            self.leases.remove(lease)

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        job = self.queue.get(data.draw(st.sampled_from(self.asked)))
        try:
            self.queue.cancel(job.id)
        except Conflict:
            assert job.ended
        else:
            self.cancelled.add(job.id)

    @invariant()
    def no_job_is_lost(self) -> None:
        jobs = {job.id: job for job in self.queue.list(limit=10_000)}
        assert set(self.asked) == set(jobs)
        assert all(self._accounted_for(job) for job in jobs.values())

    @invariant()
    def no_two_jobs_of_one_key_run_side_by_side(self) -> None:
        running = [job.key for job in self.queue.list(limit=10_000) if job.state == "running"]
        assert len(running) == len(set(running))

    @invariant()
    def attempts_are_bounded(self) -> None:
        assert all(job.attempts <= MAX_ATTEMPTS for job in self.queue.list(limit=10_000))

    @invariant()
    def the_last_event_of_a_job_is_its_state(self) -> None:
        for job in self.queue.list(limit=10_000):
            assert self.queue.events(job.id)[-1].state == job.state

    def _accounted_for(self, job: Job) -> bool:
        if job.state == "cancelled":
            return job.id in self.cancelled
        return job.state != "failed" or bool(job.reason)


TestQueue = Queue.TestCase
TestQueue.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
