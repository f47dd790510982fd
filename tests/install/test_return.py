"""What was ready last runs again, whatever failed and wherever a run before broke off; what is refused touches nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.install.host import FakeHost
from tests.install.playing import Controller, Played
from tests.install.workshop import image_of

pytestmark = [pytest.mark.install, pytest.mark.timeout(600)]
Bundles = dict[str, Path]
ROOT, UNIT, SETTINGS = "/var/lib/skellig", "/etc/containers/systemd/skellig.container", "/var/lib/skellig/etc/skellig.toml"
NEVER: Final = {"skellig_settings": {"chat": {"model": "never"}}, "skellig_start_seconds": 9}


def refused(played: Played, *because: str) -> None:
    """See that the play ended with those sentences."""
    said = " ".join(played.said.split())
    assert played.status == 2, played.said
    assert [words for words in because if words not in said] == [], played.said


def serving(host: FakeHost) -> tuple[str, ...]:
    """Return the version that serves and the one that is current, and what is written for the next start."""
    ready = host.ssh(f"podman healthcheck run skellig && cat {ROOT}/run/ready; true")
    return ready, host.ssh(f"readlink {ROOT}/bundles/current"), host.ssh(f"cat {UNIT} {SETTINGS}")


def started(host: FakeHost) -> str:
    return host.ssh("podman inspect skellig --format '{{.State.StartedAt}}'")


@pytest.fixture(scope="module", autouse=True)
def installed(controller: Controller, stand_ins: Bundles) -> None:
    for version in ("0.1.0", "0.2.0"):
        played = controller.play("install", skellig_bundle=str(stand_ins[version]))
        assert played.status == 0, played.said


def test_check_mode_says_that_a_rollback_would_change_and_switches_nothing(
    controller: Controller, fake_host: FakeHost
) -> None:
    before = serving(fake_host)
    played = controller.play("rollback", "--check")
    assert played.status == 0, played.said
    assert played.changed > 0
    assert "Version 0.1.0 would run again." in played.said
    played = controller.play("rollback", "--check", skellig_version="0.2.0")
    assert (played.status, played.changed) == (0, 0), played.said
    assert serving(fake_host) == before


def test_a_rollback_to_an_image_that_cannot_be_loaded_switches_nothing(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles
) -> None:
    before, since = serving(fake_host), started(fake_host)
    fake_host.ssh(f"podman rmi --force {image_of(stand_ins['0.1.0'])} && mount -t tmpfs -o size=64k small /var/tmp")
    try:
        played = controller.play("rollback")
    finally:
        fake_host.ssh("umount /var/tmp")
    refused(played, "The image of version 0.1.0 could not be loaded", "no space left on device")
    assert (serving(fake_host), started(fake_host)) == (before, since)


def test_a_rollback_that_fails_leaves_the_version_that_ran_and_its_bundle_puts_it_right(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles
) -> None:
    before = serving(fake_host)
    played = controller.play("rollback", **NEVER)
    refused(played, "Version 0.1.0 was not ready within 9 seconds", "Version 0.2.0 runs again.")
    assert serving(fake_host) == ("0.2.0", "0.1.0", before[2])
    played = controller.play("install", skellig_bundle=str(stand_ins["0.2.0"]))
    assert played.status == 0, played.said
    assert serving(fake_host) == before


def test_settings_that_the_version_cannot_read_are_refused_and_what_runs_runs_on(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles
) -> None:
    before, since = serving(fake_host), started(fake_host)
    wrong = {"chat": {"wrong": 1}}
    played = controller.play("install", skellig_bundle=str(stand_ins["0.2.0"]), skellig_settings=wrong)
    refused(played, "There is no setting chat.wrong (from file).", "Version 0.2.0 goes on.")
    assert (played.changed, serving(fake_host), started(fake_host)) == (0, before, since)


HARM: Final = {
    "settings": NEVER,
    "podman": {"skellig_podman_args": ["--cgroups=enabled", "--no-such-flag"], "skellig_start_seconds": 9},
}


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM)
def test_a_version_that_no_longer_starts_as_it_was_set_runs_again_as_before(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles, harm: dict[str, object]
) -> None:
    before = serving(fake_host)
    played = controller.play("install", skellig_bundle=str(stand_ins["0.2.0"]), **harm)
    refused(played, "Version 0.2.0 was not ready within 9 seconds", "It runs again as it was set before.")
    assert serving(fake_host) == before


def test_a_user_that_does_not_own_the_data_is_refused(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles
) -> None:
    before, since = serving(fake_host), started(fake_host)
    played = controller.play("install", skellig_bundle=str(stand_ins["0.2.0"]), skellig_uid=10002)
    refused(played, "belongs to the number 10001, and skellig_uid is 10002.", "chown -R 10002:10002")
    assert (played.changed, serving(fake_host), started(fake_host)) == (0, before, since)


@contextmanager
def broken_off(host: FakeHost, bundle: Path, key: str) -> Iterator[None]:
    """Leave the host as a run does that ends right after the bundle was applied."""
    host.send(bundle, "/media/next")
    folders = f"--to={ROOT}/bundles --trust={ROOT}/trust"
    host.ssh(f"python3 /media/next/installer/skellig-bundle.pyz apply --key={key} {folders} /media/next")
    yield
    host.ssh("rm -r /media/next")


@pytest.mark.parametrize(
    "written",
    ["true", f"sed -i -e s/OLD/NEW/ -e s/0.2.0/0.3.0/ {UNIT} && echo 'spoilt = 1' >>{SETTINGS}"],
    ids=["before the unit", "after the unit and the settings"],
)
def test_after_a_run_that_broke_off_a_version_that_is_never_ready_still_gives_way(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles, written: str
) -> None:
    before = serving(fake_host)
    bundle = stand_ins["0.3.0"]
    with broken_off(fake_host, bundle, str(controller.variables["skellig_key"])):
        fake_host.ssh(written.replace("OLD", image_of(stand_ins["0.2.0"])).replace("NEW", image_of(bundle)))
        played = controller.play("upgrade", skellig_bundle=str(bundle), skellig_start_seconds=9)
    refused(played, "Version 0.3.0 was not ready within 9 seconds", "Version 0.2.0 runs again.")
    assert serving(fake_host) == before


def test_after_a_run_that_broke_off_an_image_that_cannot_be_loaded_leaves_the_version_before(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles
) -> None:
    before, since = serving(fake_host), started(fake_host)
    with broken_off(fake_host, stand_ins["0.3.0"], str(controller.variables["skellig_key"])):
        fake_host.ssh("mount -t tmpfs -o size=64k small /var/tmp")
        try:
            played = controller.play("upgrade", skellig_bundle=str(stand_ins["0.3.0"]))
        finally:
            fake_host.ssh("umount /var/tmp")
    refused(played, "The image of version 0.3.0 could not be loaded", "Version 0.2.0 goes on.")
    assert (serving(fake_host), started(fake_host)) == (before, since)


def test_settings_that_a_new_version_cannot_read_leave_the_version_before(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles
) -> None:
    before, since = serving(fake_host), started(fake_host)
    wrong = {"chat": {"wrong": 1}}
    played = controller.play("upgrade", skellig_bundle=str(stand_ins["0.3.0"]), skellig_settings=wrong)
    refused(played, "There is no setting chat.wrong (from file).", "Version 0.2.0 goes on.")
    assert (serving(fake_host), started(fake_host)) == (before, since)


def test_a_version_before_that_cannot_read_the_data_is_not_gone_back_to(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles
) -> None:
    """The newer version has brought its schema before it failed: what runs keeps the data whole."""
    database = f"{ROOT}/data/global.db"
    spoil = f"import sqlite3; sqlite3.connect('{database}').execute('pragma user_version=999')"
    with broken_off(fake_host, stand_ins["0.3.0"], str(controller.variables["skellig_key"])):
        fake_host.ssh(f'python3 -c "{spoil}"')
        try:
            knowing = {"skellig_bundle": str(stand_ins["0.3.0"]), "skellig_start_seconds": 9}
            refused(
                controller.play("upgrade", **knowing),
                "Version 0.3.0 was not ready within 9 seconds",
                "is of schema 999, and version 0.2.0 reads",
                "go on all the same with skellig_ignore_schema. Version 0.3.0 stays.",
            )
            played = controller.play("upgrade", **knowing, skellig_ignore_schema=True)
        finally:
            fake_host.ssh(f"rm {database}")
    refused(played, "Version 0.3.0 was not ready within 9 seconds", "Version 0.2.0 runs again.")
    assert serving(fake_host)[:2] == ("0.2.0", "0.2.0")


def test_a_host_without_the_container_is_told_how_to_get_it_back(controller: Controller, fake_host: FakeHost) -> None:
    fake_host.ssh("systemctl stop skellig")
    refused(controller.play("verify"), "There is no container skellig. Put it right with the same bundle")
    fake_host.ssh("systemctl start skellig")


def test_a_purge_does_not_reach_into_what_is_mounted_below(controller: Controller, fake_host: FakeHost) -> None:
    """Repositories of a site may lie on another host's disk."""
    mount = f"{ROOT}/repos/site"
    fake_host.ssh(f"mkdir {mount} && mount -t tmpfs site {mount} && echo kept >{mount}/file")
    before = serving(fake_host)
    refused(
        controller.play("uninstall", skellig_purge=True), f"{mount} is a mount, and skellig_purge would remove what is there"
    )
    assert (fake_host.ssh(f"cat {mount}/file"), serving(fake_host)) == ("kept", before)
    fake_host.ssh(f"umount {mount}")
