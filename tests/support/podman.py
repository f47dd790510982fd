"""podman as the tests use it: through `.ci/containers`, with settings and a storage of its own."""

import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_CONTAINERS: Final = str(ROOT / ".ci" / "containers")
_TOOLS: Final = ("podman", "runc", "skopeo", "mmdebstrap")


def call(*argv: str | Path, seconds: float = 120.0) -> "subprocess.CompletedProcess[str]":
    """Return how podman with *argv* ended, whatever its status."""
    command = [_CONTAINERS, "podman", *argv]
    aside = tempfile.gettempdir()  # conmon leaves a file where it was started when a container runs out of memory
    return subprocess.run(command, cwd=aside, capture_output=True, text=True, timeout=seconds, check=False)


def run(*argv: str | Path, seconds: float = 120.0) -> str:
    """Return what podman with *argv* printed; an `AssertionError` with its own words if it failed."""
    ended = call(*argv, seconds=seconds)
    assert ended.returncode == 0, f"podman {' '.join(map(str, argv))}: {ended.stderr.strip()}"
    return ended.stdout.strip()


@functools.cache
def base() -> str:
    """Return the name of the base image, made if it is not there."""
    return _printed(ROOT / "images" / "base" / "build")


@functools.cache
def built() -> str:
    """Return the id of the image of this very checkout, built if it is not there."""
    return _printed(ROOT / ".ci" / "image")


@functools.cache
def missing() -> str:
    """Return why no container can run here, or nothing where one does."""
    if os.geteuid() != 0:
        return "containers take root here"
    if lacking := [name for name in _TOOLS if not shutil.which(name)]:
        return f"{', '.join(lacking)} is not installed"
    ended = call("run", "--rm", "--network=none", base(), "true")
    return "" if ended.returncode == 0 else f"podman runs nothing: {ended.stderr.strip()[-300:]}"


def _printed(program: Path) -> str:
    ended = subprocess.run([program], capture_output=True, text=True, timeout=1800, check=False)
    assert ended.returncode == 0, f"{program.name}: {ended.stderr.strip()[-2000:]}"
    return ended.stdout.strip()
