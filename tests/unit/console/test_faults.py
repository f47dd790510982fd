"""How pages fail: with the API's own statuses, in the log, as pages; and without keeping everybody else waiting."""

import asyncio
import inspect
import re
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from structlog.testing import capture_logs

from appliance import errors
from appliance.codeintel.registry import Registry
from appliance.codeintel.results import Answer, AnswerEvent, Scope, SearchResponse
from appliance.console.pages.status import _indexes
from appliance.errors import ApplianceError
from appliance.services import Services
from tests.support.appliance import Client, make_services, serving

PAGE = {"accept": "text/html"}
ALL = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, ApplianceError)]


class Failing:
    """Fails every search and question with *error*; without one, finds nothing."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    async def search(self, query: str, *, scope: Scope, limit: int = 20, offset: int = 0) -> SearchResponse:
        del scope, limit, offset
        if self.error:
            raise self.error
        return SearchResponse(query, (), 0, truncated=False, signals=(), freshness=(), warnings=(), timings={})

    async def ask(self, question: str, *, scope: Scope, prose: bool = True) -> AsyncGenerator[AnswerEvent, None]:
        del scope, prose
        if self.error:
            raise self.error
        answer = Answer(question, "evidence", ())
        yield AnswerEvent("evidence", answer=answer)
        yield AnswerEvent("done", answer=answer)


class OffLoop:
    """A registry that may not be asked where it would keep every other request waiting."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def __getattr__(self, name: str) -> Callable[..., object]:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return cast("Callable[..., object]", getattr(self._registry, name))
        raise AssertionError(f"{name} was asked on the event loop")


@pytest.fixture(scope="module")
def failing() -> Failing:
    return Failing()


