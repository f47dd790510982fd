"""Repositories that are indexed by the clock."""

import threading
from typing import Final

from appliance.base import log
from appliance.codeintel.registry import Repo
from appliance.jobs.schedule import schedule_of
from appliance.looking import ask_for
from appliance.services import Services

_log = log.get("timetable")

_LOOK_S: Final = 15.0


class Timetable:
    """Asks for an index of each repository whose schedule says so. One that failed waits for its next attempt instead."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def look(self) -> None:
        """Ask for what is due now."""
        for repo in self._services.registry.repos():
            if self._due(repo):
                ask_for(self._services, repo.id)

    def keep(self, stop: threading.Event) -> None:
        """Look until *stop* is set."""
        while not stop.wait(_LOOK_S):
            try:
                self.look()
            except Exception:  # noqa: BLE001 - the outermost loop of a thread: the next look may go better
                _log.exception("timetable.look_failed")

    def _due(self, repo: Repo) -> bool:
        schedule = schedule_of(repo.settings.schedule)
        if schedule is None or repo.error or repo.last_attempt is None:
            return False
        last, now = self._services.last_index(repo.id), self._services.clock.now()
        return (last is None or last.ended) and schedule.due(since=min(repo.last_attempt, now), now=now)
