"""A full disk ends an index with its name; searches go on, and it heals without a restart."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.errors import DiskFull
from tests.support.embedders import FakeEmbedder
from tests.support.indexing import IndexBench
from tests.support.ranked import best_chunks
from tests.support.repos import commit, make_repo

_SIZE = 48 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill_up(disk: Path, *, leave: int) -> Path:
    """Write a file that leaves *leave* bytes free."""
    ballast = disk / "ballast"
    usage = os.statvfs(disk)
    with ballast.open("wb") as file:
        file.write(b"\0" * max(0, usage.f_bavail * usage.f_frsize - leave))
    return ballast


def words(number: int) -> str:
    return "\n".join(f"word{number}x{i} = other{i * number}" for i in range(150))


@pytest.mark.parametrize("leave", [0, 300_000, 1_500_000])
def test_an_index_on_a_full_disk_ends_as_such_and_the_former_one_answers(
    small_disk: Path, tmp_path: Path, leave: int
) -> None:
    source = make_repo(tmp_path, {f"f{i}.py": words(i) for i in range(20)})
    bench = IndexBench(small_disk / "data")
    repo = bench.add(source)
    former = bench.index(repo)
    commit(source, {f"g{i}.py": words(1000 + i) for i in range(100)})
    assert bench.generation(repo).info == former  # searches have it open, as they do in life
    ballast = fill_up(small_disk, leave=leave)
    with pytest.raises(DiskFull):
        bench.index(repo)
    generation = bench.generation(repo)
    assert generation.info == former
    assert len(best_chunks(generation.lexical, ["word3x7"], 5)[0]) == 1
    assert bench.folders(repo) == {former.id}
    ballast.unlink()
    assert bench.index(repo).files == 120
    assert bench.registry.repo(repo.id).error == ""
    bench.close()


def test_vectors_on_a_full_disk_end_as_such_and_searches_keep_what_was_published(small_disk: Path, tmp_path: Path) -> None:
    source = make_repo(tmp_path, {f"f{i}.py": words(i) for i in range(20)})
    bench = IndexBench(small_disk / "data")
    repo = bench.add(source)
    bench.index(repo)
    assert bench.generation(repo).info.vectors == 0
    ballast = fill_up(small_disk, leave=0)
    with pytest.raises(DiskFull):
        bench.fill(repo, FakeEmbedder(dimensions=384))
    assert bench.generation(repo).info.vectors == 0
    ballast.unlink()
    bench.fill(repo, FakeEmbedder(dimensions=384))
    assert bench.generation(repo).info.completeness == 1.0
    bench.close()


@pytest.mark.parametrize("kind", ["repository", "folder"])
def test_adding_to_a_full_disk_says_so_and_works_once_there_is_room(small_disk: Path, tmp_path: Path, kind: str) -> None:
    source = make_repo(tmp_path, {"a.py": "a = 1\n"})
    if kind == "folder":
        source = tmp_path / "plain"
        source.mkdir()
        (source / "a.py").write_text("a = 1\n")
    bench = IndexBench(small_disk / "data")
    bench.registry.add_project("other")  # the project of the new repository is there, its folder is not
    ballast = fill_up(small_disk, leave=0)
    with pytest.raises(DiskFull):
        bench.add(source, project="other")
    ballast.unlink()
    assert bench.index(bench.add(source, project="other")).files == 1
    bench.close()
