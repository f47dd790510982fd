"""The port that leads to the appliance: changed, lost on the way and found again; and asked for without harm."""

from pathlib import Path

import pytest

from tests.install.host import FakeHost
from tests.install.playing import Controller

pytestmark = [pytest.mark.install, pytest.mark.timeout(600)]
DOOR = "/etc/systemd/system/skellig-web.socket"


@pytest.fixture(scope="module", autouse=True)
def installed(controller: Controller, stand_ins: dict[str, Path]) -> None:
    played = controller.play("install", skellig_bundle=str(stand_ins["0.1.0"]))
    assert played.status == 0, played.said


def ports(host: FakeHost) -> list[str]:
    return [line.split()[3] for line in host.ssh("ss -Hltn").splitlines() if ":22 " not in line]


def test_check_mode_with_a_new_door_says_so_and_opens_none(
    controller: Controller, fake_host: FakeHost, stand_ins: dict[str, Path]
) -> None:
    bundle = str(stand_ins["0.1.0"])
    played = controller.play("install", "--check", skellig_bundle=bundle, skellig_publish="127.0.0.1:7878")
    assert played.status == 0, played.said
    assert played.changed > 0
    assert ports(fake_host) == []


@pytest.mark.parametrize("publish", ["127.0.0.1:7878", "[::1]:7999", "127.0.0.1:7999"])
def test_a_door_is_opened_and_moved_and_a_second_run_leaves_it(
    controller: Controller, fake_host: FakeHost, stand_ins: dict[str, Path], publish: str
) -> None:
    bundle = str(stand_ins["0.1.0"])
    assert controller.play("install", skellig_bundle=bundle, skellig_publish=publish).status == 0
    assert ports(fake_host) == [publish]
    played = controller.play("install", skellig_bundle=bundle, skellig_publish=publish)
    assert (played.status, played.changed) == (0, 0), played.said


@pytest.mark.parametrize(
    ("then", "old", "new"),
    [("true", "127.0.0.1:7001", "127.0.0.1:7002"), ("systemctl daemon-reload", "127.0.0.1:7003", "127.0.0.1:7004")],
    ids=["unread", "read by systemd"],
)
def test_a_door_that_a_broken_run_wrote_and_did_not_open_is_opened_by_the_next(
    controller: Controller, fake_host: FakeHost, stand_ins: dict[str, Path], then: str, old: str, new: str
) -> None:
    """Once systemd has read a socket's new port it says that it listens there, and does not."""
    bundle = str(stand_ins["0.1.0"])
    assert controller.play("install", skellig_bundle=bundle, skellig_publish=old).status == 0
    fake_host.ssh(f"sed -i s/{old}/{new}/ {DOOR} {DOOR.replace('.socket', '.service')} && {then}")
    assert controller.play("install", skellig_bundle=bundle, skellig_publish=new).status == 0
    assert ports(fake_host) == [new]


def test_a_new_port_that_another_program_has_is_refused_and_the_door_stays_open(
    controller: Controller, fake_host: FakeHost, stand_ins: dict[str, Path]
) -> None:
    before = ports(fake_host)
    fake_host.ssh("systemd-run --unit=squatter python3 -m http.server --bind 127.0.0.1 7070 && sleep 2")
    try:
        played = controller.play("install", skellig_bundle=str(stand_ins["0.1.0"]), skellig_publish="127.0.0.1:7070")
    finally:
        fake_host.ssh("systemctl stop squatter")
    assert (played.status, played.changed) == (2, 0)
    assert "127.0.0.1:7070 is taken by another program. Free it (ss -ltnp)" in " ".join(played.said.split())
    assert ports(fake_host) == before


def test_a_door_that_is_no_longer_wanted_is_gone(
    controller: Controller, fake_host: FakeHost, stand_ins: dict[str, Path]
) -> None:
    assert controller.play("install", skellig_bundle=str(stand_ins["0.1.0"])).status == 0
    assert ports(fake_host) == []
    assert fake_host.try_ssh(f"test -e {DOOR}").returncode != 0
