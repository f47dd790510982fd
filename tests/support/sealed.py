"""A house in a network namespace that has loopback and nothing else."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from appliance.ops import launch
from tests.support.house import House


class Sealed(House):
    """A house whose commands run where only loopback exists, with *settings* of their own."""

    def __init__(self, root: Path, *, settings: Mapping[str, str]) -> None:
        super().__init__(root)
        self.inside = ["nsenter", f"--net={root / 'net'}"]
        self._settings = dict(settings)

    def skellig(self, *argv: str, **settings: str) -> subprocess.CompletedProcess[str]:
        env = self.environment(**(self._settings | settings)) | {"HOME": str(self.paths.root)}
        argv = (*self.inside, *self.command(*argv))
        return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=300, check=False)

    def routes(self) -> bytes:
        """Return the ways out that there are: none."""
        return subprocess.run([*self.inside, "ip", "route"], capture_output=True, check=True).stdout


@contextmanager
def sealed_house(root: Path, **settings: str) -> Iterator[Sealed]:
    """Make a namespace with a name in the data directory *root*; it goes with the mount, and the appliance before it."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "nsenter", "ip", "umount"))):
        pytest.skip("a network namespace takes root, util-linux and iproute2")
    root.mkdir()
    net = root / "net"
    net.touch()
    subprocess.run(["unshare", f"--net={net}", "ip", "link", "set", "lo", "up"], check=True)
    house = Sealed(root, settings=settings)
    try:
        yield house
    finally:
        launch.stop(house.files, seconds=10.0)
        subprocess.run(["umount", str(net)], check=True)
