"""Whether a host is fit to carry the appliance: every reason why it is not, with its remedy. Nothing on it is changed."""

import errno
import ipaddress
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_GENERATOR: Final = "usr/lib/systemd/system-generators/podman-system-generator"
_DOOR: Final = "skellig-web.socket"
_LEAST_PODMAN: Final = 5
_UNPACKED: Final = 4  # an image's size in podman's storage, in sizes of its archive
_NEEDED_FLAGS: Final = ("avx2", "fma", "f16c", "bmi1", "bmi2", "movbe", "abm")


@dataclass(frozen=True)
class Wanted:
    """What the appliance asks of the host: the role's variables."""

    root: Path
    uid: int
    publish: str
    memory_mb: int
    free_mb: int
    storage_mb: int
    user_namespaces: bool
    clock_seconds: int
    now: int


@dataclass(frozen=True)
class Host:
    """The host as its kernel, its files and its programs tell it; *tree* is where its root directory is."""

    tree: Path = Path("/")
    machine: str = platform.machine()
    python: tuple[int, int] = sys.version_info[:2]
    clock: Callable[[], float] = time.time
    path: str = os.environ.get("PATH", "") + ":/usr/local/bin:/usr/bin:/usr/sbin"

    def text(self, path: str) -> str:
        """Return what the file says; nothing where it is not there."""
        try:
            return (self.tree / path).read_text(errors="replace")
        except OSError:
            return ""

    def program(self, name: str) -> "str | None":
        """Return where the program is, if it is installed."""
        return shutil.which(name, path=self.path)

    def says(self, name: str, *arguments: str) -> str:
        """Return what the program prints; nothing where it is missing or fails."""
        program = self.program(name)
        if program is None:
            return ""
        ended = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - our own words
        return ended.stdout.strip() if ended.returncode == 0 else ""

    def free_mb(self, path: Path) -> int:
        """Return the space left where *path* is or would be."""
        stat = os.statvfs(self._nearest(path))
        return stat.f_bavail * stat.f_frsize // 1_000_000

    def device(self, path: Path) -> int:
        """Return the number of the file system that *path* is on or would be."""
        return self._nearest(path).stat().st_dev

    def owner(self, path: Path) -> "int | None":
        """Return the number of the account that *path* belongs to, if it is there."""
        try:
            return (self.tree / path.relative_to("/")).stat().st_uid
        except OSError:
            return None

    def mount_options(self, path: Path) -> "tuple[str, frozenset[str]]":
        """Return the mount point that holds *path*, and its options."""
        found = ("/", frozenset[str]())
        for line in self.text("proc/self/mounts").splitlines():
            _, where, _, options, *_ = line.split()
            if path == Path(where) or Path(where) in path.parents:
                found = (where, frozenset(options.split(",")))
        return found

    def _nearest(self, path: Path) -> Path:
        inside = self.tree / path.relative_to("/")
        return next(here for here in (inside, *inside.parents) if here.exists())


def system(host: Host, wanted: Wanted) -> Iterator[str]:
    """Say what is missing of the operating system."""
    del wanted
    if not (host.tree / "run/systemd/system").is_dir():
        yield "systemd does not run this host. Take a Debian 13 host that it does run."
    if host.python < (3, 11):
        yield f"Python {host.python[0]}.{host.python[1]} is too old for the installer. Take Debian 13, which has 3.13."
    if not host.program("minisign"):
        yield "minisign is not installed. Install it from the medium of Debian 13: apt install minisign."


def processor(host: Host, wanted: Wanted) -> Iterator[str]:
    """Say what the processor lacks for the engines' code."""
    del wanted
    if host.machine != "x86_64":
        yield f"The processor is {host.machine}. The appliance's image is for x86_64: take another host."
        return
    found = re.search(r"^flags\s*:(.*)$", host.text("proc/cpuinfo"), flags=re.MULTILINE)
    missing = [flag for flag in _NEEDED_FLAGS if flag not in (found[1].split() if found else [])]
    if missing:
        yield (
            f"The processor lacks {', '.join(missing)}. In a virtual machine pass the host's own processor on "
            "(libvirt: <cpu mode='host-passthrough'/>); else take a host with AVX2."
        )


