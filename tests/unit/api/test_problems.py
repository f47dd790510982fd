"""Every error is a problem, and tells nothing of our insides."""

import inspect
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from appliance import errors
from appliance.api.envelope import SECURITY_HEADERS
from appliance.cli import exits
from appliance.codeintel.results import AnswerEvent, Scope
from appliance.errors import ApplianceError, EngineUnavailable, PromptTooLong, Throttled
from appliance.web.problems import headers_of, problem_of, status_of
from tests.support.appliance import Client, make_services, serving

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "errors.md"
ALL = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, ApplianceError)]


class Failing:
    """Answers every question with *error*."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    async def ask(self, question: str, *, scope: Scope, prose: bool = True) -> AsyncGenerator[AnswerEvent, None]:
        del question, scope, prose
        if self.error:
            raise self.error
        yield AnswerEvent("done")


@pytest.fixture(scope="module")
def failing() -> Failing:
    return Failing()


@pytest.fixture(scope="module")
def broken(failing: Failing, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with (
        closing(make_services(tmp_path_factory.mktemp("data"))) as services,
        serving(replace(services, answerer=failing)) as client,
    ):
        yield client


@pytest.mark.parametrize("kind", ALL)
def test_each_error_has_a_status_and_stands_in_the_reference(kind: type[ApplianceError]) -> None:
    status = status_of(kind("What happened."))
    assert 400 <= status < 600
    row = re.search(rf"^\| `{kind.code}` \| (\d+) \| (\d+) \| (\w+) \|", REFERENCE.read_text(encoding="utf-8"), re.MULTILINE)
    assert row, f"{kind.code} is not in {REFERENCE.name}"
    assert row.groups() == (str(status), str(exits.status_of(kind("x"))), "yes" if kind.retryable else "no")


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_an_error_of_a_route_is_a_whole_problem(broken: Client, failing: Failing, accept: str) -> None:
    failing.error = PromptTooLong("It does not fit.", remedy="Ask less.", prompt_tokens=9000, limit=4096, model="m")
    response = broken.post("/api/v1/ask", json={"question": "q"}, headers={"accept": accept})
    assert response.status_code == 400
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json() == {
        "type": "urn:skellig:error:prompt_too_long",
        "title": "The request is not right",
        "status": 400,
        "detail": "It does not fit.",
        "code": "prompt_too_long",
        "remedy": "Ask less.",
        "retryable": False,
        "request": response.headers["x-request-id"],
        "context": {"prompt_tokens": 9000, "limit": 4096, "model": "m"},
        "errors": [],
    }


def test_what_may_pass_says_when_to_try_again(broken: Client, failing: Failing) -> None:
    failing.error = EngineUnavailable("It is loading.")
    response = broken.post("/api/v1/ask", json={"question": "q"})
    assert (response.status_code, response.headers["retry-after"]) == (503, "5")
    assert headers_of(problem_of(Throttled("Slower.", retry_after=17)))["retry-after"] == "17"


def test_an_error_of_ours_shows_no_trace_to_the_caller_and_one_to_the_log(broken: Client, failing: Failing) -> None:
    failing.error = ValueError("hidden words")
    with capture_logs() as lines:
        response = broken.post("/api/v1/ask", json={"question": "q"})
    assert response.status_code == 500
    assert response.json()["code"] == "internal"
    assert not re.search("hidden|Traceback|ValueError|appliance/", response.text)
    failed = next(line for line in lines if line["event"] == "request.failed")
    assert failed["exc_info"] is failing.error
    assert failed["request"] == response.json()["request"]


def test_the_log_never_holds_what_was_asked(broken: Client, failing: Failing) -> None:
    failing.error = EngineUnavailable("It is loading.")
    with capture_logs() as lines:
        broken.post("/api/v1/ask", json={"question": "canary-in-the-question"})
        broken.get("/api/v1/search?q=canary-in-the-query")
    assert len([line for line in lines if line["event"] == "http.request"]) == 2
    assert "canary" not in str(lines)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[]", 400),
        (b'"text"', 400),
        (b"{}", 400),
        (b'{"question": ""}', 400),
        (b'{"question": "  "}', 400),
        (b'{"question": 7}', 400),
        (b'{"question": "q", "unknown": 1}', 400),
        (b'{"question": "q", "repos": "all"}', 400),
        (b'{"question": "' + b"x" * 4001 + b'"}', 400),
        (b"[" * 100_000, 400),
        (b'{"question": ' + b"[" * 100_000, 400),
        (b'{"a":' * 100_000, 400),
        (b'{"question": "' + b"x" * 1_000_000 + b'"}', 413),
    ],
    ids=range(16),
)
def test_a_body_that_is_not_right_is_the_callers_error(broken: Client, body: bytes, status: int) -> None:
    response = broken.post("/api/v1/ask", content=body, headers={"content-type": "application/json"})
    assert response.status_code == status
    assert response.json()["code"] in {"invalid_input", "limit_exceeded"}
    assert len(response.content) < 4000


@pytest.mark.parametrize(
    "path",
    [
        "search",
        "search?q=",
        f"search?q={'x' * 1001}",
        "search?q=x&limit=0",
        "search?q=x&limit=101",
        "search?q=x&offset=-1",
        "search?q=x&limit=many",
        "jobs?limit=0",
        "jobs/j/events?after=-1",
        f"repos/{'x' * 101}",
    ],
)
def test_a_parameter_that_is_not_right_is_the_callers_error(broken: Client, path: str) -> None:
    assert broken.get(f"/api/v1/{path}").status_code == 400


def test_an_address_or_method_that_is_not_there_is_a_problem_too(broken: Client) -> None:
    assert broken.get("/api/v1/nowhere").json()["code"] == "not_found"
    response = broken.put("/api/v1/ask")
    assert (response.status_code, response.json()["code"]) == (405, "method_not_allowed")


def test_security_headers_are_on_every_response(broken: Client, failing: Failing) -> None:
    failing.error = ValueError("x")
    responses = [
        broken.get("/api/v1/health"),
        broken.get("/api/v1/nowhere"),
        broken.get("/api/v1/projects", headers={"authorization": ""}),
        broken.get("/api/v1/projects", headers={"host": "evil.example"}),
        broken.post("/api/v1/ask", json={"question": "q"}),
        broken.post("/api/v1/ask", content=b"x" * 1_000_001),
        broken.get("/login"),
        broken.get("/search", headers={"authorization": "", "accept": "text/html"}, follow_redirects=False),
    ]
    assert [response.status_code for response in responses] == [200, 404, 401, 403, 500, 413, 200, 303]
    for response in responses:
        assert SECURITY_HEADERS.items() <= dict(response.headers).items()
        assert "unsafe" not in response.headers["content-security-policy"]
        assert len(response.headers["x-request-id"]) == 16
        assert "server" not in response.headers


def test_nothing_that_was_asked_for_behind_a_login_is_kept_by_caches(broken: Client) -> None:
    assert broken.get("/api/v1/projects").headers["cache-control"] == "no-store"
