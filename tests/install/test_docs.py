"""The page on installing, executed: its commands, in their order, as an operator would type them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.install.conftest import VARIABLES
from tests.install.host import FakeHost
from tests.install.workshop import ROOT, Workshop

pytestmark = [pytest.mark.install, pytest.mark.timeout(1200)]
PAGE: Final = ROOT / "docs" / "howto" / "install-on-hosts.md"


def test_the_pages_commands_install_upgrade_roll_back_and_remove(
    fake_host: FakeHost, shop: Workshop, stand_ins: dict[str, Path], tmp_path: Path
) -> None:
    """The playbooks are those in the bundle, run from within it: nothing that they do may change the bundle."""
    known = {
        "ansible_host": fake_host.address,
        "ansible_user": "root",
        "ansible_ssh_common_args": " ".join(fake_host.ssh_options()),
    }
    inventory = tmp_path / "hosts.json"
    variables = {**VARIABLES, "skellig_key": shop.key}
    inventory.write_text(json.dumps({"skellig": {"hosts": {"box": known}, "vars": variables}}))
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
        "KEY": shop.key,
        "HOSTS": str(inventory),
        "BUNDLE": str(stand_ins["0.1.0"]),
        "NEXT": str(stand_ins["0.2.0"]),
    }
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 6
    for block in blocks:
        ended = subprocess.run(["bash", "-euc", block], env=environment, capture_output=True, text=True, check=False)
        print(f"$ {block}{ended.stdout[-400:]}")  # noqa: T201 - the transcript
        assert ended.returncode == 0, ended.stdout + ended.stderr
    log = fake_host.ssh("cat /var/lib/skellig/data/log").split("\n")
    assert [line for line in log if "started" in line] == ["0.1.0 started", "0.2.0 started", "0.1.0 started"]