def memory(host: Host, wanted: Wanted) -> Iterator[str]:
    """Say how much memory is missing."""
    found = re.search(r"^MemTotal:\s*(\d+) kB", host.text("proc/meminfo"), flags=re.MULTILINE)
    has = int(found[1]) * 1024 // 1_000_000 if found else 0
    if has < wanted.memory_mb:
        yield f"The host has {has} MB of memory and needs {wanted.memory_mb} MB. Give it more."


def podman(host: Host, wanted: Wanted) -> Iterator[str]:
    """Say what keeps podman from running the appliance: absence, age, or no way to write units for systemd."""
    del wanted
    if not host.program("podman"):
        yield "podman is not installed. Install it from the medium of Debian 13: apt install podman."
        return
    said = host.says("podman", "--version")
    found = re.search(r"(\d+)\.\d+", said)
    if found is None:
        yield "podman does not say its version. Repair it: apt reinstall podman."
    elif int(found[1]) < _LEAST_PODMAN:
        yield f"{said} is too old: version {_LEAST_PODMAN} or newer is needed. Take Debian 13, which has 5.4."
    elif not (host.tree / _GENERATOR).exists():
        yield f"podman came without /{_GENERATOR}. Repair it: apt reinstall podman."


def storage(host: Host) -> Path:
    """Return where podman keeps images. To ask podman itself would have it make that place."""
    for path in ("etc/containers/storage.conf", "usr/share/containers/storage.conf"):
        found = re.search(r"""^\s*graphroot\s*=\s*["'](/[^"']*)["']""", host.text(path), flags=re.MULTILINE)
        if found:
            return Path(found[1])
    return Path("/var/lib/containers/storage")


def disk(host: Host, wanted: Wanted) -> Iterator[str]:
    """Say where space is missing for a first install; for a later one `apply` counts for itself."""
    if (host.tree / wanted.root.relative_to("/") / "bundles/current").exists():
        return
    for path, needed in ((wanted.root, wanted.free_mb), (storage(host), wanted.storage_mb)):
        has = host.free_mb(path)
        if has < needed:
            yield f"{path} has {has} MB of free space and needs {needed} MB. Free some, or mount a larger disk there."


def room(host: Host, root: Path, *, sent: int, kept: int, image: int) -> "list[str]":
    """Return where a bundle of so many bytes does not fit, file system by file system, with the remedy."""
    parts = (
        (root, sent, "as it is sent"),
        (root, kept, "as it is kept"),
        (Path("/var/tmp"), image, "while podman reads its image"),  # noqa: S108 - podman's own place
        (storage(host), image * _UNPACKED, "for its image"),
    )
    faults = []
    for device in dict.fromkeys(host.device(path) for path, _, _ in parts):
        asked = [part for part in parts if part[1] and host.device(part[0]) == device]
        needed, has = _mb(sum(size for _, size, _ in asked)), host.free_mb(asked[0][0]) if asked else 0
        if has < needed:
            uses = ", ".join(f"{_mb(size)} MB {use}" for _, size, use in asked)
            faults.append(
                f"{host.mount_options(asked[0][0])[0]} has {has} MB of free space, and the bundle needs {needed} MB there: "
                f"{uses}. Free some, or mount a larger disk there."
            )
    return faults


