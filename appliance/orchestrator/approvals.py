"""Approvals: one durable table of what waits for a person's yes, for tools, workflows and missions alike.

An approval is bound to the exact call by the digest of what is to be done and its arguments. It is decided once, used once,
and rejected when its time runs out.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from appliance.base import log
from appliance.base.clock import Clock
from appliance.base.sqlite import Guarded
from appliance.contracts.tools import Cancellation, Json
from appliance.errors import ApprovalRejected, ApprovalRequired, Conflict, NotFound
from appliance.ids import new_id
from appliance.orchestrator.calls import digest_of, shown, storable

ApprovalState = Literal["pending", "approved", "rejected", "expired", "withdrawn", "used"]
"""``expired``: nobody decided in time, which is a no. ``withdrawn``: its run ended first. ``used``: the call was made."""
Decision = Literal["approved", "rejected"]

EXPIRES_S: Final = 86_400.0
NOBODY: Final = "Nobody decided in time."

_LOOK_S: Final = 0.25
_NOTE_CHARACTERS: Final = 2_000
_WHY_CHARACTERS: Final = 500
_audit = log.get("audit")


@dataclass(frozen=True, slots=True)
class Approval:
    """One question to a person, as it stands now. Times are seconds since the epoch.

    ``what`` is the tool, node or step; ``arguments`` is what people see of them: bounded, secrets masked.
    """

    id: str
    run: str
    what: str
    digest: str
    arguments: str
    why: str
    state: ApprovalState
    asked_at: float
    expires_at: float
    decided_at: float | None
    decided_by: str
    note: str


class Approvals:
    """The approvals of one global database. Safe for threads and for many processes; *conn* is its alone.

    *sleep* is how `wait` passes the time between two looks: a decision may be made in another process.
    """

    def __init__(
        self,
        conn: sqlite3.Connection,
        *,
        clock: Clock,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._db = Guarded(conn)
        self._clock = clock
        self._sleep = sleep

    def ask(
        self, run: str, *, what: str, arguments: Mapping[str, Json], why: str = "", expires_s: float = EXPIRES_S
    ) -> Approval:
        """Put the question whether *run* may do *what* with exactly *arguments*, and return it.

        What was asked before and is not used up is returned instead: so a run that starts again after a crash finds its
        question, or the answer; and a call that a person rejected is not asked about again in the same run. Raise what
        `digest_of` raises.
        """
        digest, text, now = digest_of(what, arguments), shown(arguments), self._clock.now()
        with self._db.write() as conn:
            _expire(conn, now)
            known = conn.execute(
                "SELECT * FROM approvals WHERE run = ? AND digest = ? AND state IN ('pending', 'approved', 'rejected')"
                " ORDER BY seq DESC LIMIT 1",
                (run, digest),
            ).fetchone()
            if known is not None:
                return _approval(known)
            name = new_id("apr")
            conn.execute(
                "INSERT INTO approvals (id, run, what, digest, arguments, why, state, asked_at, expires_at)"
                " VALUES (?, ?, ?, ?, ?, ?, 'pending', ?, ?)",
                (name, run, what, digest, text, storable(why[:_WHY_CHARACTERS]), now, now + expires_s),
            )
            return _approval(_row(conn, name))

    def get(self, approval: str) -> Approval:
        """Return *approval* as it stands; raise `NotFound`."""
        with self._db.read() as conn:
            found = _approval(_row(conn, approval))
        if found.state == "pending" and found.expires_at <= self._clock.now():
            return self._run_out(approval)
        return found

    def list(self, *, state: ApprovalState | None = None, run: str | None = None, limit: int = 50) -> Sequence[Approval]:
        """Return approvals, newest first; those that wait for a person are ``pending``."""
        with self._db.write() as conn:
            _expire(conn, self._clock.now())
            rows = conn.execute(
                "SELECT * FROM approvals WHERE state = ifnull(?, state) AND run = ifnull(?, run) ORDER BY seq DESC LIMIT ?",
                (state, run, limit),
            ).fetchall()
        return [_approval(row) for row in rows]

    def decide(self, approval: str, decision: Decision, *, by: str, note: str = "") -> Approval:
        """Record the *decision* of the person *by* and return the approval; on return it survives a power cut.

        Raise `NotFound`, or `Conflict` for one that is not pending any more: nothing is decided twice.
        """
        with self._db.write() as conn:
            now = self._clock.now()
            _expire(conn, now)
            changed = conn.execute(
                "UPDATE approvals SET state = ?, decided_at = ?, decided_by = ?, note = ?"
                " WHERE id = ? AND state = 'pending'",
                (decision, now, storable(by), storable(note[:_NOTE_CHARACTERS]), approval),
            ).rowcount
            found = _approval(_row(conn, approval))
        if not changed:
            raise _decided_already(found)
        _audit.info("approval.decided", id=approval, run=found.run, what=found.what, decision=decision, by=by)
        return found

    async def wait(
        self, approval: str, *, timeout_s: float | None = None, cancellation: Cancellation | None = None
    ) -> Approval:
        """Return *approval* once it is not pending; after *timeout_s*, or when its own time runs out, it is expired.

        Raise `Cancelled` once *cancellation* says so, and `NotFound`.
        """
        end = None if timeout_s is None else self._clock.monotonic() + timeout_s
        while True:
            found = await asyncio.to_thread(self.get, approval)
            if found.state != "pending":
                return found
            if cancellation is not None:
                cancellation.check()
            if end is not None and self._clock.monotonic() >= end:
                return await asyncio.to_thread(self._run_out, approval)
            await self._sleep(_LOOK_S)

    def use(self, approval: str, *, what: str, arguments: Mapping[str, Json]) -> None:
        """Use up a yes, for exactly the call that it was given for; on return that call may be made, once.

        Raise `ApprovalRequired` where nobody has decided yet, `ApprovalRejected` where the answer is no, and `Conflict`
        where it was used already or is for another call.
        """
        with self._db.write() as conn:
            _expire(conn, self._clock.now())
            found = _approval(_row(conn, approval))
            if found.digest != digest_of(what, arguments):
                raise Conflict(
                    f"The approval {approval} is for another call.",
                    remedy="Ask anew: an approval holds for one tool with exactly the arguments that the person saw.",
                    approval=approval,
                )
            require_yes(found)
            conn.execute("UPDATE approvals SET state = 'used' WHERE id = ?", (approval,))

    def withdraw(self, run: str) -> int:
        """Take back what *run* asked and nobody decided, since it ended; return how many questions that were."""
        with self._db.write() as conn:
            return conn.execute(
                "UPDATE approvals SET state = 'withdrawn', decided_at = ? WHERE run = ? AND state = 'pending'",
                (self._clock.now(), run),
            ).rowcount

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def _run_out(self, approval: str) -> Approval:
        """Make *approval* be expired if it is still pending, and return it as it then stands."""
        with self._db.write() as conn:
            conn.execute(
                "UPDATE approvals SET state = 'expired', decided_at = ?, note = ? WHERE id = ? AND state = 'pending'",
                (self._clock.now(), NOBODY, approval),
            )
            return _approval(_row(conn, approval))


def require_yes(approval: Approval) -> None:
    """Return if *approval* is a yes that was not used yet; else raise what it is instead."""
    if approval.state == "approved":
        return
    if approval.state == "pending":
        raise ApprovalRequired(
            f"{approval.what} needs a person's approval, which was asked for.",
            remedy=f"Decide on {approval.id}; the same call then goes through.",
            approval=approval.id,
        )
    if approval.state in {"used", "withdrawn"}:
        raise Conflict(f"The approval {approval.id} is {approval.state} already.", remedy="Ask anew.", approval=approval.id)
    said = approval.note or "No reason was given."
    raise ApprovalRejected(
        f"{approval.what} was not approved: {said}",
        remedy="Go on without this call, or do it another way that needs no approval.",
        approval=approval.id,
    )


def _decided_already(approval: Approval) -> Conflict:
    whom = f" by {approval.decided_by}" if approval.decided_by else ""
    return Conflict(
        f"The approval {approval.id} is {approval.state}{whom} already.",
        remedy="An approval is decided once: the run asks again where it has to.",
        approval=approval.id,
        state=approval.state,
    )


def _expire(conn: sqlite3.Connection, now: float) -> None:
    conn.execute(
        "UPDATE approvals SET state = 'expired', decided_at = ?, note = ? WHERE state = 'pending' AND expires_at <= ?",
        (now, NOBODY, now),
    )


def _row(conn: sqlite3.Connection, approval: str) -> sqlite3.Row:
    row: sqlite3.Row | None = conn.execute("SELECT * FROM approvals WHERE id = ?", (approval,)).fetchone()
    if row is None:
        raise NotFound(
            f"There is no approval {approval!r}.", remedy="`skellig status` shows those that wait.", approval=approval
        )
    return row


def _approval(row: sqlite3.Row) -> Approval:
    return Approval(**{name: row[name] for name in Approval.__slots__})
