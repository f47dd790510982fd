"""The record of calls: who called which tool, with what, what was decided, how it ended. No secret stands in it in clear."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from appliance.base.clock import Clock
from appliance.base.sqlite import Guarded
from appliance.contracts.tools import Json
from appliance.orchestrator.calls import digest_of, shown, storable

CallOutcome = Literal["running", "done", "refused", "failed", "cancelled"]
"""``running``: begun, and not ended yet, or its process died. ``refused``: it never began."""

_KEPT: Final = 100_000
_TIDIED_EVERY: Final = 1_000
_ARGUMENT_CHARACTERS: Final = 2_000
_REASON_CHARACTERS: Final = 500
_NO_DIGEST: Final = ""  # of arguments that are no JSON, or without end


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One call. ``code`` is of the error that it ended with, "" for none; ``ms`` is milliseconds at work."""

    seq: int
    at: float
    run: str
    agent: str
    tool: str
    digest: str
    arguments: str
    verdict: str
    outcome: CallOutcome
    code: str
    reason: str
    ms: float


class ToolAudit:
    """The rows in the global database; the newest 100,000 are kept. Safe for threads and processes; *conn* is its alone."""

    def __init__(self, conn: sqlite3.Connection, *, clock: Clock) -> None:
        self._db = Guarded(conn)
        self._clock = clock

    def begin(self, tool: str, arguments: Mapping[str, Json], *, run: str, agent: str, verdict: str) -> int:
        """Write that a call is about to be made and return its number; on return that survives a power cut."""
        kept = shown(arguments, limit=_ARGUMENT_CHARACTERS)
        return self._insert((run, agent, tool, digest_of(tool, arguments), kept, verdict, "running", "", "", 0.0))

    def end(self, seq: int, outcome: CallOutcome, *, code: str = "", reason: str = "", ms: float) -> None:
        """Write how the call *seq* ended."""
        with self._db.write() as conn:
            conn.execute(
                "UPDATE tool_calls SET outcome = ?, code = ?, reason = ?, ms = ? WHERE seq = ?",
                (outcome, code, reason[:_REASON_CHARACTERS], ms, seq),
            )

    def refused(self, tool: str, arguments: str, *, run: str, agent: str, code: str, reason: str) -> None:
        """Write that a call was not let through; *arguments* are as `shown` gives them."""
        kept, why = arguments[:_ARGUMENT_CHARACTERS], reason[:_REASON_CHARACTERS]
        self._insert((run, agent, tool[:64], _NO_DIGEST, kept, code, "refused", code, why, 0.0))

    def list(self, *, run: str | None = None, limit: int = 100) -> Sequence[AuditRow]:
        """Return the newest rows first, of one *run* if given."""
        with self._db.read() as conn:
            rows = conn.execute(
                "SELECT * FROM tool_calls WHERE run = ifnull(?, run) ORDER BY seq DESC LIMIT ?", (run, limit)
            ).fetchall()
        return [AuditRow(**dict(row)) for row in rows]

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def _insert(self, values: tuple[str | float, ...]) -> int:
        with self._db.write() as conn:
            seq = conn.execute(
                "INSERT INTO tool_calls (at, run, agent, tool, digest, arguments, verdict, outcome, code, reason, ms)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (self._clock.now(), *(storable(each) if isinstance(each, str) else each for each in values)),
            ).lastrowid
            if seq is None:
                raise sqlite3.ProgrammingError("an insert without a row")
            if seq % _TIDIED_EVERY == 0:
                conn.execute("DELETE FROM tool_calls WHERE seq <= ?", (seq - _KEPT,))
            return seq