def _mb(size: int) -> int:
    return -(-size // 1_000_000)


def mounts(host: Host, wanted: Wanted) -> Iterator[str]:
    """Say which mount keeps programs of the image from running, or data from being written."""
    where, options = host.mount_options(storage(host))
    if "noexec" in options:
        yield (
            f"{where} is mounted noexec, and podman's images lie there. "
            f"Remount it, and change /etc/fstab: mount -o remount,exec {where}."
        )
    where, options = host.mount_options(wanted.root)
    if "ro" in options:
        yield f"{where} is mounted read-only, and {wanted.root} lies there. Remount it: mount -o remount,rw {where}."


def selinux(host: Host, wanted: Wanted) -> Iterator[str]:
    """Say when SELinux enforces a policy that knows no containers."""
    del wanted
    if host.text("sys/fs/selinux/enforce").strip() != "1":
        return
    kind = re.search(r"^SELINUXTYPE=(\w+)", host.text("etc/selinux/config"), flags=re.MULTILINE)
    contexts = f"etc/selinux/{kind[1] if kind else 'default'}/contexts/files/file_contexts"
    if "container_file_t" not in host.text(contexts):
        yield "SELinux enforces a policy that knows no containers. Install the policy module container-selinux."


def namespaces(host: Host, wanted: Wanted) -> Iterator[str]:
    """Say which namespaces the host's kernel does not give."""
    kinds = ("mnt", "net", "pid", "ipc", "uts", *(("user",) if wanted.user_namespaces else ()))
    for kind in kinds:
        if host.text(f"proc/sys/user/max_{kind}_namespaces").strip() == "0":
            yield (
                f"user.max_{kind}_namespaces is 0, and containers need them. Set it, in /etc/sysctl.d too: "
                f"sysctl -w user.max_{kind}_namespaces=15000."
            )


def account(host: Host, wanted: Wanted) -> Iterator[str]:
    """Say which account of the host would own the appliance's data, or that another number than the wanted one does."""
    data = wanted.root / "data"
    if (owner := host.owner(data)) not in (None, wanted.uid):
        yield (
            f"{data} belongs to the number {owner}, and skellig_uid is {wanted.uid}. Set it to {owner}, or give the data "
            f"over: systemctl stop skellig; chown -R {wanted.uid}:{wanted.uid} {data} {wanted.root}/run."
        )
    for line in host.text("etc/passwd").splitlines():
        name, _, number, *_ = line.split(":")
        if number == str(wanted.uid):
            yield f"The account {name} has the number {wanted.uid} and would own the data. Set skellig_uid to a free number."


def clock(host: Host, wanted: Wanted) -> Iterator[str]:
    """Say how far the clock is off; sessions, logs and the warning before metadata expires go by it."""
    off = host.clock() - wanted.now
    if abs(off) > wanted.clock_seconds:
        way = "ahead of" if off > 0 else "behind"
        yield f"The clock is {abs(off) / 3600:.0f} hours {way} the controller's. Set it: timedatectl set-time."


def port(host: Host, wanted: Wanted) -> Iterator[str]:
    """Say when something else listens where the appliance shall be published."""
    if not wanted.publish:
        return
    said, _, number = wanted.publish.rpartition(":")
    try:
        address, at = ipaddress.ip_address(said.strip("[]")), int(number)
    except ValueError:
        at = 0
    if not 0 < at < 1 << 16:
        yield f"skellig_publish is {wanted.publish!r}. Give an address and a port: 127.0.0.1:7878."
        return
    written = f"[{address}]" if address.version == 6 else str(address)
    if said != written:
        yield f"skellig_publish is {wanted.publish!r}. Write that address so: {written}:{at}."
        return
    if host.says("systemctl", "is-active", _DOOR) == "active" and f":{at} " in host.says(
        "systemctl", "show", "--property=Listen", "--value", _DOOR
    ):
        return
    with socket.socket(socket.AF_INET6 if address.version == 6 else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((str(address), at))
        except OSError as exc:
            what = "is taken by another program" if exc.errno == errno.EADDRINUSE else f"cannot be had ({exc})"
            yield f"{wanted.publish} {what}. Free it (ss -ltnp), or set skellig_publish to another."


CHECKS: Final = (system, processor, memory, podman, disk, mounts, selinux, namespaces, account, clock, port)


def faults(host: Host, wanted: Wanted) -> "list[str]":
    """Return every reason why *host* cannot carry what is *wanted*, each with its remedy."""
    return [fault for check in CHECKS for fault in check(host, wanted)]


def wanted_of(options: "Mapping[str, str | int | bool]") -> Wanted:
    """Return the options as the checks read them."""
    return Wanted(**{**options, "root": Path(str(options["root"]))})
