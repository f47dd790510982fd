"""Claims about the preflight's look at a host, on trees that say what a test tells them to: each fault has its remedy."""

import importlib.util
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[3]
MODULE: Final = ROOT / "ansible" / "roles" / "preflight" / "module_utils" / "skellig_fitness.py"
NOW: Final = 1_800_000_000


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("skellig_fitness", MODULE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


fitness = load()


@dataclass
class Fake:
    """A host that is fit, until a test takes something away."""

    tree: Path
    asked: dict[str, object] = field(default_factory=dict)
    machine: str = "x86_64"
    python: tuple[int, int] = (3, 13)
    clock: float = NOW + 60

    def __post_init__(self) -> None:
        (self.tree / "run/systemd/system").mkdir(parents=True)
        self.write("usr/lib/systemd/system-generators/podman-system-generator")
        self.write("proc/cpuinfo", "processor : 0\nflags\t\t: fpu sse4_2 abm avx avx2 bmi1 bmi2 f16c fma movbe\n")
        self.write("proc/meminfo", "MemTotal:       8000000 kB\nMemFree: 10 kB\n")
        self.write("proc/self/mounts", "/dev/vda / ext4 rw,relatime 0 0\n")
        for kind in ("user", "mnt", "net", "pid", "ipc", "uts"):
            self.write(f"proc/sys/user/max_{kind}_namespaces", "15000\n")
        self.write("etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n")
        self.program("minisign")
        self.podman("5.4.2")

    def write(self, path: str, text: str = "") -> Path:
        file = self.tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def program(self, name: str, says: str = "") -> None:
        self.write(f"bin/{name}", f"#!/bin/sh\n{says}\n").chmod(0o755)

    def podman(self, version: str) -> None:
        self.program("podman", f"echo podman version {version}")

    def faults(self) -> list[str]:
        host = fitness.Host(
            tree=self.tree,
            machine=self.machine,
            python=self.python,
            clock=lambda: self.clock,
            path=f"{self.tree}/bin",
        )
        wanted = {
            "root": "/var/lib/skellig",
            "uid": 10001,
            "publish": "",
            "memory_mb": 3800,
            "free_mb": 1,
            "storage_mb": 1,
            "user_namespaces": True,
            "clock_seconds": 86400,
            "now": NOW,
        }
        found = fitness.faults(host, fitness.wanted_of({**wanted, **self.asked}))
        assert isinstance(found, list)
        return found


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return Fake(tmp_path)


def only(faults: list[str], *, says: str, remedy: str) -> None:
    """See that there is one fault, that it says so, and that it says what to do."""
    assert len(faults) == 1, faults
    assert says in faults[0]
    assert remedy in faults[0]


def test_a_fit_host_has_no_fault(fake: Fake) -> None:
    assert fake.faults() == []


def test_a_processor_without_avx2_is_told_with_what_a_hypervisor_hides(fake: Fake) -> None:
    """Engines built for AVX2 die of an illegal instruction, often long after the installation."""
    fake.write("proc/cpuinfo", "flags : abm fpu sse4_2 avx bmi1 bmi2 f16c movbe\n")
    only(fake.faults(), says="lacks avx2, fma.", remedy="host-passthrough")


def test_another_architecture_is_told(fake: Fake) -> None:
    fake.machine = "aarch64"
    only(fake.faults(), says="The processor is aarch64.", remedy="take another host")


def test_too_little_memory_is_told_in_numbers(fake: Fake) -> None:
    fake.write("proc/meminfo", "MemTotal: 2000000 kB\n")
    only(fake.faults(), says="has 2048 MB of memory and needs 3800 MB", remedy="Give it more.")


def test_too_little_space_is_told_for_each_place_in_numbers(fake: Fake) -> None:
    fake.asked = {"free_mb": 10**9, "storage_mb": 10**9}
    data, images = fake.faults()
    assert data.startswith("/var/lib/skellig has ")
    assert images.startswith("/var/lib/containers/storage has ")
    assert all("needs 1000000000 MB" in said and "Free some" in said for said in (data, images))


def test_a_host_that_has_a_version_is_not_asked_for_the_space_of_a_first_one(fake: Fake) -> None:
    fake.asked = {"free_mb": 10**9}
    fake.write("var/lib/skellig/bundles/0.1.0/bundle.json")
    (fake.tree / "var/lib/skellig/bundles/current").symlink_to("0.1.0")
    assert fake.faults() == []


@pytest.mark.parametrize(
    ("mounted", "says", "remedy"),
    [
        ("/dev/vdb /var ext4 rw,noexec 0 0", "/var is mounted noexec", "remount,exec /var"),
        ("/dev/vdb /var/lib/containers ext4 rw,noexec 0 0", "is mounted noexec", "remount,exec /var/lib/containers"),
        ("/dev/vdb /var/lib/skellig ext4 ro 0 0", "/var/lib/skellig is mounted read-only", "remount,rw /var/lib/skellig"),
    ],
)
def test_a_mount_that_forbids_what_is_needed_is_told(fake: Fake, mounted: str, says: str, remedy: str) -> None:
    fake.write("proc/self/mounts", f"/dev/vda / ext4 rw 0 0\n{mounted}\n")
    only(fake.faults(), says=says, remedy=remedy)


def test_images_are_looked_for_where_podmans_settings_say(fake: Fake) -> None:
    fake.write("etc/containers/storage.conf", '[storage]\ndriver = "overlay"\ngraphroot = "/srv/images"\n')
    fake.write("proc/self/mounts", "/dev/vda / ext4 rw 0 0\n/dev/vdb /srv ext4 rw,noexec 0 0\n")
    only(fake.faults(), says="/srv is mounted noexec", remedy="remount,exec /srv")


@pytest.mark.parametrize("text", ["graphroot", "storage = 1", '[storage]\ngraphroot = ["/srv"]', ""])
def test_settings_of_podman_that_say_nothing_are_passed_over(fake: Fake, text: str) -> None:
    fake.write("etc/containers/storage.conf", text)
    assert fake.faults() == []


def test_a_noexec_mount_where_nothing_of_ours_lies_is_no_fault(fake: Fake) -> None:
    fake.write(
        "proc/self/mounts", "/dev/vda / ext4 rw 0 0\ntmpfs /tmp tmpfs rw,noexec 0 0\n/d /variety ext4 ro,noexec 0 0\n"
    )
    assert fake.faults() == []


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_port_that_is_taken_is_told(fake: Fake, taken: int) -> None:
    fake.asked = {"publish": f"127.0.0.1:{taken}"}
    only(fake.faults(), says=f"127.0.0.1:{taken} is taken by another program", remedy="ss -ltnp")


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "[::1]"])  # noqa: S104 - what systemd says, not what is bound
def test_our_own_door_is_no_taken_port(fake: Fake, taken: int, address: str) -> None:
    fake.program("systemctl", f"[ $1 = is-active ] && echo active || echo '{address}:{taken} (Stream)'")
    fake.asked = {"publish": f"127.0.0.1:{taken}"}
    assert fake.faults() == []


