"""Claims about talking to the running appliance."""

import os
import socket
from pathlib import Path

import pytest

from appliance.base.paths import DataPaths
from appliance.cli import place
from appliance.cli.remote import Remote, address, shown_address
from appliance.cli.views import Repo
from appliance.config import Web
from appliance.errors import ApplianceError, HostUnfit, NotFound, Unavailable
from tests.support.scripted_http import Reply, ScriptedServer, events, problem
from tests.unit.cli.conftest import Line


def remote_of(appliance: ScriptedServer, line: Line) -> Remote:
    return Remote(Web(port=appliance.port), paths=DataPaths(line.data))


def test_the_key_of_the_run_directory_is_sent(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["GET /api/v1/repos"] = Reply([])
    with remote_of(appliance, line) as remote:
        remote.get("repos", list[Repo])
    assert appliance.asked[0].headers["authorization"] == "Bearer the-key"


def test_a_problem_becomes_the_error_with_its_code(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["GET /api/v1/repos/x"] = Reply(problem("not_found", "There is no x.", "List them."), status=404)
    with remote_of(appliance, line) as remote, pytest.raises(NotFound, match=r"There is no x\.") as caught:
        remote.get("repos/x", Repo)
    assert caught.value.remedy == "List them."


def test_a_problem_of_a_newer_appliance_is_still_an_error(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["GET /api/v1/repos/x"] = Reply(problem("from_the_future", "It failed."), status=500)
    with remote_of(appliance, line) as remote, pytest.raises(ApplianceError, match="It failed"):
        remote.get("repos/x", Repo)


def test_an_answer_that_is_not_ours_is_told_apart(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["GET /api/v1/repos/x"] = Reply(b"<html>Welcome to nginx</html>", content_type="text/html")
    with remote_of(appliance, line) as remote, pytest.raises(Unavailable, match="not one of Skellig's"):
        remote.get("repos/x", Repo)


def test_nobody_listening_says_how_to_start(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with Remote(Web(port=port), paths=DataPaths(tmp_path)) as remote, pytest.raises(Unavailable, match="skellig up"):
        remote.get("repos", list[Repo])


def test_a_socket_that_is_not_there_says_how_to_start(tmp_path: Path) -> None:
    web = Web(socket=tmp_path / "web.sock")
    with pytest.raises(Unavailable, match="skellig up"):
        Remote(web, paths=DataPaths(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_key_of_another_user_is_said_plainly(tmp_path: Path) -> None:
    paths = DataPaths(tmp_path)
    paths.run.mkdir()
    (paths.run / "cli.key").write_text("k")
    (paths.run / "cli.key").chmod(0)
    with pytest.raises(HostUnfit, match="another user"):
        Remote(Web(), paths=paths)


def test_events_come_in_order_with_their_names(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["POST /api/v1/ask"] = events(("evidence", {"a": 1}), ("done", {"b": 2}))
    with remote_of(appliance, line) as remote, remote.stream("ask", {"question": "?"}) as stream:
        assert [(event.name, event.data) for event in stream] == [("evidence", b'{"a": 1}'), ("done", b'{"b": 2}')]


def test_a_stream_that_is_refused_raises_the_problem(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["POST /api/v1/ask"] = Reply(problem("not_found", "There is no project."), status=404)
    with (
        remote_of(appliance, line) as remote,
        pytest.raises(NotFound, match="no project"),
        remote.stream("ask", {"question": "?"}),
    ):
        raise AssertionError


@pytest.mark.parametrize(
    ("web", "called"),
    [
        (Web(host="0.0.0.0", port=80), "http://127.0.0.1:80"),  # noqa: S104 - it is only called by name here
        (Web(host="::", port=80), "http://[::1]:80"),
        (Web(host="10.0.0.7", port=80), "http://10.0.0.7:80"),
        (Web(host="fd00::1", port=80), "http://[fd00::1]:80"),
    ],
)
def test_the_address_to_call_reaches_what_is_listened_on(web: Web, called: str) -> None:
    assert address(web) == called


def test_a_unix_socket_is_shown_as_one() -> None:
    assert shown_address(Web(socket=Path("/run/skellig.sock"))) == "unix:/run/skellig.sock"


def test_values_that_are_refused_are_named_with_their_reasons(appliance: ScriptedServer, line: Line) -> None:
    faults = [
        {"field": "question", "message": "Expected `str` of length <= 4000"},
        {"field": "", "message": "Too much."},
    ]
    refused = problem("invalid_input", "Some of the values are not right: see errors.") | {"errors": faults}
    appliance.replies["POST /api/v1/ask"] = Reply(refused, status=400)
    ran = line("ask", "why " * 2000)
    assert ran.status == 2
    assert ran.err == (
        "error: Some of the values are not right: question: Expected `str` of length <= 4000; Too much. [invalid_input]\n"
    )


@pytest.mark.parametrize("body", [b"<html>Not found</html>", b"{}", b'"no"'])
def test_a_refusal_that_is_not_ours_is_told_apart(appliance: ScriptedServer, line: Line, body: bytes) -> None:
    appliance.replies["GET /api/v1/search"] = Reply(body, status=404, content_type="text/html")
    ran = line("search", "x")
    assert ran.status == 8
    assert "not one of Skellig's" in ran.err


@pytest.mark.parametrize("argv", [("search", "x"), ("ask", "x"), ("repo", "list"), ("repo", "remove", "x")])
def test_what_listens_on_the_port_of_an_appliance_that_is_down_is_not_asked(
    appliance: ScriptedServer, line: Line, argv: tuple[str, ...]
) -> None:
    place.forget(DataPaths(line.data))
    (line.data / "skellig.toml").write_text(f"[web]\nport = {appliance.port}\n")
    ran = line(*argv)
    assert (ran.status, ran.err) == (8, "error: Skellig is not running. Start it with: skellig up [unavailable]\n")
    assert not appliance.asked
