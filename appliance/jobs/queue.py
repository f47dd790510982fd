"""A leased queue in SQLite: work is done at least once, however its worker ends.

A job is leased for a while; a lease that is not renewed puts it back in the queue. Leases and pauses run on the monotonic
clock, which nobody sets. It starts anew with the machine: a moment further ahead than any since could have been is past.
"""

import json
import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal, cast

from appliance.base.clock import Clock
from appliance.base.sqlite import Guarded
from appliance.errors import Conflict, NotFound
from appliance.ids import JobId, new_id

JobState = Literal["queued", "running", "done", "failed", "cancelled"]
LeaseState = Literal["held", "cancel", "lost"]

MAX_ATTEMPTS: Final = 3
MAX_DEATHS: Final = 100  # of workers that had got somewhere with the job: kills, not a job that kills
WORKER_DIED: Final = "The worker died."

_LONGEST_LEASE_S: Final = 3600.0
_FIRST_PAUSE_S: Final = 5.0
_LONGEST_PAUSE_S: Final = 300.0
_IS_DUE: Final = (
    "state = 'queued' AND (not_before <= ? OR not_before > ?) AND NOT EXISTS"
    " (SELECT 1 FROM jobs AS r WHERE r.state = 'running' AND r.kind = j.kind AND r.key = j.key)"
)
_JOBS_KEPT: Final = 500  # ended ones
_EVENTS_KEPT: Final = 100  # progress of one job


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is. ``total`` is None while it is not known."""

    phase: str
    done: int
    total: int | None
    at: float


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work, as the queue sees it now. Times are seconds since the epoch."""

    id: JobId
    kind: str
    key: str
    payload: Mapping[str, str]
    state: JobState
    attempts: int
    created_at: float
    started_at: float | None
    ended_at: float | None
    reason: str  # why it failed, was cancelled, or waits again; "" for none
    progress: Progress | None

    @property
    def ended(self) -> bool:
        """Whether it will never run again."""
        return self.state in {"done", "failed", "cancelled"}


