"""How vectors fill in behind a published generation."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from appliance.codeintel.store.matrix import VectorState
from appliance.errors import Cancelled, EngineUnavailable, NotFound
from tests.support.embedders import FakeEmbedder
from tests.support.indexing import IndexBench, Recorder
from tests.support.repos import commit, make_repo

CODE = {f"f{i:02}.py": f"class C{i}:\n    def method{i}(self):\n        return {i}\n" for i in range(40)}


def test_every_chunk_gets_the_vector_of_its_header_and_text(bench: IndexBench, tmp_path: Path) -> None:
    methods = "\n".join(f"    def method{i}(self):\n        return [\n            {i},\n        ]\n" for i in range(80))
    repo = bench.add(make_repo(tmp_path, {"big.py": f"class Big:\n{methods}", "notes.txt": "plain words\n"}))
    info = bench.index(repo)
    embedder = FakeEmbedder()
    assert bench.fill(repo, embedder) == info.chunks
    assert "notes.txt\nplain words" in embedder.texts
    text = next(text for text in embedder.texts if "return [\n            70," in text)
    assert text.startswith("big.py > Big")
    generation = bench.generation(repo)
    assert generation.vectors is not None
    scores = generation.vectors.cosines(embedder.vector(text), np.arange(info.chunks))
    assert scores.max() > 0.99
    assert generation.chunk_start[scores.argmax()] <= 1 + 70 * 5 + 2 <= generation.chunk_end[scores.argmax()]
    assert generation.info.completeness == 1.0


def test_a_chunk_is_embedded_once_across_runs_generations_copies_and_repos(bench: IndexBench, tmp_path: Path) -> None:
    """Work is proportional to what changed: three files changed, three texts embedded."""
    source = make_repo(tmp_path, CODE | {"copy.py": CODE["f00.py"]})
    repo = bench.add(source)
    bench.index(repo)
    embedder = FakeEmbedder()
    assert bench.fill(repo, embedder) == 40
    assert bench.fill(repo, embedder) == 0
    commit(source, {f"f0{i}.py": f"def changed{i}(): pass\n" for i in (1, 2, 3)})
    bench.index(repo)
    embedder.texts.clear()
    assert bench.fill(repo, embedder) == len(embedder.texts) == 3
    other = bench.add(make_repo(tmp_path, CODE, name="other"))
    bench.index(other)
    assert bench.fill(other, embedder) == 0
    assert bench.generation(other).info.completeness == 1.0


def test_tests_are_left_without_vectors_and_the_rest_still_counts_as_complete(bench: IndexBench, tmp_path: Path) -> None:
    repo = bench.add(make_repo(tmp_path, {"a.py": "x = 1\n", "tests/test_a.py": "def test_a(): pass\n"}))
    bench.index(repo)
    embedder = FakeEmbedder()
    assert bench.fill(repo, embedder) == 1
    generation = bench.generation(repo)
    assert generation.vectors is not None
    assert generation.vectors.state.tolist() == [VectorState.PRESENT, VectorState.SKIPPED]
    assert (generation.info.vectors, generation.info.vectors_skipped, generation.info.completeness) == (1, 1, 1.0)
    assert np.isnan(generation.vectors.cosines(embedder.vector("x"), np.arange(2))).tolist() == [False, True]


def test_texts_that_are_refused_are_counted_and_only_they_are_tried_again(bench: IndexBench, tmp_path: Path) -> None:
    repo = bench.add(make_repo(tmp_path, CODE))
    bench.index(repo)
    embedder = FakeEmbedder(refuses=lambda text: "return 7" in text or "return 23" in text)
    assert bench.fill(repo, embedder) == 38
    info = bench.generation(repo).info
    assert (info.vectors, info.vectors_failed, info.completeness) == (38, 2, 0.95)
    embedder.texts.clear()
    embedder.refuses = lambda _text: False
    assert bench.fill(repo, embedder) == len(embedder.texts) == 2
    info = bench.generation(repo).info
    assert (info.vectors, info.vectors_failed, info.completeness) == (40, 0, 1.0)


def test_an_engine_that_comes_back_is_waited_for(bench: IndexBench, tmp_path: Path) -> None:
    repo = bench.add(make_repo(tmp_path, CODE))
    bench.index(repo)
    embedder = FakeEmbedder()
    embedder.down = 2
    assert bench.fill(repo, embedder) == 40
    assert bench.pauses == [0.5, 1.0]


def test_an_engine_that_stays_away_ends_the_fill_and_what_was_embedded_is_kept(bench: IndexBench, tmp_path: Path) -> None:
    repo = bench.add(make_repo(tmp_path, CODE))
    bench.index(repo)
    embedder = FakeEmbedder()

    def progress(_phase: str, done: int, _total: int | None) -> None:
        if done >= 16:
            embedder.down = -1

    with pytest.raises(EngineUnavailable):
        bench.fill(repo, embedder, progress=progress)
    assert bench.generation(repo).info.vectors == 16
    embedder.down = 0
    assert bench.fill(repo, embedder) == 24


def test_no_text_is_to_blame_for_an_engine_that_restarts(bench: IndexBench, tmp_path: Path) -> None:
    """It fails in the middle of a batch, answers nothing for longer than anybody waits, and is back for the next job."""
    repo = bench.add(make_repo(tmp_path, CODE))
    bench.index(repo)
    embedder = FakeEmbedder(refuses=lambda text: "return 7" in text)

    def progress(_phase: str, done: int, _total: int | None) -> None:
        if done >= 15:
            embedder.refuses = lambda _text: False
            embedder.down = -1

    with pytest.raises(EngineUnavailable):
        bench.fill(repo, embedder, progress=progress)
    assert bench.generation(repo).info.vectors_failed == 1, "the one that was refused"
    embedder.down = 0
    bench.fill(repo, embedder)
    assert bench.generation(repo).info.completeness == 1.0


def test_a_text_that_ends_the_engine_each_time_does_not_keep_the_others_from_their_vectors(
    bench: IndexBench, tmp_path: Path
) -> None:
    class Fragile(FakeEmbedder):
        async def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            if any("return 7" in text for text in texts):
                raise EngineUnavailable("The engine ended.")
            return await super().embed(texts)

    repo = bench.add(make_repo(tmp_path, CODE))
    bench.index(repo)
    assert bench.fill(repo, Fragile()) == 39
    assert bench.generation(repo).info.vectors_failed == 1


def test_a_cancelled_fill_keeps_what_it_has(bench: IndexBench, tmp_path: Path) -> None:
    repo = bench.add(make_repo(tmp_path, CODE))
    bench.index(repo)
    recorder = Recorder(cancel_at="embed")
    with pytest.raises(Cancelled):
        bench.fill(repo, FakeEmbedder(), progress=recorder.progress, check=recorder.check)
    assert bench.generation(repo).info.vectors == 16


def test_a_generation_published_while_vectors_fill_in_has_them_all_in_the_end(bench: IndexBench, tmp_path: Path) -> None:
    source = make_repo(tmp_path, CODE)
    repo = bench.add(source)
    bench.index(repo)
    changed: list[str] = []

    def progress(_phase: str, done: int, _total: int | None) -> None:
        if done >= 32 and not changed:
            changed.append(commit(source, {"new.py": "def new(): pass\n"}))
            bench.index(repo)

    assert bench.fill(repo, FakeEmbedder(), progress=progress) == 41
    info = bench.generation(repo).info
    assert (info.commit, info.completeness) == (changed[0], 1.0)


def test_a_generation_swept_away_while_its_vectors_fill_in_is_no_fault(bench: IndexBench, tmp_path: Path) -> None:
    source = make_repo(tmp_path, CODE)
    repo = bench.add(source)
    bench.index(repo)
    commits: list[str] = []

    def progress(_phase: str, done: int, _total: int | None) -> None:
        while done >= 16 and len(commits) < 3:
            commits.append(commit(source, {f"new{len(commits)}.py": "def new(): pass\n"}))
            bench.index(repo)

    bench.fill(repo, FakeEmbedder(), progress=progress)
    info = bench.generation(repo).info
    assert (info.commit, info.completeness) == (commits[-1], 1.0)
    assert len(bench.folders(repo)) == 2


def test_another_model_starts_its_own_vectors(bench: IndexBench, tmp_path: Path) -> None:
    repo = bench.add(make_repo(tmp_path, CODE))
    bench.index(repo)
    bench.fill(repo, FakeEmbedder())
    assert bench.fill(repo, FakeEmbedder(model="other", dimensions=16)) == 40
    vectors = bench.generation(repo).vectors
    assert vectors is not None
    assert (vectors.model, vectors.rows.shape) == ("other", (40, 16))


def test_only_two_matrices_of_a_generation_stay_on_the_disk(bench: IndexBench, tmp_path: Path) -> None:
    repo = bench.add(make_repo(tmp_path, CODE))
    info = bench.index(repo)
    embedder = FakeEmbedder()
    for left in (4, 3, 2, 1, 0):
        embedder.refuses = _refuser(left)
        bench.fill(repo, embedder)
    folder = bench.paths.project(repo.project).generations / info.id
    assert len(list(folder.glob("vectors-*"))) == 2


def test_vectors_cannot_be_filled_before_there_is_an_index(bench: IndexBench, tmp_path: Path) -> None:
    repo = bench.add(make_repo(tmp_path, CODE))
    with pytest.raises(NotFound):
        bench.fill(repo, FakeEmbedder())


def _refuser(count: int) -> Callable[[str], bool]:
    return lambda text: any(f"return {number}" in text for number in range(10, 10 + count))
