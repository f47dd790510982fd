"""Claims about the real appliance under real signals: what is killed comes back, what cannot start says why."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from appliance.cli import place
from appliance.inference.catalog import Catalog
from appliance.ops import launch
from appliance.ops.supervisor import alive
from tests.support.house import House, until

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


def _forged(root: Path, name: str) -> None:
    for file in Catalog.load().get(name).file:
        place = root / file.sha256 / file.name
        place.parent.mkdir(parents=True)
        with place.open("wb") as sparse:
            sparse.truncate(file.size)


def test_in_the_foreground_on_a_unix_socket_a_term_signal_ends_everything(house: House, tmp_path: Path) -> None:
    """As the entry of a container without a network: nothing listens on TCP, nothing stays behind, the status is 0."""
    path = tmp_path / "web.sock"
    argv = [sys.executable, "-m", "appliance", "up", "--foreground"]
    entry = subprocess.Popen(argv, env=house.environment(SKELLIG_WEB__SOCKET=str(path)), stdout=subprocess.DEVNULL)
    try:
        until(lambda: "skellig repo add PATH" in house.skellig("repo", "list").stdout)
        assert not house.answers()
        web = house.pid("web")
        entry.terminate()
        assert entry.wait(60) == 0
        assert not alive(web)
    finally:
        entry.kill()
        entry.wait()
