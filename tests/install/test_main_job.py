"""The main job inside the appliance, installed from a bundle of the real image and real models, on a host with no route."""

import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from tests.install import workshop
from tests.install.host import FakeHost, await_true
from tests.install.playing import Controller
from tests.install.workshop import Workshop, image_of
from tests.support.models import MINILM, SMALL, needed

pytestmark = [pytest.mark.install, pytest.mark.timeout(1800)]
MODELS: Final = (SMALL, MINILM)
INSTALL_S, AGAIN_S, UPGRADE_S = 150.0, 30.0, 120.0
SOURCE: Final = '''"""Prices."""


def gross_price(net: float, *, rate: float = 0.19) -> float:
    """Return the price with value added tax at *rate*."""
    return net * (1 + rate)
'''


@pytest.fixture(scope="module")
def bundles(shop: Workshop, real_image: str) -> dict[str, Path]:
    """Return two bundles of the real image; the second one's has another label, and so another id."""
    for name in MODELS:
        needed(name)
    begun = time.monotonic()
    first = shop.build("0.1.0", image=real_image, models=MODELS)
    print(f"bundle built in {time.monotonic() - begun:.1f} s")  # noqa: T201 - a figure
    return {
        "0.1.0": first,
        "0.2.0": shop.build("0.2.0", image=workshop.relabelled(real_image, version="0.2.0"), models=MODELS),
    }


def stretched(seconds: float) -> float:
    """Return the limit for a machine that does other work too: by as much as more wants to run than it has cores."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def inside(host: FakeHost, *argv: str) -> str:
    """Return what a command prints inside the appliance."""
    words = " ".join(f"'{word}'" for word in argv)
    return host.ssh(f"podman exec skellig {words}")


@pytest.fixture(scope="module")
def controller(controller: Controller) -> Controller:
    """Name the small model: left to itself the appliance takes none that is mostly wrong. And open a port."""
    named = {"skellig_settings": {"chat": {"model": SMALL}}, "skellig_publish": "127.0.0.1:7878"}
    return replace(controller, variables={**controller.variables, **named})


def test_the_real_bundle_is_installed(controller: Controller, fake_host: FakeHost, bundles: dict[str, Path]) -> None:
    played = controller.play("install", skellig_bundle=str(bundles["0.1.0"]))
    assert played.status == 0, played.said
    assert fake_host.ssh("podman inspect skellig --format '{{.Image}}'") == image_of(bundles["0.1.0"])
    assert played.seconds <= stretched(INSTALL_S)


def test_the_real_bundle_again_changes_nothing(controller: Controller, bundles: dict[str, Path]) -> None:
    played = controller.play("install", skellig_bundle=str(bundles["0.1.0"]))
    assert (played.status, played.changed) == (0, 0), played.said
    assert played.seconds <= stretched(AGAIN_S)


def test_it_is_what_was_signed_and_sees_no_network(controller: Controller) -> None:
    played = controller.play("verify")
    assert (played.status, played.changed) == (0, 0), played.said


def test_it_answers_at_the_hosts_port_without_a_network_of_its_own(fake_host: FakeHost) -> None:
    ask = "import urllib.request as web; print(web.urlopen('http://127.0.0.1:7878/login').status)"
    assert fake_host.ssh(f'python3 -c "{ask}"') == "200"
    assert fake_host.ssh("podman inspect skellig --format '{{.HostConfig.NetworkMode}}'") == "none"


def test_a_repository_dropped_into_the_directory_is_indexed(fake_host: FakeHost, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "prices.py").write_text(SOURCE)
    git = ["git", "-C", str(shop), "-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message=Prices"]):
        subprocess.run([*git, *words], check=True)
    fake_host.send(shop, "/var/lib/skellig/repos/.shop")
    fake_host.ssh("mv /var/lib/skellig/repos/.shop /var/lib/skellig/repos/shop")
    took = await_true(lambda: "gross_price" in found(fake_host), seconds=180, what="the repository in a search")
    print(f"indexed {took:.1f} s after it was dropped")  # noqa: T201 - a figure


def received(host: FakeHost) -> int:
    """Return the bytes that came over the host's wire since it was made."""
    return int(host.ssh("cat /sys/class/net/eth0/statistics/rx_bytes"))


