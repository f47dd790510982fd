"""The life of an appliance on a host without a route, step by step over SSH; each step stands on those before it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.install.host import FakeHost, await_true
from tests.install.playing import Controller, Played
from tests.install.workshop import image_of

pytestmark = [pytest.mark.install, pytest.mark.timeout(600)]
Bundles = dict[str, Path]
STATE = (
    "find /var/lib/skellig /etc/containers/systemd -type d -printf '%p\\n' -o -printf '%p %s %T@\\n'"
    " | grep -v -e /data -e /run; podman images --all --no-trunc --format '{{.Id}} {{.Names}}'"
)

ANSWERS = b"""
import socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
while True:
    taken = server.accept()[0]
    taken.sendall(sys.argv[2].encode())
    taken.close()
"""
ASKS = b"""
import socket, sys
try:
    if sys.argv[1] == "port":
        asked = socket.create_connection(("127.0.0.1", 7878), timeout=5)
    else:
        asked = socket.socket(socket.AF_UNIX)
        asked.connect(sys.argv[1])
    print(asked.recv(9).decode() or "nothing")
except OSError:
    print("nothing")
"""


def version(host: FakeHost) -> str:
    """Return the version that serves."""
    return host.ssh("cat /var/lib/skellig/run/ready")


def refused(played: Played, *, because: str) -> None:
    """See that the play ended with that sentence and changed nothing."""
    assert played.status == 2, played.said
    assert because in " ".join(played.said.split()), played.said


def test_the_host_has_no_way_out(fake_host: FakeHost) -> None:
    assert fake_host.ssh("ip route").split()[0].startswith("10.231.")
    assert len(fake_host.ssh("ip route").splitlines()) == 1
    assert fake_host.try_ssh("getent hosts example.org").returncode != 0


def test_check_mode_says_that_it_would_install_and_touches_nothing(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles
) -> None:
    before = fake_host.ssh(STATE + "; true")
    played = controller.play("install", "--check", skellig_bundle=str(stand_ins["0.1.0"]))
    assert (played.status, played.failed) == (0, 0)
    assert "Version 0.1.0 would be carried in." in played.said
    assert fake_host.ssh(STATE + "; true") == before


def test_a_bundle_is_installed_and_its_image_serves(controller: Controller, fake_host: FakeHost, stand_ins: Bundles) -> None:
    played = controller.play("install", skellig_bundle=str(stand_ins["0.1.0"]))
    assert played.status == 0, played.said
    assert version(fake_host) == "0.1.0"
    assert fake_host.ssh("podman inspect skellig --format '{{.Image}}'") == image_of(stand_ins["0.1.0"])
    assert fake_host.ssh("ls /var/lib/skellig").split() == ["bundles", "data", "etc", "repos", "run", "served", "trust"]


def test_the_first_token_is_in_a_file_that_only_the_appliance_and_root_read(fake_host: FakeHost) -> None:
    assert fake_host.ssh("cat /var/lib/skellig/data/first-token")
    assert fake_host.ssh("stat -c '%a %u' /var/lib/skellig/data") == "700 10001"


def test_the_container_has_no_network_no_power_and_a_root_that_it_cannot_write(fake_host: FakeHost) -> None:
    said = fake_host.ssh(
        "podman inspect skellig --format '{{.HostConfig.NetworkMode}} {{.HostConfig.ReadonlyRootfs}} {{.EffectiveCaps}}"
        " {{.Config.User}} {{.HostConfig.SecurityOpt}}'"
    )
    assert said == "none true [] 10001:10001 [no-new-privileges]"


def test_a_second_run_changes_nothing(controller: Controller, stand_ins: Bundles) -> None:
    played = controller.play("install", skellig_bundle=str(stand_ins["0.1.0"]))
    assert (played.status, played.changed) == (0, 0), played.said


def test_check_mode_on_what_is_installed_finds_nothing_to_do(controller: Controller, stand_ins: Bundles) -> None:
    played = controller.play("install", "--check", "--diff", skellig_bundle=str(stand_ins["0.1.0"]))
    assert (played.status, played.changed) == (0, 0), played.said


def test_what_is_installed_can_be_verified(controller: Controller) -> None:
    played = controller.play("verify")
    assert (played.status, played.changed) == (0, 0), played.said


@pytest.mark.parametrize(("harm", "named"), [("echo >>bundle.json", "bundle.json"), ("touch image/more.sh", "more.sh")])
def test_what_changed_on_the_host_is_named_and_the_same_bundle_puts_it_right(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles, harm: str, named: str
) -> None:
    fake_host.ssh(f"cd /var/lib/skellig/bundles/current && {harm}")
    played = controller.play("verify")
    assert (played.status != 0, named in played.said) == (True, True), played.said
    assert controller.play("install", skellig_bundle=str(stand_ins["0.1.0"])).status == 0
    assert controller.play("verify").status == 0
    assert fake_host.ssh("systemctl is-active skellig") == "active"


def test_an_upgrade_serves_the_new_version_with_the_old_data(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles
) -> None:
    played = controller.play("upgrade", skellig_bundle=str(stand_ins["0.2.0"]))
    assert played.status == 0, played.said
    assert version(fake_host) == "0.2.0"
    log = fake_host.ssh("cat /var/lib/skellig/data/log").splitlines()
    assert log == ["0.1.0 started", "0.1.0 drained", "0.2.0 started"]


def test_the_upgrade_again_changes_nothing(controller: Controller, stand_ins: Bundles) -> None:
    played = controller.play("upgrade", skellig_bundle=str(stand_ins["0.2.0"]))
    assert (played.status, played.changed) == (0, 0), played.said


def payload(bundle: Path) -> None:
    _flip(bundle / "targets" / "image" / "image.oci.tar")


def metadata(bundle: Path) -> None:
    _flip(bundle / "metadata" / "targets.json")


def installer(bundle: Path) -> None:
    _flip(bundle / "installer" / "skellig-bundle.pyz")


def extra(bundle: Path) -> None:
    (bundle / "targets" / "more.sh").write_text("echo\n")


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("where", ["controller", "host"])
@pytest.mark.parametrize(
    ("tamper", "named"),
    [(payload, "image/image.oci.tar"), (metadata, "targets.json"), (installer, "skellig-bundle.pyz"), (extra, "more.sh")],
)
def test_a_tampered_bundle_is_refused_by_the_file_and_the_old_version_serves_on(
    controller: Controller,
    fake_host: FakeHost,
    stand_ins: Bundles,
    tmp_path: Path,
    tamper: Callable[[Path], None],
    named: str,
    where: str,
) -> None:
    """A bundle of a newer version, so that it would be taken; nothing of it may stay."""
    bad = tmp_path / "bundle"
    shutil.copytree(stand_ins["0.3.0"], bad)
    tamper(bad)
    before = fake_host.ssh(STATE)
    on_host = where == "host"
    if on_host:
        fake_host.send(bad, "/media/bundle")
    place = "/media/bundle" if on_host else str(bad)
    played = controller.play("upgrade", skellig_bundle=place, skellig_bundle_on_host=on_host)
    refused(played, because=named)
    assert "Nothing was changed." in " ".join(played.said.split())
    assert played.changed == 0
    assert version(fake_host) == "0.2.0"
    assert fake_host.ssh(STATE) == before


def test_an_older_bundle_is_refused(controller: Controller, fake_host: FakeHost, stand_ins: Bundles) -> None:
    """And what a run that was broken off had sent is gone: it would be an extra file."""
    before = fake_host.ssh(STATE)
    fake_host.ssh("mkdir -p /var/lib/skellig/incoming/targets && touch /var/lib/skellig/incoming/targets/stale")
    played = controller.play("upgrade", skellig_bundle=str(stand_ins["0.1.0"]))
    refused(played, because="is older than that of a bundle which this host took")
    assert version(fake_host) == "0.2.0"
    assert fake_host.ssh(STATE) == before


def test_a_bundle_signed_with_another_key_is_refused(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles
) -> None:
    other = "RWSnpv1iTSbZjgvuc2D0yemgoM0fcO6y1lEVoFWgrQPw4sJmfGYwAh6v"
    played = controller.play("upgrade", skellig_bundle=str(stand_ins["0.3.0"]), skellig_key=other)
    refused(played, because="The bundle is not signed with the key skellig_key: skellig-bundle.pyz, root.json")
    assert version(fake_host) == "0.2.0"


def test_data_of_a_newer_schema_is_left_to_the_version_that_wrote_it(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles
) -> None:
    database = "/var/lib/skellig/data/global.db"
    fake_host.ssh(f"""python3 -c "import sqlite3; sqlite3.connect('{database}').execute('pragma user_version=999')" """)
    try:
        played = controller.play("upgrade", skellig_bundle=str(stand_ins["0.3.0"]))
        refused(played, because="is of schema 999, and version 0.3.0 reads")
    finally:
        fake_host.ssh(f"rm {database}")
    assert version(fake_host) == "0.2.0"


def test_an_image_that_podman_cannot_load_leaves_the_version_before(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles
) -> None:
    """A disk that is full by that moment, for all that was free before: podman unpacks archives in /var/tmp."""
    fake_host.ssh("mount -t tmpfs -o size=64m,nr_inodes=1 small /var/tmp")
    try:
        played = controller.play("upgrade", skellig_bundle=str(stand_ins["0.3.0"]))
    finally:
        fake_host.ssh("umount /var/tmp")
    refused(played, because="The image of version 0.3.0 could not be loaded")
    assert "no space left on device" in " ".join(played.said.split())
    assert "Version 0.2.0 goes on." in " ".join(played.said.split())
    assert version(fake_host) == "0.2.0"
    assert fake_host.ssh("readlink /var/lib/skellig/bundles/current") == "0.2.0"


def test_a_version_that_is_never_ready_gives_way_to_the_one_before(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles
) -> None:
    played = controller.play("upgrade", skellig_bundle=str(stand_ins["0.3.0"]), skellig_start_seconds=15)
    refused(played, because="Version 0.3.0 was not ready within 15 seconds")
    assert "Version 0.2.0 runs again." in " ".join(played.said.split())
    assert version(fake_host) == "0.2.0"


def test_a_killed_appliance_comes_back(fake_host: FakeHost) -> None:
    before = fake_host.ssh("podman inspect skellig --format '{{.State.Pid}}'")
    fake_host.ssh(f"kill -9 {before}")
    await_true(
        lambda: (
            fake_host.try_ssh("podman inspect skellig --format '{{.State.Pid}}'").stdout.strip() not in {before, "", "0"}
        ),
        seconds=30,
        what="another first process",
    )
    took = await_true(lambda: healthy(fake_host), seconds=30, what="healthy again")
    assert fake_host.ssh("systemctl show --property=NRestarts --value skellig") == "1"
    print(f"healthy {took:.1f} s after a kill -9")  # noqa: T201 - a figure


def healthy(host: FakeHost) -> bool:
    return host.try_ssh("podman healthcheck run skellig").returncode == 0


def test_after_the_hosts_restart_the_appliance_is_there_by_itself(fake_host: FakeHost) -> None:
    fake_host.restart()
    took = await_true(lambda: healthy(fake_host), seconds=90, what="healthy after the host's restart")
    print(f"healthy {took:.1f} s after the host's ssh answered")  # noqa: T201 - a figure
    assert version(fake_host) == "0.2.0"


def test_there_is_no_going_back_past_the_version_that_was_kept(controller: Controller, fake_host: FakeHost) -> None:
    """The version that failed was the one before's successor: going back from it used up what was kept."""
    refused(controller.play("rollback"), because="There is no going back")
    assert version(fake_host) == "0.2.0"


