"""More than one project: what a page offers, it finds."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.codeintel.build.pipeline import Indexer
from appliance.codeintel.registry import Project, Repo
from appliance.services import DEFAULT_PROJECT, Services
from tests.support.appliance import Client, make_services, serving
from tests.support.repos import make_repo

OPTION = re.compile(r'<option value="([^"]*)" data-project="([^"]*)"(?: data-repo="([^"]*)")?( selected)?>([^<]*)</option>')
PAGE = {"accept": "text/html"}


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Yield services with a repository `shop` in each of two projects, and an empty third."""
    with closing(make_services(tmp_path_factory.mktemp("data"))) as services:
        services.registry.add_project("lab")
        services.registry.add_project("empty")
        indexer = Indexer(services.registry, paths=services.paths, limits=services.settings.index, clock=services.clock)
        for project in (DEFAULT_PROJECT, "lab"):
            code = f'def derive_key():\n    """Derive the key of {project}."""\n    return "{project}"\n'
            source = make_repo(tmp_path_factory.mktemp(project), {f"{project}.py": code}, name="shop")
            added = services.registry.add_repo(services.registry.project(project).id, source)
            indexer.index(added.id, progress=lambda *_: None, check=lambda: None)
        yield services


@pytest.fixture(scope="module")
def client(services: Services) -> Iterator[Client]:
    with serving(services) as client:
        client.headers.update(PAGE)
        yield client


def project(services: Services, name: str) -> Project:
    return services.registry.project(name)


def repo(services: Services, name: str) -> Repo:
    return services.registry.repos(project(services, name).id)[0]


def test_each_choice_of_a_page_is_found_by_search_ask_and_the_api(client: Client, services: Services) -> None:
    for page in ("/search", "/ask"):
        offered = OPTION.findall(client.get(page).text)
        assert [label for *_, label in offered] == ["All of default", "shop", "All of lab", "shop"]
        for value, of, one, _, _ in offered:
            name = next(known.name for known in services.registry.projects() if known.id == of)
            found = client.get("/search", params={"q": "derive_key", "repo": value})
            assert found.status_code == 200
            assert set(re.findall(r'data-slot="name">([^<]+)</b>', found.text)) == {f"{name}.py"}
            asked = client.post("/ask", data={"question": "Where is derive_key defined?", "repo": value})
            assert asked.status_code == 200
            assert f'<b data-slot="name">{name}.py</b>' in asked.text
            body = {"question": "Where is derive_key defined?", "project": of} | ({"repos": [one]} if one else {})
            answer = json.loads(client.post("/api/v1/ask", json=body, headers={"accept": "application/json"}).text)
            assert {each["path"] for each in answer["evidence"]} == {f"{name}.py"}


@pytest.mark.parametrize("page", ["/ask?repo={}", "/search?repo={}"])
def test_what_was_chosen_stays_chosen(client: Client, services: Services, page: str) -> None:
    for value in ("", repo(services, "default").id, project(services, "lab").id, repo(services, "lab").id):
        chosen = [found[0] for found in OPTION.findall(client.get(page.format(value)).text) if found[3]]
        assert chosen == [value]


def test_a_name_that_two_projects_have_is_said_to_be_two(client: Client) -> None:
    answer = client.get("/search", params={"q": "derive_key", "repo": "shop"})
    assert answer.status_code == 409
    assert "Name it by its id." in answer.text


def test_with_one_project_nothing_speaks_of_projects(tmp_path: Path) -> None:
    with closing(make_services(tmp_path)) as services, serving(services) as client:
        page = client.get("/search", headers=PAGE).text
    assert [label for *_, label in OPTION.findall(page)] == ["All repositories"]
    assert "optgroup" not in page


def test_the_api_says_how_to_make_a_project_that_is_missing(client: Client, tmp_path: Path) -> None:
    answer = client.post("/api/v1/repos", json={"path": str(tmp_path), "project": "none"})
    assert answer.status_code == 404
    assert "POST /api/v1/projects" in answer.json()["remedy"]
