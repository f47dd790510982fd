"""What is indexed by the clock, and when it rests."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from appliance.codeintel.registry import Repo
from appliance.codeintel.repo_settings import RepoSettings
from appliance.errors import NotFound
from appliance.services import Services
from appliance.timetable import Timetable
from tests.support.appliance import make_services
from tests.support.clock import FakeClock
from tests.support.repos import make_repo

NOON = datetime(2026, 3, 2, 12, 0).timestamp()  # noqa: DTZ001 - local time, as schedules have it


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with closing(make_services(tmp_path / "data")) as services:
        yield services


def add(services: Services, tmp_path: Path, *, schedule: str, quiet: str = "") -> Repo:
    source = make_repo(tmp_path, {"a.py": "a = 1\n"}, name=f"repo{len(services.registry.repos())}")
    settings = RepoSettings(schedule=schedule, quiet=quiet)
    repo = services.registry.add_repo(services.registry.project("default").id, source, settings=settings)
    services.registry.attempted(repo.id, None)
    return services.registry.repo(repo.id)


def asked(services: Services, *, after: float) -> list[str]:
    """Return the names of what the timetable asks for *after* so many seconds since the last attempts."""
    last = max(repo.last_attempt or 0.0 for repo in services.registry.repos())
    Timetable(replace(services, clock=FakeClock(now=last + after))).look()
    return [services.registry.repo(job.key).name for job in services.jobs.list(kind="index")]


def test_a_repository_is_asked_for_when_its_schedule_says_so_and_once(services: Services, tmp_path: Path) -> None:
    add(services, tmp_path, schedule="every 15m")
    add(services, tmp_path, schedule="")
    assert asked(services, after=890) == []
    assert asked(services, after=901) == ["repo0"]
    assert asked(services, after=2000) == ["repo0"]


def test_what_failed_waits_for_its_next_attempt(services: Services, tmp_path: Path) -> None:
    repo = add(services, tmp_path, schedule="every 1m")
    services.registry.attempted(repo.id, NotFound("It is away."))
    assert asked(services, after=3600) == []


@pytest.mark.parametrize(("quiet", "names"), [("11:00-13:00", []), ("13:00-11:00", ["repo0"])])
def test_nothing_is_asked_for_within_the_quiet_hours(
    services: Services, tmp_path: Path, quiet: str, names: list[str]
) -> None:
    add(services, tmp_path, schedule="every 1m", quiet=quiet)
    last = services.registry.repo("repo0").last_attempt or 0.0
    days = (last - NOON) // 86_400 + 1
    assert asked(services, after=NOON + days * 86_400 - last + 86_400) == names
