"""A container of the image as it is meant to run: no network, no capability, nothing to write on but its volumes."""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support import podman
from tests.support.models import needed

USER: Final = "54321:0"
NO_MODELS: Final = {"SKELLIG_CHAT__MODEL": "none", "SKELLIG_EMBED__MODEL": "none"}
HEALTHCHECK: Final = "/usr/libexec/skellig/healthcheck"
_STEP: Final = 0.1
_LOCKED: Final = (
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    "--tmpfs=/tmp:rw,nosuid,nodev,noexec,size=256m,mode=1777",
    "--pids-limit=512",
    "--stop-timeout=30",
)
_PLACES: Final = {
    "data": "/var/lib/skellig",
    "run": "/run/skellig",
    "models": "/srv/models:ro",
    "repos": "/srv/repos:ro",
    "etc": "/etc/skellig:ro",
}
READ_ONLY: Final = ("--read-only", "--read-only-tmpfs=false")
NO_NETWORK: Final = ("--network=none",)


@dataclass(frozen=True, slots=True)
class Volumes:
    """The folders of the host that the container gets, all of them its user's."""

    root: Path

    @property
    def repos(self) -> Path:
        """Where repositories are dropped."""
        return self.root / "repos"

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.root / "data"

    @property
    def socket(self) -> Path:
        """Where the web process listens."""
        return self.root / "run" / "web.sock"

    def make(self) -> None:
        """Make them, empty."""
        for name in _PLACES:
            folder = self.root / name
            folder.mkdir(mode=0o770, parents=True)
            os.chown(folder, *map(int, USER.split(":")))

    def options(self) -> list[str]:
        """Return podman's options for them."""
        return [f"--volume={self.root / name}:{place}" for name, place in _PLACES.items()]

    def give(self, *models: str) -> None:
        """Copy *models* from the tests' store, so that the container's user may read them; skip the test without them."""
        for path in (path for name in models for path in needed(name)):
            copy = self.root / "models" / path.parent.name / path.name
            copy.parent.mkdir()
            shutil.copyfile(path, copy)


class Box:
    """One container; its name is all that podman is asked by."""

    def __init__(self, name: str, *, volumes: Volumes) -> None:
        self.name = name
        self.volumes = volumes

    def inside(self, *argv: str, seconds: float = 120.0) -> str:
        """Return what *argv* prints inside; it must end well."""
        return podman.run("exec", self.name, *argv, seconds=seconds)

    def skellig(self, *argv: str, seconds: float = 300.0) -> str:
        """Return what the command line prints inside."""
        return self.inside("/opt/skellig/bin/skellig", *argv, seconds=seconds)

    def healthy(self) -> bool:
        """Return whether the image's own check finds it well."""
        return podman.call("exec", self.name, HEALTHCHECK).returncode == 0

    def ready(self, *, within: float) -> float:
        """Wait until it is healthy and return after how many seconds it was."""
        start = time.monotonic()
        until(self.healthy, within=within, but=self.said)
        return time.monotonic() - start

    def said(self) -> str:
        """Return what its first process wrote."""
        ended = podman.call("logs", self.name)
        return ended.stdout + ended.stderr

    def status(self) -> int:
        """Return the exit status of its first process."""
        return int(podman.run("inspect", "--format={{.State.ExitCode}}", self.name))

    def pid(self) -> int:
        """Return its first process as the host numbers it."""
        return int(podman.run("inspect", "--format={{.State.Pid}}", self.name))

    def programs(self) -> dict[str, int]:
        """Return the process of each supervised program, as the container numbers them."""
        told = json.loads(self.skellig("status", "--json"))
        return {program["name"]: program["pid"] for program in told["programs"] if program["pid"]}


def until(holds: Callable[[], bool], *, within: float, but: Callable[[], str]) -> None:
    """Return once *holds* does; fail with what *but* says when it does not *within* so many seconds."""
    end = time.monotonic() + within
    while not holds():
        assert time.monotonic() < end, but()
        time.sleep(_STEP)


@contextmanager
def box(
    image: str,
    folder: Path,
    *options: str,
    environment: Mapping[str, str] = NO_MODELS,
    network: tuple[str, ...] = NO_NETWORK,
    root: tuple[str, ...] = READ_ONLY,
    verb: tuple[str, ...] = ("run", "--detach"),
    command: tuple[str, ...] = (),
) -> Iterator[Box]:
    """Give a container of *image* with its volumes in *folder*; neither is left."""
    volumes = Volumes(folder)
    if not volumes.data.exists():
        volumes.make()
    name = f"skellig-test-{os.getpid()}-{time.monotonic_ns()}"
    env = [f"--env={key}={value}" for key, value in environment.items()]
    argv = [
        *verb,
        f"--name={name}",
        f"--user={USER}",
        *network,
        *root,
        *_LOCKED,
        *volumes.options(),
        *env,
        *options,
        image,
        *command,
    ]
    try:
        podman.run(*argv)
        yield Box(name, volumes=volumes)
    finally:
        podman.call("rm", "--force", "--time=5", name)
