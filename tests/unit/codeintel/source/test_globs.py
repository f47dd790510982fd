"""Patterns of paths mean what they mean in .gitignore, and none can take for ever."""

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.codeintel.source.globs import Globs
from tests.support.repos import make_repo

PATTERNS = [
    "*.py", "/a.py", "src/", "src", "src/**", "**/x", "a/**/b", "doc/*.md", "*/x", "!keep.py", "[ab].py", "x?", "**",
    "a/b/", "/src/*", "**/a/**", "*", "!src/a.py",
]  # fmt: skip
NAMES = st.sampled_from(["a", "b", "x", "src", "a.py", "b.py", "keep.py", "doc", "r.md", "x1"])


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repo(tmp_path_factory.mktemp("judge"), None)


def test_they_mean_what_git_says(judge: Path) -> None:
    @settings(max_examples=60, deadline=None, database=None)
    @given(st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=4), st.lists(NAMES, min_size=1, max_size=4))
    def agrees(patterns: list[str], names: list[str]) -> None:
        path = "/".join(names)
        (judge / ".git" / "info").mkdir(exist_ok=True)
        (judge / ".git" / "info" / "exclude").write_text("\n".join(patterns) + "\n")
        assert Globs(patterns).fit(path) == ignored(judge, path), (patterns, path)

    agrees()


def ignored(repo: Path, path: str) -> bool:
    said = subprocess.run(
        ["git", "-C", str(repo), "check-ignore", "--no-index", "-q", path], capture_output=True, check=False
    )
    assert said.returncode in {0, 1}, said.stderr
    return said.returncode == 0


def test_a_hostile_pattern_costs_little() -> None:
    patterns = ["/".join(["**", "*a*a*a*a*b"] * 4), "*a" * 90 + "b", "**/" * 60 + "z"]
    started = time.process_time()
    assert not any(Globs(patterns).fit("/".join(["a" * 200] * 15) + f"/{number}") for number in range(20))
    assert time.process_time() - started < 5