@pytest.fixture(scope="module")
def services(failing: Failing, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with closing(make_services(tmp_path_factory.mktemp("data"))) as services:
        off_loop = cast("Registry", OffLoop(services.registry))
        yield replace(services, searcher=failing, answerer=failing, registry=off_loop)


@pytest.fixture(scope="module")
def client(services: Services) -> Iterator[Client]:
    with serving(services) as client:
        yield client


@pytest.fixture(autouse=True)
def well(failing: Failing) -> Iterator[None]:
    yield
    failing.error = None


@pytest.mark.parametrize("kind", ALL)
def test_both_doors_give_an_error_the_same_status_and_code_and_log_it_alike(
    client: Client, failing: Failing, kind: type[ApplianceError]
) -> None:
    failing.error = kind("It went wrong.", remedy="Mend it.")
    with capture_logs() as lines:
        asked = (client.get("/api/v1/search?q=x"), client.post("/api/v1/ask", json={"question": "x"}))
        shown = (client.get("/search?q=x", headers=PAGE), client.post("/ask", data={"question": "x"}, headers=PAGE))
    status, code = asked[0].status_code, asked[0].json()["code"]
    assert {answer.status_code for answer in (*asked, *shown)} == {status}
    for page in shown:
        assert f'<span class="fault-code">{code}</span>' in page.text
        assert "It went wrong." in page.text
        assert "Mend it." in page.text
    told = [line["event"] for line in lines if line.get("code") == code]
    assert told == (["request.failed"] * 2 + ["page.failed"] * 2 if status >= 500 else [])


def test_an_error_of_ours_is_a_page_that_tells_nothing_and_a_trace_in_the_log(client: Client, failing: Failing) -> None:
    failing.error = ValueError("canary words")
    with capture_logs() as lines:
        page = client.get("/search?q=x", headers=PAGE)
    assert page.status_code == 500
    assert page.headers["content-type"].startswith("text/html")
    assert not re.search("canary|Traceback|ValueError|appliance/", page.text)
    failed = next(line for line in lines if line["event"] == "page.failed")
    assert failed["exc_info"] is failing.error
    assert failed["request"] == page.headers["x-request-id"]


@pytest.mark.parametrize(
    ("method", "path", "accept", "kind"),
    [
        ("GET", "/nowhere", "text/html", "text/html"),
        ("GET", "/repos/a/b/c", "text/html", "text/html"),
        ("POST", "/status", "text/html", "text/html"),
        ("GET", "/nowhere", "*/*", "application/problem+json"),
        ("GET", "/api/v1/nowhere", "text/html", "application/problem+json"),
        ("GET", "/v1/nowhere", "text/html", "application/problem+json"),
    ],
)
def test_an_address_that_does_not_exist_is_a_page_for_browsers_alone(
    client: Client, method: str, path: str, accept: str, kind: str
) -> None:
    answer = client.request(method, path, headers={"accept": accept})
    assert answer.status_code in {404, 405}
    assert answer.headers["content-type"].startswith(kind)
    assert ("<h1>" in answer.text) == (kind == "text/html")


def test_searches_and_questions_are_counted_by_whichever_door_they_come(client: Client, failing: Failing) -> None:
    def counted(name: str) -> float:
        found = re.search(rf"^skellig_{re.escape(name)} (\S+)$", client.get("/metrics").text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    names = (
        'searches_total{outcome="ok"}', 'asks_total{kind="evidence"}', 'searches_total{outcome="store_corrupt"}',
        "search_seconds_count", "evidence_seconds_count",
    )  # fmt: skip
    before = [counted(name) for name in names]
    for search, ask in (("/api/v1/search", {"json": {"question": "x"}}), ("/search", {"data": {"question": "x"}})):
        client.get(search, params={"q": "x"})
        client.post(search.replace("search", "ask"), **ask)  # type: ignore[arg-type]
        failing.error = errors.StoreCorrupt("It is broken.")
        client.get(search, params={"q": "x"})
        failing.error = None
    assert [counted(name) - was for name, was in zip(names, before, strict=True)] == [2, 2, 2, 2, 2]


@pytest.mark.parametrize(
    "path", ["/ask", "/search", "/search?q=x", "/search?q=x&repo=none", "/repos", "/repos/x", "/status"]
)
def test_no_page_asks_a_database_on_the_event_loop(client: Client, path: str) -> None:
    """One slow disk would hold up every request, the health check among them."""
    assert client.get(path, headers=PAGE).status_code in {200, 404}
    assert client.post("/ask", data={"question": "x"}, headers=PAGE).status_code == 200


def test_the_login_says_where_a_session_is_kept(client: Client) -> None:
    page = client.get("/login", headers=PAGE).text
    assert re.search(r'id="insecure" hidden>.*plain http', page), "shown by script, which alone knows how the page came"
    assert re.search(r"<noscript>.*plain http", page)


@pytest.mark.parametrize(("most", "said"), [(2, "Indexes, at least"), (3, "Indexes"), (4, "Indexes")])
def test_a_size_that_is_not_the_whole_says_so(tmp_path: Path, most: int, said: str) -> None:
    for n, folder in enumerate(("", "a", "a/b")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "file").write_bytes(b"x" * 10**n)
    label, size = _indexes(tmp_path, most=most)
    assert label == said
    assert size == 111 if said == "Indexes" else size < 111


REFUSED: dict[str, tuple[str, str, dict[str, str], int]] = {
    "another host": ("GET", "/ask", {"host": "evil.example"}, 403),
    "another host, with what would be a login": ("GET", "/ask", {"host": "evil.example", "authorization": "Bearer x"}, 403),
    "a form of another site": ("POST", "/repos", {"sec-fetch-site": "cross-site"}, 403),
    "a form without a login": ("POST", "/repos", {"sec-fetch-site": "same-origin"}, 401),
    "a method that is none here, without a login": ("PUT", "/repos", {}, 401),
    "a key that is nobody's": ("POST", "/repos", {"authorization": "Bearer wrong"}, 401),
    "a login that is too large": ("POST", "/login", {"content-length": "2000000"}, 413),
    "a method that the login does not take": ("PUT", "/static/app.js", {"authorization": "Bearer wrong"}, 401),
}


@pytest.mark.parametrize(("method", "path", "headers", "status"), REFUSED.values(), ids=REFUSED)
def test_who_is_refused_at_the_door_gets_a_page_in_a_browser_and_a_problem_elsewhere(
    services: Services, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    with serving(services, key=None) as stranger:
        page = stranger.request(method, path, headers=headers | PAGE, follow_redirects=False)
        told = stranger.request(method, path, headers=headers | {"accept": "application/json"}, follow_redirects=False)
    assert (page.status_code, page.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert page.text.count("<h1>") == page.text.count("<main ") == 1
    assert "/logout" not in page.text, "the console is for those who are logged in"
    assert ('href="/login"' in page.text) == (status == 401)
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    if path != "/login":  # the form's own answers are pages for everybody
        assert (told.status_code, told.headers["content-type"]) == (status, "application/problem+json")
        assert told.json()["code"] in page.text
        assert page.headers.get("www-authenticate") == told.headers.get("www-authenticate")


@pytest.mark.parametrize("path", ["/api/v1/projects", "/api/v1/nowhere", "/v1/x"])
def test_what_is_for_programs_is_never_a_page(services: Services, path: str) -> None:
    with serving(services, key=None) as stranger:
        for headers in ({"host": "evil.example"}, {}):
            told = stranger.get(path, headers=headers | PAGE)
            assert told.headers["content-type"] == "application/problem+json"


def test_a_refused_page_has_its_look_under_any_host_name(services: Services) -> None:
    with serving(services, key=None) as stranger:
        evil = {"host": "evil.example"}
        page = stranger.get("/ask", headers=PAGE | evil).text
        files = re.findall(r'(?:href|src)="(/static/[^"]+)"', page)
        assert len(files) > 5
        for file in files:
            assert stranger.get(file, headers=evil).status_code == 200
        assert stranger.post("/static/app.js", headers=evil | {"sec-fetch-site": "cross-site"}).status_code == 403


def test_those_who_are_logged_in_keep_the_console_beside_what_is_refused(client: Client) -> None:
    for method, path, status in (("PUT", "/repos", 405), ("GET", "/nowhere", 404), ("GET", "/search?offset=x", 400)):
        page = client.request(method, path, headers=PAGE)
        assert page.status_code == status
        assert "/logout" in page.text
