"""What a page of another site can make a browser do here: nothing."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from appliance.api.guards import hosts_of
from appliance.config import Web
from appliance.services import Services
from tests.support.appliance import BASE, Client, make_services, serving

OWN = {"origin": BASE}
FOREIGN = {"origin": "http://evil.example"}


@pytest.fixture(scope="module")
def session(services: Services) -> str:
    return services.access.sessions.open("administrator")


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"sec-fetch-site": "same-origin", "origin": "null"}, True),
        ({"sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "cross-site"} | OWN, False),
        ({"sec-fetch-site": ""}, False),
        (OWN, True),
        (FOREIGN, False),
        ({"origin": "null"}, False),
        ({"origin": "http://127.0.0.1"}, False),
        ({"origin": "http://127.0.0.1:7878.evil.example"}, False),
        ({}, False),
    ],
)
def test_a_browsers_session_changes_things_only_from_our_own_pages(
    stranger: Client, session: str, headers: Mapping[str, str], *, allowed: bool
) -> None:
    with_session = {"cookie": f"__Host-skellig={session}", **headers}
    response = stranger.post("/api/v1/jobs/none/cancel", headers=with_session)
    assert response.status_code == (404 if allowed else 403)
    assert stranger.get("/api/v1/projects", headers=with_session).status_code == 200, "reading is not changed by it"


@pytest.mark.parametrize("headers", [{}, OWN, FOREIGN, {"sec-fetch-site": "cross-site"}])
def test_a_key_is_no_browsers_and_works_from_anywhere(client: Client, headers: Mapping[str, str]) -> None:
    assert client.post("/api/v1/jobs/none/cancel", headers=headers).status_code == 404


@pytest.mark.parametrize(
    ("headers", "status"), [({}, 401), (OWN, 401), (FOREIGN, 403), ({"sec-fetch-site": "cross-site"}, 403)]
)
def test_no_other_site_logs_a_browser_in(stranger: Client, headers: Mapping[str, str], status: int) -> None:
    """Else it could log a person into a session of its own, and read what they then ask."""
    assert stranger.post("/api/v1/login", json={"token": "wrong"}, headers=headers).status_code == status


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("127.0.0.1:7878", True),
        ("localhost:1", True),
        ("LOCALHOST", True),
        ("[::1]:7878", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example:7878", False),
        ("localhost.evil.example", False),
        ("evil.example:7878@localhost", False),
        ("127.0.0.1:7878@evil.example", False),
        ("localhost:evil.example", False),
        ("[::1]evil.example", False),
        ("", False),
        ("[::1", False),
    ],
)
def test_on_loopback_only_our_own_names_are_answered(client: Client, host: str, *, allowed: bool) -> None:
    """A site can let its own name resolve to this machine: the browser then takes it for the same origin."""
    assert client.get("/api/v1/projects", headers={"host": host}).status_code == (200 if allowed else 403)


def test_where_the_names_cannot_be_known_any_is_answered() -> None:
    assert hosts_of(Web(host="0.0.0.0")) is None  # noqa: S104 - what is tested
    assert hosts_of(Web(socket=Path("/run/web.sock"))) is None
    assert hosts_of(Web(host="Skellig.Site")) == frozenset({"localhost", "127.0.0.1", "::1", "skellig.site"})


def test_over_a_socket_any_host_name_is_answered(tmp_path: Path) -> None:
    extra = {"SKELLIG_WEB__SOCKET": str(tmp_path / "web.sock")}
    with closing(make_services(tmp_path, extra=extra)) as services, serving(services) as client:
        assert client.get("/api/v1/projects", headers={"host": "anything"}).status_code == 200


def test_login_gives_a_new_session_each_time_and_logout_ends_it(services: Services, stranger: Client) -> None:
    """A session that was planted before the login must not become the one that is logged in."""
    planted = services.access.sessions.open("administrator")
    headers = {"cookie": f"__Host-skellig={planted}", "sec-fetch-site": "same-origin"}
    response = stranger.post("/api/v1/login", json={"token": services.access.tokens.issue()}, headers=headers)
    assert response.status_code == 200
    given = response.headers["set-cookie"].partition(";")[0].partition("=")[2]
    stranger.cookies.clear()
    assert given != planted
    assert stranger.get("/api/v1/projects", headers=headers).status_code == 401, "the old one is dead"
    headers = {"cookie": f"__Host-skellig={given}", "sec-fetch-site": "same-origin"}
    assert stranger.get("/api/v1/projects", headers=headers).status_code == 200
    assert stranger.post("/api/v1/logout", headers=headers).status_code == 204
    assert stranger.get("/api/v1/projects", headers=headers).status_code == 401


def test_a_token_logs_in_once(services: Services, stranger: Client) -> None:
    token = services.access.tokens.issue()
    assert stranger.post("/api/v1/login", json={"token": token}).status_code == 200
    stranger.cookies.clear()
    assert stranger.post("/api/v1/login", json={"token": token}).status_code == 401


@pytest.mark.parametrize(
    ("path", "wrong", "there"),
    [
        ("/api/v1/graph/callers?name=verify&top=3", "top", "limit"),
        ("/api/v1/graph/outline?file=shop/store.py", "file", "path"),
        ("/api/v1/search?q=verify&branches=main", "branches", "branch"),
        ("/api/v1/repomap?budget=100", "budget", "tokens"),
        ("/api/v1/repos/shop/left-out?page=2&repo=other", "page", "reason"),
        ("/api/v1/health?deep=1", "deep", "none"),
    ],
)
def test_a_parameter_that_is_spelled_wrong_is_refused_and_not_passed_over(
    client: Client, path: str, wrong: str, there: str
) -> None:
    """Passed over, it would have another question answered than the one that was asked."""
    refused = client.get(path)
    assert refused.status_code == 400
    assert refused.json()["code"] == "invalid_input"
    assert f"'{wrong}'" in refused.json()["detail"]
    assert there in refused.json()["remedy"]


def test_a_parameter_of_the_path_is_none_of_the_address(client: Client) -> None:
    assert "'repo'" in client.get("/api/v1/repos/shop?repo=other").json()["detail"]
