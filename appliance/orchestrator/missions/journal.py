"""Durable execution: what a mission does goes through its journal, and is done once.

A mission's code is run from its beginning each time. Whatever it asks of the world it asks the journal, which looks at the
record first: a step that stands there is held against what would be asked now, and its outcome is taken from there. Only
behind the end of the record is anything done, and written down before the next step. So a mission whose process was killed
goes on where its record ends, and a replay is the same code over the record alone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from appliance.contracts.tools import Effect, Json
from appliance.errors import ApplianceError, ToolFailed
from appliance.ids import MissionId
from appliance.orchestrator.missions.canonical import canonical, fitted, link
from appliance.orchestrator.missions.meter import Meter
from appliance.orchestrator.missions.model import Entry, EntryKind, MissionLimits, Usage
from appliance.orchestrator.missions.record import Standing, Step

Outcome = Mapping[str, Json]
Do = Callable[[], Awaitable[Outcome]]


class Halt(Exception):
    """The mission's code is not to go on. Once raised, every further step raises it again, whoever caught it."""


class Paused(Halt):
    """A bound was reached; a person may let the mission go on."""


class Waiting(Halt):
    """A person must decide first; once one has, the mission goes on."""


class Stopped(Halt):
    """A person stopped the mission, or its process is to end: the record says which."""


class Broken(Halt):
    """The record cannot be written; the cause is what the store said."""


class RecordEnds(Halt):
    """A replay has come to the end of a record that is not the end of its mission."""


class Diverged(Halt):
    """The code would do something else than what stands at ``seq``."""

    def __init__(self, seq: int, reason: str) -> None:
        super().__init__(reason)
        self.seq = seq


class Tail(Protocol):
    """Where the record goes on, and where things are done; a replay has none."""

    def append(self, last: Entry | None, step: Step, *, usage: Usage, standing: Standing | None) -> Entry:
        """Write the next entry; it is durable on return."""

    def stand(self, standing: Standing) -> None:
        """Set the mission's state, without an entry."""

    async def guarded(self, do: Do) -> tuple[Outcome, float]:
        """Return what *do* gives, or how it failed, and the seconds that it took; raise `Stopped` once that is asked for."""


