"""The main job as its user does it: real supervisor, real engines, real index, and no network at all."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.models import MINILM, SMOL, needed, store_root
from tests.support.repos import git, make_repo
from tests.support.sealed import Sealed, sealed_house

MODELS = {"SKELLIG_CHAT__MODEL": SMOL, "SKELLIG_EMBED__MODEL": MINILM}
FILES: dict[str, bytes | str | None] = {
    "store/keeper.py": (
        "import hashlib\n\n\nclass Keeper:\n"
        '    """Keeps files by their digest."""\n\n'
        "    def verify(self, content: bytes, wanted: str) -> bool:\n"
        '        """Say whether *content* has the digest that it should have."""\n'
        "        return hashlib.sha256(content).hexdigest() == wanted\n"
    ),
    "store/shelf.py": "def shelf_of(digest: str) -> str:\n    return digest[:2]\n",
    "README.md": "# Store\n\nFiles are verified by digest before they are used.\n",
}


@pytest.fixture
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sealed]:
    needed(SMOL)
    needed(MINILM)
    with sealed_house(tmp_path_factory.mktemp("own") / "data", **MODELS) as house:  # as sockets' names have it: short
        house.paths.models.symlink_to(store_root())
        yield house


def started_in(house: Sealed) -> float:
    """Start the appliance and return after how many seconds it was ready."""
    began = time.monotonic()
    up = house.skellig("up", "--json")
    assert up.returncode == 0, up.stderr
    assert json.loads(up.stdout)["state"] == "ready"
    return time.monotonic() - began


def lose_packets(house: Sealed) -> None:
    """Have every packet vanish that goes anywhere else: nobody refuses it, and whoever sends one waits."""
    for version in ("-4", "-6"):
        subprocess.run([*house.inside, "ip", version, "route", "add", "default", "dev", "lo"], check=True)
    call = "import socket; socket.create_connection(('192.0.2.1', 80), timeout=1)"
    waited = subprocess.run([*house.inside, sys.executable, "-c", call], capture_output=True, text=True, check=False)
    assert "TimeoutError" in waited.stderr


@pytest.mark.timeout(600)
def test_up_index_search_and_ask_work_where_only_loopback_exists(sealed: Sealed, tmp_path: Path) -> None:
    """One long walk, because the engines take seconds to load. Its own control comes first: there is no way out.

    At its end it starts once more where packets are lost in silence: an appliance once waited there, and said nothing.
    """
    assert sealed.routes() == b""
    alone = started_in(sealed)

    code = make_repo(tmp_path, FILES, name="store")
    added = sealed.skellig("repo", "add", str(code), "--vectors", "--json")
    assert added.returncode == 0, added.stderr

    found = json.loads(sealed.skellig("search", "verify digest", "--json").stdout)
    assert found["hits"][0]["path"] == "store/keeper.py"
    assert "vector" in found["signals"]

    asked = sealed.skellig("ask", "Where is a file's digest verified?", "--json")
    assert asked.returncode == 0, asked.stderr
    answer = json.loads(asked.stdout)
    assert answer["kind"] in {"prose", "evidence"}
    assert answer["gate"] is not None
    first = answer["citations"][0]
    assert (first["path"], first["verified"]) == ("store/keeper.py", True)
    at_commit = git(code, "rev-parse", f"{first['commit']}:{first['path']}").decode().strip()
    assert at_commit == first["blob"]

    structure = json.loads(sealed.skellig("ask", "Where is shelf_of defined?", "--json").stdout)
    assert (structure["kind"], structure["model"]) == ("structure", "")
    assert "store/shelf.py:1" in structure["sentences"][0]["text"]

    assert sealed.skellig("down").returncode == 0
    lose_packets(sealed)
    assert started_in(sealed) < 2 * alone + 10, "it waits for something outside"
