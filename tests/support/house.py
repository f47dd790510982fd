"""A real appliance on a data directory and a port of its own."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import httpx2

from appliance.base.paths import DataPaths
from appliance.cli import place
from appliance.cli.remote import Remote
from appliance.ops.programs import RunFiles
from appliance.ops.supervisor import ProgramState, Supervisor

T = TypeVar("T")
OFF = {"SKELLIG_CHAT__MODEL": "none", "SKELLIG_EMBED__MODEL": "none"}


def until(found: Callable[[], T | None], *, seconds: float = 120.0) -> T:
    """Return what *found* returns once that is true."""
    end = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < end, "it did not come to pass in time"
        time.sleep(0.05)
    return value


class House:
    """A data directory, and the commands that make an appliance run there."""

    def __init__(self, root: Path) -> None:
        self.paths = DataPaths(root)
        self.home = root.parent / f"{root.name}-home"  # nothing makes it, unless a library writes where it was not asked to
        self.files = RunFiles(self.paths)
        self.supervisor = Supervisor(self.files)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    def environment(self, **settings: str) -> dict[str, str]:
        """Return this machine's environment with *settings*, without those that tests set for themselves."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SKELLIG_", "ORT_"))}
        ours = {"SKELLIG_DATA": str(self.paths.root), "SKELLIG_WEB__PORT": str(self.port), "HOME": str(self.home)}
        return kept | ours | OFF | settings

    @staticmethod
    def command(*argv: str) -> list[str]:
        return [sys.executable, "-m", "appliance", *argv]

    def skellig(self, *argv: str, **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*argv),
            env=self.environment(**settings),
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    def remote(self) -> Remote:
        where = place.read(self.paths)
        assert where is not None
        return Remote(where.web, paths=self.paths)

    def answers(self) -> bool:
        try:
            return httpx2.get(f"http://127.0.0.1:{self.port}/api/v1/health", trust_env=False).status_code == 200
        except httpx2.HTTPError:
            return False

    def program(self, name: str) -> ProgramState:
        return next(program for program in self.supervisor.programs() if program.name == name)

    def pid(self, name: str, *, other_than: int = 0) -> int:
        """Wait until *name* has a process with another id than that one, and return the id."""

        def look() -> int | None:
            pid = self.program(name).pid
            return pid if pid != other_than else None

        return until(look)
