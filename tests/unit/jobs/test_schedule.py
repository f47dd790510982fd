"""When a schedule is due, and when it rests."""

from datetime import datetime

import pytest

from appliance.errors import InvalidInput
from appliance.jobs.schedule import hours_of, schedule_of


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("text", "since", "first"),
    [
        ("every 15m", "2026-03-02 10:07:30", "2026-03-02 10:22:30"),
        ("every 2 h", "2026-03-02 10:07", "2026-03-02 12:07"),
        ("hourly", "2026-03-02 10:00", "2026-03-02 11:00"),
        ("daily", "2026-03-02 01:59", "2026-03-02 02:00"),
        ("30 2 * * 1-5", "2026-03-06 02:30", "2026-03-09 02:30"),  # from a Friday to a Monday
        ("*/20 8-9 * * *", "2026-03-02 09:40", "2026-03-03 08:00"),
        ("0 0 29 2 *", "2026-03-02 00:00", "2028-02-29 00:00"),
        ("0 12 13 * 5", "2026-03-02 00:00", "2026-03-06 12:00"),  # the 13th or a Friday
        ("0 12 * * 7", "2026-03-02 00:00", "2026-03-08 12:00"),
        ("5,35 * * * *", "2026-03-02 10:05", "2026-03-02 10:35"),
    ],
)
def test_a_schedule_is_due_at_its_next_moment_and_not_before(text: str, since: str, first: str) -> None:
    schedule = schedule_of(text)
    assert schedule is not None
    assert not schedule.due(since=at(since), now=at(first) - 1)
    assert schedule.due(since=at(since), now=at(first))
    assert schedule.due(since=at(since), now=at(first) + 86_400)


@pytest.mark.parametrize(
    "text", ["15m", "every 0m", "every day", "* * * *", "60 * * * *", "* 24 * * *", "0 0 31 2 *", "5-2 * * * *", "a b c d e",
             "*/0 * * * *", "every 1m; rm", "* * * * * *"],
)  # fmt: skip
def test_what_is_no_schedule_is_refused_with_what_would_be_one(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        schedule_of(text)
    assert "every 15m" in caught.value.remedy


def test_nothing_said_is_never_due() -> None:
    assert (schedule_of(""), hours_of(" ")) == (None, None)


@pytest.mark.parametrize(
    ("text", "moment", "quiet"),
    [
        ("22:00-06:00", "2026-03-02 23:10", True),
        ("22:00-06:00", "2026-03-02 05:59", True),
        ("22:00-06:00", "2026-03-02 06:00", False),
        ("12:00-13:30", "2026-03-02 13:29", True),
        ("12:00-13:30", "2026-03-02 11:59", False),
    ],
)
def test_hours_may_go_over_midnight(text: str, moment: str, quiet: bool) -> None:  # noqa: FBT001 - a row of a table
    hours = hours_of(text)
    assert hours is not None
    assert hours.cover(at(moment)) == quiet


def test_what_are_no_hours_is_refused() -> None:
    with pytest.raises(InvalidInput):
        hours_of("22-6")