def test_a_bundle_on_the_host_that_others_can_change_is_not_run(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles
) -> None:
    fake_host.send(stand_ins["0.2.0"], "/media/open")
    try:
        for harm in ("chmod o+w /media/open", "chown 1000 /media/open/installer/skellig-bundle.pyz"):
            fake_host.ssh(harm)
            played = controller.play("install", skellig_bundle="/media/open", skellig_bundle_on_host=True)
            refused(played, because="Others than root can write to /media/open")
            fake_host.ssh("chmod o-w /media/open")
    finally:
        fake_host.ssh("rm -r /media/open")


HOSTS_OWN = ("", "/", "/var", "relative/folder", "/var/lib/with blank", "/var/../etc")


@pytest.mark.parametrize(
    ("playbook", "root"), [*(("uninstall", root) for root in HOSTS_OWN), ("install", ""), ("rollback", "/"), ("verify", "/")]
)
def test_a_folder_that_is_the_hosts_own_is_refused(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles, playbook: str, root: str
) -> None:
    before = fake_host.ssh(STATE)
    played = controller.play(playbook, skellig_bundle=str(stand_ins["0.2.0"]), skellig_root=root, skellig_purge=True)
    refused(played, because="It has to be an absolute path, two folders deep or more")
    assert fake_host.ssh(STATE) == before


