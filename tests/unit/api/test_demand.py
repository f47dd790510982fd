"""A request may say how fresh the index must be, and then is refused, or waits, instead of being told what is old."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.codeintel.repo_settings import RepoSettings
from appliance.services import Services
from tests.support.appliance import Client, make_services, serving, working
from tests.support.quick import QuickIndexer
from tests.support.repos import commit, git, make_repo


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with closing(make_services(tmp_path / "data")) as services:
        yield services


@pytest.fixture
def client(services: Services) -> Iterator[Client]:
    with serving(services) as client:
        yield client


@pytest.fixture
def code(tmp_path: Path, services: Services) -> Path:
    """Index a repository that also tracks the branch `next`, which is one file ahead."""
    code = make_repo(tmp_path, {"a.py": "def alpha(): pass\n"}, name="code")
    git(code, "branch", "next", "main")
    commit(code, {"b.py": "def beta(): pass\n"}, branch="next")
    project = services.registry.project("default").id
    repo = services.registry.add_repo(project, code, settings=RepoSettings(branches=("next",)))
    indexer = QuickIndexer(services.registry, paths=services.paths, limits=services.settings.index, clock=services.clock)
    indexer.index(repo.id, progress=lambda *_: None, check=lambda: None)
    return code


def test_an_old_index_says_so_and_is_refused_where_that_is_asked_for(code: Path, client: Client) -> None:
    current = client.get("/api/v1/search", params={"q": "alpha", "max_behind": 0, "max_lag": 0})
    assert (current.status_code, current.json()["freshness"][0]["behind"]) == (200, 0)
    head = commit(code, {"a.py": "def gamma(): pass\n"})
    for demand in ({"max_behind": 0}, {"max_lag": 0}):
        for path, query in (("search", {"q": "alpha"}), ("graph/callers", {"name": "alpha"})):
            refused = client.get(f"/api/v1/{path}", params={**query, **demand})
            assert (refused.status_code, refused.json()["code"]) == (409, "stale")
            assert refused.json()["remedy"]
        refused = client.post("/api/v1/ask", json={"question": "where is alpha", **demand})
        assert (refused.status_code, refused.json()["code"]) == (409, "stale")
    told = client.get("/api/v1/search", params={"q": "alpha", "max_behind": 1, "max_lag": 1e6}).json()
    assert [(each["behind"], each["commit"] == head) for each in told["freshness"]] == [(1, False)]
    assert any("not in the index" in warning for warning in told["warnings"])


def test_a_request_may_wait_for_the_index_that_it_wants(code: Path, client: Client, services: Services) -> None:
    head = commit(code, {"a.py": "def gamma(): pass\n"})
    with working(services):
        found = client.get("/api/v1/search", params={"q": "gamma", "max_behind": 0, "wait": 60})
    assert found.status_code == 200
    assert [(each["behind"], each["commit"]) for each in found.json()["freshness"]] == [(0, head)]
    assert found.json()["hits"][0]["path"] == "a.py"


def test_a_wait_ends_in_a_refusal_when_no_index_comes(code: Path, client: Client, services: Services) -> None:
    commit(code, {"a.py": "def gamma(): pass\n"})
    refused = client.get("/api/v1/search", params={"q": "gamma", "max_behind": 0, "wait": 0.2})
    assert (refused.status_code, refused.json()["code"]) == (409, "stale")
    assert [job.state for job in services.jobs.list(kind="index", limit=1)] == ["queued"]


def test_what_cannot_be_told_is_not_taken_for_fresh(code: Path, client: Client) -> None:
    code.rename(code.parent / "away")
    refused = client.get("/api/v1/search", params={"q": "alpha", "max_behind": 5})
    assert (refused.status_code, refused.json()["code"]) == (409, "stale")
    assert client.get("/api/v1/search", params={"q": "alpha"}).status_code == 200


def test_every_door_reads_the_branch_that_is_named(code: Path, client: Client) -> None:
    del code
    assert client.get("/api/v1/search", params={"q": "beta"}).json()["freshness"][0]["branch"] == "main"
    found = client.get("/api/v1/search", params={"q": "beta", "branch": "next"}).json()
    assert (found["hits"][0]["path"], found["freshness"][0]["branch"]) == ("b.py", "next")
    asked = client.post("/api/v1/ask", json={"question": "where is beta defined", "branches": ["ne*"]}).json()
    assert asked["evidence"][0]["path"] == "b.py"
    gone = client.get("/api/v1/search", params={"q": "beta", "branch": "topic"})
    assert (gone.status_code, gone.json()["code"]) == (404, "not_found")
