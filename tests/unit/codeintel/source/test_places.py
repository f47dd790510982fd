"""Places of files in commits: remembered as long as the commit is there, and the same as git tells them."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import pytest

from appliance.codeintel.source import places
from appliance.codeintel.source.objects import Info, Objects
from appliance.codeintel.source.places import Places
from appliance.ids import BlobId, CommitId
from tests.support.repos import commit, forge, git, link, make_repo, submodule

FILES = {"a.py": "a\n", "deep/er/est/b.py": "b\n", "deep/er/c.py": "c\n", "deep.py": "d\n", "bl ank/\udcff.py": "e\n"}
PATHS = [*FILES, "deep", "deep/er", "deep/er/nothing", "a.py/b", "link", "module", "module/x", "DEEP.py"]


class Counted(Objects):
    """Objects that count how often git is waited for."""

    asked = 0

    def infos(self, names: Sequence[str | bytes]) -> list[Info | None]:
        self.asked += 1
        return super().infos(names)

    def trees(self, trees: Sequence[str], *, most: int) -> dict[str, bytes]:  # type: ignore[override]
        self.asked += 1
        return super().trees(trees, most=most)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = make_repo(tmp_path, FILES, bare=True)
    forge(repo, [link("link", "a.py"), submodule("module", "1" * 40)], "special")
    return repo


@pytest.fixture
def objects(repo: Path) -> Iterator[Counted]:
    objects = Counted(repo, max_bytes=1000)
    yield objects
    objects.close()


def tip(repo: Path) -> CommitId:
    return CommitId(git(repo, "rev-parse", "main").decode().strip())


def settle(repo: Path, *, seconds: float = 60) -> None:
    """Let the folders of objects look as if nothing had changed in them for so long."""
    for folder in (repo / "objects").iterdir():
        os.utime(folder, (time.time() - seconds, time.time() - seconds))


def told(repo: Path, name: str) -> dict[str, BlobId | None]:
    lines = git(repo, "cat-file", "--batch-check", stdin=b"".join(os.fsencode(f"{name}:{path}\n") for path in PATHS))
    words = [line.split() for line in lines.decode(errors="replace").splitlines()]
    return {p: BlobId(each[0]) if each[1:2] == ["blob"] else None for p, each in zip(PATHS, words, strict=True)}


def test_files_stand_where_git_says_and_a_second_look_does_not_ask_it(repo: Path, objects: Counted) -> None:
    settle(repo)
    looked = Places(repo, objects)
    assert looked.located(tip(repo), PATHS) == told(repo, "main")
    before = objects.asked
    assert looked.located(tip(repo), PATHS[::-1]) == told(repo, "main")
    assert objects.asked == before


@pytest.mark.parametrize(("name", "most"), [("_LARGEST", 10), ("_MOST_ENTRIES", 1), ("_MOST_COMMITS", 0)])
def test_a_tree_that_is_too_large_or_forgotten_tells_the_same(
    repo: Path, objects: Counted, monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    monkeypatch.setattr(places, name, most)
    settle(repo)
    looked = Places(repo, objects)
    for _ in range(2):
        assert looked.located(tip(repo), PATHS) == told(repo, "main")


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_the_next_commit_is_read_in_either_object_format(tmp_path: Path, object_format: Literal["sha1", "sha256"]) -> None:
    repo = make_repo(tmp_path, FILES, bare=True, object_format=object_format)
    objects = Objects(repo, max_bytes=1000)
    looked = Places(repo, objects)
    for change in ({}, {"deep/er/c.py": "changed\n"}, {"deep/er/c.py": None, "new/c.py": "new\n"}):
        if change:
            commit(repo, change)
        assert looked.located(tip(repo), PATHS) == told(repo, "main")
    objects.close()


@pytest.mark.parametrize("packed", [False, True])
def test_a_commit_that_the_repository_lost_is_noticed_at_once(repo: Path, objects: Counted, *, packed: bool) -> None:
    if packed:
        git(repo, "repack", "-adq")
    settle(repo)
    lost, looked = tip(repo), Places(repo, objects)
    for _ in range(2):
        assert looked.located(lost, ["a.py"])["a.py"]
    git(repo, "update-ref", "refs/heads/main", "main~1")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")
    assert looked.located(lost, ["a.py"]) == {"a.py": None}
    assert looked.located(tip(repo), ["a.py"])["a.py"]


def test_what_is_not_a_commit_or_not_there_has_no_files(repo: Path, objects: Counted) -> None:
    looked = Places(repo, objects)
    blob = git(repo, "rev-parse", "main:a.py").decode().strip()
    for name in (blob, "0" * 40):
        assert looked.located(CommitId(name), ["a.py"]) == {"a.py": None}


def test_a_repository_that_changed_a_moment_ago_is_asked_each_time(repo: Path, objects: Counted) -> None:
    """Within one tick of its clock a file system gives two changes the same time."""
    settle(repo, seconds=0)
    looked = Places(repo, objects)
    for _ in range(2):
        before = objects.asked
        assert looked.located(tip(repo), ["a.py"])["a.py"]
        assert objects.asked > before