def test_changed_settings_are_applied_also_where_a_run_broke_off_before_the_restart(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles
) -> None:
    def started() -> str:
        return fake_host.ssh("podman inspect skellig --format '{{.State.StartedAt}}'")

    bundle, files = str(stand_ins["0.2.0"]), "/etc/containers/systemd/skellig.container /var/lib/skellig/etc/skellig.toml"
    fake_host.ssh(f"tar --create --file /root/before.tar --absolute-names {files}")
    before = started()
    assert controller.play("install", skellig_bundle=bundle, skellig_settings={"chat": {"threads": 1}}).status == 0
    assert (changed := started()) != before
    fake_host.ssh("tar --extract --file /root/before.tar --absolute-names")
    assert controller.play("install", skellig_bundle=bundle).status == 0
    assert started() != changed
    played = controller.play("install", skellig_bundle=bundle)
    assert (played.status, played.changed) == (0, 0), played.said


def test_an_uninstall_keeps_the_data_and_removes_all_else(controller: Controller, fake_host: FakeHost) -> None:
    played = controller.play("uninstall")
    assert played.status == 0, played.said
    assert fake_host.ssh("ls /var/lib/skellig").split() == ["data", "repos"]
    assert fake_host.ssh("podman ps -aq; podman images -q; ls /etc/containers/systemd").split() == ["users"]


