"""Who may do what, over every route that there is."""

from collections.abc import Iterator

import pytest
from litestar import Litestar
from litestar.routes import HTTPRoute

from appliance.access.secret import digest, proof
from appliance.api.guards import PUBLIC, public
from appliance.server import create_app
from appliance.services import CLI_KEY, Services
from tests.support.appliance import Client, serving

CHECKS = {f"{prefix}/missions/m/{verb}" for prefix in ("", "/api/v1") for verb in ("verify", "replay")}
FREE_TO_READERS = {("POST", path) for path in ("/api/v1/ask", "/api/v1/logout", "/logout", *CHECKS)}
"""What changes nothing for others, though its method is not a safe one."""

CLOSED_TO_READERS = "/api/v1/sessions"
"""What others said to agents is not for every reader."""


NAMED = {
    "repo": "r",
    "repo_id": "r",
    "job": "j",
    "name": "app.js",
    "path": "p",
    "mission": "m",
    "approval": "a",
    "session": "s",
    "run": "u",
}


def routes(app: Litestar) -> Iterator[tuple[str, str]]:
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            for method in route.methods:
                yield str(method), route.path_format.format_map(NAMED)


@pytest.fixture(scope="module")
def every(services: Services) -> list[tuple[str, str]]:
    found = sorted(set(routes(create_app(services))))
    assert len(found) > 30
    return found


def test_without_a_login_only_the_public_routes_answer(stranger: Client, every: list[tuple[str, str]]) -> None:
    for method, path in every:
        response = stranger.request(method, path)
        if not public(method, path):
            assert response.status_code == 401, (method, path)
            assert response.headers["content-type"] == "application/problem+json"
        elif path.startswith("/static/"):
            assert response.status_code < 500
        else:
            assert response.json().get("code") != "unauthenticated" if "/api/" in path else True, (method, path)


def test_what_is_public_exists_and_is_little(every: list[tuple[str, str]]) -> None:
    assert set(every) >= PUBLIC
    assert {f"{method} {path}" for method, path in PUBLIC} == {
        "GET /api/v1/health",
        "GET /api/v1/identity",
        "POST /api/v1/login",
        "GET /login",
        "POST /login",
    }


def test_a_key_that_may_only_read_changes_nothing(services: Services, every: list[tuple[str, str]]) -> None:
    secret = services.access.keys.create("reader", permissions=frozenset({"read"}))
    try:
        with serving(services, key=secret) as reader:
            for method, path in every:
                if public(method, path) or method == "OPTIONS":
                    continue
                status = reader.request(method, path).status_code
                changes = method != "GET" and (method, path) not in FREE_TO_READERS
                assert (status == 403) == (changes or path.startswith(CLOSED_TO_READERS)), (method, path, status)
    finally:
        services.access.keys.revoke("reader")


@pytest.mark.parametrize(
    "path",
    [
        "/nowhere",
        "/api/v1/nowhere",
        "/api/v1/health/../projects",
        "/static/../api/v1/projects",
        "/static/%2e%2e/api/v1/projects",
        "//api/v1/projects",
        "/api/v1/projects/",
        "/API/v1/health",
        "/login/x",
    ],
)
def test_no_spelling_of_an_address_gets_around_the_gate(stranger: Client, path: str) -> None:
    response = stranger.get(path)
    assert response.status_code in {401, 404}
    assert "default" not in response.text


def test_a_wrong_key_or_session_is_nobodys(stranger: Client) -> None:
    for headers in (
        {"authorization": "Bearer skellig_wrong"},
        {"authorization": "Bearer"},
        {"authorization": "Basic YTpi"},
        {"cookie": "__Host-skellig=wrong"},
    ):
        response = stranger.get("/api/v1/projects", headers=headers)
        assert response.status_code == 401
        assert response.headers["www-authenticate"].startswith("Bearer")


def test_a_browser_that_is_not_logged_in_is_sent_to_the_login_and_back(stranger: Client) -> None:
    response = stranger.get("/search?q=a%20b&x=//evil", headers={"accept": "text/html"}, follow_redirects=False)
    assert response.status_code == 303
    assert response.headers["location"] == "/login?next=/search%3Fq%3Da%2520b%26x%3D//evil"
    assert stranger.get("/api/v1/jobs", headers={"accept": "text/html"}).status_code == 401


def test_the_appliance_proves_to_anybody_that_it_made_the_key_and_gives_nothing_away(
    stranger: Client, services: Services
) -> None:
    key = (services.paths.run / CLI_KEY).read_text(encoding="ascii").strip()
    proofs = []
    for challenge in ("0" * 64, "1" * 64):
        answer = stranger.get("/api/v1/identity", params={"challenge": challenge})
        assert answer.json() == {"proof": proof(digest(key), challenge)}
        assert key not in answer.text
        assert digest(key) not in answer.text
        proofs.append(answer.json()["proof"])
    assert len(set(proofs)) == 2
    for challenge in ("", "short", "0" * 1000, "\xff" * 40):
        assert stranger.get("/api/v1/identity", params={"challenge": challenge}).status_code == 400
