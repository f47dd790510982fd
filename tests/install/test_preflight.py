"""Hosts that cannot carry the appliance are refused by name, with the remedy, and before anything on them is touched."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.install.host import FakeHost
from tests.install.playing import Controller

pytestmark = [pytest.mark.install, pytest.mark.timeout(300)]
TOUCHED = "ls /var/lib/skellig /var/lib/containers/storage/overlay-images 2>/dev/null; ls /etc/containers/systemd; true"
AWAY, BACK = "mv /usr/bin/podman /usr/bin/podman.away", "mv /usr/bin/podman.away /usr/bin/podman"
CASES = {
    "processor": (
        "sed s/avx2//g /proc/cpuinfo >/tmp/cpuinfo && mount --bind /tmp/cpuinfo /proc/cpuinfo",
        "umount /proc/cpuinfo",
        "The processor lacks avx2. In a virtual machine pass the host's own processor on",
    ),
    "memory": (
        "echo 'MemTotal: 1000000 kB' >/tmp/meminfo && mount --bind /tmp/meminfo /proc/meminfo",
        "umount /proc/meminfo",
        "The host has 1024 MB of memory and needs 3800 MB. Give it more.",
    ),
    "disk": (
        "mkdir -p /var/lib/skellig && mount -t tmpfs -o size=50m small /var/lib/skellig",
        "umount /var/lib/skellig && rmdir /var/lib/skellig",
        "/var/lib/skellig has 52 MB of free space and needs 8000 MB. Free some",
    ),
    "noexec": (
        "mkdir -p /var/lib/containers/storage && mount -t tmpfs -o noexec,size=8g sealed /var/lib/containers/storage",
        "umount -l /var/lib/containers/storage",
        "is mounted noexec, and podman's images lie there. Remount it",
    ),
    "port": (
        "systemd-run --unit=squatter python3 -m http.server --bind 127.0.0.1 7878 && sleep 2",
        "systemctl stop squatter",
        "127.0.0.1:7878 is taken by another program. Free it (ss -ltnp)",
    ),
    "no podman": (
        "mv /usr/bin/podman /usr/bin/podman.away",
        "mv /usr/bin/podman.away /usr/bin/podman",
        "podman is not installed.",
    ),
    "old podman": (
        f"{AWAY} && printf '#!/bin/sh\\necho podman version 4.3.1\\n' >/usr/bin/podman && chmod +x /usr/bin/podman",
        BACK,
        "podman version 4.3.1 is too old: version 5 or newer is needed. Take Debian 13",
    ),
    "namespaces": (
        "echo 0 >/tmp/none && mount --bind /tmp/none /proc/sys/user/max_user_namespaces",
        "umount /proc/sys/user/max_user_namespaces",
        "user.max_user_namespaces is 0, and containers need them. Set it",
    ),
    "account": ("useradd --uid 10001 bob", "userdel bob", "The account bob has the number 10001"),
}


@pytest.mark.parametrize(("breaks", "mends", "sentence"), CASES.values(), ids=CASES)
def test_a_broken_host_is_named_with_the_remedy_and_left_untouched(
    controller: Controller, fake_host: FakeHost, stand_ins: dict[str, Path], breaks: str, mends: str, sentence: str
) -> None:
    before = fake_host.ssh(TOUCHED)
    fake_host.ssh(breaks)
    try:
        played = controller.play("install", skellig_bundle=str(stand_ins["0.1.0"]), skellig_publish="127.0.0.1:7878")
    finally:
        fake_host.ssh(mends)
    assert (played.status, played.failed, played.changed) == (2, 1, 0)
    assert sentence in " ".join(played.said.split())
    assert fake_host.ssh(TOUCHED) == before


def test_a_clock_that_is_a_year_off_is_named(
    controller: Controller, fake_host: FakeHost, stand_ins: dict[str, Path]
) -> None:
    """No signature depends on the clock; sessions and logs do. The controller's clock is the one that is moved here."""
    now = int(fake_host.ssh("date +%s"))
    played = controller.play("install", skellig_bundle=str(stand_ins["0.1.0"]), skellig_now=now + 365 * 86400)
    assert (played.status, played.changed) == (2, 0)
    assert "The clock is 8760 hours behind the controller's. Set it: timedatectl set-time" in " ".join(played.said.split())


def test_a_bundle_that_does_not_fit_is_refused_before_it_is_sent_and_leaves_no_folder(
    controller: Controller, fake_host: FakeHost, stand_ins: dict[str, Path]
) -> None:
    """What the preflight asks for may be less than what the bundle needs."""
    fake_host.ssh("mkdir /srv/small && mount -t tmpfs -o size=3m small /srv/small")
    few = {"skellig_root": "/srv/small/skellig", "skellig_free_mb": 1, "skellig_storage_mb": 1}
    try:
        played = controller.play("install", skellig_bundle=str(stand_ins["0.1.0"]), **few)
        left = fake_host.ssh("ls -A /srv/small")
    finally:
        fake_host.ssh("umount /srv/small && rmdir /srv/small")
    assert (played.status, played.failed, played.changed, left) == (2, 1, 0, "")
    assert "/srv/small has 3 MB of free space, and the bundle needs" in " ".join(played.said.split())


def test_a_first_install_that_the_host_refuses_leaves_no_folder(
    controller: Controller, fake_host: FakeHost, stand_ins: dict[str, Path]
) -> None:
    """The host's own look at the signature is the last word: the bundle was sent by then."""
    fake_host.ssh("mv /usr/bin/minisign /usr/bin/minisign.away && ln -s /bin/false /usr/bin/minisign")
    try:
        played = controller.play("install", skellig_bundle=str(stand_ins["0.1.0"]))
    finally:
        fake_host.ssh("mv /usr/bin/minisign.away /usr/bin/minisign")
    assert played.status == 2
    assert fake_host.try_ssh("test -e /var/lib/skellig").returncode == 1


MISTAKES: dict[str, tuple[dict[str, object], str]] = {
    "a key's file": ({"skellig_key": "/root/maker.pub"}, "skellig_key is no public key of minisign: it is the line"),
    "no key": ({"skellig_key": ""}, "skellig_key is no public key of minisign"),
    "no bundle": ({"skellig_bundle": "/nowhere"}, "There is no bundle at /nowhere on localhost"),
    "no bundle there": (
        {"skellig_bundle": "/nowhere", "skellig_bundle_on_host": True},
        "There is no bundle at /nowhere on fakehost",
    ),
}


@pytest.mark.parametrize(("given", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_what_is_given_is_named(
    controller: Controller, stand_ins: dict[str, Path], given: dict[str, object], sentence: str
) -> None:
    played = controller.play("install", **{"skellig_bundle": str(stand_ins["0.1.0"]), **given})
    assert (played.status, played.changed) == (2, 0), played.said
    assert sentence in " ".join(played.said.split())


@pytest.mark.parametrize("playbook", ["install", "upgrade", "rollback", "verify", "uninstall"])
def test_an_inventory_that_names_no_host_is_no_success(controller: Controller, playbook: str) -> None:
    played = replace(controller, names_the_host=False).play(playbook)
    assert (played.status, played.changed) == (2, 0), played.said
    assert "The inventory names no host in the group skellig." in " ".join(played.said.split())