def test_a_new_port_that_is_taken_is_told_while_our_own_door_is_open_at_another(fake: Fake, taken: int) -> None:
    fake.program("systemctl", f"[ $1 = is-active ] && echo active || echo '127.0.0.1:1{taken} (Stream)'")
    fake.asked = {"publish": f"127.0.0.1:{taken}"}
    only(fake.faults(), says=f"127.0.0.1:{taken} is taken by another program", remedy="ss -ltnp")


@pytest.mark.parametrize(
    ("publish", "written"),
    [("::1:7999", "[::1]:7999"), ("[127.0.0.1]:80", "127.0.0.1:80"), ("[0:0::1]:7999", "[::1]:7999")],
)
def test_an_address_that_systemd_would_read_otherwise_is_told_as_it_is_to_be_written(
    fake: Fake, publish: str, written: str
) -> None:
    fake.asked = {"publish": publish}
    only(fake.faults(), says=f"skellig_publish is {publish!r}", remedy=f"Write that address so: {written}.")


@pytest.mark.parametrize("publish", ["7878", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:99999", "localhost:7878"])
def test_what_is_no_address_and_port_is_told(fake: Fake, publish: str) -> None:
    fake.asked = {"publish": publish}
    only(fake.faults(), says=f"skellig_publish is {publish!r}", remedy="127.0.0.1:7878")


def test_a_host_without_podman_is_told(fake: Fake) -> None:
    (fake.tree / "bin/podman").unlink()
    only(fake.faults(), says="podman is not installed.", remedy="apt install podman")


@pytest.mark.parametrize("version", ["4.3.1", "3.4.4"])
def test_an_old_podman_is_told(fake: Fake, version: str) -> None:
    fake.podman(version)
    only(fake.faults(), says=f"podman version {version} is too old", remedy="Take Debian 13")


def test_a_podman_that_writes_no_units_is_told(fake: Fake) -> None:
    (fake.tree / "usr/lib/systemd/system-generators/podman-system-generator").unlink()
    only(fake.faults(), says="podman-system-generator", remedy="apt reinstall podman")


def test_a_host_without_minisign_is_told(fake: Fake) -> None:
    (fake.tree / "bin/minisign").unlink()
    only(fake.faults(), says="minisign is not installed.", remedy="apt install minisign")


def test_a_host_that_systemd_does_not_run_is_told(fake: Fake) -> None:
    (fake.tree / "run/systemd/system").rmdir()
    only(fake.faults(), says="systemd does not run this host", remedy="Debian 13")


def test_an_old_python_is_told(fake: Fake) -> None:
    fake.python = (3, 9)
    only(fake.faults(), says="Python 3.9 is too old", remedy="Debian 13")


@pytest.mark.parametrize("kind", ["user", "mnt", "net", "pid", "ipc", "uts"])
def test_a_kernel_without_a_kind_of_namespace_is_told(fake: Fake, kind: str) -> None:
    fake.write(f"proc/sys/user/max_{kind}_namespaces", "0\n")
    only(fake.faults(), says=f"user.max_{kind}_namespaces is 0", remedy=f"sysctl -w user.max_{kind}_namespaces=15000")


def test_a_site_whose_rules_forbid_user_namespaces_can_say_so(fake: Fake) -> None:
    fake.write("proc/sys/user/max_user_namespaces", "0\n")
    fake.asked = {"user_namespaces": False}
    assert fake.faults() == []


@pytest.mark.parametrize(("hours", "way"), [(-8760, "8760 hours behind"), (48, "48 hours ahead of")])
def test_a_clock_that_is_days_off_is_told(fake: Fake, hours: int, way: str) -> None:
    fake.clock = NOW + hours * 3600
    only(fake.faults(), says=way, remedy="timedatectl set-time")


def test_an_account_that_would_own_the_data_is_told(fake: Fake) -> None:
    fake.write("etc/passwd", "root:x:0:0::/root:/bin/sh\nbob:x:10001:10001::/home/bob:/bin/sh\n")
    only(fake.faults(), says="The account bob has the number 10001", remedy="Set skellig_uid")


def test_data_of_another_user_is_told(fake: Fake) -> None:
    """What runs as the new one could not read it, and what it writes the old one could not."""
    mine = fake.write("var/lib/skellig/data/global.db").stat().st_uid
    fake.asked = {"uid": mine + 1}
    only(fake.faults(), says=f"belongs to the number {mine}, and skellig_uid is {mine + 1}", remedy=f"chown -R {mine + 1}:")
    fake.asked = {"uid": mine}
    fake.write("etc/passwd")
    assert fake.faults() == []


def room(fake: Fake, *, free: int, sent: int = 0) -> list[str]:
    @dataclass(frozen=True)
    class Full(fitness.Host):  # type: ignore[misc, name-defined]
        def free_mb(self, path: Path) -> int:
            del path
            return free

    host = Full(tree=fake.tree)
    found = fitness.room(host, Path("/var/lib/skellig"), sent=sent, kept=100_000_000, image=50_000_000)
    assert isinstance(found, list)
    return found


def test_the_room_for_a_bundle_is_counted_for_all_that_lies_on_one_file_system(fake: Fake) -> None:
    assert room(fake, free=350) == []
    only(room(fake, free=349), says="/ has 349 MB of free space, and the bundle needs 350 MB there", remedy="Free some")
    only(room(fake, free=400, sent=100_000_000), says="100 MB as it is sent, 100 MB as it is kept", remedy="Free some")


def test_selinux_without_a_policy_for_containers_is_told(fake: Fake) -> None:
    """With one, the volumes' own labels are enough."""
    fake.write("sys/fs/selinux/enforce", "1")
    fake.write("etc/selinux/config", "SELINUX=enforcing\nSELINUXTYPE=default\n")
    contexts = fake.write("etc/selinux/default/contexts/files/file_contexts", "/var  system_u:object_r:var_t:s0\n")
    only(fake.faults(), says="SELinux enforces", remedy="container-selinux")
    contexts.write_text("/var/lib/containers  system_u:object_r:container_file_t:s0\n")
    assert fake.faults() == []


def test_every_fault_is_told_at_once(fake: Fake) -> None:
    """Whoever mends a host on a closed site wants to walk there once."""
    (fake.tree / "bin/minisign").unlink()
    fake.write("proc/meminfo", "MemTotal: 2000000 kB\n")
    fake.podman("4.3.1")
    assert len(fake.faults()) == 3
