"""More than one project: what a page offers, it finds."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.access import cookie
from appliance.codeintel.registry import Project, Repo
from appliance.codeintel.repo_settings import RepoSettings
from appliance.console.choices import MOST_BRANCHES, choices
from appliance.services import DEFAULT_PROJECT, Services
from tests.support.appliance import Client, make_services, serving
from tests.support.quick import QuickIndexer
from tests.support.repos import commit, make_repo

OPTION = re.compile(
    r'<option value="([^"]*)" data-project="([^"]*)"(?: data-repo="([^"]*)")?(?: data-branch="([^"]*)")?'
    r"( selected)?>([^<]*)</option>"
)
PAGE = {"accept": "text/html"}
BRANCH = "release/4"


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Yield services with a repository `shop` in each of two projects, and an empty third."""
    with closing(make_services(tmp_path_factory.mktemp("data"))) as services:
        services.registry.add_project("lab")
        services.registry.add_project("empty")
        indexer = QuickIndexer(services.registry, paths=services.paths, limits=services.settings.index, clock=services.clock)
        for project in (DEFAULT_PROJECT, "lab"):
            code = f'def derive_key():\n    """Derive the key of {project}."""\n    return "{project}"\n'
            source = make_repo(tmp_path_factory.mktemp(project), {f"{project}.py": code}, name="shop")
            commit(source, {f"{project}.py": code, "four.py": "def quartet():\n    return 4\n"}, branch=BRANCH)
            tracked = RepoSettings(branches=(BRANCH,) if project == "lab" else ())
            added = services.registry.add_repo(services.registry.project(project).id, source, settings=tracked)
            indexer.index(added.id, progress=lambda *_: None, check=lambda: None)
        yield services


@pytest.fixture(scope="module")
def client(services: Services) -> Iterator[Client]:
    with serving(services) as client:
        client.headers.update(PAGE)
        yield client


def project(services: Services, name: str) -> Project:
    return services.registry.project(name)


def at_branch(services: Services) -> str:
    return f"{repo(services, 'lab').id}@{BRANCH}"


def repo(services: Services, name: str) -> Repo:
    return services.registry.repos(project(services, name).id)[0]


def test_each_choice_of_a_page_is_found_by_search_ask_and_the_api(client: Client, services: Services) -> None:
    for page in ("/search", "/ask"):
        offered = OPTION.findall(client.get(page).text)
        assert [label for *_, label in offered] == ["All of default", "shop", "All of lab", "shop", f"shop at {BRANCH}"]
        for value, of, one, branch, _, _ in offered:
            name = next(known.name for known in services.registry.projects() if known.id == of)
            found = client.get("/search", params={"q": "derive_key", "repo": value})
            assert found.status_code == 200
            assert set(re.findall(r'data-slot="name">([^<]+)</b>', found.text)) == {f"{name}.py"}
            asked = client.post("/ask", data={"question": "Where is derive_key defined?", "repo": value})
            assert asked.status_code == 200
            assert f'<b data-slot="name">{name}.py</b>' in asked.text
            body = {"question": "Where is derive_key defined?", "project": of}
            body |= ({"repos": [one]} if one else {}) | ({"branches": [branch]} if branch else {})
            answer = json.loads(client.post("/api/v1/ask", json=body, headers={"accept": "application/json"}).text)
            assert {each["path"] for each in answer["evidence"]} == {f"{name}.py"}


def test_what_stands_on_a_branch_alone_is_found_where_that_is_chosen(client: Client, services: Services) -> None:
    for value, there in ((repo(services, "lab").id, False), (at_branch(services), True)):
        found = client.get("/search", params={"q": "symbol:quartet", "repo": value})
        assert ("four.py" in found.text) == there
        asked = client.post("/ask", data={"question": "Where is quartet defined?", "repo": value})
        assert ('<b data-slot="name">four.py</b>' in asked.text) == there
    gone = client.get("/search", params={"q": "x", "repo": f"{repo(services, 'lab').id}@gone"})
    assert (gone.status_code, "No branch gone is indexed" in gone.text) == (404, True)


@pytest.mark.parametrize("branch", ["\u202egnp", "\udcff", "a\x1b"])
def test_a_branch_whose_name_no_page_can_show_is_not_offered(
    services: Services, monkeypatch: pytest.MonkeyPatch, branch: str
) -> None:
    """It would break the page, or pose as another; a pattern of `branch:` reaches it."""
    monkeypatch.setattr(type(services.generations), "branches", lambda *_given: ["", branch, "fine"])
    labels = [one.label for group in choices(services).groups for one in group.choices if one.branch]
    assert labels == ["shop at fine"]


def test_more_branches_than_a_page_has_room_for_are_counted(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(services.generations), "branches", lambda *_given: [f"b{n}" for n in range(MOST_BRANCHES + 3)])
    offered = choices(services)
    assert sum(bool(one.branch) for group in offered.groups for one in group.choices) == MOST_BRANCHES
    assert offered.more == 3


@pytest.mark.parametrize("page", ["/ask?repo={}", "/search?repo={}"])
def test_what_was_chosen_stays_chosen(client: Client, services: Services, page: str) -> None:
    for value in (
        "",
        repo(services, "default").id,
        project(services, "lab").id,
        repo(services, "lab").id,
        at_branch(services),
    ):
        chosen = [found[0] for found in OPTION.findall(client.get(page.format(value)).text) if found[4]]
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


