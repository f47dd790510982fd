"""Missions, what they ask people, and the jobs that work on them: whoever lets one go on has it worked on."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from appliance.codeintel.results import Scope
from appliance.errors import Conflict, NotFound
from appliance.ids import MissionId
from appliance.jobs.queue import Job, JobQueue
from appliance.orchestrator.approvals import Approval, Approvals, Decision
from appliance.orchestrator.missions.desk import Desk
from appliance.orchestrator.missions.model import Mission, MissionLimits, MissionState, Replay
from appliance.orchestrator.missions.runner import Runner

JOB: Final = "mission"
"""The kind of the jobs that work on missions; their key is the mission."""

_AT_WORK: Final[frozenset[MissionState]] = frozenset({"queued", "running", "waiting"})


class Missions:
    """The desk and the approvals, with the queue behind both. Safe to call from any thread.

    *make_runner* makes what works on missions, at its first use: only the worker has one.
    """

    def __init__(self, desk: Desk, *, approvals: Approvals, jobs: JobQueue, make_runner: Callable[[], Runner]) -> None:
        self.desk = desk
        self.approvals = approvals
        self._jobs = jobs
        self._make_runner = make_runner
        self._runner: Runner | None = None
        self._making = threading.Lock()

    @property
    def runner(self) -> Runner:
        """What works on missions."""
        with self._making:
            if self._runner is None:
                self._runner = self._make_runner()
            return self._runner

    def start(self, goal: str, *, scope: Scope, asked_by: str, limits: MissionLimits | None = None) -> Mission:
        """Put a mission on record, have it worked on and return it; raise what `Desk.create` raises."""
        mission = self.desk.create(goal, scope=scope, asked_by=asked_by, limits=limits)
        self._jobs.enqueue(JOB, key=mission.id)
        return mission

    def cancel(self, mission: MissionId, *, by: str) -> Mission:
        """Stop *mission*, at whatever it is; raise `NotFound`, or `Conflict` if it has ended."""
        if self.desk.cancel(mission, by=by).state == "cancelled":
            self.approvals.withdraw(mission)
        at_work = [job for job in self._jobs.list(kind=JOB, key=mission) if not job.ended]
        for job in at_work:
            with suppress(Conflict):  # it has ended just now
                self._jobs.cancel(job.id)
        stands = self.desk.get(mission)
        if stands.state == "running" and not at_work:
            self._jobs.enqueue(JOB, key=mission)  # its job failed, and only what works on it can end it
        return stands

    def resume(self, mission: MissionId, *, instruction: str, by: str) -> Mission:
        """Let a paused *mission* go on and return it; one whose job failed too, without words.

        Raise `NotFound`, or `Conflict` for another one.
        """
        stands = self.desk.get(mission)
        if instruction or not (stands.state in _AT_WORK and self._is_left(mission)):
            stands = self.desk.resume(mission, instruction=instruction, by=by)
        self._jobs.enqueue(JOB, key=mission)
        return stands

    def decide(self, approval: str, decision: Decision, *, by: str, note: str = "") -> Approval:
        """Record a person's *decision* and have what waited for it go on; raise `NotFound`, or `Conflict` for a late one."""
        decided = self.approvals.decide(approval, decision, by=by, note=note)
        with suppress(NotFound):  # what asked need not be a mission
            if self.desk.get(MissionId(decided.run)).state == "waiting":
                self._jobs.enqueue(JOB, key=decided.run)
        return decided

    async def replay(self, mission: MissionId) -> Replay:
        """Return whether *mission*, run again from its record, is the same; it keeps nobody else waiting."""
        return await asyncio.to_thread(lambda: asyncio.run(self.desk.replay(mission)))

    def take_up(self) -> None:
        """Have worked on what could go on and nobody works on, because whoever asked for it was cut off before the job.

        A mission that waits can go on once its question is answered, or its time has run out. One whose job failed waits
        for a person.
        """
        for mission in self.desk.unended():
            if mission.state in _AT_WORK and self._can_go_on(mission):
                self._jobs.enqueue(JOB, key=mission.id)

    def close(self) -> None:
        """Close the connections."""
        self.desk.close()
        if self._runner is not None:
            self._runner.close()
        self.approvals.close()

    def _can_go_on(self, mission: Mission) -> bool:
        if mission.state == "waiting" and self.approvals.list(state="pending", run=mission.id, limit=1):
            return False
        last = self._last_job(mission.id)
        return last is None or (last.ended and last.state != "failed")

    def _is_left(self, mission: MissionId) -> bool:
        last = self._last_job(mission)
        return last is not None and last.state == "failed"

    def _last_job(self, mission: MissionId) -> Job | None:
        return next(iter(self._jobs.list(kind=JOB, key=mission, limit=1)), None)
