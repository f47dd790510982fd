"""Claims about a container of the image: locked in, it works, mends itself and ends well."""

import contextlib
import http.client
import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.image.box import USER, box, until
from tests.support import podman

pytestmark = [pytest.mark.image, pytest.mark.timeout(600)]
READY_S = 15.0
TCP = {
    "SKELLIG_WEB__SOCKET": "",
    "SKELLIG_WEB__HOST": "0.0.0.0",  # noqa: S104 - the container's; only loopback is published
    "SKELLIG_CHAT__MODEL": "none",
    "SKELLIG_EMBED__MODEL": "none",
}
MOUNTED = ("/dev/", "/etc/", "/proc/", "/run/", "/sys/")  # podman's own

# Offers a process of its own user to the kernel's OOM killer, then takes memory until that comes.
HOG = """
import sys
open(f"/proc/{sys.argv[1]}/oom_score_adj", "w").write("1000")
taken = []
while True:
    taken.append(bytearray(b"x") * (8 << 20))
"""


def test_it_is_ready_soon_and_locked_in(image: str, tmp_path: Path) -> None:
    with box(image, tmp_path / "box") as running:
        running.ready(within=READY_S)
        facts = dict(line.split(":", 1) for line in running.inside("cat", "/proc/1/status").splitlines() if ":" in line)
        sets = {name: int(facts[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
        assert not any(sets.values()), sets
        assert (facts["NoNewPrivs"].strip(), facts["Seccomp"].strip()) == ("1", "2")
        assert set(facts["Uid"].split()) == {USER.partition(":")[0]}
        assert running.inside("ls", "/sys/class/net") == "lo"
        for place in ("/", "/etc", "/opt/venv", "/var/lib", "/usr"):
            assert podman.call("exec", running.name, "touch", f"{place}/x").returncode != 0, place


def test_commands_of_agents_are_confined_in_it(image: str, tmp_path: Path) -> None:
    """Without the layers that must hold, agents could run no test at all on a host that was installed as we say."""
    with box(image, tmp_path / "box") as running:
        running.ready(within=READY_S)
        told = json.loads(running.inside("sh", "-c", "skellig doctor --json || true"))
    found = next(each["verdict"] for each in told if each["name"] == "sandbox")
    assert (found["state"], found["detail"].partition(".")[0]) == ("ok", "landlock, seccomp, namespaces")


def test_it_writes_nothing_outside_its_volumes(image: str, tmp_path: Path) -> None:
    """The root is read-only where it runs; here it is not, to see who would try."""
    with box(image, tmp_path / "box", root=()) as running:
        running.ready(within=60.0)
        running.skellig("repo", "list")
        changed = podman.run("diff", running.name).splitlines()
        assert not [line for line in changed if line.startswith(("A", "D")) and not line[2:].startswith(MOUNTED)]


def test_a_killed_program_comes_back_and_the_others_stay(image: str, tmp_path: Path) -> None:
    with box(image, tmp_path / "box") as running:
        running.ready(within=60.0)
        before = running.programs()
        running.inside("sh", "-c", f"kill -9 {before['web']}")
        until(lambda: running.healthy() and running.programs()["web"] != before["web"], within=30.0, but=running.said)
        assert running.programs()["worker"] == before["worker"]


def test_a_program_that_the_memory_is_taken_from_comes_back(image: str, tmp_path: Path) -> None:
    with box(image, tmp_path / "box", "--memory=1g", "--memory-swap=1g") as running:
        running.ready(within=60.0)
        before = running.programs()
        hog = podman.call("exec", running.name, "/opt/venv/bin/python", "-c", HOG, str(before["worker"]))
        assert hog.returncode == 128 + signal.SIGKILL
        until(lambda: running.programs().get("worker", 0) not in {0, before["worker"]}, within=30.0, but=running.said)
        assert running.programs()["web"] == before["web"]
        assert running.healthy()


def test_sigterm_drains_it_and_it_starts_again_on_its_data(image: str, tmp_path: Path) -> None:
    with box(image, tmp_path / "box") as running:
        running.ready(within=60.0)
        start = time.monotonic()
        podman.run("stop", "--time=30", running.name)
        assert time.monotonic() - start < 30.0
        assert running.status() == 0, running.said()
        assert not running.volumes.socket.exists()
        podman.run("start", running.name)
        running.ready(within=60.0)


def test_it_starts_again_where_it_was_killed_whole(image: str, tmp_path: Path) -> None:
    """The socket and the notes of the dead are still on the volumes."""
    with box(image, tmp_path / "box") as running:
        running.ready(within=60.0)
        os.kill(running.pid(), signal.SIGKILL)
        until(
            lambda: podman.run("inspect", "--format={{.State.Running}}", running.name) == "false",
            within=30.0,
            but=running.said,
        )
        podman.run("start", running.name)
        running.ready(within=60.0)


def test_it_answers_on_a_published_port_of_loopback(image: str, tmp_path: Path) -> None:
    published = ("--network=bridge", "--publish=127.0.0.1::7878")
    with box(image, tmp_path / "box", environment=TCP, network=published) as running:
        running.ready(within=60.0)
        port = int(podman.run("port", running.name, "7878/tcp").rpartition(":")[2])
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
            connection.request("GET", "/api/v1/health")
            answer = connection.getresponse()
            assert (answer.status, json.loads(answer.read())["state"]) == (200, "ready")


def test_a_setting_that_does_not_exist_ends_it_with_a_sentence(image: str, tmp_path: Path) -> None:
    with box(image, tmp_path / "box", environment={"SKELLIG_CHAD__MODEL": "none"}) as running:
        until(
            lambda: podman.run("inspect", "--format={{.State.Running}}", running.name) == "false",
            within=30.0,
            but=running.said,
        )
        assert running.status() != 0
        assert "There is no setting chad.model (from env)." in running.said()
