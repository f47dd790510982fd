"""How a process that searches sees what another one publishes."""

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from appliance.base.sqlite import connect
from appliance.codeintel.registry import Registry, Repo
from appliance.codeintel.store.code import CodeStore, MatrixRow
from appliance.codeintel.store.generation import GenerationInfo
from appliance.codeintel.store.generations import Generations, counted
from appliance.codeintel.store.matrix import VectorMatrix, VectorState, matrix_folder, write_matrix
from appliance.config import Index
from appliance.errors import NotFound, StoreCorrupt
from appliance.ids import CommitId
from tests.support.clock import FakeClock
from tests.support.generations import data_at, facts_of, publish
from tests.support.indexed import Indexed
from tests.support.ranked import best_chunks
from tests.support.repos import commit, git, make_repo


class Appliance:
    """A registry, its readers, and a second connection that stands for the worker."""

    def __init__(self, root: Path) -> None:
        paths = data_at(root / "data")
        self.clock = FakeClock()
        self.registry = Registry(connect(paths.global_db), paths=paths, limits=Index(), clock=self.clock)
        self.source = make_repo(root, {"a.py": "x = 1\n"})
        self.repo: Repo = self.registry.add_repo(self.registry.add_project("default").id, self.source)
        self.generations = Generations(self.registry, paths=paths, clock=self.clock)
        self.store = CodeStore(paths.project(self.repo.project))

    def publish(self, text: str) -> GenerationInfo:
        head = git(self.source, "rev-parse", "main").decode().strip()
        return publish(self.store, self.repo.id, {"a.py": facts_of(text)}, commit=head)

    def close(self) -> None:
        self.generations.close()
        self.store.close()
        self.registry.close()


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[Appliance]:
    appliance = Appliance(tmp_path)
    yield appliance
    appliance.close()


def test_a_repo_that_was_never_indexed_is_not_found_and_says_what_to_do(appliance: Appliance) -> None:
    for ask in (appliance.generations.published, appliance.generations.info):
        with pytest.raises(NotFound) as caught:
            ask(appliance.repo.id)
        assert caught.value.remedy


def test_the_same_handle_comes_back_until_something_newer_is_published(appliance: Appliance) -> None:
    appliance.publish("one")
    first = appliance.generations.published(appliance.repo.id)
    assert appliance.generations.published(appliance.repo.id) is first
    newer = appliance.publish("two")
    assert appliance.generations.published(appliance.repo.id).info == newer
    assert best_chunks(first.lexical, ["one"], 1)[0].tolist() == [0]  # a reader keeps what it holds


def test_what_a_generation_holds_is_told_without_opening_it(appliance: Appliance) -> None:
    """A list of repositories is seen often, and one of a million files takes a gigabyte when it is opened."""
    info = appliance.publish("one")
    folder = appliance.store.paths.generations / info.id
    (folder / "chunk_file.npy").write_bytes(b"")
    assert appliance.generations.info(appliance.repo.id) == info
    assert appliance.generations.freshness(appliance.repo.id).generation == info.id
    with pytest.raises(StoreCorrupt):
        appliance.generations.published(appliance.repo.id)
    (folder / "generation.db").unlink()
    with pytest.raises(StoreCorrupt) as caught:
        appliance.generations.info(appliance.repo.id)
    assert caught.value.remedy


def test_asking_whether_something_newer_was_published_costs_less_than_a_millisecond(appliance: Appliance) -> None:
    appliance.publish("one")
    appliance.generations.published(appliance.repo.id)
    times = []
    for _ in range(50):
        start = time.perf_counter()
        appliance.generations.published(appliance.repo.id)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.001


def test_a_newer_vector_matrix_is_seen_and_the_rest_is_shared(appliance: Appliance) -> None:
    info = appliance.publish("one")
    before = appliance.generations.published(appliance.repo.id)
    assert before.vectors is None
    _fill(appliance, info, serial=1)
    after = appliance.generations.published(appliance.repo.id)
    assert after.vectors is not None
    assert after.vectors.state.tolist() == [VectorState.PRESENT]
    assert after.lexical is before.lexical
    assert (before.info.vectors, after.info.vectors) == (0, 1)
    assert appliance.generations.freshness(appliance.repo.id).vectors == 1.0


def test_a_matrix_that_is_gone_though_its_row_says_otherwise_is_corrupt(appliance: Appliance) -> None:
    info = appliance.publish("one")
    _fill(appliance, info, serial=1)
    shutil.rmtree(matrix_folder(appliance.store.paths.generations / info.id, 1))
    with pytest.raises(StoreCorrupt):
        appliance.generations.published(appliance.repo.id)


