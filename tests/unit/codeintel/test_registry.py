"""Projects and repositories, and how their last attempts went."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.base.sqlite import connect
from appliance.codeintel.registry import Registry
from appliance.config import Index
from appliance.errors import Conflict, DiskFull, InvalidInput, MalformedContent, NotFound
from appliance.ids import ProjectId
from tests.support.clock import FakeClock
from tests.support.generations import data_at
from tests.support.repos import make_repo

CODE = {"a.py": "x = 1\n"}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def registry(tmp_path: Path, clock: FakeClock) -> Iterator[Registry]:
    paths = data_at(tmp_path / "data")
    registry = Registry(connect(paths.global_db), paths=paths, limits=Index(), clock=clock)
    yield registry
    registry.close()


@pytest.fixture
def project(registry: Registry) -> ProjectId:
    return registry.add_project("default").id


def test_a_repo_is_called_like_its_folder_unless_it_is_given_a_name(
    registry: Registry, project: ProjectId, tmp_path: Path
) -> None:
    plain = registry.add_repo(project, make_repo(tmp_path, CODE, name="alpha"))
    bare = registry.add_repo(project, make_repo(tmp_path, CODE, name="beta.git", bare=True))
    named = registry.add_repo(project, make_repo(tmp_path, CODE, name="gamma"), name="delta")
    assert [plain.name, bare.name, named.name] == ["alpha", "beta", "delta"]
    assert [repo.name for repo in registry.repos(project)] == ["alpha", "beta", "delta"]


def test_a_repo_is_found_by_its_id_and_by_its_name(registry: Registry, project: ProjectId, tmp_path: Path) -> None:
    repo = registry.add_repo(project, make_repo(tmp_path, CODE, name="alpha"))
    assert registry.repo("alpha") == registry.repo(repo.id) == repo
    with pytest.raises(NotFound):
        registry.repo("beta")


def test_a_name_is_taken_once_in_a_project_and_again_in_another(
    registry: Registry, project: ProjectId, tmp_path: Path
) -> None:
    source = make_repo(tmp_path, CODE, name="alpha")
    first = registry.add_repo(project, source)
    with pytest.raises(Conflict):
        registry.add_repo(project, source)
    other = registry.add_project("other").id
    second = registry.add_repo(other, source)
    with pytest.raises(Conflict):
        registry.repo("alpha")
    assert registry.repo("alpha", project=other) == second
    assert registry.repo(first.id) == first


def test_a_project_name_is_taken_once(registry: Registry, project: ProjectId) -> None:
    with pytest.raises(Conflict):
        registry.add_project("default")
    assert registry.project("default") == registry.project(project)
    with pytest.raises(NotFound):
        registry.project("none")


def test_a_repo_in_an_unknown_project_is_refused(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        registry.add_repo(ProjectId("prj_none"), make_repo(tmp_path, CODE))


@pytest.mark.parametrize("name", ["", " ", "a/b", "a\nb", "x" * 101])
def test_a_name_that_cannot_be_shown_in_a_table_is_refused(
    registry: Registry, project: ProjectId, tmp_path: Path, name: str
) -> None:
    with pytest.raises(InvalidInput):
        registry.add_repo(project, make_repo(tmp_path, CODE), name=name or " ")
    with pytest.raises(InvalidInput):
        registry.add_project(name)


def test_what_cannot_be_indexed_is_refused_when_it_is_added_and_leaves_nothing(
    registry: Registry, project: ProjectId, tmp_path: Path
) -> None:
    """A wrong path must not become a repository that looks fine and never has results."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotFound):
        registry.add_repo(project, tmp_path / "none")
    with pytest.raises(InvalidInput):
        registry.add_repo(project, tmp_path / "file")
    with pytest.raises(NotFound):
        registry.add_repo(project, make_repo(tmp_path, None, name="without-commits"))
    with pytest.raises(NotFound):
        registry.add_repo(project, make_repo(tmp_path, CODE, name="alpha"), branch="none")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / ".git").write_text("rubbish")
    with pytest.raises((MalformedContent, InvalidInput, NotFound)):
        registry.add_repo(project, broken)
    assert registry.repos() == []
    assert list((tmp_path / "data" / "projects" / project / "mirrors").iterdir()) == []


def test_attempts_are_noted_with_code_message_and_remedy(
    registry: Registry, project: ProjectId, tmp_path: Path, clock: FakeClock
) -> None:
    repo = registry.add_repo(project, make_repo(tmp_path, CODE))
    assert (repo.last_attempt, repo.error) == (None, "")
    registry.attempted(repo.id, None)
    clock.advance(60)
    registry.attempted(repo.id, DiskFull("No space is left.", remedy="Free some."))
    noted = registry.repo(repo.id)
    assert (noted.error, noted.message, noted.remedy) == ("disk_full", "No space is left.", "Free some.")
    assert noted.last_success == repo.created_at
    assert noted.last_attempt == repo.created_at + 60
    registry.attempted(repo.id, None)
    assert registry.repo(repo.id).error == ""


def test_each_failure_puts_the_next_attempt_twice_as_far_off_up_to_six_hours(
    registry: Registry, project: ProjectId, tmp_path: Path, clock: FakeClock
) -> None:
    repo = registry.add_repo(project, make_repo(tmp_path, CODE))
    assert repo.next_attempt is None
    pauses = []
    for _ in range(9):
        registry.attempted(repo.id, DiskFull("No space is left."))
        noted = registry.repo(repo.id)
        assert noted.next_attempt is not None
        pauses.append((noted.next_attempt - clock.now()) / 60)
    assert pauses == [5, 10, 20, 40, 80, 160, 320, 360, 360]
    assert registry.repo(repo.id).failures == len(pauses)
    registry.attempted(repo.id, None)
    assert (registry.repo(repo.id).failures, registry.repo(repo.id).next_attempt) == (0, None)


def test_a_removed_repo_is_gone_and_its_name_is_free(registry: Registry, project: ProjectId, tmp_path: Path) -> None:
    source = make_repo(tmp_path, CODE, name="alpha")
    registry.remove_repo(registry.add_repo(project, source).id)
    assert registry.repos() == []
    registry.add_repo(project, source)


def test_a_source_path_that_is_not_utf8_survives(registry: Registry, project: ProjectId, tmp_path: Path) -> None:
    source = make_repo(tmp_path, CODE, name=os.fsdecode(b"caf\xe9"))
    repo = registry.add_repo(project, source)
    assert registry.repo(repo.id).source == source
    assert repo.name == "caf\\xe9"