def test_the_uninstall_again_changes_nothing(controller: Controller) -> None:
    played = controller.play("uninstall")
    assert (played.status, played.changed) == (0, 0), played.said


def test_what_is_installed_again_finds_its_data(controller: Controller, fake_host: FakeHost, stand_ins: Bundles) -> None:
    """From a medium that is mounted on the host, this time, and with a door at a port."""
    fake_host.send(stand_ins["0.1.0"], "/media/bundle")
    door = {"skellig_publish": "127.0.0.1:7878"}
    played = controller.play("install", skellig_bundle="/media/bundle", skellig_bundle_on_host=True, **door)
    assert played.status == 0, played.said
    assert fake_host.ssh("cat /var/lib/skellig/data/log").splitlines()[-1] == "0.1.0 started"
    assert "127.0.0.1:7878" in fake_host.ssh("ss -ltn")


def test_the_door_leads_to_the_appliance_and_by_no_link_to_another_socket_of_the_host(fake_host: FakeHost) -> None:
    """What runs in the container can put a link in its socket's place, and the door is opened by root."""
    own, other = "/var/lib/skellig/run/web.sock", "/run/other.sock"

    def asked(which: str) -> str:
        return fake_host.ssh(f"python3 - {which}", given=ASKS)

    fake_host.ssh("cat >/tmp/answers.py", given=ANSWERS)
    for name, path in (("own", own), ("other", other)):
        fake_host.ssh(f"systemd-run --quiet --unit={name} --collect python3 /tmp/answers.py {path} {name}")
    await_true(lambda: asked(own) == "own" and asked(other) == "other", seconds=20, what="both answer")
    assert asked("port") == "own"
    fake_host.ssh(f"ln -sfn {other} {own}")
    assert (asked(own), asked("port")) == ("other", "nothing")
    fake_host.ssh(f"systemctl stop own other; rm -f {own} {other}")


def test_a_rollback_serves_the_version_before_with_the_data(
    controller: Controller, fake_host: FakeHost, stand_ins: Bundles
) -> None:
    upgraded = controller.play("upgrade", skellig_bundle=str(stand_ins["0.2.0"]))
    assert upgraded.status == 0, upgraded.said
    played = controller.play("rollback", skellig_version="0.1.0")
    assert played.status == 0, played.said
    assert version(fake_host) == "0.1.0"
    log = fake_host.ssh("cat /var/lib/skellig/data/log").splitlines()
    assert log[-3:] == ["0.2.0 started", "0.2.0 drained", "0.1.0 started"]


def test_the_rollback_again_changes_nothing(controller: Controller) -> None:
    played = controller.play("rollback", skellig_version="0.1.0")
    assert (played.status, played.changed) == (0, 0), played.said


def test_a_purge_leaves_nothing(controller: Controller, fake_host: FakeHost) -> None:
    played = controller.play("uninstall", skellig_purge=True)
    assert played.status == 0, played.said
    assert fake_host.ssh("ls /var/lib /etc/systemd/system | grep -i skellig; podman ps -aq; podman images -q; true") == ""