def found(host: FakeHost) -> str:
    ended = host.try_ssh("podman exec skellig skellig search gross_price --json")
    return ended.stdout if ended.returncode == 0 else ""


def test_a_question_is_answered_with_its_evidence(fake_host: FakeHost) -> None:
    said = inside(fake_host, "skellig", "ask", "How is the price with value added tax computed?")
    print(said)  # noqa: T201 - the transcript
    assert "prices.py" in said
    assert "net * (1 + rate)" in said


def test_the_first_token_waits_in_a_file_for_the_administrator(fake_host: FakeHost) -> None:
    assert fake_host.ssh("stat -c '%a %u' /var/lib/skellig/data/first-token") == "600 10001"
    assert len(fake_host.ssh("cat /var/lib/skellig/data/first-token")) > 20


def test_settings_that_it_cannot_read_are_refused_and_it_serves_on(
    controller: Controller, fake_host: FakeHost, bundles: dict[str, Path]
) -> None:
    started = "podman inspect skellig --format '{{.State.StartedAt}}'"
    before, wrong = fake_host.ssh(started), {"chat": {"model": SMALL, "thread": 1}}
    played = controller.play("install", skellig_bundle=str(bundles["0.1.0"]), skellig_settings=wrong)
    said = " ".join(played.said.split())
    assert (played.status, played.changed) == (2, 0)
    assert "There is no setting chat.thread (from file)." in said
    assert "Version 0.1.0 goes on." in said
    assert fake_host.ssh(started) == before
    image = fake_host.ssh("podman inspect skellig --format {{.Image}}")
    begun = time.monotonic()
    fake_host.ssh(f"podman run --rm --network=none --cgroups=disabled --read-only {image} config show")
    print(f"{time.monotonic() - begun:.1f} s for a look at the settings")  # noqa: T201 - a figure


def test_an_upgrade_and_the_way_back_keep_the_repository(
    controller: Controller, fake_host: FakeHost, bundles: dict[str, Path]
) -> None:
    before = received(fake_host)
    played = controller.play("upgrade", skellig_bundle=str(bundles["0.2.0"]))
    upgraded, limit = played.seconds, stretched(UPGRADE_S)
    assert played.status == 0, played.said
    models = sum(file.stat().st_size for file in (bundles["0.2.0"] / "targets" / "models").rglob("*") if file.is_file())
    whole = sum(file.stat().st_size for file in bundles["0.2.0"].rglob("*") if file.is_file())
    sent = received(fake_host) - before
    print(f"{sent:,} bytes sent of {whole:,}, of which {models:,} are models that the host had")  # noqa: T201 - a figure
    assert sent < whole - models // 2
    assert fake_host.ssh("podman inspect skellig --format '{{.Image}}'") == image_of(bundles["0.2.0"])
    assert "prices.py" in found(fake_host)
    back = controller.play("rollback")
    assert back.status == 0, back.said
    assert fake_host.ssh("podman inspect skellig --format '{{.Image}}'") == image_of(bundles["0.1.0"])
    assert "prices.py" in found(fake_host)
    assert upgraded <= limit


def test_the_first_process_killed_comes_back_with_the_repository(fake_host: FakeHost) -> None:
    first = fake_host.ssh("podman inspect skellig --format '{{.State.Pid}}'")
    fake_host.ssh(f"kill -9 {first}")
    took = await_true(
        lambda: "prices.py" in found(fake_host), seconds=120, what="a search after a kill of the first process"
    )
    print(f"searching {took:.1f} s after a kill -9")  # noqa: T201 - a figure
    assert fake_host.ssh("podman inspect skellig --format '{{.State.Pid}}'") != first


def test_nothing_is_left_of_it(controller: Controller, fake_host: FakeHost) -> None:
    played = controller.play("uninstall", skellig_purge=True)
    assert played.status == 0, played.said
    assert fake_host.ssh("ls /var/lib | grep -i skellig; podman ps -aq; podman images -q; true") == ""
