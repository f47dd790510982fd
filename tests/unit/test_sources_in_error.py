"""A repository that cannot be had is never silent: it has a state, a reason and a next step, and costs no more each time."""

import os
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.codeintel.registry import QUARANTINE_AFTER
from appliance.errors import ApplianceError
from appliance.jobs.worker import JobContext
from appliance.services import Services
from appliance.worker import mend
from tests.support.appliance import handlers, make_services, serving, working
from tests.support.clock import FakeClock
from tests.support.house import until
from tests.support.repos import git, make_repo


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with closing(make_services(tmp_path / "data")) as services:
        yield services


def test_what_cannot_be_read_is_in_error_with_its_class_and_a_remedy_and_is_counted(
    services: Services, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / ".git").write_text("not a git file\n")
    make_repo(tmp_path, {"a.py": "a = 1\n"}, name="well")
    sources = ["file:///does/not/exist", *(str(tmp_path / name) for name in ("empty", "odd", "well"))]
    with serving(services) as client, working(services):
        for source in sources:
            assert client.post("/api/v1/repos", json={"path": source, "check": False}).status_code == 202
        until(lambda: all(job.ended for job in services.jobs.list()))
        states = {repo["name"]: repo for repo in client.get("/api/v1/repos").json()}
        found = {name: (repo["state"], repo["error"]) for name, repo in states.items()}
        assert found == {
            "exist": ("error", "not_found"),
            "empty": ("error", "not_found"),
            "odd": ("error", "malformed_content"),
            "well": ("ready", ""),
        }
        for name in ("exist", "empty", "odd"):
            assert states[name]["remedy"]
            assert states[name]["message"]
            assert states[name]["last_attempt"] > 0
            assert states[name]["last_success"] is None
        assert "skellig_repos_in_error 3.0" in client.get("/metrics").text


def test_twenty_failures_take_no_more_space_than_one_come_ever_later_and_end_in_quarantine(
    services: Services, tmp_path: Path
) -> None:
    code = make_repo(tmp_path, {"a.py": "a = 1\n"}, name="ill")
    repo = services.registry.add_repo(services.registry.project("default").id, code)
    code.rename(tmp_path / "away")
    clock = FakeClock(now=1_800_000_000.0)
    services.registry._clock = clock
    at = replace(services, clock=clock)
    pauses: list[float] = []
    sizes: list[int] = []
    for _ in range(20):
        if pauses:
            mend(at)
        else:
            services.index(repo.id)
        attempt(at)
        known = services.registry.repo(repo.id)
        assert known.next_attempt is not None
        pauses.append(known.next_attempt - clock.now())
        sizes.append(size_of(services.paths.root / "projects"))
        clock.advance(pauses[-1] - 1)
        mend(at)
        assert services.jobs.lease(worker="test", kinds=["index"], seconds=60) is None
        clock.advance(2)
    known = services.registry.repo(repo.id)
    assert (known.failures, known.state, known.error) == (20, "quarantined", "not_found")
    assert known.remedy
    assert pauses == sorted(pauses)
    assert pauses[QUARANTINE_AFTER - 1 :] == [86_400.0] * (21 - QUARANTINE_AFTER)
    assert max(sizes) - min(sizes) < 1_000_000
    (tmp_path / "away").rename(code)
    services.index(repo.id)
    attempt(at)
    assert services.registry.repo(repo.id).state == "ready"


def attempt(services: Services) -> None:
    """Do the next index that is asked for, as a worker would."""
    lease = services.jobs.lease(worker="test", kinds=["index"], seconds=60)
    assert lease is not None
    context = JobContext(services.jobs, lease, stop=threading.Event(), clock=services.clock)
    try:
        handlers(services)["index"](context)
    except ApplianceError as exc:
        services.jobs.fail(lease, str(exc), retryable=False)
    else:
        services.jobs.complete(lease)


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
@pytest.mark.parametrize("owner", [65534])
def test_repositories_of_any_owner_bare_or_not_without_a_remote_or_as_a_work_tree_are_indexed(
    services: Services, tmp_path: Path, owner: int
) -> None:
    """Git refuses those of others unless its configuration says otherwise; ours is none that anybody else sees."""
    plain = make_repo(tmp_path, {"a.py": "a = 1\n"}, name="plain")
    bare = make_repo(tmp_path, {"a.py": "a = 1\n"}, name="bare.git", bare=True)
    git(plain, "worktree", "add", "-q", "-b", "side", str(tmp_path / "tree"))
    for folder in (plain, bare, tmp_path / "tree"):
        for path in (folder, *folder.rglob("*")):
            os.lchown(path, owner, owner)
    before = sorted(Path("/root").glob(".gitconfig"))
    project = services.registry.project("default").id
    repos = [services.registry.add_repo(project, folder) for folder in (plain, bare, tmp_path / "tree")]
    for repo in repos:
        services.index(repo.id)
    with working(services):
        until(lambda: all(job.ended for job in services.jobs.list()))
    assert {repo.state for repo in services.registry.repos()} == {"ready"}
    assert sorted(Path("/root").glob(".gitconfig")) == before
