"""Ansible's playbooks, run as an operator runs them."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.install.host import FakeHost

ROOT = Path(__file__).resolve().parents[2]
_RECAP = re.compile(r"ok=(\d+) +changed=(\d+) +unreachable=(\d+) +failed=(\d+)")


@dataclass(frozen=True)
class Played:
    """How a playbook ended: its status, its recap, all that it said, and the seconds that it took."""

    status: int
    changed: int
    failed: int
    said: str
    seconds: float


@dataclass(frozen=True)
class Controller:
    """The operator's side: a folder of its own, the playbooks, and what is said about every host."""

    place: Path
    host: FakeHost
    variables: Mapping[str, object]
    playbooks: Path = ROOT / "ansible" / "playbooks"
    names_the_host: bool = True  # in the inventory

    def play(self, playbook: str, *flags: str, **variables: object) -> Played:
        """Run the playbook against the host."""
        inventory = self.place / "hosts.json"
        options = " ".join(self.host.ssh_options())
        known = {"ansible_host": self.host.address, "ansible_user": "root", "ansible_ssh_common_args": options}
        named = {"fakehost": known} if self.names_the_host else {}
        inventory.write_text(json.dumps({"skellig": {"hosts": named, "vars": dict(self.variables)}}))
        argv: list[str | Path] = [Path(sys.executable).with_name("ansible-playbook"), f"--inventory={inventory}", *flags]
        argv += [f"--extra-vars={json.dumps(variables)}", self.playbooks / f"{playbook}.yml"]
        begun = time.monotonic()
        ended = subprocess.run(argv, env=self._environment(), capture_output=True, text=True, check=False)
        said = ended.stdout + ended.stderr
        recaps = [tuple(map(int, numbers)) for numbers in _RECAP.findall(said)]  # of the host, and of the controller itself
        assert recaps, said
        _, changed, unreachable, failed = map(sum, zip(*recaps, strict=True))
        took, load = time.monotonic() - begun, os.getloadavg()[0]
        print(f"{playbook} {' '.join(flags)}: {changed=} {failed=} in {took:.1f} s, load {load:.1f}")  # noqa: T201 - the figures
        assert not unreachable, said
        return Played(ended.returncode, changed, failed, said, took)

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.place),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_CONFIG": str(self.playbooks.parent / "ansible.cfg"),
            "ANSIBLE_LOCAL_TEMP": str(self.place / "tmp"),
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml",
        }
