"""A power cut at any moment: whatever the database names is on the disk by then, whole, and under its name.

A kill shows nothing of this, for the kernel still writes what a dead process left. So the system calls themselves are held
to the order that is promised: write aside, sync, flip.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from appliance.codeintel.store.layers import is_patched
from tests.faults.index.platter import CALLS, Commit, Platter
from tests.support.indexing import IndexBench
from tests.support.repos import make_repo

STRACE = ("strace", "-f", "-y", "-s", "4200", "-e", f"trace={CALLS}")  # the strings are as long as a page of the log


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cut").resolve()


@pytest.fixture(scope="module")
def trace(root: Path) -> Sequence[str]:
    """Return what an index of twenty files, a patch of one, and the filling of their vectors asked of the kernel."""
    try:
        tried = subprocess.run([*STRACE, "-o", "/dev/null", "true"], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("strace is not installed")
    if tried.returncode:
        pytest.skip(f"strace may not trace here: {tried.stderr.decode().strip()[:200]}")
    bench = IndexBench(root / "data")
    bench.add(make_repo(root, {f"m{number}.py": f"def f{number}(): pass\n" for number in range(20)}))
    bench.close()
    log = root / "trace"
    argv = [*STRACE, "-o", str(log), sys.executable, "-m", "tests.faults.index.traced", str(root / "data")]
    subprocess.run(argv, check=True, cwd=Path(__file__).parents[3], env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
    return log.read_text(encoding="utf-8", errors="replace").splitlines()


def commits(trace: Sequence[str], root: Path, *, naming: str) -> list[Commit]:
    """Return the writes to the log of ``project.db`` whose page holds the text *naming*."""
    (database,) = root.glob("data/projects/*/project.db")
    found = Platter().commits(trace, log=f"{database}-wal")
    return [commit for commit in found if naming in commit.page]


def generation_of(root: Path, *, patch: bool = False) -> Path:
    """Return the folder of the generation that was built whole, or of the patch over it."""
    (folder,) = (each for each in root.glob("data/projects/*/generations/*") if is_patched(each) == patch)
    return folder


def below(commit: Commit, folder: Path) -> list[str]:
    return sorted(path for path in commit.at_risk if path == str(folder) or path.startswith(f"{folder}/"))


def test_no_generation_and_no_matrix_is_named_before_all_of_it_is_durable(trace: Sequence[str], root: Path) -> None:
    folder = generation_of(root)
    named = commits(trace, root, naming=folder.name)
    assert len(named) >= 3  # it, and two matrices of it
    assert [below(commit, folder) for commit in named] == [[]] * len(named)


def test_no_patch_is_named_before_all_of_it_is_durable(trace: Sequence[str], root: Path) -> None:
    """Links to what was durable before are names that may be lost like others."""
    folder = generation_of(root, patch=True)
    named = commits(trace, root, naming=folder.name)
    assert len(named) >= 2  # it with the vectors that it takes over, and with those of its own
    assert [below(commit, folder) for commit in named] == [[]] * len(named)


def test_no_version_of_the_stored_vectors_is_named_before_it_is_durable(trace: Sequence[str], root: Path) -> None:
    (folder,) = root.glob("data/projects/*/vectors")
    named = commits(trace, root, naming="fake.8")  # the table of the embedder's model
    assert named
    assert [below(commit, folder) for commit in named] == [[]] * len(named)


def test_what_is_committed_is_synced_before_anything_goes_on(trace: Sequence[str], root: Path) -> None:
    """Each statement waits for its own page: with less than that SQLite lost acknowledged rows."""
    (database,) = root.glob("data/projects/*/project.db")
    log = f"{database}-wal"
    pending = ""
    for line in trace:
        if " pwrite64(" in line and f"<{log}>" in line:
            pending = line
        elif "sync(" in line and f"<{log}>" in line:
            pending = ""
        elif " pwrite64(" in line and f"<{database}>" in line:
            assert pending == ""  # the log goes into the database only once it is durable itself
    assert pending == ""


@pytest.mark.parametrize("call", ["syncfs", "fsync"])
def test_the_trace_would_show_a_sync_that_is_missing(trace: Sequence[str], root: Path, call: str) -> None:
    folder = generation_of(root)
    without = [line for line in trace if f" {call}(" not in line]
    assert any(below(commit, folder) for commit in commits(without, root, naming=folder.name))


def test_the_trace_would_show_a_patch_that_is_not_synced(trace: Sequence[str], root: Path) -> None:
    folder = generation_of(root, patch=True)
    without = [line for line in trace if " fsync(" not in line]
    assert any(below(commit, folder) for commit in commits(without, root, naming=folder.name))
