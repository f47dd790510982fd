"""An index that is killed at any moment: nothing is lost, nothing half-made is seen, nothing is left behind."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from appliance.codeintel.parse.tokens import query_tokens
from appliance.codeintel.registry import Repo
from appliance.errors import HostUnfit
from tests.support.indexing import IndexBench, Recorder
from tests.support.ranked import best_chunks
from tests.support.repos import commit, git, make_repo
from tests.support.tables import tables
from tests.support.whole import whole

ROUNDS = int(os.environ.get("SKELLIG_TEST_ROUNDS", "3"))
FILES = int(os.environ.get("SKELLIG_TEST_FILES", "300"))
WORDS = query_tokens("value compute function value_2_3 new")
_DEADLINE_S = 60.0


def code(number: int, version: int) -> str:
    body = "\n".join(f"    value_{number}_{i} = compute_{version}(value, {i})" for i in range(20))
    return f"def function_{number}_{version}(value):\n{body}\n    return value\n"


def first() -> dict[str, str]:
    return {f"pkg{i % 17}/m{i}.py": code(i, 1) for i in range(FILES)}


def second() -> dict[str, str | None]:
    changed: dict[str, str | None] = {f"pkg{i % 17}/m{i}.py": code(i, 2) for i in range(0, FILES, 2)}
    return changed | {f"pkg{i % 17}/m{i}.py": None for i in range(1, FILES, 20)} | {"new.py": code(0, 3)}


def blobs_of(source: Path) -> set[tuple[str, str]]:
    """Return path and blob of every file of the newest commit."""
    rows = (line.split() for line in git(source, "ls-tree", "-r", "main").decode().splitlines())
    return {(path, blob) for _mode, _kind, blob, path in rows}


class Victim:
    """An index in another process."""

    def __init__(self, data: Path, repo: Repo, *die: str) -> None:
        argv = [sys.executable, "-m", "tests.faults.index.victim", str(data), repo.id, *die]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)

    def wait_for_first_word(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline()

    def kill(self) -> None:
        self.process.kill()
        self.end()

    def end(self) -> int:
        """Read what it says until it ends and return its status."""
        self.process.communicate(timeout=_DEADLINE_S)
        return self.process.returncode


class Reader:
    """Searches all the while, as the web process does, and remembers each file set that it saw."""

    def __init__(self, data: Path, repo: Repo) -> None:
        self._bench = IndexBench(data)
        self._repo = repo
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self.seen: set[frozenset[tuple[str, str]]] = set()
        self.faults: list[BaseException] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._bench.close()

    def _read(self) -> None:
        while not self._stop.wait(0.02):
            try:
                generation = self._bench.generation(self._repo)
                files = generation.files
                ids, _ = best_chunks(generation.lexical, query_tokens("value"), 10)
                assert len(ids) == 10
                assert all(files.alive[generation.chunk_file[i]] for i in ids)
                self.seen.add(frozenset((path, files.blobs[number]) for path, number in files.by_path.items()))
            except BaseException as exc:  # noqa: BLE001 - whatever a reader meets is the finding
                self.faults.append(exc)
                return


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[tuple[str, str]], set[tuple[str, str]], float]:
    """Return the file sets of clean indexes of both commits, and how long the second one takes in a process."""
    root = tmp_path_factory.mktemp("clean")
    source = make_repo(root, first())
    bench = IndexBench(root / "data")
    repo = bench.add(source)
    bench.index(repo)
    before = bench.file_set(repo)
    commit(source, second())
    start = time.monotonic()
    victim = Victim(root / "data", repo)
    victim.wait_for_first_word()
    start = time.monotonic()
    assert victim.end() == 0
    seconds = time.monotonic() - start
    after = bench.file_set(repo)
    bench.close()
    return before, after, seconds


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[IndexBench]:
    bench = IndexBench(tmp_path / "data")
    yield bench
    bench.close()


@pytest.mark.timeout(600)
def test_killed_at_random_moments_an_index_resumes_to_the_files_of_a_clean_one_while_searches_go_on(
    bench: IndexBench, tmp_path: Path, clean: tuple[set[tuple[str, str]], set[tuple[str, str]], float]
) -> None:
    before, after, seconds = clean
    source = make_repo(tmp_path, first())
    repo = bench.add(source)
    bench.index(repo)
    commit(source, second())
    with Reader(tmp_path / "data", repo) as reader:
        for _ in range(ROUNDS):
            victim = Victim(tmp_path / "data", repo)
            victim.wait_for_first_word()
            assert reader._stop.wait(random.uniform(0, seconds)) is False  # noqa: S311 - any moment will do
            victim.kill()
            assert bench.file_set(repo) in (before, after)
        bench.index(repo)
    assert reader.faults == []
    assert reader.seen <= {frozenset(before), frozenset(after)}
    assert bench.file_set(repo) == after
    assert tables(bench.generation(repo), WORDS) == tables(whole(bench, repo, tmp_path / "whole"), WORDS)
    assert len(bench.folders(repo)) <= 2


@pytest.mark.timeout(600)
def test_killed_at_random_moments_a_patch_resumes_to_the_files_of_a_clean_index_while_searches_go_on(
    bench: IndexBench, tmp_path: Path
) -> None:
    """Every state that was ever seen is one that was committed, whole; nothing of a killed patch is left."""
    files = {path: text for path, text in first().items() if int(path.rpartition("/m")[2].removesuffix(".py")) < 40}
    source = make_repo(tmp_path, files)
    repo = bench.add(source)
    bench.index(repo)
    states = [bench.file_set(repo)]
    with Reader(tmp_path / "data", repo) as reader:
        for number in range(ROUNDS):
            commit(source, {f"pkg{number}/m{number}.py": code(number, 2), f"new{number}.py": code(number, 3)})
            victim = Victim(tmp_path / "data", repo)
            victim.wait_for_first_word()
            assert reader._stop.wait(random.uniform(0, 0.3)) is False  # noqa: S311 - any moment will do
            victim.kill()
            assert bench.file_set(repo) in (states[-1], blobs_of(source))
            assert bench.index(repo).patches > 0
            states.append(bench.file_set(repo))
            assert states[-1] == blobs_of(source)
    assert reader.faults == []
    assert reader.seen <= set(map(frozenset, states))
    assert tables(bench.generation(repo), WORDS) == tables(whole(bench, repo, tmp_path / "whole"), WORDS)
    assert len(bench.folders(repo)) <= 2


@pytest.mark.parametrize("phase", ["parse", "publish"])
def test_a_patch_that_is_killed_leaves_nothing_behind(bench: IndexBench, tmp_path: Path, phase: str) -> None:
    source = make_repo(tmp_path, dict(list(first().items())[:40]))
    repo = bench.add(source)
    whole = bench.index(repo)
    commit(source, {"new.py": code(0, 3)})
    assert Victim(tmp_path / "data", repo, phase, "0").end() == -signal.SIGKILL
    info = bench.index(repo)
    assert info.patches == 1
    assert bench.folders(repo) == {whole.id, bench.generation(repo).folder.name}
    assert bench.file_set(repo) == blobs_of(source)


def test_work_done_before_a_kill_is_not_done_again(bench: IndexBench, tmp_path: Path) -> None:
    repo = bench.add(make_repo(tmp_path, first()))
    reached = FILES * 6 // 10
    victim = Victim(tmp_path / "data", repo, "parse", str(reached))
    assert victim.end() == -signal.SIGKILL
    recorder = Recorder()
    bench.index(repo, progress=recorder.progress)
    assert recorder.parsed() <= FILES - reached
    assert len(bench.folders(repo)) == 1


@pytest.mark.parametrize("phase", ["index", "publish"])
def test_no_process_and_no_folder_outlives_a_killed_index(bench: IndexBench, tmp_path: Path, phase: str) -> None:
    repo = bench.add(make_repo(tmp_path, first()))
    victim = Victim(tmp_path / "data", repo, phase, "0")
    assert victim.end() == -signal.SIGKILL
    deadline = time.monotonic() + 10
    while _processes_on(tmp_path) and time.monotonic() < deadline:
        os.sched_yield()
    assert _processes_on(tmp_path) == []
    info = bench.index(repo)
    assert bench.folders(repo) == {info.id}


def test_a_writer_that_is_killed_fails_the_attempt_with_a_reason_and_the_former_index_stays(
    bench: IndexBench, tmp_path: Path
) -> None:
    source = make_repo(tmp_path, first())
    repo = bench.add(source)
    former = bench.index(repo)
    commit(source, second())

    def progress(phase: str, _done: int, _total: int | None) -> None:
        if phase in {"text", "index"}:  # the writer may be done with the one before the other begins
            for process in _processes_on(tmp_path):
                os.kill(process, signal.SIGKILL)

    with pytest.raises(HostUnfit) as caught:
        bench.index(repo, progress=progress)
    assert caught.value.remedy
    assert bench.generation(repo).info == former
    assert bench.folders(repo) == {former.id}


def _processes_on(folder: Path) -> list[int]:
    """Return the other processes that have *folder* in their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if os.fsencode(folder) in words:
                found.append(int(entry.name))
    return found
