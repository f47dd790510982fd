"""Claims about kill -9 of each program in the middle of an index: nothing is lost, and searches answer throughout.

``SKELLIG_TEST_ROUNDS=20 SKELLIG_TEST_REPO=/path pytest tests/faults/processes/test_kills.py`` is the long form.
"""

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import pytest

from appliance.base import sqlite
from appliance.base.clock import SystemClock
from appliance.cli.views import Job, Repo, Results
from appliance.codeintel.registry import Registry
from appliance.codeintel.store.generations import Generations
from appliance.config import Index
from appliance.errors import ApplianceError, Conflict
from appliance.ids import RepoId
from appliance.ops import launch
from tests.support.house import House, until
from tests.support.models import MINILM, needed, store_root
from tests.support.repos import make_repo

pytestmark = pytest.mark.timeout(3600)

T = TypeVar("T")
ROUNDS = int(os.environ.get("SKELLIG_TEST_ROUNDS", "1"))
WORD = "unmistakable"
LONGEST_GAP_S = 60.0  # a killed web process starts anew, on a busy machine


class Patient(House):
    """A house whose web process may be killed at any moment: asks again until somebody answers."""

    kills_within = 0  # an index that had not ended yet

    def get(self, path: str, kind: type[T]) -> T:
        return self._again(lambda: self._get(path, kind))

    def post(self, path: str, kind: type[T], body: object = None) -> T:
        return self._again(lambda: self._post(path, kind, body))

    def indexed(self, source: Path, *, project: str, kill: str | None = None, after: float = 0.0) -> Repo:
        """Index *source* in a project of its own, so that nothing is known of it, and kill a program on the way.

        Not before that has settled: one that dies again and again while it starts is held for broken, as it should be.
        """
        if kill is not None:
            until(lambda: self.program(kill).state == "running")
        with suppress(Conflict):
            self.post("projects", object, {"name": project})
        repo = self.post("repos", Repo, {"path": str(source), "project": project, "name": project})
        if kill is not None:
            time.sleep(after)  # the random moment of the claim
            os.kill(self.pid(kill), signal.SIGKILL)
            self.kills_within += not self.get(f"jobs/{repo.job.id if repo.job else ''}", Job).ended
        assert repo.job is not None
        job = repo.job.id
        ended = until(lambda: j if (j := self.get(f"jobs/{job}", Job)).ended else None, seconds=600)
        assert ended.state == "done", ended.reason
        return self.get(f"repos/{repo.id}", Repo)

    def holds(self, repo: Repo) -> set[tuple[str, str]]:
        """Return path and blob of every file in the published index, read from the disk itself."""
        registry = Registry(sqlite.connect(self.paths.global_db), paths=self.paths, limits=Index(), clock=SystemClock())
        with closing(registry), closing(Generations(registry, paths=self.paths, clock=SystemClock())) as generations:
            files = generations.published(RepoId(repo.id)).files
            return {(path, str(files.blobs[number])) for path, number in files.by_path.items()}

    def _get(self, path: str, kind: type[T]) -> T:
        with self.remote() as remote:
            return remote.get(path, kind)

    def _post(self, path: str, kind: type[T], body: object) -> T:
        with self.remote() as remote:
            return remote.post(path, kind, body)

    @staticmethod
    def _again(ask: Callable[[], T]) -> T:
        end = time.monotonic() + 120
        while True:
            try:
                return ask()
            except ApplianceError as exc:
                if not exc.retryable or time.monotonic() > end:
                    raise
                time.sleep(0.05)


class Searching:
    """Searches all the while. *wrong* holds answers without the hit that must be there."""

    def __init__(self, house: Patient) -> None:
        self._house = house
        self._stop = threading.Event()
        self.answered = 0
        self.longest_gap = 0.0
        self.wrong: list[str] = []

    @contextmanager
    def going_on(self) -> Iterator[None]:
        thread = threading.Thread(target=self._search)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _search(self) -> None:
        last = time.monotonic()
        while not self._stop.wait(0.05):
            try:
                with self._house.remote() as remote:
                    found = remote.get("search", Results, q=WORD)
            except ApplianceError as exc:
                if not exc.retryable:
                    self.wrong.append(str(exc))
                continue
            now = time.monotonic()
            self.longest_gap, last = max(self.longest_gap, now - last), now
            self.answered += 1
            if not any(WORD in hit.text for hit in found.hits):
                self.wrong.append("the hit was not there")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Patient]:
    needed(MINILM)
    built = Patient(tmp_path / "data")
    built.paths.root.mkdir()
    built.paths.models.symlink_to(store_root())
    started = built.skellig("up", SKELLIG_EMBED__MODEL=MINILM)
    assert started.returncode == 0, started.stderr
    yield built
    launch.stop(built.files, seconds=10.0)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    if given := os.environ.get("SKELLIG_TEST_REPO"):
        return Path(given)
    body = "".join(f"    step_{i} = total * {i}\n" for i in range(30))
    return make_repo(tmp_path, {f"p{i % 9}/m{i}.py": f"def f{i}(total):\n{body}" for i in range(400)}, name="source")


def test_whatever_is_killed_the_index_is_the_clean_one_and_searches_go_on(
    house: Patient, source: Path, tmp_path: Path
) -> None:
    chance = random.Random(20261129)  # noqa: S311 - the same moments at every run
    small = make_repo(tmp_path, {"a.py": f"def {WORD}():\n    return 1\n"}, name="small")
    house.indexed(small, project="default")
    start = time.monotonic()
    clean = house.indexed(source, project="clean")
    spent = time.monotonic() - start
    searching = Searching(house)
    with searching.going_on():
        for number in range(ROUNDS):
            for victim in ("worker", "web", "engine-embed"):
                repo = house.indexed(source, project=f"{victim}-{number}", kill=victim, after=chance.random() * spent)
                assert house.holds(repo) == house.holds(clean), (victim, number)
    assert not searching.wrong
    assert not house.home.exists(), "a library wrote into the home directory: what else does it do unasked?"
    assert searching.answered
    assert searching.longest_gap < LONGEST_GAP_S
    assert house.kills_within, "no kill fell into an index"
    sys.stdout.write(
        f"{house.kills_within} of {3 * ROUNDS} kills within an index; {searching.answered} searches, "
        f"the longest gap {searching.longest_gap:.1f} s; a clean index takes {spent:.1f} s\n"
    )
