from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from appliance.intake import Intake
from appliance.services import Services
from tests.support.appliance import make_services, working
from tests.support.house import until
from tests.support.repos import commit, git, make_repo


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with closing(make_services(tmp_path / "data")) as services:
        yield services


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "drop").mkdir()
    return tmp_path / "drop"


@pytest.fixture
def intake(services: Services, root: Path) -> Intake:
    return Intake(services, root)


def names(services: Services) -> list[str]:
    return [repo.name for repo in services.registry.repos(services.registry.project("default").id)]


def idle(services: Services) -> bool:
    return all(job.ended for job in services.jobs.list())


def test_what_is_dropped_is_indexed_and_indexed_again_when_it_moves_on(
    services: Services, root: Path, intake: Intake
) -> None:
    code = make_repo(root, {"a.py": "x = 1\n"}, name="tool")
    make_repo(root, {"b.py": "y = 1\n"}, name="bare.git", bare=True)
    (root / "plain").mkdir()
    (root / "plain" / "c.py").write_text("z = 1\n")
    with working(services):
        intake.look()
        until(lambda: idle(services))
        assert names(services) == ["bare", "plain", "tool"]
        first = {repo.name: services.generations.published(repo.id).info for repo in services.registry.repos()}
        assert [info.files for info in first.values()] == [1, 1, 1]

        jobs = len(services.jobs.list())
        intake.look()
        assert len(services.jobs.list()) == jobs

        commit(code, {"a.py": "x = 2\n", "d.py": "w = 1\n"}, "second")
        intake.look()
        until(lambda: idle(services))
    assert services.generations.published(services.registry.repo("tool").id).info.files == 2


def test_a_bare_repository_beside_a_folder_of_its_name_keeps_its_ending(
    services: Services, root: Path, intake: Intake
) -> None:
    make_repo(root, {"a.py": "x = 1\n"}, name="tool")
    make_repo(root, {"a.py": "y = 1\n"}, name="tool.git", bare=True)
    for _ in range(2):
        intake.look()
        assert names(services) == ["tool", "tool.git"]


def test_what_is_still_being_copied_or_leads_elsewhere_is_passed_over(
    services: Services, root: Path, intake: Intake, tmp_path: Path
) -> None:
    make_repo(root, {"a.py": "x = 1\n"}, name=".tool.part")
    (root / "link").symlink_to(make_repo(tmp_path, {"a.py": "x = 1\n"}, name="elsewhere"))
    (root / "notes.txt").write_text("not a folder")
    intake.look()
    assert names(services) == []
    (root / ".tool.part").rename(root / "tool")
    intake.look()
    assert names(services) == ["tool"]


def test_a_broken_repository_is_listed_with_its_fault_and_the_others_go_on(
    services: Services, root: Path, intake: Intake
) -> None:
    broken = make_repo(root, {"a.py": "x = 1\n"}, name="broken", bare=True)
    (broken / "refs" / "heads" / "main").write_text("not a commit\n")
    make_repo(root, {"a.py": "x = 1\n"}, name="whole")
    with working(services):
        intake.look()
        until(lambda: idle(services))
        intake.look()
    found = {repo.name: repo.error for repo in services.registry.repos()}
    assert (bool(found["broken"]), found["whole"]) == (True, "")


def test_a_bundle_is_taken_in_and_a_newer_file_of_its_name_brings_it_up_to_date(
    services: Services, root: Path, intake: Intake, tmp_path: Path
) -> None:
    code = make_repo(tmp_path, {"a.py": "x = 1\n"}, name="code")
    git(code, "bundle", "create", "-q", str(root / "tool.bundle"), "--all")
    with working(services):
        intake.look()
        until(lambda: idle(services))
        assert services.generations.published(services.registry.repo("tool").id).info.files == 1
        jobs = len(services.jobs.list())
        intake.look()
        assert len(services.jobs.list()) == jobs
        commit(code, {"b.py": "y = 1\n"})
        git(code, "bundle", "create", "-q", str(root / "tool.bundle"), "--all")
        intake.look()
        until(lambda: idle(services))
    assert services.generations.published(services.registry.repo("tool").id).info.files == 2


def test_a_taken_name_and_a_missing_directory_are_said_once(
    services: Services, root: Path, intake: Intake, tmp_path: Path
) -> None:
    mine = make_repo(tmp_path / "mine", {"a.py": "x = 1\n"}, name="tool")
    services.registry.add_repo(services.registry.project("default").id, mine)
    make_repo(root, {"a.py": "x = 1\n"}, name="tool")
    away = Intake(services, tmp_path / "nowhere")
    with capture_logs() as logs:
        for _ in range(2):
            intake.look()
            away.look()
    assert names(services) == ["tool"]
    assert services.registry.repo("tool").source == mine
    assert [line["event"] for line in logs] == ["reconciling.refused", "intake.unreadable"]
    assert [(each.path, each.outcome) for each in services.wanted.all()] == [(str(root / "tool"), "duplicate")]
