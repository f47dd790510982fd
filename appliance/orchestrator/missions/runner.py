"""Works on missions: from the beginning, or from where a record ends."""

import asyncio
import sqlite3
from collections.abc import Sequence
from typing import Final, Protocol

from appliance.base import log
from appliance.base.clock import Clock
from appliance.contracts.tools import Cancellation, Json
from appliance.errors import ApplianceError
from appliance.ids import MissionId
from appliance.orchestrator.missions.encoding import plain
from appliance.orchestrator.missions.facts import facts
from appliance.orchestrator.missions.journal import Broken, Diverged, Halt, Journal, Stopped
from appliance.orchestrator.missions.live import LiveTail
from appliance.orchestrator.missions.model import Mission, MissionState
from appliance.orchestrator.missions.procedure import Procedure
from appliance.orchestrator.missions.record import Records, Standing

_KILLED: Final = "The process that worked on it ended."
_LEFT: Final = "The worker stops; the mission goes on with the next one."
_log = log.get("missions")


class Closes(Protocol):
    """What holds something open."""

    def close(self) -> None:
        """Let go of it."""


class Runner:
    """Satisfies `MissionRunner`. *owned* is closed with it."""

    def __init__(
        self, conn: sqlite3.Connection, *, procedure: Procedure, clock: Clock, owned: Sequence[Closes] = ()
    ) -> None:
        self._records = Records(conn, clock=clock)
        self._procedure = procedure
        self._clock = clock
        self._owned = owned

    async def run(self, mission: MissionId, *, stopping: Cancellation) -> Mission:
        """Work on *mission* until it ends, pauses or waits, from the beginning or from where its record ends.

        Raise `Cancelled` where *stopping* asked for it, the error of the store where the record cannot be written, and
        `Conflict` where somebody else writes it; the record is whole in each case, and the next call goes on.
        """
        if not self._records.start(mission, killed=_KILLED):
            return self._records.get(mission)
        row, past = await asyncio.to_thread(self._records.whole, mission)
        tail = LiveTail(mission, records=self._records, stopping=stopping, clock=self._clock)
        journal = Journal(mission, past=past, tail=tail)
        halted = await conclude(journal, row, self._procedure)
        if isinstance(halted, Broken) and isinstance(halted.__cause__, ApplianceError):
            raise halted.__cause__
        if isinstance(halted, Stopped) and not str(halted):
            self._records.leave(mission, reason=_LEFT)
            stopping.check()
        return self._records.get(mission)

    def close(self) -> None:
        """Close the connections."""
        self._records.close()
        for each in self._owned:
            each.close()


async def conclude(journal: Journal, mission: Mission, procedure: Procedure) -> Halt | None:
    """Have *procedure* perform *mission*, write how it ended where it did, and return what halted it before its own end."""
    try:
        await procedure.perform(journal, mission)
    except Halt as exc:
        halted: Halt | None = exc
    except Exception as exc:  # noqa: BLE001 - the outermost loop of a mission: its end is to be on record
        halted = journal.halted
        if halted is None:
            _log.exception("mission.broke", mission=mission.id)
            return _end(journal, mission, "failed", f"An error of ours: {type(exc).__name__}. The log has the details.")
    else:
        halted = journal.halted
    if isinstance(halted, Stopped) and str(halted):
        return _end(journal, mission, "cancelled", str(halted))
    if isinstance(halted, Diverged) and journal.alive:
        journal.skip()
        reason = f"The record does not fit what this version does: entry {halted.seq}: {halted}"
        return _end(journal, mission, "failed", reason)
    return halted


def _end(journal: Journal, mission: Mission, state: MissionState, reason: str) -> Halt | None:
    data: dict[str, Json] = {"state": state, "reason": reason, "usage": plain(journal.meter.total), **facts(mission)}
    try:
        journal.end(data, Standing(state, reason))
    except Halt as exc:
        return exc
    return None
