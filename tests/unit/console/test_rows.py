"""One repository and one job, as pages show them."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.console.pages.rows import KINDS, repo_row
from appliance.services import DEFAULT_PROJECT, Services
from appliance.sightings import Sightings
from appliance.worker import job_handlers
from tests.support.appliance import make_services, serving
from tests.support.repos import make_repo


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with closing(make_services(tmp_path / "data")) as services:
        yield services


def test_every_kind_of_job_is_called_something(services: Services) -> None:
    assert set(KINDS) == set(job_handlers(services, Sightings(services.clock)))
    assert all(title and doing for title, doing in KINDS.values())


def test_the_status_page_names_what_each_job_works_on(services: Services, tmp_path: Path) -> None:
    """Some jobs work on a repository, some on a project; neither is shown by its id."""
    project = services.registry.project(DEFAULT_PROJECT)
    repo = services.registry.add_repo(project.id, make_repo(tmp_path, {"a.py": "a = 1\n"}, name="shop"))
    for kind in KINDS:
        services.jobs.enqueue(kind, key=project.id if kind.startswith("tidy") else repo.id)
    with serving(services) as client:
        page = client.get("/status", headers={"accept": "text/html"}).text
    for kind, (title, _) in KINDS.items():
        assert f">{title} {'default' if kind.startswith('tidy') else 'shop'}<" in page
    assert project.id not in page
    assert repo.id not in page


@pytest.mark.parametrize("kind", KINDS)
def test_a_repository_says_what_works_on_it(services: Services, tmp_path: Path, kind: str) -> None:
    repo = services.registry.add_repo(
        services.registry.project(DEFAULT_PROJECT).id, make_repo(tmp_path, {"a.py": "a = 1\n"}, name="shop")
    )
    assert repo_row(repo, services).running is None
    services.jobs.enqueue(kind, key=repo.id)
    row = repo_row(repo, services)
    assert row.running is not None
    assert row.running.phase == f"{KINDS[kind][1]} starts when the worker is free"
    if kind != "index":
        services.jobs.enqueue("index", key=repo.id)
        row = repo_row(repo, services)
        assert row.running is not None
        assert row.running.phase.startswith("Indexing")
