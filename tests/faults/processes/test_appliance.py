"""Claims about the real appliance under real signals: what is killed comes back, what cannot start says why."""

import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path

import httpx2
import pytest

from appliance.cli import place
from appliance.inference.catalog import Catalog
from appliance.ops import launch, strays
from appliance.ops.supervisor import alive
from tests.support.house import House, until

Start = Callable[..., "subprocess.Popen[str]"]

pytestmark = pytest.mark.timeout(400)  # real programs start here, on a machine that may be busy


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    built = House(tmp_path)
    yield built
    launch.stop(built.files, seconds=10.0)


def test_the_appliance_lives_from_up_to_down(house: House) -> None:
    """One long walk, because each start takes seconds: up, up again, kill -9 of each program, down."""
    first = house.skellig("up", "--json")
    assert first.returncode == 0, first.stderr
    started = json.loads(first.stdout)
    assert (started["url"], started["state"]) == (f"http://127.0.0.1:{house.port}", "ready")

    again = json.loads(house.skellig("up", "--json").stdout)
    assert again["token"] != started["token"]
    login = httpx2.post(f"{started['url']}/api/v1/login", json={"token": again["token"]}, trust_env=False)
    assert login.status_code == 200

    elsewhere = house.skellig("up", SKELLIG_WEB__PORT="1")
    assert elsewhere.returncode == 4
    assert f"is used by the appliance at http://127.0.0.1:{house.port}" in elsewhere.stderr

    changed = house.skellig("up", SKELLIG_INDEX__WORKERS="2")
    assert changed.returncode == 0
    assert "index.workers is 2" in " ".join(changed.stdout.split())
    assert house.skellig("up", SKELLIG_CHAT__MODEL="nope").returncode == 3

    for name in ("web", "worker"):
        old = house.pid(name)
        os.kill(old, signal.SIGKILL)
        house.pid(name, other_than=old)
    until(house.answers)
    session = {"cookie": login.headers["set-cookie"].partition(";")[0]}
    assert httpx2.get(f"{started['url']}/api/v1/repos", headers=session, trust_env=False).status_code == 200

    status = house.skellig("status", "--json")
    assert status.returncode == 0
    assert {program["name"] for program in json.loads(status.stdout)["programs"]} == {"web", "worker"}

    pids = [house.pid("web"), house.pid("worker"), house.supervisor.pid()]
    assert house.skellig("down").stdout == "Stopped 2 programs.\n"
    assert not [pid for pid in pids if alive(pid)]
    assert house.skellig("status").returncode == 8


def test_of_two_ups_at_once_one_starts_the_appliance_and_the_other_leaves_it_alone(house: House) -> None:
    """The loser neither stops the winner nor overwrites what it wrote; each comes with a port of its own to tell by."""
    ports = (str(house.port), str(House(house.paths.root).port))
    ups = [_up(house, port) for port in ports]
    statuses = [up.wait(180) for up in ups]
    assert sorted(statuses) == [0, 4]
    winner = ports[statuses.index(0)]
    assert (where := place.read(house.paths)) is not None
    assert str(where.port) == winner
    health = httpx2.get(f"http://127.0.0.1:{winner}/api/v1/health", trust_env=False)
    assert health.status_code == 200
    assert house.supervisor.pid()