def test_readers_see_whole_generations_only_while_new_ones_are_published_and_old_ones_swept(appliance: Appliance) -> None:
    appliance.publish("word0")
    stop = threading.Event()
    seen: list[str] = []
    faults: list[BaseException] = []

    def read() -> None:
        while not stop.is_set():
            try:
                generation = appliance.generations.published(appliance.repo.id)
                assert generation.info.files == len(generation.files) == generation.lexical.count
                seen.append(generation.info.id)
            except BaseException as exc:  # noqa: BLE001 - whatever a reader meets is the finding
                faults.append(exc)
                return

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(1, 8):
        appliance.publish(f"word{number}")
        appliance.store.retire(live={appliance.repo.id})
        appliance.store.sweep()
    stop.set()
    for thread in threads:
        thread.join()
    assert faults == []
    assert len(set(seen)) > 1


def test_freshness_counts_the_commits_that_are_not_indexed_and_asks_again_after_two_seconds(appliance: Appliance) -> None:
    info = appliance.publish("one")
    fresh = appliance.generations.freshness(appliance.repo.id)
    assert (fresh.commit, fresh.branch, fresh.behind, fresh.vectors) == (info.commit, "main", 0, 0.0)
    commit(appliance.source, {"b.py": "y = 2\n"})
    assert appliance.generations.freshness(appliance.repo.id).behind == 0
    appliance.clock.advance(2.1)
    assert appliance.generations.freshness(appliance.repo.id).behind == 1


def test_a_work_tree_is_looked_at_again_after_ten_seconds(appliance: Appliance) -> None:
    info = appliance.publish("one")

    def dirty() -> int | None:
        lag = appliance.generations.lag(appliance.repo.id, branch=info.branch, commit=info.commit)
        return counted(lag.dirty, within=10)

    assert dirty() == 0
    next(path for path in appliance.source.iterdir() if path.is_file()).write_text("edited")
    assert dirty() == 0
    appliance.clock.advance(10.1)
    assert dirty() == 1
    shutil.rmtree(appliance.source)
    appliance.clock.advance(10.1)
    assert dirty() is None


def test_an_index_answers_after_its_repository_has_vanished(appliance: Appliance) -> None:
    appliance.publish("one")
    shutil.rmtree(appliance.source)
    generation = appliance.generations.published(appliance.repo.id)
    assert best_chunks(generation.lexical, ["one"], 1)[0].tolist() == [0]
    assert appliance.generations.freshness(appliance.repo.id).behind is None
    with pytest.raises(NotFound):
        appliance.generations.source(appliance.repo.id)


def test_a_source_that_is_open_when_its_repository_vanishes_gives_typed_errors(appliance: Appliance) -> None:
    info = appliance.publish("one")
    source = appliance.generations.source(appliance.repo.id)
    blob = source.locate(commit=CommitId(info.commit), path="a.py")
    assert blob is not None
    assert source.blob(blob) == b"x = 1\n"
    assert appliance.generations.source(appliance.repo.id) is source
    shutil.rmtree(appliance.source)
    assert appliance.generations.freshness(appliance.repo.id).behind is None


def test_a_folder_that_became_a_repository_is_read_as_one_once_it_is_indexed_again(tmp_path: Path) -> None:
    """A process that serves for weeks opened the folder long ago."""
    (tmp_path / "data").mkdir()
    indexed = Indexed(tmp_path / "data")
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n", encoding="ascii")
    repo = indexed.add(folder)
    first = indexed.generations.published(repo.id).info
    former = indexed.generations.source(repo.id)
    assert former.locate(commit=first.commit, path="a.py")
    git(folder, "init", "--quiet", "--initial-branch=main", ".")
    commit(folder, {"a.py": "x = 2\n"})
    indexed.index(repo)
    second = indexed.generations.published(repo.id).info
    source = indexed.generations.source(repo.id)
    blob = source.locate(commit=second.commit, path="a.py")
    assert blob is not None
    assert source.blob(blob) == b"x = 2\n"
    assert indexed.generations.source(repo.id) is source
    assert former.locate(commit=first.commit, path="a.py"), "whoever reads from it still can"
    indexed.close()


def _fill(appliance: Appliance, info: GenerationInfo, *, serial: int) -> None:
    rows = np.ones((info.chunks, 8), dtype=np.int8)
    state = np.full(info.chunks, VectorState.PRESENT, dtype=np.uint8)
    matrix = VectorMatrix("m", rows, np.ones(info.chunks, dtype=np.float32), state)
    write_matrix(matrix_folder(appliance.store.paths.generations / info.id, serial), matrix)
    row = MatrixRow(serial=serial, model="m", embedded=info.chunks, skipped=0, failed=0)
    assert appliance.store.publish_matrix(info.id, row)
