"""What works on jobs: a thread for each lane of kinds, and one that keeps the leases alive."""

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from appliance.base import log
from appliance.base.clock import Clock
from appliance.errors import ApplianceError, Cancelled, Conflict, DeadlineExceeded
from appliance.jobs.queue import Job, JobQueue, Lease

_log = log.get("jobs")

HEARTBEAT_S: Final = 5.0
_LEASE_S: Final = 30.0
_POLL_S: Final = 0.05  # for all lanes together; two reads that find nothing take a tenth of a millisecond
_PROGRESS_S: Final = 0.5
GOODBYE_S: Final = 20.0  # for all kinds together: the supervisor kills a worker that takes longer than its grace
_STUCK_S: Final = 1800.0


class JobContext:
    """What a handler sees of its job: how to say how far it is, and whether to go on."""

    def __init__(self, queue: JobQueue, lease: Lease, *, stop: threading.Event, clock: Clock) -> None:
        self._queue = queue
        self.lease = lease
        self._stop = stop
        self._clock = clock
        self._written = ("", -_PROGRESS_S)  # phase and moment of the last progress that was written
        self._looked = -_PROGRESS_S
        self.alive_at = clock.monotonic()
        self.then = ""  # the kind as which the job goes on when its handler returns; "": it is done

    @property
    def job(self) -> Job:
        """The job as it was when the work began."""
        return self.lease.job

    def progress(self, phase: str, done: int, total: int | None) -> None:
        """Say how far the job is. Cheap: a phase's first, its last and two a second are written, the rest are dropped.

        Raise `Cancelled` when the lease is lost.
        """
        self.alive_at = now = self._clock.monotonic()
        phase_was, at = self._written
        if phase != phase_was or done == total or now - at >= _PROGRESS_S:
            self._written = (phase, now)
            try:
                self._queue.progress(self.lease, phase, done, total)
            except Conflict as exc:
                raise Cancelled("The lease is lost.") from exc

    def check(self) -> None:
        """Raise `Cancelled` once somebody asked the job to stop, its worker stops, or its lease is lost. Cheap."""
        self.alive_at = now = self._clock.monotonic()
        if self._stop.is_set():
            raise Cancelled("The worker stops.")
        if now - self._looked >= _PROGRESS_S:
            self._looked = now
            if self._queue.look(self.lease) != "held":
                raise Cancelled("The job was asked to stop.")


Handler = Callable[[JobContext], None]


