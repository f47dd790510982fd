"""``python -m tests.adversarial.bundle.victim HOST KEY OLDER OLD NEW``: take NEW after the others, killed at each step.

A step is a change of the disk by Python: a file opened for writing, made, renamed, linked or removed. For each a child is
forked that does all the steps before it and kills itself; its host is then looked at, and must have the old version or the
new one, whole, and take the bundle when asked again. Prints one line for each kind of end.
"""

import os
import shutil
import signal
import sys
from collections import Counter
from pathlib import Path

from appliance.bundle import minisign, trust
from appliance.bundle.apply import Applied, Shelf
from appliance.bundle.trust import Trust
from tests.support.bundles import NOON

_STEPS = {"os.rename", "os.mkdir", "os.symlink", "os.remove", "os.rmdir", "os.chmod", "shutil.rmtree"}


class Victim:
    """A host that is made anew from *before* for each try."""

    def __init__(self, root: Path, key: str) -> None:
        self._root = root
        self._key = minisign.PublicKey.parse(key)

    def shelf(self, name: str) -> Shelf:
        return Shelf(self._root / name / "bundles", trust=Trust(self._root / name / "trust"))

    def take(self, name: str, bundle: Path) -> Applied:
        return self.shelf(name).apply(bundle, first=lambda _: trust.first(bundle, key=self._key, carried=None), now=NOON)

    def killed_at(self, step: int, bundle: Path) -> bool:
        """Fork a child that takes *bundle* and dies at its *step*; return whether it came so far."""
        child = os.fork()
        if child == 0:
            _die_at(step)
            self.take("host", bundle)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the child failed otherwise"
        return os.WIFSIGNALED(status)

    def renew(self) -> None:
        shutil.rmtree(self._root / "host", ignore_errors=True)
        shutil.copytree(self._root / "before", self._root / "host", symlinks=True)

    def state(self, old: Path, new: Path) -> str:
        """Return which version is current; assert that it is whole, and that the bundle is taken when asked again."""
        current = self._root / "host" / "bundles" / "current"
        version = current.readlink().name
        for bundle in (old, new):
            if version == bundle.name:
                assert (current / "bundle.json").read_bytes() == (bundle / "targets" / "bundle.json").read_bytes()
                assert (current / "image" / "image.oci.tar").stat().st_size > 0
        again = self.take("host", new)
        assert again.version == new.name
        assert current.readlink().name == new.name
        assert current.with_name("previous").readlink().name == old.name
        assert {path.name for path in current.parent.iterdir()} == {".lock", "current", "previous", old.name, new.name}
        return version


def _die_at(step: int) -> None:
    left = step

    def hear(event: str, args: tuple[object, ...]) -> None:
        nonlocal left
        flags = args[2] if event == "open" else 0
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)
        if event in _STEPS or writes:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hear)


def main() -> None:
    root, key, older, old, new = sys.argv[1:]
    victim = Victim(Path(root), key)
    for bundle in (older, old):
        victim.take("before", Path(bundle))
    ends: Counter[str] = Counter()
    step = 1
    while True:
        victim.renew()
        if not victim.killed_at(step, Path(new)):
            break
        ends[victim.state(Path(old), Path(new))] += 1
        step += 1
    for version, count in sorted(ends.items()):
        sys.stdout.write(f"{version} {count}\n")


if __name__ == "__main__":
    main()