@dataclass(frozen=True, slots=True)
class JobEvent:
    """Something that happened to a job. ``seq`` grows over all jobs: ask for what came after the last one seen."""

    seq: int
    job: JobId
    at: float
    type: Literal["state", "progress"]
    state: JobState
    reason: str
    phase: str
    done: int
    total: int | None


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on ``job`` until it runs out or is renewed. ``token`` tells it from every other lease."""

    job: Job
    worker: str
    token: str
    seconds: float


class JobQueue:
    """Jobs in the global database. Safe for threads of one process and for many processes; *conn* is its alone."""

    def __init__(self, conn: sqlite3.Connection, *, clock: Clock) -> None:
        self._db = Guarded(conn)
        self._clock = clock

    def enqueue(self, kind: str, *, key: str, payload: Mapping[str, str] | None = None) -> Job:
        """Return a job of *kind* for *key* that has not started: one that waits already, else a new one.

        So work that was asked for while the same work ran is done once more, after it, and not side by side.
        """
        with self._db.write() as conn:
            waiting = conn.execute(
                "SELECT * FROM jobs WHERE state = 'queued' AND kind = ? AND key = ? ORDER BY seq DESC LIMIT 1", (kind, key)
            ).fetchone()
            if waiting:
                return _job(waiting)
            job = new_id("job")
            conn.execute(
                "INSERT INTO jobs (id, kind, key, payload, state, created_at) VALUES (?, ?, ?, ?, 'queued', ?)",
                (job, kind, key, json.dumps(dict(payload or {})), self._clock.now()),
            )
            return self._happened(conn, job)

    def get(self, job: JobId) -> Job:
        """Return *job* as it stands; raise `NotFound`."""
        self._reap_if_due()
        with self._db.read() as conn:
            return _job(_row(conn, job))

    def list(self, *, kind: str | None = None, key: str | None = None, limit: int = 50) -> Sequence[Job]:
        """Return the newest jobs first, of one *kind* and *key* if given."""
        self._reap_if_due()
        with self._db.read() as conn:
            rows = conn.execute(
                "SELECT * FROM jobs WHERE kind = ifnull(?, kind) AND key = ifnull(?, key) ORDER BY seq DESC LIMIT ?",
                (kind, key, limit),
            )
            return [_job(row) for row in rows]

    def counts(self) -> Mapping[str, int]:
        """Return how many jobs are in each state."""
        self._reap_if_due()
        with self._db.read() as conn:
            return {row["state"]: row["n"] for row in conn.execute("SELECT state, count(*) n FROM jobs GROUP BY state")}

    def events(self, job: JobId, *, after: int = 0, limit: int = 500) -> Sequence[JobEvent]:
        """Return what happened to *job* since the event numbered *after*, oldest first; raise `NotFound`."""
        self._reap_if_due()
        with self._db.read() as conn:
            _row(conn, job)
            rows = conn.execute(
                "SELECT * FROM job_events WHERE job = ? AND seq > ? ORDER BY seq LIMIT ?", (job, after, limit)
            )
            return [JobEvent(**dict(row)) for row in rows]

    def cancel(self, job: JobId) -> Job:
        """Ask *job* to stop. One that waits is cancelled on return; one that runs stops at its next check.

        Raise `NotFound`, or `Conflict` if it ended already.
        """
        self._reap_if_due()
        with self._db.write() as conn:
            row = _row(conn, job)
            if row["state"] == "queued":
                return self._end(conn, job, state="cancelled", reason="Cancelled before it started.")
            if row["state"] != "running":
                raise Conflict(f"The job {job} has ended already ({row['state']}).", state=row["state"])
            conn.execute("UPDATE jobs SET cancel = 1 WHERE id = ?", (job,))
            return _job(_row(conn, job))

    def lease(self, *, worker: str, kinds: Sequence[str], seconds: float) -> Lease | None:
        """Give *worker* the oldest job of *kinds* that is due, for *seconds*; None when nothing is.

        Two jobs of one kind and key never run side by side.
        """
        now = self._clock.monotonic()
        with self._db.read() as conn:
            if not self._due(conn, kinds, now) and not self._expired(conn, now):
                return None
        with self._db.write() as conn:
            self._reap(conn, now)
            row = self._due(conn, kinds, now)
            if row is None:
                return None
            token = secrets.token_hex(16)
            conn.execute(
                "UPDATE jobs SET state = 'running', attempts = attempts + 1, moved = 0, worker = ?, lease = ?,"
                " lease_until = ?, started_at = ifnull(started_at, ?) WHERE id = ?",
                (worker, token, now + min(seconds, _LONGEST_LEASE_S), self._clock.now(), row["id"]),
            )
            return Lease(self._happened(conn, row["id"]), worker, token, seconds)

    def due(self) -> AbstractSet[str]:
        """Return the kinds of which `lease` would give a job. What a worker that died has held is due again at once."""
        self._reap_if_due()
        with self._db.read() as conn:
            at = _due_at(self._clock.monotonic())
            rows = conn.execute(f"SELECT DISTINCT kind FROM jobs AS j WHERE {_IS_DUE}", at)  # noqa: S608 - a literal
            return {row["kind"] for row in rows}

    def heartbeat(self, lease: Lease) -> LeaseState:
        """Renew *lease* and return whether it is still ``held``, was asked to ``cancel``, or is ``lost``."""
        until = self._clock.monotonic() + min(lease.seconds, _LONGEST_LEASE_S)
        with self._db.write() as conn:
            conn.execute(
                "UPDATE jobs SET lease_until = ? WHERE id = ? AND lease = ? AND state = 'running'",
                (until, lease.job.id, lease.token),
            )
        return self.look(lease)

    def look(self, lease: Lease) -> LeaseState:
        """Return what `heartbeat` would, without renewing: one read."""
        with self._db.read() as conn:
            row = conn.execute("SELECT state, lease, cancel FROM jobs WHERE id = ?", (lease.job.id,)).fetchone()
        if row is None or row["state"] != "running" or row["lease"] != lease.token:
            return "lost"
        return "cancel" if row["cancel"] else "held"

    def progress(self, lease: Lease, phase: str, done: int, total: int | None) -> None:
        """Record how far the job is, and renew the lease; raise `Conflict` when that is lost."""
        with self._db.write() as conn:
            self._held(conn, lease)
            until = self._clock.monotonic() + min(lease.seconds, _LONGEST_LEASE_S)
            conn.execute(
                "UPDATE jobs SET phase = ?, done = ?, total = ?, progress_at = ?, lease_until = ?, moved = moved OR ? > 0"
                " WHERE id = ?",
                (phase, done, total, self._clock.now(), until, done, lease.job.id),
            )
            self._happened(conn, lease.job.id, type_="progress")
            conn.execute(
                "DELETE FROM job_events WHERE job = ?1 AND type = 'progress' AND seq <= ifnull((SELECT seq FROM job_events"
                " WHERE job = ?1 AND type = 'progress' ORDER BY seq DESC LIMIT 1 OFFSET ?2), 0)",
                (lease.job.id, _EVENTS_KEPT),
            )

    def complete(self, lease: Lease) -> Job:
        """End the job as done; raise `Conflict` when the lease is lost."""
        with self._db.write() as conn:
            self._held(conn, lease)
            return self._end(conn, lease.job.id, state="done", reason="")

    def cancelled(self, lease: Lease) -> Job:
        """End the job as cancelled while it ran; raise `Conflict` when the lease is lost."""
        with self._db.write() as conn:
            self._held(conn, lease)
            return self._end(conn, lease.job.id, state="cancelled", reason="Cancelled while it ran.")

    def fail(self, lease: Lease, reason: str, *, retryable: bool) -> Job:
        """End the attempt. A *retryable* job waits and is tried again, `MAX_ATTEMPTS` times in all; others have failed.

        Raise `Conflict` when the lease is lost.
        """
        with self._db.write() as conn:
            row = self._held(conn, lease)
            if row["cancel"]:
                return self._end(conn, lease.job.id, state="cancelled", reason="Cancelled while it ran.")
            if not retryable or row["attempts"] >= MAX_ATTEMPTS:
                return self._end(conn, lease.job.id, state="failed", reason=reason)
            pause = min(_FIRST_PAUSE_S * 2 ** (row["attempts"] - 1), _LONGEST_PAUSE_S)
            return self._requeue(conn, lease.job.id, reason=reason, not_before=self._clock.monotonic() + pause)

    def release(self, lease: Lease, reason: str) -> Job:
        """Put the job back as if it had not been leased: its worker stops in good order.

        Raise `Conflict` when the lease is lost.
        """
        with self._db.write() as conn:
            self._held(conn, lease)
            conn.execute("UPDATE jobs SET attempts = attempts - 1 WHERE id = ?", (lease.job.id,))
            return self._requeue(conn, lease.job.id, reason=reason)

    def pass_on(self, lease: Lease, kind: str) -> Job:
        """Put the job back as one of *kind*, no attempt at which is used yet; raise `Conflict` when the lease is lost."""
        with self._db.write() as conn:
            if self._held(conn, lease)["cancel"]:
                return self._end(conn, lease.job.id, state="cancelled", reason="Cancelled while it ran.")
            conn.execute("UPDATE jobs SET kind = ?, attempts = 0 WHERE id = ?", (kind, lease.job.id))
            return self._requeue(conn, lease.job.id, reason="")

    def recover(self, *, worker: str) -> int:
        """Take back at once all that an earlier bearer of the name *worker* held; return how many jobs that were."""
        with self._db.write() as conn:
            rows = conn.execute("SELECT * FROM jobs WHERE state = 'running' AND worker = ?", (worker,)).fetchall()
            for row in rows:
                self._died(conn, row)
            return len(rows)

    def present(self, *, worker: str) -> None:
        """Note that *worker* lives."""
        with self._db.write() as conn:
            conn.execute("INSERT OR REPLACE INTO workers VALUES (?, ?)", (worker, self._clock.monotonic()))

    def gone(self, *, worker: str) -> None:
        """Note that *worker* has ended in good order: it is not missed."""
        with self._db.write() as conn:
            conn.execute("DELETE FROM workers WHERE name = ?", (worker,))

    def absent_for(self) -> float | None:
        """Return for how many seconds no worker has been seen; None when none was, or the last one ended in good order."""
        now = self._clock.monotonic()
        with self._db.read() as conn:
            seen = conn.execute("SELECT max(seen_at) FROM workers WHERE seen_at <= ?", (now,)).fetchone()[0]
        return None if seen is None else now - float(seen)

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def _due(self, conn: sqlite3.Connection, kinds: Sequence[str], now: float) -> sqlite3.Row | None:
        marks = ", ".join("?" * len(kinds))
        sql = f"SELECT id FROM jobs AS j WHERE {_IS_DUE} AND kind IN ({marks}) ORDER BY seq LIMIT 1"  # noqa: S608 - marks alone
        return cast("sqlite3.Row | None", conn.execute(sql, (*_due_at(now), *kinds)).fetchone())

    def _expired(self, conn: sqlite3.Connection, now: float) -> Sequence[sqlite3.Row]:
        return conn.execute(
            "SELECT * FROM jobs WHERE state = 'running' AND (lease_until <= ? OR lease_until > ?)",
            (now, now + 2 * _LONGEST_LEASE_S),
        ).fetchall()

    def _reap_if_due(self) -> None:
        now = self._clock.monotonic()
        with self._db.read() as conn:
            due = bool(self._expired(conn, now))
        if due:
            with self._db.write() as conn:
                self._reap(conn, now)

    def _reap(self, conn: sqlite3.Connection, now: float) -> None:
        for row in self._expired(conn, now):
            self._died(conn, row)

    def _died(self, conn: sqlite3.Connection, row: sqlite3.Row) -> None:
        if row["cancel"]:
            self._end(conn, row["id"], state="cancelled", reason="Cancelled while it ran.")
        elif row["moved"] and row["deaths"] < MAX_DEATHS:
            conn.execute("UPDATE jobs SET attempts = attempts - 1, deaths = deaths + 1 WHERE id = ?", (row["id"],))
            self._requeue(conn, row["id"], reason=WORKER_DIED)
        elif row["attempts"] >= MAX_ATTEMPTS:
            self._end(conn, row["id"], state="failed", reason=f"{WORKER_DIED} This was attempt {row['attempts']}, the last.")
        else:
            self._requeue(conn, row["id"], reason=WORKER_DIED)

    def _held(self, conn: sqlite3.Connection, lease: Lease) -> sqlite3.Row:
        row = conn.execute("SELECT * FROM jobs WHERE id = ?", (lease.job.id,)).fetchone()
        if row is None or row["state"] != "running" or row["lease"] != lease.token:
            raise Conflict(f"The lease on the job {lease.job.id} is lost: another worker may have it.")
        return cast("sqlite3.Row", row)

    def _requeue(self, conn: sqlite3.Connection, job: str, *, reason: str, not_before: float = 0.0) -> Job:
        conn.execute(
            "UPDATE jobs SET state = 'queued', reason = ?, not_before = ?, lease = '', worker = '' WHERE id = ?",
            (reason, not_before, job),
        )
        return self._happened(conn, job)

    def _end(self, conn: sqlite3.Connection, job: str, *, state: JobState, reason: str) -> Job:
        conn.execute(
            "UPDATE jobs SET state = ?, reason = ?, ended_at = ?, lease = '', worker = '' WHERE id = ?",
            (state, reason, self._clock.now(), job),
        )
        ended = self._happened(conn, job)
        conn.execute(
            "DELETE FROM jobs WHERE state IN ('done', 'failed', 'cancelled') AND seq <= (SELECT max(seq) FROM jobs) - ?",
            (_JOBS_KEPT,),
        )
        return ended

    def _happened(self, conn: sqlite3.Connection, job: str, *, type_: Literal["state", "progress"] = "state") -> Job:
        conn.execute(
            "INSERT INTO job_events (job, at, type, state, reason, phase, done, total)"
            " SELECT id, ?, ?, state, reason, ifnull(phase, ''), done, total FROM jobs WHERE id = ?",
            (self._clock.now(), type_, job),
        )
        return _job(_row(conn, job))


def _due_at(now: float) -> tuple[float, float]:
    """Return what the marks of `_IS_DUE` stand for."""
    return now, now + 2 * _LONGEST_PAUSE_S


def _row(conn: sqlite3.Connection, job: str) -> sqlite3.Row:
    row = conn.execute("SELECT * FROM jobs WHERE id = ?", (job,)).fetchone()
    if row is None:
        raise NotFound(f"There is no job {job!r}.", remedy="Ended jobs are forgotten after a while.", job=job)
    return cast("sqlite3.Row", row)


def _job(row: sqlite3.Row) -> Job:
    progress = None if row["phase"] is None else Progress(row["phase"], row["done"], row["total"], row["progress_at"])
    return Job(
        id=JobId(row["id"]),
        kind=row["kind"],
        key=row["key"],
        payload=json.loads(row["payload"]),
        state=row["state"],
        attempts=row["attempts"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        reason=row["reason"],
        progress=progress,
    )
