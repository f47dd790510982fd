"""Where a mission's record goes on, and its steps are taken: in the process that works on it."""

import asyncio
from typing import Final

from appliance.base import log
from appliance.base.clock import Clock
from appliance.contracts.tools import Cancellation
from appliance.errors import ApplianceError, Cancelled
from appliance.ids import MissionId
from appliance.orchestrator.missions.journal import Do, Outcome, Stopped, failure
from appliance.orchestrator.missions.model import Entry, Usage
from appliance.orchestrator.missions.record import Records, Standing, Step, cancelled_by

_LOOK_S: Final = 0.2  # between two looks at whether the mission is to stop
_log = log.get("missions")


class LiveTail:
    """Writes to *records*, and lets go of what is being done as soon as a person, or *stopping*, asks for it."""

    def __init__(self, mission: MissionId, *, records: Records, stopping: Cancellation, clock: Clock) -> None:
        self._mission = mission
        self._records = records
        self._stopping = stopping
        self._clock = clock

    def append(self, last: Entry | None, step: Step, *, usage: Usage, standing: Standing | None) -> Entry:
        """Write the next entry; it is durable on return."""
        return self._records.append(last, step, mission=self._mission, usage=usage, standing=standing)

    def stand(self, standing: Standing) -> None:
        """Set the mission's state, without an entry."""
        self._records.stand(self._mission, standing)

    async def guarded(self, do: Do) -> tuple[Outcome, float]:
        """Return what *do* gives, or how it failed, and the seconds that it took; raise `Stopped` once that is asked for."""
        self.check()
        start = self._clock.monotonic()
        task = asyncio.ensure_future(self._outcome(do))
        try:
            while not task.done():
                await asyncio.wait({task}, timeout=_LOOK_S)
                self.check()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        return task.result(), self._clock.monotonic() - start

    def check(self) -> None:
        """Raise `Stopped` where the mission is to stop: with the reason, or none where only its process is to end."""
        if by := self._records.cancel_asked_by(self._mission):
            raise Stopped(cancelled_by(by))
        try:
            self._stopping.check()
        except Cancelled as exc:
            raise Stopped("") from exc

    async def _outcome(self, do: Do) -> Outcome:
        try:
            return await do()
        except ApplianceError as exc:
            return failure(exc)
        except Exception as exc:  # noqa: BLE001 - an agent's step: one that breaks is an outcome, and the mission goes on
            _log.exception("mission.step_broke", mission=self._mission)
            return {"error": f"An error of ours: {type(exc).__name__}.", "code": "internal", "retryable": False}
