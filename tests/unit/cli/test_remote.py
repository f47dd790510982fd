"""Claims about talking to the running appliance."""

import os
import socket
import threading
from pathlib import Path

import pytest

from appliance.base.paths import DataPaths
from appliance.cli import place
from appliance.cli.remote import Remote, address, shown_address
from appliance.cli.views import Repo
from appliance.config import Web
from appliance.errors import ApplianceError, HostUnfit, InvalidInput, LimitExceeded, NotFound, Unavailable
from tests.support.scripted_http import Reply, ScriptedServer, events, identity, problem
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


@pytest.mark.parametrize("asked", ["bad\udcffbytes", "\ud800"])
def test_what_is_not_utf8_is_said_plainly_however_it_would_be_sent(
    appliance: ScriptedServer, line: Line, asked: str
) -> None:
    """A terminal passes on any bytes."""
    with remote_of(appliance, line) as remote:
        with pytest.raises(InvalidInput, match="is not UTF-8"):
            remote.raw("GET", "search", query={"q": asked})
        with pytest.raises(InvalidInput, match="is not UTF-8"):
            remote.post("repos", Repo, {"path": asked})
        with pytest.raises(InvalidInput, match="is not UTF-8"), remote.stream("ask", {"question": asked}):
            pass
    assert not appliance.asked


def test_what_no_address_can_hold_is_too_long(appliance: ScriptedServer, line: Line) -> None:
    with remote_of(appliance, line) as remote, pytest.raises(LimitExceeded, match="too long to be asked"):
        remote.raw("GET", "search", query={"q": "a" * 100_000})


def test_nobody_listening_says_how_to_start(tmp_path: Path) -> None:
    paths = DataPaths(tmp_path)
    paths.run.mkdir()
    (paths.run / "cli.key").write_text("the-key\n")
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with Remote(Web(port=port), paths=paths) as remote, pytest.raises(Unavailable, match="skellig up"):
        remote.get("repos", list[Repo])


def test_no_key_means_that_nothing_runs(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="skellig up"):
        Remote(Web(), paths=DataPaths(tmp_path))


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


COMMANDS = [
    ("search", "secret words"),
    ("ask", "secret words"),
    ("ask", "--json", "secret words"),
    ("repo", "list"),
    ("repo", "add", "/secret/words"),
    ("repo", "add", "/secret/words", "--project", "lab"),
    ("repo", "show", "x"),
    ("repo", "refresh", "x"),
    ("repo", "remove", "x"),
    ("repo", "left-out", "x"),
]
STRANGERS = {
    "a program that welcomes everything": [Reply({}, status=200)],
    "a program that copies the challenge": [Reply({"proof": "challenge"})],
    "an appliance with another key": [Reply({"proof": "0" * 64})],
    "an appliance that wants a login": [Reply(problem("unauthenticated", "You are not logged in."), status=401)],
    "a page": [Reply(b"<html>Welcome</html>", content_type="text/html")],
    "no text": [Reply(b"\xff\xfe\x00")],
    "more than an answer": [Reply(b'{"proof": "' + b"a" * 1_000_000 + b'"}')],
}


@pytest.mark.parametrize("argv", COMMANDS, ids=" ".join)
def test_another_program_on_the_port_of_a_crashed_appliance_gets_neither_key_nor_question(
    appliance: ScriptedServer, line: Line, argv: tuple[str, ...]
) -> None:
    """The place file survives a crash, and the port is free for anybody then."""
    appliance.key = ""
    ran = line(*argv)
    assert ran.status == 8
    assert f"listens at http://127.0.0.1:{appliance.port}, and is not this appliance: nothing was sent to it." in ran.err
    assert "skellig up" in ran.err
    assert f"(process {os.getpid()})" in ran.err
    assert [(asked.method, asked.path) for asked in appliance.asked] == [("GET", "/api/v1/identity")]
    assert "authorization" not in {name.lower() for name in appliance.asked[0].headers}
    assert "secret" not in f"{appliance.asked[0]}"


@pytest.mark.parametrize("replies", STRANGERS.values(), ids=STRANGERS)
def test_nothing_but_the_proof_lets_anybody_pass_for_the_appliance(
    appliance: ScriptedServer, line: Line, replies: list[Reply]
) -> None:
    appliance.key = ""
    appliance.replies["GET /api/v1/identity"] = replies
    ran = line("repo", "list")
    assert ran.status == 8
    assert "is not this appliance" in ran.err
    assert len(appliance.asked) == 1


def test_an_appliance_that_cannot_say_who_it_is_just_now_is_not_taken_for_another(
    appliance: ScriptedServer, line: Line
) -> None:
    appliance.key = ""
    appliance.replies["GET /api/v1/identity"] = Reply(problem("store_busy", "The database is busy."), status=503)
    ran = line("repo", "list")
    assert (ran.status, ran.err) == (8, "error: The database is busy. [store_busy]\n")


def test_a_program_that_does_not_speak_http_is_told_apart(line: Line) -> None:
    paths = DataPaths(line.data)
    paths.run.mkdir()
    (paths.run / "cli.key").write_text("the-key\n")
    heard = bytearray()

    def greet(server: socket.socket) -> None:
        with server.accept()[0] as connection:
            connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
            heard.extend(connection.recv(65536))

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=greet, args=(server,))
        thread.start()
        place.write(place.of(Web(port=server.getsockname()[1]), chat="none", embed="none"), paths=paths)
        ran = line("repo", "list")
        thread.join()
    assert ran.status == 8
    assert "broke off before it had said who it is" in ran.err
    assert b"the-key" not in heard


def test_who_answers_is_asked_once_for_all_that_follows(appliance: ScriptedServer, line: Line) -> None:
    appliance.key = ""
    challenges = []

    def reply(method: str, path: str) -> Reply:
        del method
        if path != "/api/v1/identity":
            return Reply([])
        challenges.append(appliance.asked[-1].query)
        return Reply(identity("the-key", challenges[-1]))

    appliance.reply_to = reply  # type: ignore[method-assign]
    with remote_of(appliance, line) as remote:
        for _ in range(3):
            remote.get("repos", list[Repo])
    with remote_of(appliance, line) as remote:
        remote.get("repos", list[Repo])
    assert len(set(challenges)) == 2
