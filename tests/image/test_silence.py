"""Claims that nothing in the image ever tries to reach a network. Each proof counts, and first shows that it can."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.image.box import Box, box, until
from tests.image.job import SMALL_MODELS, main_job, supplied
from tests.image.trap import trap
from tests.support import podman

pytestmark = [pytest.mark.image, pytest.mark.timeout(900)]
_SYSTEMS_OWN = Path("/usr/share/containers/seccomp.json")
_UNIX = 1  # AF_UNIX
_FAMILIES = 64  # more than there are; what is beyond has no rule, and is refused too
_NO_SUCH_FAMILY = 97  # EAFNOSUPPORT
_ATTEMPT = re.compile(r"socket\((?!AF_UNIX|AF_LOCAL)(.*)$", re.MULTILINE)
# The HTTP library that LanceDB imports asks, once and at its import, whether ::1 could be bound. It then sends nothing.
_IMPORT_ASKS = "AF_INET6, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_IP) = -1 EAFNOSUPPORT (Address family not supported by protocol)"

# Tries every way out that native code and Python have; what it meets does not matter, only that it is counted.
LOUD = """
import contextlib, socket
for family, address in ((socket.AF_INET, "203.0.113.7"), (socket.AF_INET6, "2001:db8::7")):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with contextlib.suppress(OSError), socket.socket(family, kind) as out:
            out.settimeout(1.0)
            out.connect((address, 443))
            out.send(b"x")
with contextlib.suppress(OSError):
    socket.getaddrinfo("example.org", 443)
"""


def test_the_main_job_sends_no_packet_and_asks_for_no_name(image: str, tmp_path: Path) -> None:
    """From the first instruction on, native code too: the way out is there, and leads to counters."""
    with trap() as net, box(image, supplied(tmp_path / "box"), environment=SMALL_MODELS, network=net.options) as running:
        main_job(running)
        assert net.caught() == {"v4": 0, "v6": 0, "dns": 0}
        running.inside("/opt/venv/bin/python", "-c", LOUD)
        control = net.caught()
        assert all(control.values()), control


def test_the_main_job_knows_no_socket_but_a_unix_one(image: str, tmp_path: Path) -> None:
    """Where the kernel refuses every other family everything works on, and nothing even asks for one."""
    profile = _only_unix(tmp_path / "unix.json")
    traced = tmp_path / "control.trace"
    loud = ("--entrypoint=/opt/venv/bin/python", f"--security-opt=seccomp={profile}")
    with _watched(image, tmp_path / "loud", *loud, command=("-c", LOUD), into=traced) as running:
        podman.run("wait", running.name)
    attempts = _ATTEMPT.findall(traced.read_text())
    assert {attempt.partition(",")[0] for attempt in attempts} >= {"AF_INET", "AF_INET6"}
    assert len(attempts) >= 4

    traced = tmp_path / "job.trace"
    folder = supplied(tmp_path / "box")
    with _watched(image, folder, f"--security-opt=seccomp={profile}", into=traced) as running:
        main_job(running)
    calls = traced.read_text()
    assert calls.count("socket(AF_UNIX") > 10
    assert _ATTEMPT.findall(calls) in ([], [_IMPORT_ASKS])


@contextmanager
def _watched(image: str, folder: Path, *options: str, into: Path, command: tuple[str, ...] = ()) -> Iterator[Box]:
    """Give a container that starts only once every process that it will ever have is watched for sockets."""
    with box(image, folder, *options, environment=SMALL_MODELS, verb=("create",), command=command) as running:
        podman.run("init", running.name)
        pid = running.pid()
        watch = ["strace", "-f", "-qq", "-e", "trace=socket", "-e", "signal=none", "-o", str(into), "-p", str(pid)]
        with subprocess.Popen(watch) as strace:
            until(
                lambda: "TracerPid:\t0\n" not in Path(f"/proc/{pid}/status").read_text(),
                within=10.0,
                but=lambda: "no strace",
            )
            try:
                podman.run("start", running.name)
                yield running
            finally:
                podman.call("stop", "--time=30", running.name)
                strace.wait(60)


def _only_unix(path: Path) -> Path:
    """Return the system's filter, but for sockets: unix ones, or errno 97; and no io_uring, which makes its own."""
    if not _SYSTEMS_OWN.is_file() or not all(map(shutil.which, ("strace", "ip", "nft"))):
        pytest.skip("it takes podman's seccomp profile, strace, iproute2 and nftables")
    profile = json.loads(_SYSTEMS_OWN.read_text())
    profile["archMap"] = [arch | {"subArchitectures": []} for arch in profile["archMap"]]  # 32 bits have a door of their own
    for rule in profile["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name not in {"socket", "socketcall"} and "io_uring" not in name]
    profile["syscalls"] = [rule for rule in profile["syscalls"] if rule["names"]]
    for family in range(_FAMILIES):
        others = {"action": "SCMP_ACT_ERRNO", "errnoRet": _NO_SUCH_FAMILY}
        action = {"action": "SCMP_ACT_ALLOW"} if family == _UNIX else others
        which = {"index": 0, "value": family, "valueTwo": 0, "op": "SCMP_CMP_EQ"}
        profile["syscalls"].append({"names": ["socket"], "args": [which]} | action)
    path.write_text(json.dumps(profile))
    return path
