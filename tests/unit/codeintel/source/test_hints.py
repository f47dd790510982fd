"""A hint of what changed in a plain folder makes a look at it faster, never different."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.codeintel.source.base import Changed
from appliance.codeintel.source.scan import Scan
from appliance.codeintel.source.taken import Seen, hinted
from tests.support.repos import make_repo

NAMES = ("a.py", "b.log", "sub", "sub/a.py", "sub/b.log", "build", "build/a.py", "other", "other/a.py", "other/.git")
RULES = ("", "*.log\n", "build/\n", "other/\n*.py\n")
_MOST = 1000


def look(root: Path, git_dir: Path) -> Seen:
    scan = Scan(root, git_dir=git_dir, max_bytes=_MOST)
    return Seen(scan.files(), scan.left_out)


def write(root: Path, name: str, content: str) -> list[str]:
    if (root / name).is_dir() or not (root / name).parent.is_dir():
        return []
    (root / name).unlink(missing_ok=True)  # it may be a link or a pipe
    (root / name).write_text(content)
    return [name]


def remove(root: Path, name: str) -> list[str]:
    if not os.path.lexists(root / name):
        return []
    if (root / name).is_dir() and not (root / name).is_symlink():
        shutil.rmtree(root / name)
    else:
        (root / name).unlink()
    return [name]


def folder(root: Path, name: str) -> list[str]:
    if os.path.lexists(root / name) or not (root / name).parent.is_dir():
        return []
    (root / name).mkdir()
    return [name]


def swap(root: Path, name: str) -> list[str]:
    """Put a file in the place of a folder, or the other way round."""
    was_folder = (root / name).is_dir()
    if removed := remove(root, name):
        write(root, name, "x") if was_folder else folder(root, name)
    return removed


def special(root: Path, name: str) -> list[str]:
    if os.path.lexists(root / name) or not (root / name).parent.is_dir():
        return []
    os.mkfifo(root / name)
    return [name]


def link(root: Path, name: str) -> list[str]:
    if os.path.lexists(root / name) or not (root / name).parent.is_dir():
        return []
    (root / name).symlink_to("/etc")
    return [name]


def rename(root: Path, name: str, other: str) -> list[str]:
    if not os.path.lexists(root / name) or os.path.lexists(root / other) or not (root / other).parent.is_dir():
        return []
    if (root / other).is_relative_to(root / name):
        return []
    (root / name).rename(root / other)
    return [name, other]


Edit = Callable[[Path], list[str]]
NAME = st.sampled_from(NAMES)
EDITS = st.one_of(
    st.builds(lambda name, text: lambda root: write(root, name, text), NAME, st.text("xy", max_size=3)),
    st.builds(lambda name: lambda root: write(root, name, "x" * (_MOST + 1)), NAME),
    st.builds(lambda rules: lambda root: write(root, ".gitignore", rules), st.sampled_from(RULES)),
    st.builds(lambda name, other: lambda root: rename(root, name, other), NAME, NAME),
    *(st.builds(lambda name, do=do: lambda root: do(root, name), NAME) for do in (remove, folder, swap, special, link)),
)


@pytest.fixture(scope="module")
def git_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repo(tmp_path_factory.mktemp("hints"), {"a": ""}, name="bare.git", bare=True)


STEPS = st.lists(st.tuples(st.lists(EDITS, min_size=1, max_size=2), st.sets(NAME, max_size=2)), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None)
@given(rules=st.sampled_from(RULES), steps=STEPS)
def test_who_names_what_changed_and_anything_else_has_the_folder_seen_as_it_is(
    git_dir: Path, rules: str, steps: list[tuple[list[Edit], set[str]]]
) -> None:
    """Also what changed long ago, or never: an old hint names too much."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        for name in ("sub", "build", "other", "other/.git"):
            folder(root, name)
        for name in ("a.py", "b.log", "sub/a.py", "sub/b.log", "build/a.py", "other/a.py"):
            write(root, name, "x")
        write(root, ".gitignore", rules)
        known = look(root, git_dir)
        for edits, others in steps:
            named = {path for edit in edits for path in edit(root)} | others
            seen = hinted(root, known, Changed(frozenset(named), whole=True), max_bytes=_MOST)
            known = look(root, git_dir)
            if seen is not None:
                assert seen.files == known.files
                assert sorted(seen.left_out, key=repr) == sorted(known.left_out, key=repr)
