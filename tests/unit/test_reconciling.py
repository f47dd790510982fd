"""What the settings declare is kept like what was added by hand, and each table says what became of it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.reconciling import declared, reconcile
from appliance.services import Services
from tests.support.appliance import make_services, serving, working
from tests.support.house import until
from tests.support.repos import make_repo

TABLES = """
[[repositories]]
path = "{good}"
branches = ["release/*"]

[[repositories]]
path = "nosuch://git.site/x"

[[repositories]]
path = "{good}"
name = "again"

[[repositories]]
path = "{away}"
project = "lab"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    good = make_repo(tmp_path, {"a.py": "a = 1\n"}, name="good")
    (tmp_path / "skellig.toml").write_text(TABLES.format(good=good, away=tmp_path / "away"))
    return tmp_path / "skellig.toml"


@pytest.fixture
def services(tmp_path: Path, config: Path) -> Iterator[Services]:
    with closing(make_services(tmp_path / "data", extra={"SKELLIG_CONFIG": str(config)})) as services:
        yield services


def settle(services: Services) -> None:
    with working(services):
        until(lambda: all(job.ended for job in services.jobs.list()))


def test_every_declared_repository_has_a_state_and_a_reason(services: Services) -> None:
    reconcile(services, "declared", declared(services))
    settle(services)
    with serving(services) as client:
        listed = client.get("/api/v1/wanted").json()
        assert [each["state"] for each in listed] == ["ready", "error", "duplicate", "error"]
        assert all(each["reason"] and each["remedy"] for each in listed[1:])
        assert "nosuch" in listed[1]["reason"]
        assert listed[2]["repo"] == listed[0]["repo"]
        assert {repo["name"]: repo["state"] for repo in client.get("/api/v1/repos").json()} == {
            "good": "ready",
            "away": "error",
        }
        assert "skellig_repos_in_error 1.0" in client.get("/metrics").text


def test_it_is_kept_as_the_settings_say_and_a_second_look_changes_nothing(services: Services) -> None:
    for _ in range(2):
        reconcile(services, "declared", declared(services))
    repo = services.registry.repo("good")
    assert repo.settings.branches == ("release/*",)
    assert len(services.jobs.list(kind="index", key=repo.id)) == 1
    changed = services.registry.change_repo(repo.id, branch=None, settings=type(repo.settings)())
    reconcile(services, "declared", declared(services))
    assert (changed.settings.branches, services.registry.repo("good").settings.branches) == ((), ("release/*",))


def test_one_that_was_added_by_hand_is_the_one_that_is_declared(services: Services, tmp_path: Path) -> None:
    by_hand = services.registry.add_repo(services.registry.project("default").id, tmp_path / "good", name="mine")
    reconcile(services, "declared", declared(services))
    assert next(each.repo for each in services.wanted.all() if each.outcome == "kept") == by_hand.id
    assert [repo.name for repo in services.registry.repos(by_hand.project)] == ["mine"]