def _up(house: House, port: str) -> "subprocess.Popen[bytes]":
    argv = [sys.executable, "-m", "appliance", "up"]
    return subprocess.Popen(
        argv, env=house.environment(SKELLIG_WEB__PORT=port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def test_after_the_supervisor_was_killed_up_mends_it(house: House) -> None:
    assert house.skellig("up").returncode == 0
    web = house.pid("web")
    os.kill(house.supervisor.pid(), signal.SIGKILL)
    assert json.loads(house.skellig("status", "--json").stdout)["state"] == "orphaned"
    assert house.skellig("up").returncode == 0
    assert not alive(web)
    assert house.answers()


def test_a_web_process_that_cannot_start_ends_up_with_its_words(house: House) -> None:
    """A database of a newer version is the honest case: nothing else would mend itself either."""
    house.paths.root.mkdir(exist_ok=True)
    with contextlib.closing(sqlite3.connect(house.paths.global_db)) as conn:
        conn.execute("PRAGMA user_version=999")
    ran = house.skellig("up")
    assert ran.returncode == 9
    assert "The web process ended at its start: error: The database" in ran.stderr
    assert "newer version" in ran.stderr
    assert house.skellig("status").returncode == 8


def test_an_engine_that_dies_at_its_start_is_told_and_the_web_stays(house: House) -> None:
    """The model's file has the right name and size and the wrong bytes: the engine refuses it."""
    _forged(house.paths.models, "all-minilm-l6-v2-int8")
    ran = house.skellig("up", SKELLIG_EMBED__MODEL="all-minilm-l6-v2-int8")
    assert ran.returncode == 8
    assert "engine-embed" in ran.stderr
    assert "all-minilm-l6-v2-int8.onnx" in ran.stderr
    assert f"Skellig is up at http://127.0.0.1:{house.port}" in ran.stdout
    until(lambda: house.program("engine-embed").state == "failed")
    assert house.answers()
    status = json.loads(house.skellig("status", "--json").stdout)
    assert status["state"] == "degraded"
    assert [part["state"] for part in status["parts"] if part["name"] == "engine-embed"] == ["failed"]


def test_an_appliance_without_a_model_for_answers_or_a_plugin_comes_up_and_says_so(house: House) -> None:
    """As on a host whose bundle has only small models: search and evidence are not down for want of prose or of a plugin."""
    ran = house.skellig("up", SKELLIG_CHAT__MODEL="auto", SKELLIG_MODELS_AT="/srv/models", SKELLIG_PLUGINS__ENABLED="ghost")
    assert ran.returncode == 0, ran.stderr
    told = " ".join(ran.stdout.split())
    assert "evidence without prose" in told
    assert (
        "degraded plugins: ghost: It is enabled and not installed. Install it, or take it out of `plugins.enabled`." in told
    )
    for command in ("status", "up"):
        told = " ".join(house.skellig(command, SKELLIG_CHAT__MODEL="auto").stdout.split())
        assert "evidence without prose" in told
    status = json.loads(house.skellig("status", "--json", SKELLIG_CHAT__MODEL="auto").stdout)
    assert (status["state"], status["chat"]) == ("degraded", "none")
    assert [part["name"] for part in status["parts"] if part["state"] not in {"ok", "off"}] == ["plugins"]
    chat = next(part for part in status["parts"] if part["name"] == "engine-chat")
    assert (chat["state"], chat["detail"]) == ("off", "No chat model is set up.")


def _forged(root: Path, name: str) -> None:
    for file in Catalog.load().get(name).file:
        place = root / file.sha256 / file.name
        place.parent.mkdir(parents=True)
        with place.open("wb") as sparse:
            sparse.truncate(file.size)


@pytest.fixture
def entry(house: House) -> Iterator[Start]:
    """Start appliances in the foreground, with what they say to be read; none outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*argv: str, **settings: str) -> "subprocess.Popen[str]":
        command = house.command("up", "--foreground", *argv)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(command, env=house.environment(**settings), **pipes))  # type: ignore[call-overload]
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.communicate()


def said(started: "subprocess.Popen[str]", what: str) -> str:
    """Return what comes after *what* in the first line of standard output that has it."""
    assert started.stdout is not None
    line = next(line for line in started.stdout if what in line)
    return line.partition(what)[2].strip()


def ends_whole(house: House, running: "subprocess.Popen[str]", number: signal.Signals) -> None:
    pids = [house.pid("web"), house.pid("worker"), house.supervisor.pid()]
    running.send_signal(number)
    assert running.wait(60) == 0
    assert not [pid for pid in pids if alive(pid)]
    assert place.read(house.paths) is None


def test_in_the_foreground_it_says_where_it_is_and_how_to_log_in_and_ends_whole_with_a_signal(
    house: House, entry: Start
) -> None:
    running = entry()
    url = said(running, "Skellig is up at ")
    assert url == f"http://127.0.0.1:{house.port}"
    token = said(running, "once and within a day: ")
    assert httpx2.post(f"{url}/api/v1/login", json={"token": token}, trust_env=False).status_code == 200
    assert house.skellig("up", "--foreground").returncode == 4
    assert not house.paths.global_db.stat().st_mode & 0o077
    ends_whole(house, running, signal.SIGTERM)


@pytest.mark.parametrize(("inside", "number"), [(True, signal.SIGINT), (False, signal.SIGHUP)], ids=["inside", "outside"])
def test_a_token_that_is_to_lie_in_a_file_is_shown_nowhere_else_and_is_gone_once_used(
    house: House, entry: Start, tmp_path_factory: pytest.TempPathFactory, *, inside: bool, number: signal.Signals
) -> None:
    """What a container prints is kept in the host's log; and what it calls its data folder is another one out there.

    It ends whole, with the two other signals: each start costs seconds.
    """
    kept = (house.paths.root if inside else tmp_path_factory.mktemp("elsewhere")) / "first-token"
    running = entry(SKELLIG_WEB__TOKEN_FILE=str(kept))
    url = said(running, "Skellig is up at ")
    told = "first-token in the data folder" if inside else str(kept)
    assert said(running, "Log in with the token in ").startswith(f"{told}, once and within a day.")
    assert kept.stat().st_mode & 0o777 == 0o600
    token = kept.read_text().strip()
    logins = [httpx2.post(f"{url}/api/v1/login", json={"token": token}, trust_env=False) for _ in range(2)]
    assert ([login.status_code for login in logins], kept.exists()) == ([200, 401], False)
    ends_whole(house, running, number)
    out, err = running.communicate(timeout=60)
    logs = "".join(path.read_text(errors="replace") for path in house.paths.logs.iterdir())
    assert token not in out + err + logs


def accepts(path: Path) -> bool:
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as probe:
        return probe.connect_ex(os.fspath(path)) == 0


def test_in_the_foreground_on_a_unix_socket_nothing_listens_on_tcp(house: House, entry: Start, tmp_path: Path) -> None:
    """As the entry of a container without a network; what it says in JSON stands alone on standard output."""
    path = tmp_path / "web.sock"
    running = entry("--json", SKELLIG_WEB__SOCKET=str(path))
    assert running.stdout is not None
    told = json.loads("".join([*takewhile("}\n".__ne__, running.stdout), "}"]))
    assert told["url"] == f"unix:{path}"
    assert "skellig repo add PATH" in house.skellig("repo", "list").stdout
    assert not house.answers()
    os.kill(first := house.pid("web"), signal.SIGKILL)  # its socket stays on the disk
    assert house.pid("web", other_than=first)
    until(lambda: accepts(path))
    assert house.skellig("repo", "list").returncode == 0
    running.terminate()
    assert running.communicate(timeout=60)[0] == ""
    assert running.returncode == 0


def test_in_the_foreground_what_keeps_it_from_starting_ends_it(house: House, entry: Start) -> None:
    house.paths.root.mkdir(exist_ok=True)
    with contextlib.closing(sqlite3.connect(house.paths.global_db)) as conn:
        conn.execute("PRAGMA user_version=999")
    running = entry()
    assert "error: The web process ended at its start: error: The database" in running.communicate(timeout=120)[1]
    assert running.returncode == 9
    assert not strays.find(house.files)


def test_in_the_foreground_an_engine_that_cannot_start_is_told_and_the_rest_stays(house: House, entry: Start) -> None:
    _forged(house.paths.models, "all-minilm-l6-v2-int8")
    running = entry(SKELLIG_EMBED__MODEL="all-minilm-l6-v2-int8")
    said(running, "Skellig is up at ")
    assert running.stderr is not None
    assert running.stderr.readline().startswith("error: engine-embed ended at its start. Its last words: ")
    assert house.answers()
    assert house.skellig("down").returncode == 0
    assert running.wait(60) == 0


def test_an_entry_that_is_killed_leaves_nothing_behind(house: House, entry: Start) -> None:
    """Its service manager would start a second one beside what it left."""
    running = entry()
    said(running, "Skellig is up at ")
    supervisor, web = house.supervisor.pid(), house.pid("web")
    running.kill()
    until(lambda: not alive(supervisor) and not alive(web))


def test_an_entry_whose_supervisor_is_killed_ends_the_programs_and_says_so(house: House, entry: Start) -> None:
    running = entry()
    said(running, "Skellig is up at ")
    web = house.pid("web")
    os.kill(house.supervisor.pid(), signal.SIGKILL)
    assert "error: The supervisor ended with the status -9." in running.communicate(timeout=60)[1]
    assert running.returncode == 8
    assert not alive(web)
