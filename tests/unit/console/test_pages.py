"""Every page, asked for as a browser does: accessible, small, exact, and safe with what comes from outside."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest

from appliance.access import cookie
from appliance.codeintel.registry import Repo
from appliance.services import DEFAULT_PROJECT, Services
from tests.support.appliance import Client, make_services, serving
from tests.support.chat import ScriptedChat, said
from tests.support.quick import QuickIndexer
from tests.support.repos import commit, make_repo

CODE = '''"""Where models are kept."""


class ModelStore:
    """Model files by digest."""

    def verify_digest(self, path):
        """Compare the digest of the file at path with the catalogue."""
        return path in self.files
'''
SAID = ("`ModelStore` compares the digest of the file with the catalogue.", "It phones `evil_corp_home` first.")
PAGE = {"accept": "text/html", "sec-fetch-site": "same-origin"}
HOSTILE = '"><img src=x onerror=alert(1)>.py'
NOT_UTF8 = "caf\udce9.py"
PAGES = (
    "/ask",
    "/search",
    "/search?q=verify+digest",
    "/repos",
    "/repos/{repo}",
    "/status",
    "/file?repo={repo}&path=store.py&commit={commit}&start=7&end=9",
    "/browse?repo={repo}",
    "/symbol?repo={repo}&name=ModelStore",
    "/symbol?repo={repo}&path=store.py&line=9&word=verify_digest",
)


class Outline(HTMLParser):
    """What assistive technology needs of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lang = ""
        self.tags: list[str] = []
        self.labelled: set[str] = set()
        self.fields: list[dict[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        if tag == "html":
            self.lang = found.get("lang") or ""
        if tag == "label":
            self.labelled.add(found.get("for") or "")
        if tag in {"input", "select", "textarea"} and found.get("type") != "hidden":
            self.fields.append(found)


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Yield real services whose model says `SAID`."""
    with closing(make_services(tmp_path_factory.mktemp("data"), chat=ScriptedChat(said(*SAID)))) as services:
        yield services


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository with a name that is markup, and one that is not UTF-8."""
    files: dict[str, bytes | str | None] = {
        "store.py": CODE,
        HOSTILE: "x = '</code><script>alert(2)</script>'\n",
        NOT_UTF8: "coffee = 1\n",
        "logo.png": b"\x89PNG\0",
        "deep.py": "x = " + "(" * 5_000 + ")" * 5_000 + "\n",
    }
    return make_repo(tmp_path_factory.mktemp("source"), files, name="models")


@pytest.fixture(scope="module")
def repo(services: Services, source: Path) -> Repo:
    """Index that repository."""
    return indexed(services, source)


@pytest.fixture(scope="module")
def browser(services: Services) -> Iterator[Client]:
    """Yield a browser that is logged in."""
    with logged_in(services) as client:
        yield client


def indexed(services: Services, source: Path) -> Repo:
    """Add what is at *source*, and index it."""
    added = services.registry.add_repo(services.registry.project(DEFAULT_PROJECT).id, source)
    indexer = QuickIndexer(services.registry, paths=services.paths, limits=services.settings.index, clock=services.clock)
    indexer.index(added.id, progress=lambda *_: None, check=lambda: None)
    return added


@contextmanager
def logged_in(services: Services) -> Iterator[Client]:
    """Yield a browser of the administrator."""
    with serving(services, key=None) as client:
        client.headers.update(PAGE | {"cookie": f"{cookie.NAME}={services.access.sessions.open('administrator')}"})
        yield client


@pytest.fixture
def commit_id(services: Services, repo: Repo) -> str:
    return services.generations.published(repo.id).info.commit


def test_a_repository_says_of_how_many_files_only_the_text_is_known(browser: Client, repo: Repo) -> None:
    assert "1 by their text alone: their syntax could not be used" in browser.get(f"/repos/{repo.id}").text


def test_what_nobody_could_tell_of_a_work_tree_is_not_left_unsaid(tmp_path: Path) -> None:
    with closing(make_services(tmp_path / "data", chat=ScriptedChat(said(*SAID)))) as services:
        source = make_repo(tmp_path, {"store.py": CODE})
        indexed(services, source)
        source.rename(tmp_path / "gone")
        with logged_in(services) as browser:
            pages = browser.get("/search?q=verify_digest"), browser.post("/ask", data={"question": "verify_digest"})
            for page in pages:
                assert "source not readable, maybe changes that no commit has" in page.text


@pytest.mark.parametrize("address", PAGES)
def test_a_page_has_its_language_landmarks_one_heading_and_labels(
    browser: Client, repo: Repo, commit_id: str, address: str
) -> None:
    answer = browser.get(address.format(repo=repo.id, commit=commit_id))
    page = Outline(answer.text)
    assert answer.status_code == 200
    assert page.lang == "en"
    assert (page.tags.count("h1"), page.tags.count("main"), page.tags.count("title")) == (1, 1, 1)
    assert "nav" in page.tags
    assert [field for field in page.fields if field.get("id") not in page.labelled and "aria-label" not in field] == []


@pytest.mark.parametrize("address", PAGES)
def test_a_page_is_small_and_comes_under_the_strict_policy(
    browser: Client, repo: Repo, commit_id: str, address: str
) -> None:
    answer = browser.get(address.format(repo=repo.id, commit=commit_id))
    assert len(answer.content) < 60_000
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"


def test_the_login_page_needs_no_login(services: Services) -> None:
    with serving(services, key=None) as stranger:
        answer = stranger.get("/login?next=//evil.example/", headers=PAGE)
    assert answer.status_code == 200
    assert 'name="next" value="/ask"' in answer.text
    assert Outline(answer.text).tags.count("h1") == 1


@pytest.mark.parametrize(
    "elsewhere", ["//evil.example", "https://evil.example", "/\\evil.example", "/login", "javascript:alert(1)", "/a\nb"]
)
def test_a_login_never_leads_to_another_site(services: Services, elsewhere: str) -> None:
    with serving(services, key=None) as stranger:
        form = {"token": services.access.tokens.issue(), "next": elsewhere}
        answer = stranger.post("/login", data=form, headers=PAGE, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/ask")


def test_a_wrong_token_brings_the_form_back_with_the_reason(services: Services) -> None:
    with serving(services, key=None) as stranger:
        answer = stranger.post("/login", data={"token": "wrong"}, headers=PAGE)
    assert answer.status_code == 401
    assert "unauthenticated" in answer.text
    assert "set-cookie" not in answer.headers


def test_a_file_name_that_is_markup_is_shown_as_it_is(browser: Client, repo: Repo, commit_id: str) -> None:
    answer = browser.get(f"/file?repo={repo.id}&path={quote(HOSTILE)}&commit={commit_id}&start=1&end=1")
    assert "<img src=x" not in answer.text
    assert "<script>alert" not in answer.text
    assert "&#34;&gt;&lt;img src=x onerror=alert(1)&gt;.py" in answer.text


def test_a_file_name_that_is_not_utf8_opens(browser: Client, repo: Repo, commit_id: str) -> None:
    for path in ("caf%E9.py", quote("caf\\xe9.py")):
        answer = browser.get(f"/file?repo={repo.id}&path={path}&commit={commit_id}&start=1&end=1")
        assert answer.status_code == 200
        assert "caf\\xe9.py" in answer.text


def test_search_links_to_the_exact_lines(browser: Client, repo: Repo, commit_id: str) -> None:
    answer = browser.get("/search?q=verify_digest")
    assert f"/file?repo={repo.id}&amp;path=store.py&amp;commit={commit_id}" in answer.text


def test_the_answer_without_script_has_everything(browser: Client, repo: Repo) -> None:
    del repo
    answer = browser.post("/ask", data={"question": "How is the digest of a file compared with the catalogue?"})
    assert answer.status_code == 200
    assert "<code>ModelStore</code> compares the digest" in answer.text
    assert "The locations are verified; the reading is not." in answer.text
    assert "evil_corp_home" in answer.text.partition('aria-label="Struck claims"')[2]


def test_a_file_says_when_its_branch_has_moved_on(browser: Client, repo: Repo, source: Path, commit_id: str) -> None:
    address = f"/file?repo={repo.id}&path=store.py&commit={commit_id}&start=7&end=9"
    assert "moved on" not in browser.get(address).text
    commit(source, {"store.py": CODE.upper()}, "shout", when=1_700_000_100)
    answer = browser.get(address)
    assert "main has moved on by 1 commit; this file has changed." in answer.text
    assert "verify_digest" in answer.text


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/repos/nothing", 404),
        ("/file?repo={repo}&path=store.py&commit=zz", 400),
        ("/file?repo={repo}&path=nothing.py&commit={commit}", 404),
        ("/file?repo={repo}&path=store.py&commit={commit}&start=900", 404),
        ("/search?offset=-1", 400),
        ("/static/nothing.css", 404),
    ],
)
def test_what_does_not_exist_is_a_page_with_a_code(
    browser: Client, repo: Repo, commit_id: str, address: str, status: int
) -> None:
    answer = browser.get(address.format(repo=repo.id, commit=commit_id))
    assert answer.status_code == status
    assert "fault-code" in answer.text


def test_a_long_file_is_shown_in_pages_that_stay_small(browser: Client, repo: Repo, source: Path) -> None:
    long = "".join(f'value_{n} = "{n}" + call(argument_{n})  # comment {n}\n' for n in range(10_500))
    tip = commit(source, {"long.py": long}, "long", branch="long", when=1_700_000_200)
    address = f"/file?repo={repo.id}&path=long.py&commit={tip}"
    for query in ("", "&start=10000&end=10400", "&start=9000&end=9010&at=9300"):
        answer = browser.get(address + query)
        assert answer.status_code == 200
        assert len(answer.content) < 60_000
    assert "Earlier lines" in answer.text
    assert 'id="L9300"' in answer.text


def test_a_repository_is_removed_only_by_its_name(browser: Client, services: Services, source: Path) -> None:
    doomed = services.registry.add_repo(services.registry.project(DEFAULT_PROJECT).id, source, name="doomed")
    refused = browser.post(f"/repos/{doomed.id}/remove", data={"confirm": "models"})
    assert refused.status_code == 400
    assert services.registry.repo(doomed.id) == doomed
    gone = browser.post(f"/repos/{doomed.id}/remove", data={"confirm": "doomed"}, follow_redirects=False)
    assert (gone.status_code, gone.headers["location"]) == (303, "/repos")
    assert browser.get(f"/repos/{doomed.id}").status_code == 404


def test_a_form_of_another_site_is_refused(browser: Client, repo: Repo) -> None:
    answer = browser.post(f"/repos/{repo.id}/refresh", headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 403


def test_a_static_file_is_kept_under_its_digest_and_asked_for_without(browser: Client) -> None:
    page = browser.get("/ask").text
    address = page.partition('rel="stylesheet" href="')[2].partition('"')[0]
    lasting = browser.get(address)
    assert "immutable" in lasting.headers["cache-control"]
    again = browser.get("/static/tokens.css", headers={"if-none-match": lasting.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_folder_of_many_files_keeps_its_pages_small_and_says_what_is_not_shown(
    services: Services, browser: Client, tmp_path: Path
) -> None:
    folder = "a_folder_with_a_rather_long_name/another_one_below_it"
    body = (
        "def function_with_a_long_name(argument_one, argument_two):\n    return [argument_one, argument_two, None]\n\n" * 150
    )
    files: dict[str, bytes | str | None] = {f"{folder}/module_number_{n:03}.py": body for n in range(200)}
    added = services.registry.add_repo(
        services.registry.project(DEFAULT_PROJECT).id, make_repo(tmp_path, files, name="many")
    )
    indexer = QuickIndexer(services.registry, paths=services.paths, limits=services.settings.index, clock=services.clock)
    info = indexer.index(added.id, progress=lambda *_: None, check=lambda: None)
    file = f"{folder}/module_number_150.py&commit={info.commit}&start=200&end=201"
    for address, rest in ((f"/browse?repo={added.id}&path={folder}", 80), (f"/file?repo={added.id}&path={file}", 188)):
        answer = browser.get(address)
        assert f"{rest} more entries" in answer.text
        assert "module_number_150.py" in answer.text or "/browse" in address
        assert len(answer.content) < 60_000
