"""Watching a mission: its steps on standard error as they happen, and the questions that it asks people."""

import sys
import time
from contextlib import suppress

import click
import msgspec
from rich.text import Text

from appliance.cli import mission_lines, output
from appliance.cli.missions import Approval, Entry, Mission
from appliance.cli.progress import require_worker
from appliance.cli.remote import Remote, raise_problem
from appliance.errors import Conflict, Unavailable

_GONE_S = 30.0  # a web process that was killed is back by then
_STEP_S = 0.2
WAITS = "The mission waits for the worker; before a model's first one it is tried, for a minute or two…"


class Watch:
    """Follows *mission* and tells of its steps; *quiet* tells nothing, and asks nobody."""

    def __init__(self, remote: Remote, mission: str, *, quiet: bool) -> None:
        self._remote = remote
        self._mission = mission
        self._quiet = quiet
        self._screen = output.screen(stderr=True)
        self._screen.quiet = quiet
        self._status = self._screen.status(WAITS)
        self._seen = 0
        self._begun_at = 0.0

    def until_it_stops(self) -> Mission:
        """Return the mission once it has ended or paused; while the appliance is away for a moment, wait for it.

        Raise `Unavailable` if nobody will work on it: the appliance says that its worker is not well.
        """
        mission = self._look()
        if not mission.ended:
            require_worker(self._remote)
        gone_at: float | None = None
        if self._screen.is_terminal:
            self._status.start()
        elif mission.state == "queued":
            self._screen.print(WAITS, soft_wrap=True)
        try:
            while True:
                before = self._seen
                with suppress(Unavailable):
                    if (stopped := self._follow()) is not None:
                        return stopped
                now = time.monotonic()
                gone_at = now if gone_at is None or self._seen > before else gone_at
                if now - gone_at > _GONE_S:
                    return self._look()  # which says what is wrong
                time.sleep(_STEP_S)
        finally:
            self._status.stop()

    def _follow(self) -> Mission | None:
        """Take the events that come; return the mission once it has stopped, None if the stream broke off before."""
        with self._remote.follow(f"missions/{self._mission}/events", after=self._seen) as events:
            for event in events:
                if event.name == "error":
                    raise_problem(event.data)
                if event.name == "mission":
                    return msgspec.json.decode(event.data, type=Mission)
                if (stopped := self._take(msgspec.json.decode(event.data, type=Entry))) is not None:
                    return stopped
        return None

    def _take(self, entry: Entry) -> Mission | None:
        self._seen = entry.seq
        self._begun_at = self._begun_at or entry.at
        self._status.update(Text(f"{entry.agent or 'mission'}: {entry.line}"))
        if not mission_lines.is_passing(entry):
            self._screen.print(mission_lines.step(entry, begun_at=self._begun_at))
        if entry.kind == "asked_approval":
            self._ask()
        if entry.kind != "paused":
            return None
        found = self._look()  # an earlier pause may be over
        return found if found.state == "paused" else None

    def _look(self) -> Mission:
        return self._remote.get(f"missions/{self._mission}", Mission)

    def _ask(self) -> None:
        """Ask whoever sits at the terminal what the mission asks; else say how to answer."""
        for approval in self._remote.get("approvals", list[Approval], run=self._mission):
            if self._quiet or not (self._screen.is_terminal and sys.stdin.isatty()):
                self._screen.print(mission_lines.waiting(approval))
                continue
            self._status.stop()
            yes = click.confirm(f"May it: {mission_lines.question(approval)}?", default=False, err=True)
            with suppress(Conflict):  # somebody else was faster, or its time ran out
                body = {"decision": "approved" if yes else "rejected"}
                self._remote.post(f"approvals/{approval.id}", Approval, body)
            self._status.start()