class Worker:
    """Runs *handlers* by job kind. *name* belongs to one living worker at a time.

    What an earlier bearer of the name still held goes back to the queue at the start. A handler must bear being run
    again from the beginning. Kinds that stand together in one of *lanes* are never worked on side by side, unless that
    lane is given several times: so often, for as many keys. Every other kind has a lane of its own.
    """

    def __init__(
        self,
        queue: JobQueue,
        handlers: Mapping[str, Handler],
        *,
        name: str,
        clock: Clock,
        lanes: Sequence[Sequence[str]] = (),
        stuck: float = _STUCK_S,
        heartbeat: float = HEARTBEAT_S,
    ) -> None:
        self._queue = queue
        self._handlers = handlers
        self._name = name
        self._clock = clock
        self._stuck = stuck
        self._heartbeat = heartbeat
        shared = {kind for lane in lanes for kind in lane}
        self._lanes = [*(tuple(lane) for lane in lanes), *((kind,) for kind in handlers if kind not in shared)]
        self._due = [threading.Event() for _ in self._lanes]
        self._running: dict[str, JobContext] = {}
        self._broke: Exception | None = None

    def run(self, stop: threading.Event, *, goodbye: float = GOODBYE_S) -> None:
        """Work until *stop* is set; then jobs at work go back to the queue, and are taken up by the next worker.

        Raise `DeadlineExceeded` when a job neither progressed nor checked for half an hour: only the end of the process
        frees it, and its attempt is counted. What ends a thread of the worker ends the worker, and is raised: a worker that
        lives and takes no jobs of some kind would look well for ever.
        """
        taken = self._queue.recover(worker=self._name)
        _log.info("worker.started", worker=self._name, recovered=taken, kinds=sorted(self._handlers))
        threads = [
            threading.Thread(target=self._live, args=(lane, due, stop), name=f"job-{lane[0]}", daemon=True)
            for lane, due in zip(self._lanes, self._due, strict=True)
        ]
        for thread in threads:
            thread.start()
        try:
            self._watch(stop)
        finally:
            stop.set()
            for due in self._due:
                due.set()
        end = time.monotonic() + goodbye
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        _log.info("worker.stopped", worker=self._name)
        if self._broke is not None:
            raise self._broke
        self._leave()

    def _watch(self, stop: threading.Event) -> None:
        """Until *stop* is set, wake the lanes that a job is due for, and keep the leases alive."""
        alive_at = -math.inf
        while not stop.is_set():
            if time.monotonic() - alive_at >= self._heartbeat:
                self._keep_alive()
                alive_at = time.monotonic()
            kinds = self._kinds_due()
            for lane, due in zip(self._lanes, self._due, strict=True):
                if not kinds.isdisjoint(lane):
                    due.set()
            stop.wait(_POLL_S)

    def _kinds_due(self) -> AbstractSet[str]:
        try:
            return self._queue.due()
        except ApplianceError as exc:
            _log.error("job.look_failed", reason=exc.message)
            return frozenset()

    def _leave(self) -> None:
        try:
            self._queue.gone(worker=self._name)
        except ApplianceError as exc:
            _log.warning("worker.heartbeat_failed", worker=self._name, reason=exc.message)

    def _keep_alive(self) -> None:
        try:
            self._queue.present(worker=self._name)
        except ApplianceError as exc:
            _log.warning("worker.heartbeat_failed", worker=self._name, reason=exc.message)
        for context in list(self._running.values()):
            silent = self._clock.monotonic() - context.alive_at
            if silent > self._stuck:
                _log.error("job.stuck", job=context.job.id, kind=context.job.kind, seconds=round(silent))
                self._queue.fail(context.lease, f"No sign of life for {silent:.0f} s.", retryable=True)
                raise DeadlineExceeded(f"The job {context.job.id} gave no sign of life for {silent:.0f} s.", seconds=silent)
            try:
                self._queue.heartbeat(context.lease)
            except ApplianceError as exc:
                _log.warning("job.heartbeat_failed", job=context.job.id, reason=exc.message)

    def _live(self, lane: Sequence[str], due: threading.Event, stop: threading.Event) -> None:
        try:
            while due.wait() and not stop.is_set():
                due.clear()
                self._work(lane, stop)
        except Exception as exc:  # noqa: BLE001 - the outermost loop of a thread: nobody would hear of its end
            _log.exception("worker.thread_died", kinds=list(lane))
            self._broke = exc
            stop.set()

    def _work(self, lane: Sequence[str], stop: threading.Event) -> None:
        """Work until no job of *lane* is due."""
        while not stop.is_set():
            try:
                lease = self._queue.lease(worker=self._name, kinds=lane, seconds=_LEASE_S)
            except ApplianceError as exc:
                _log.error("job.lease_failed", kinds=list(lane), reason=exc.message)
                return
            if lease is None:
                return
            self._attempt(lease, stop)

    def _attempt(self, lease: Lease, stop: threading.Event) -> None:
        context = JobContext(self._queue, lease, stop=stop, clock=self._clock)
        self._running[lease.job.id] = context
        started = self._clock.monotonic()
        _log.info("job.started", job=lease.job.id, kind=lease.job.kind, key=lease.job.key, attempt=lease.job.attempts)
        try:
            self._handle(context, stop)
        except Conflict as exc:
            _log.warning("job.lost", job=lease.job.id, kind=lease.job.kind, reason=exc.message)
        except ApplianceError as exc:
            _log.error("job.unrecorded", job=lease.job.id, kind=lease.job.kind, reason=exc.message)
        finally:
            del self._running[lease.job.id]
        seconds = round(self._clock.monotonic() - started, 3)
        _log.info("job.ended", job=lease.job.id, kind=lease.job.kind, seconds=seconds)

    def _handle(self, context: JobContext, stop: threading.Event) -> None:
        try:
            self._handlers[context.job.kind](context)
        except Cancelled:
            if self._queue.look(context.lease) == "cancel":
                self._queue.cancelled(context.lease)
            elif stop.is_set():
                self._queue.release(context.lease, "The worker stopped.")
            else:
                self._queue.fail(context.lease, "The work broke off.", retryable=True)
        except ApplianceError as exc:
            _log.warning("job.failed", job=context.job.id, kind=context.job.kind, code=exc.code, reason=exc.message)
            self._queue.fail(context.lease, str(exc), retryable=exc.retryable)
        except Exception as exc:  # noqa: BLE001 - the outermost loop of a job: one bad job must not end the others
            _log.exception("job.broke", job=context.job.id, kind=context.job.kind)
            reason = f"An error of ours: {type(exc).__name__}. The log has the details."
            self._queue.fail(context.lease, reason, retryable=False)
        else:
            if context.then:
                self._queue.pass_on(context.lease, context.then)
            else:
                self._queue.complete(context.lease)