class Journal:
    """The record of one mission, from its beginning. *past* is what stands there already."""

    def __init__(self, mission: MissionId, *, past: Sequence[Entry], tail: Tail | None) -> None:
        self.mission = mission
        self.meter = Meter()
        self.last: Entry | None = None
        self.halted: Halt | None = None
        self.limits: MissionLimits | None = None
        self.summing: Callable[[str], Awaitable[None]] | None = None  # puts what there is on record before a pause
        self.instructions: list[str] = []  # what people said when they let the mission go on
        self._past = past
        self._at = 0
        self._tail = tail

    @property
    def now(self) -> float:
        """When the last step was written: the mission's clock."""
        return self.meter.at

    def note(self, kind: EntryKind, data: Outcome, *, agent: str = "", standing: Standing | None = None) -> Entry:
        """Put something on record that follows from what stands there."""
        self._expect_going_on()
        return self._step(kind, agent, fitted(data), standing)

    async def given(self, kind: EntryKind, do: Do) -> Outcome:
        """Return what the record holds as *kind*, or have *do* give it and put it there: how things are at the beginning."""
        self._expect_going_on()
        return await self._outcome(kind, "", do)

    async def effect(
        self, asks: EntryKind, asked: Outcome, *, gives: EntryKind, agent: str, do: Do, effect: Effect = "read"
    ) -> Outcome:
        """Return the outcome of *asked*: from the record, or by doing it. Where a limit is reached the mission pauses first.

        What was begun when a process ended is begun again, unless it runs or writes something: then its outcome is that it
        was interrupted.
        """
        self._expect_going_on()
        await self._within_limits()
        fresh = not self._remains
        self._step(asks, agent, fitted(asked), None)
        self._pass_over()
        if self._remains or fresh or effect == "read":
            return await self._outcome(gives, agent, do)
        return await self._outcome(gives, agent, _interrupted)

    async def pause(self, reason: str) -> Outcome:
        """Stand still until a person lets the mission go on, and return what was said then."""
        self._expect_going_on()
        await self._summed(reason)
        self._step("paused", "", fitted({"reason": reason}), Standing("paused", reason))
        self._expect_going_on()
        if not self._remains:
            raise self._halt(Paused(reason) if self._tail is not None else RecordEnds(reason))
        return self._step("resumed", "", self._stored("resumed"), None).data

    async def decided(self, asked: Outcome, look: Do) -> Outcome:
        """Return what a person decided on *asked*: *look* says it, with an empty ``decision`` while nobody did.

        Until then the mission waits, and no process works on it.
        """
        self._expect_going_on()
        waits = Standing("waiting", str(asked.get("reason", "")))
        self._step("asked_approval", "", fitted(asked), waits)
        self._expect_going_on()
        if self._remains:
            return self._step("approval", "", self._stored("approval"), None).data
        if self._tail is None:
            raise self._halt(RecordEnds("The record ends here."))
        outcome, _ = await self._guarded(self._tail, look)
        if not outcome.get("decision"):
            with self._writing():
                self._tail.stand(waits)
            raise self._halt(Waiting(waits.reason))
        return self._step("approval", "", fitted(outcome), Standing("running")).data

    def end(self, data: Outcome, standing: Standing) -> Entry:
        """Write the last entry, whatever halted the mission."""
        self.halted = None
        self._pass_over()
        return self._step("ended", "", fitted(data), standing)

    @property
    def alive(self) -> bool:
        """Whether anything can be done and written, and not only read again."""
        return self._tail is not None

    def skip(self) -> None:
        """Go to the end of the record, whatever stands between."""
        for entry in self._past[self._at :]:
            self.meter.feed(entry)
        self._at = len(self._past)
        self.last = self._past[-1] if self._past else None

    async def _summed(self, reason: str) -> None:
        limits, self.limits = self.limits, None
        try:
            if self.summing is not None:
                await self.summing(reason)
        finally:
            self.limits = limits

    async def _within_limits(self) -> None:
        while self.limits is not None and (reason := self.meter.beyond(self.limits)):
            await self.pause(reason)

    async def _outcome(self, kind: EntryKind, agent: str, do: Do) -> Outcome:
        self._expect_going_on()
        if self._remains:
            return self._step(kind, agent, self._stored(kind), None).data
        if self._tail is None:
            raise self._halt(RecordEnds("The record ends here."))
        outcome, seconds = await self._guarded(self._tail, do)
        return self._step(kind, agent, _kept(outcome, seconds), None).data

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except ApplianceError as exc:
            raise self._halt(Broken(str(exc))) from exc

    async def _guarded(self, tail: Tail, do: Do) -> tuple[Outcome, float]:
        try:
            return await tail.guarded(do)
        except Halt as exc:
            raise self._halt(exc) from None
        except ApplianceError as exc:  # whether it is to stop could not be asked
            raise self._halt(Broken(str(exc))) from exc
        except asyncio.CancelledError:
            self._halt(Stopped(""))
            raise

    @property
    def _remains(self) -> bool:
        return self._at < len(self._past)

    def _stored(self, kind: EntryKind) -> Outcome:
        """Return what the record holds next, which must be of *kind*: it came from outside, and is taken as it is."""
        entry = self._past[self._at]
        if entry.kind != kind:
            raise self._halt(Diverged(entry.seq, f"`{kind}` would come next, and `{entry.kind}` stands there."))
        return entry.data

    def _expect_going_on(self) -> None:
        """Raise what halts the mission; take from the record that a process or a person ended the work here."""
        if self.halted is not None:
            raise self.halted
        self._pass_over()
        if self._remains and _was_stopped(self._past[self._at]):
            raise self._halt(Stopped(str(self._past[self._at].data.get("reason", ""))))

    def _pass_over(self) -> None:
        while self._remains and self._past[self._at].kind == "interrupted":
            entry = self._past[self._at]
            self._step("interrupted", entry.agent, entry.data, None)

    def _step(self, kind: EntryKind, agent: str, data: Outcome, standing: Standing | None) -> Entry:
        if self._remains:
            entry = self._again(kind, agent, data)
        elif self._tail is None:
            raise self._halt(RecordEnds("The record ends here."))
        else:
            with self._writing():
                entry = self._tail.append(self.last, Step(kind, agent, data), usage=self.meter.total, standing=standing)
        self.meter.feed(entry)
        self.last = entry
        if kind == "resumed" and (said := str(data.get("instruction") or "")):
            self.instructions.append(said)
        return entry

    def _again(self, kind: EntryKind, agent: str, data: Outcome) -> Entry:
        """Write the next entry of the record anew, with the time that stands there, and hold it against that."""
        stored = self._past[self._at]
        self._at += 1
        seq, prev = (0, "") if self.last is None else (self.last.seq, self.last.hash)
        made = link(mission=self.mission, seq=seq + 1, at=stored.at, kind=kind, agent=agent, data=data, prev=prev)
        if (made.kind, made.agent) != (stored.kind, stored.agent):
            raise self._halt(Diverged(made.seq, f"{_named(made)} would come, and {_named(stored)} stands there."))
        if canonical(made.data) != canonical(stored.data):
            raise self._halt(
                Diverged(made.seq, f"`{kind}` would say something else under {_differing(made.data, stored.data)}.")
            )
        if (made.seq, made.prev, made.hash) != (stored.seq, stored.prev, stored.hash):
            raise self._halt(
                Diverged(made.seq, f"`{kind}` says the same, and its place in the chain or its hash is another.")
            )
        return made

    def _halt(self, halt: Halt) -> Halt:
        self.halted = halt
        return halt


def failure(error: ApplianceError) -> dict[str, Json]:
    """Return how an outcome says that it is *error*."""
    told: dict[str, Json] = {"error": str(error), "code": error.code, "retryable": error.retryable}
    return {**told, "approval": str(error.context["approval"])} if "approval" in error.context else told


def _kept(outcome: Outcome, seconds: float) -> Outcome:
    """Return what the record keeps of *outcome*; one that cannot stand there has failed, on record as in the mission."""
    spent: dict[str, Json] = {"seconds": round(seconds, 3)}
    try:
        return fitted({**outcome, **spent})
    except ApplianceError as exc:
        return {**failure(exc), **spent}
    except (ValueError, TypeError, RecursionError) as exc:
        return {**failure(ToolFailed(f"What it gave is no JSON ({type(exc).__name__}).")), **spent}


async def _interrupted() -> Outcome:
    return {
        "error": "It had begun when the process ended; whether it was done is not known, and it was not begun again.",
        "code": "interrupted",
        "retryable": False,
    }


def _was_stopped(entry: Entry) -> bool:
    return entry.kind == "ended" and entry.data.get("state") == "cancelled"


def _named(entry: Entry) -> str:
    return f"`{entry.kind}` of {entry.agent or 'the mission'}"


def _differing(made: Outcome, stored: Outcome) -> str:
    keys = [key for key in sorted({*made, *stored}) if canonical(made.get(key)) != canonical(stored.get(key))]
    return ", ".join(f"`{key}`" for key in keys)
