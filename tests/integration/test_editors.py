"""Editors and agents at a real appliance: the official client, by both ways, where no network but loopback exists."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.agent import ASKED
from tests.support.repos import git, make_repo
from tests.support.sealed import Sealed, sealed_house

FILES: dict[str, bytes | str | None] = {
    "store/keeper.py": (
        "import hashlib\n\nfrom store.shelf import shelf_of\n\n\nclass Keeper:\n"
        "    def verify(self, content: bytes, wanted: str) -> bool:\n"
        "        found = hashlib.sha256(content).hexdigest()\n"
        "        return bool(shelf_of(found)) and found == wanted\n"
    ),
    "store/shelf.py": "def shelf_of(digest: str) -> str:\n    return digest[:2]\n",
}


@pytest.fixture
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sealed]:
    with sealed_house(tmp_path_factory.mktemp("own") / "data") as house:  # as sockets' names have it: short
        yield house


@pytest.mark.timeout(300)
def test_an_agent_gets_the_same_answers_by_both_ways_where_only_loopback_exists(sealed: Sealed, tmp_path: Path) -> None:
    assert sealed.routes() == b""
    up = sealed.skellig("up", "--json")
    assert up.returncode == 0, up.stderr
    code = make_repo(tmp_path, FILES, name="store")
    assert sealed.skellig("repo", "add", str(code), "--wait").returncode == 0
    asked = [*sealed.inside, sys.executable, "-m", "tests.integration.agent", str(sealed.paths.root), str(sealed.port)]
    agent = subprocess.Popen(asked, stdout=subprocess.PIPE)
    try:
        assert agent.stdout is not None
        by_http, by_stdio = json.loads(agent.stdout.readline())
        assert sealed.skellig("down").returncode == 0
        assert "SIGKILL" not in (sealed.paths.logs / "supervisord.log").read_text(), "it waited for who only listens"
    finally:
        agent.kill()
        agent.communicate()
    head = git(code, "rev-parse", "HEAD").decode().strip()
    for tool in ASKED:
        assert by_http[tool]["index"][0]["commit"] == head
        assert {**by_http[tool], "index": 0, "warnings": 0, "complete": 0} == {
            **by_stdio[tool], "index": 0, "warnings": 0, "complete": 0,
        }  # fmt: skip
    assert by_http["search_code"]["hits"][0]["path"] == "store/keeper.py"
    assert by_http["callers"]["calls"][0]["caller"] == "Keeper.verify"
    assert by_http["read_lines"]["text"].splitlines()[0].strip().startswith("def verify")
    assert by_http["ask"]["kind"] == "structure"
