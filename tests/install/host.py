"""A Debian 13 host as a container: systemd, ssh and podman, one wire to the controller, and no route anywhere else."""

import contextlib
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support import podman


class Ended(AssertionError):
    """A command on the host failed."""


@dataclass
class FakeHost:
    """One such host. Its wire is a pair of interfaces of its own, which end with it."""

    name: str
    key: Path
    number: int

    @property
    def address(self) -> str:
        return f"10.231.{self.number}.2"

    def plug(self) -> None:
        """Make the wire; a host that starts again needs a new one."""
        pid = podman.run("inspect", "--format={{.State.Pid}}", self.name)
        here = f"{self.name[:10]}0"
        _ip("link", "add", here, "type", "veth", "peer", "name", "eth0", "netns", pid)
        _ip("addr", "add", f"10.231.{self.number}.1/30", "dev", here)
        _ip("link", "set", here, "up")
        inside = ["nsenter", f"--target={pid}", "--net", "ip"]
        subprocess.run([*inside, "addr", "add", f"{self.address}/30", "dev", "eth0"], check=True)
        subprocess.run([*inside, "link", "set", "eth0", "up"], check=True)
        await_true(lambda: self.try_ssh("true").returncode == 0, seconds=60, what="ssh to the fake host")

    def restart(self) -> None:
        """Stop the host as a machine is shut down, and start it again."""
        podman.run("stop", "--time=60", self.name)
        podman.run("start", self.name)
        self.plug()

    def send(self, folder: Path, there: str) -> None:
        """Make *there* hold what *folder* does."""
        packed = subprocess.run(["tar", "--create", "--directory", folder, "."], capture_output=True, check=True).stdout
        self.ssh(f"rm -rf {there} && mkdir -p {there} && tar -x --no-same-owner -C {there}", given=packed)

    def try_ssh(self, command: str, *, given: bytes = b"") -> "subprocess.CompletedProcess[str]":
        argv = ["ssh", *self.ssh_options(), f"root@{self.address}", command]
        ended = subprocess.run(argv, input=given, capture_output=True, timeout=300, check=False)
        return subprocess.CompletedProcess(argv, ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    def ssh(self, command: str, *, given: bytes = b"") -> str:
        """Return what *command* prints on the host; raise `Ended` when it fails."""
        ended = self.try_ssh(command, given=given)
        if ended.returncode:
            raise Ended(f"{command}: {ended.returncode}: {ended.stderr}")
        return ended.stdout.strip()

    def ssh_options(self) -> list[str]:
        return [f"-i{self.key}", "-oBatchMode=yes", "-oStrictHostKeyChecking=no", "-oUserKnownHostsFile=/dev/null", "-q"]


@contextlib.contextmanager
def running(place: Path, *, image: str) -> Iterator[FakeHost]:
    """Yield a fresh host; nothing of it is left afterwards."""
    key = place / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    name = f"sk{secrets.token_hex(4)}"
    keys = f"{key}.pub:/root/.ssh/authorized_keys:ro"
    seals = ("--systemd=always", "--privileged", "--network=none", "--tmpfs=/run", "--tmpfs=/tmp")
    podman.run(
        "run",
        "--detach",
        f"--name={name}",
        f"--hostname={name}",
        *seals,
        f"--volume={name}-containers:/var/lib/containers",
        f"--volume={keys}",
        image,
    )
    host = FakeHost(name, key, number=secrets.randbelow(250) + 1)
    try:
        host.plug()
        yield host
    finally:
        podman.run("rm", "--force", "--time=10", "--volumes", name)
        podman.run("volume", "rm", "--force", f"{name}-containers")


def await_true(holds: Callable[[], bool], *, seconds: float, what: str) -> float:
    """Return after how many seconds *holds* did; raise `AssertionError` where it does not within *seconds*."""
    begun = time.monotonic()
    while not holds():
        if time.monotonic() - begun > seconds:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.2)
    return time.monotonic() - begun


def _ip(*argv: str) -> None:
    subprocess.run(["ip", *argv], check=True)
