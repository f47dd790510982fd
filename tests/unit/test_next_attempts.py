"""A repository that failed is tried again by itself, ever more rarely, and never at the cost of the others."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.codeintel.registry import Repo
from appliance.errors import ApplianceError, DiskFull
from appliance.jobs.worker import JobContext
from appliance.services import Services
from appliance.worker import mend
from tests.support.appliance import handlers, make_services, serving
from tests.support.clock import FakeClock
from tests.support.repos import make_repo


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with closing(make_services(tmp_path / "data")) as services:
        yield services


def add(services: Services, tmp_path: Path, name: str) -> Repo:
    project = services.registry.project("default").id
    return services.registry.add_repo(project, make_repo(tmp_path, {"a.py": f"{name} = 1\n"}, name=name), name=name)


def attempt(services: Services) -> str | None:
    """Do the next index that is asked for, as a worker would, and return of which repo it was."""
    lease = services.jobs.lease(worker="test", kinds=["index"], seconds=60)
    if lease is None:
        return None
    context = JobContext(services.jobs, lease, stop=threading.Event(), clock=services.clock)
    try:
        handlers(services)["index"](context)
    except ApplianceError as exc:
        services.jobs.fail(lease, str(exc), retryable=exc.retryable)
    else:
        services.jobs.complete(lease)
    return services.registry.repo(lease.job.key).name


def at(services: Services, moment: float | None) -> Services:
    assert moment is not None
    return replace(services, clock=FakeClock(now=moment))


def test_a_repo_that_was_added_and_never_asked_for_is_asked_for_once(services: Services, tmp_path: Path) -> None:
    """Between the two its worker may be killed, or the disk be full."""
    add(services, tmp_path, "new")
    mend(services)
    mend(services, again=False)
    assert [attempt(services) for _ in range(2)] == ["new", None]


def test_a_first_index_that_somebody_stopped_stays_stopped(services: Services, tmp_path: Path) -> None:
    services.jobs.cancel(services.index(add(services, tmp_path, "new").id).id)
    for again in (True, False):
        mend(services, again=again)
    assert attempt(services) is None


def test_a_repo_that_failed_is_asked_for_once_it_is_due_and_not_before(services: Services, tmp_path: Path) -> None:
    """A disk comes back, or is no longer full, without anybody at the console."""
    ill, well = add(services, tmp_path, "ill"), add(services, tmp_path, "well")
    shutil.move(Path(str(ill.source)), tmp_path / "away")
    services.index(ill.id)
    services.index(well.id)
    assert [attempt(services) for _ in range(3)] == ["ill", "well", None]
    failed = services.registry.repo(ill.id)
    assert (failed.error, failed.failures) == ("not_found", 1)
    with serving(services) as client:
        shown = client.get(f"/api/v1/repos/{ill.id}").json()
    assert (shown["failures"], shown["next_attempt"]) == (1, failed.next_attempt)
    for again in (True, False):
        mend(services, again=again)
        assert attempt(services) is None
    due = at(services, failed.next_attempt)
    mend(due, again=False)
    mend(due, again=False)
    assert [attempt(services) for _ in range(2)] == ["ill", None]
    assert services.registry.repo(ill.id).failures == 2
    shutil.move(tmp_path / "away", Path(str(ill.source)))
    mend(at(services, services.registry.repo(ill.id).next_attempt), again=False)
    assert [attempt(services) for _ in range(2)] == ["ill", None]
    assert services.registry.repo(ill.id).failures == 0


def test_a_clock_that_was_set_back_puts_no_attempt_off(services: Services, tmp_path: Path) -> None:
    repo = add(services, tmp_path, "r")
    services.registry.attempted(repo.id, DiskFull("No space is left."))
    mend(at(services, services.clock.now() - 1e6), again=False)
    assert attempt(services) == "r"


def test_a_look_at_a_damaged_index_does_not_count_as_a_failure_again(services: Services, tmp_path: Path) -> None:
    """Else every look would put the attempt that mends it farther off."""
    repo = add(services, tmp_path, "r")
    services.index(repo.id)
    attempt(services)
    (services.generations.published(repo.id).folder / "chunk_file.npy").write_bytes(b"damaged")
    services.generations.forget(repo.id)
    for _ in range(3):
        mend(services, again=False)
    noted = services.registry.repo(repo.id)
    assert (noted.error, noted.failures) == ("store_corrupt", 1)
    assert [attempt(services) for _ in range(2)] == ["r", None]
    assert services.registry.repo(repo.id).failures == 0