def test_the_page_of_a_repository_names_its_project_and_searches_it_alone(client: Client, services: Services) -> None:
    added = repo(services, "lab")
    shown = client.get(f"/repos/{added.id}").text
    assert '<dt>Project</dt><dd class="text">lab</dd>' in shown
    assert f'href="/search?repo={added.id}"' in shown, "its name is that of two"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[tuple[Services, Client]]:
    """Yield services of this test's own, and a browser that is logged in."""
    with closing(make_services(tmp_path / "data")) as services, serving(services, key=None) as client:
        session = services.access.sessions.open("administrator")
        client.headers.update(PAGE | {"cookie": f"{cookie.NAME}={session}", "sec-fetch-site": "same-origin"})
        yield services, client


def test_the_form_adds_to_the_project_that_is_named_and_makes_one_that_is_new(
    own: tuple[Services, Client], tmp_path: Path
) -> None:
    services, browser = own
    source = make_repo(tmp_path, {"a.py": "a = 1\n"}, name="shop")
    assert 'name="project" maxlength="100" autocomplete="off" list="projects" value="default"' in browser.get("/repos").text
    for form in ({}, {"project": ""}, {"project": " default "}, {"project": "lab"}, {"project": "lab", "name": "again"}):
        sent = {"source": str(source), "name": f"n{len(services.registry.repos())}"} | form
        assert browser.post("/repos", data=sent, follow_redirects=False).status_code == 303
    lab = services.registry.project("lab")
    assert [project.name for project in services.registry.projects()] == ["default", "lab"]
    assert len(services.registry.repos(lab.id)) == 2
    page = browser.get("/repos").text
    assert page.count('<td data-name="Project">lab</td>') == 2
    assert "5 in 2 projects" in page
    assert '<option value="lab"></option>' in page


@pytest.mark.parametrize("name", ["a/b", "x" * 101, "tab\there", "\u202eevil"])
def test_a_project_whose_name_is_none_is_refused_and_the_form_comes_back(
    own: tuple[Services, Client], tmp_path: Path, name: str
) -> None:
    services, browser = own
    source = make_repo(tmp_path, {"a.py": "a = 1\n"}, name="shop")
    answer = browser.post("/repos", data={"source": str(source), "project": name})
    assert answer.status_code == 400
    assert "Give the project another name." in answer.text
    assert f'value="{source}"' in answer.text
    assert not services.registry.repos()
    assert [project.name for project in services.registry.projects()] == ["default"]


def test_no_other_site_adds_to_a_project(own: tuple[Services, Client], tmp_path: Path) -> None:
    services, browser = own
    form = {"source": str(tmp_path), "project": "lab"}
    assert browser.post("/repos", data=form, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert [project.name for project in services.registry.projects()] == ["default"]


def test_with_one_project_no_column_says_so(own: tuple[Services, Client], tmp_path: Path) -> None:
    services, browser = own
    source = make_repo(tmp_path, {"a.py": "a = 1\n"}, name="shop")
    services.registry.add_repo(services.registry.project(DEFAULT_PROJECT).id, source)
    services.registry.add_project("empty")
    page = browser.get("/repos").text
    assert 'data-name="Project"' not in page
    assert "1 in 1 project<" in page


def test_the_api_says_how_to_make_a_project_that_is_missing(client: Client, tmp_path: Path) -> None:
    answer = client.post("/api/v1/repos", json={"path": str(tmp_path), "project": "none"})
    assert answer.status_code == 404
    assert "POST /api/v1/projects" in answer.json()["remedy"]


def test_how_a_repository_is_kept_is_shown_and_changed_by_its_form(own: tuple[Services, Client], tmp_path: Path) -> None:
    services, client = own
    source = make_repo(tmp_path, {"a.py": "a = 1\n"}, name="kept")
    repo = services.registry.add_repo(services.registry.project(DEFAULT_PROJECT).id, source)
    form = {
        "branches": "release/*\r\n\r\nrefs/tags/v*\r\n",
        "exclude": "gen/",
        "schedule": "daily",
        "max_mb": "50",
        "share": "25",
        "watch": "yes",
    }
    sent = client.post(f"/repos/{repo.id}/settings", data=form, follow_redirects=False)
    assert (sent.status_code, sent.headers["location"]) == (303, f"/repos/{repo.id}")
    kept = services.registry.repo(repo.id).settings
    assert (kept.branches, kept.exclude, kept.schedule, kept.max_mb, kept.share, kept.watch) == (
        ("release/*", "refs/tags/v*"), ("gen/",), "daily", 50, 25, True,
    )  # fmt: skip
    assert [job.key for job in services.jobs.list(kind="index", limit=1)] == [repo.id]
    page = client.get(f"/repos/{repo.id}").text
    assert "release/*\nrefs/tags/v*</textarea>" in page
    assert 'value="daily"' in page

    refused = client.post(f"/repos/{repo.id}/settings", data=form | {"schedule": "now and then"})
    assert refused.status_code == 400
    assert "is no schedule" in refused.text
    assert "write one from 1 to 100" in client.post(f"/repos/{repo.id}/settings", data=form | {"share": "half"}).text
    assert 'value="now and then"' in refused.text
    assert services.registry.repo(repo.id).settings == kept
