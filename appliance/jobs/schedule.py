"""When something is due by the clock: every so often, or as cron has it; and hours in which it rests. Local time."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from appliance.base.paths import display
from appliance.errors import InvalidInput

_EVERY: Final = re.compile(r"every ([1-9][0-9]{0,4}) ?(m|h|d)")
_SECONDS: Final = {"m": 60, "h": 3600, "d": 86_400}
_STEP: Final = re.compile(r"(\*|[0-9]{1,2}(?:-[0-9]{1,2})?)(?:/([1-9][0-9]?))?")
_RANGES: Final = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))  # minute, hour, day, month, day of the week
_NAMED: Final = {"hourly": "0 * * * *", "daily": "0 2 * * *", "weekly": "0 2 * * 0"}
_HOURS: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")
_FURTHEST: Final = timedelta(days=4 * 366 + 1)  # to a 29 February
_REMEDY: Final = 'Write "every 15m" (or h, d), "hourly", "daily", "weekly", or the five fields of cron: "30 2 * * 1-5".'


@dataclass(frozen=True, slots=True)
class Schedule:
    """Moments: ``every`` so many seconds, or those that all of five sets of numbers hold."""

    every: int = 0
    fields: tuple[frozenset[int], ...] = ()
    either: bool = False  # a day of the month or one of the week will do, as cron has it where both are given

    def due(self, *, since: float, now: float) -> bool:
        """Return whether one of the moments lies after *since*, when it was done last, and not after *now*."""
        if self.every:
            return now - since >= self.every
        after = self._next(datetime.fromtimestamp(since))  # noqa: DTZ006 - local time is what people mean
        return after is not None and after <= datetime.fromtimestamp(now)  # noqa: DTZ006

    def _next(self, since: datetime) -> datetime | None:
        minutes, hours, _, months, _ = self.fields
        at = since.replace(second=0, microsecond=0) + timedelta(minutes=1)
        while at - since < _FURTHEST:
            if at.month not in months or not self._on(at):
                at = at.replace(hour=0, minute=0) + timedelta(days=1)
            elif at.hour not in hours:
                at = at.replace(minute=0) + timedelta(hours=1)
            elif at.minute not in minutes:
                at += timedelta(minutes=1)
            else:
                return at
        return None

    def _on(self, day: datetime) -> bool:
        in_month, in_week = day.day in self.fields[2], day.isoweekday() % 7 in self.fields[4]
        return (in_month or in_week) if self.either else (in_month and in_week)


def schedule_of(text: str) -> Schedule | None:
    """Return what *text* says, None for ""; raise `InvalidInput`."""
    text = " ".join(text.split())
    if not text:
        return None
    if match := _EVERY.fullmatch(text):
        return Schedule(every=int(match[1]) * _SECONDS[match[2]])
    fields = _NAMED.get(text, text).split(" ")
    if len(fields) != len(_RANGES):
        raise _refused(text)
    sets = [_numbers(field, bounds, text) for field, bounds in zip(fields, _RANGES, strict=True)]
    sets[4] = frozenset(number % 7 for number in sets[4])
    found = Schedule(fields=tuple(sets), either="*" not in {fields[2][0], fields[4][0]})
    if not found.due(since=0.0, now=_FURTHEST.total_seconds()):
        raise _refused(text)
    return found


@dataclass(frozen=True, slots=True)
class Hours:
    """A part of the day, in minutes since midnight; one that ends before it begins goes over midnight."""

    start: int
    end: int

    def cover(self, moment: float) -> bool:
        """Return whether *moment* lies in it."""
        at = datetime.fromtimestamp(moment)  # noqa: DTZ006
        minute = at.hour * 60 + at.minute
        if self.start <= self.end:
            return self.start <= minute < self.end
        return minute >= self.start or minute < self.end


def hours_of(text: str) -> Hours | None:
    """Return what *text*, such as ``22:00-06:00``, says, None for ""; raise `InvalidInput`."""
    if not text.strip():
        return None
    match = _HOURS.fullmatch(text.strip())
    if match is None:
        raise InvalidInput(f"{display(text[:40])!r} are no hours.", remedy='Write them as "22:00-06:00".')
    start_hour, start, end_hour, end = map(int, match.groups())
    return Hours(start_hour * 60 + start, end_hour * 60 + end)


def _numbers(field: str, bounds: tuple[int, int], whole: str) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        match = _STEP.fullmatch(part)
        if match is None:
            raise _refused(whole)
        first, _, last = (f"{bounds[0]}-{bounds[1]}" if match[1] == "*" else match[1]).partition("-")
        end = int(last or (bounds[1] if match[2] else first))
        if not bounds[0] <= int(first) <= end <= bounds[1]:
            raise _refused(whole)
        found.update(range(int(first), end + 1, int(match[2] or 1)))
    return frozenset(found)


def _refused(text: str) -> InvalidInput:
    return InvalidInput(f"{display(text[:60])!r} is no schedule.", remedy=_REMEDY)
