"""What administrators reported of keeping an index elsewhere, held to here: work as the change, nothing unsaid."""

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from appliance.codeintel.repo_settings import RepoSettings
from appliance.errors import Cancelled, Conflict
from appliance.looking import ask_for
from appliance.services import Services
from appliance.worker import mend
from tests.support import planted
from tests.support.appliance import make_services, serving, working
from tests.support.clock import FakeClock
from tests.support.embedders import FakeEmbedder
from tests.support.house import until
from tests.support.indexing import IndexBench, Recorder
from tests.support.repos import commit, make_repo

MANY = 2_000
TEXTS = 80
ODD = "return 33"  # stands in one of them


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder(refuses=lambda text: ODD in text)


@pytest.fixture
def services(tmp_path: Path, embedder: FakeEmbedder) -> Iterator[Services]:
    with closing(make_services(tmp_path / "data", embedder=embedder)) as services:
        yield services


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[IndexBench]:
    with closing(IndexBench(tmp_path / "data")) as bench:
        yield bench


def code(count: int) -> dict[str, bytes | str | None]:
    return {f"pkg{n // 50}/m{n}.py": f"def f{n}(a):\n    return {n}\n" for n in range(count)}


def spent() -> float:
    """Return the processor seconds of this process and of all that it started: others that run beside it say nothing."""
    living = (child.cpu_times() for child in psutil.Process().children(recursive=True))
    return sum(os.times()[:4]) + sum(float(each.user + each.system) for each in living)


def settle(services: Services) -> None:
    with working(services):
        until(lambda: all(job.ended for job in services.jobs.list()))


def test_three_changed_files_of_many_cost_a_twentieth_of_all_and_three_texts(bench: IndexBench, tmp_path: Path) -> None:
    """Repositories were built from nothing on each small push, and kept the machine at full load."""
    source = make_repo(tmp_path, code(MANY), bare=True)
    repo = bench.add(source)
    start = spent()
    bench.index(repo)
    whole, embedder = spent() - start, FakeEmbedder()
    assert bench.fill(repo, embedder) == MANY
    changes = []
    for turn in range(3):
        changed = {f"pkg{n}/m{50 * n}.py": f"def g{n}(a):\n    return {turn + 5_000}\n" for n in range(3)}
        commit(source, changed, when=1_700_000_100 + turn)
        start = spent()
        bench.index(repo)
        changes.append(spent() - start)
    embedder.texts.clear()
    assert bench.fill(repo, embedder) == len(embedder.texts) == 3
    assert min(changes) < 0.05 * whole, (changes, whole)


def test_tidying_takes_nothing_that_is_read_or_built_whenever_it_comes(bench: IndexBench, tmp_path: Path) -> None:
    """A finished index disappeared: housekeeping had removed it."""
    source = make_repo(tmp_path, code(20), bare=True)
    repo = bench.add(source)
    first, phases = bench.index(repo), set[str]()
    commit(source, dict.fromkeys(code(20), "def other():\n    return 1\n"), when=1_700_000_100)

    def tidy(phase: str, done: int, total: int | None) -> None:
        del done, total
        if phase not in phases:
            phases.add(phase)
            with pytest.raises(Conflict):
                bench.indexer.tidy(repo.project)
            bench.filler.tidy(repo.project)
            assert bench.generation(repo).info.id == first.id

    broken = Recorder(cancel_at="publish")
    with pytest.raises(Cancelled):
        bench.index(repo, progress=broken.progress, check=broken.check)
    bench.indexer.tidy(repo.project)
    assert (bench.generation(repo).info.id, bench.folders(repo)) == (first.id, {first.id})
    second = bench.index(repo, progress=tidy)
    assert {"list", "parse", "publish"} <= phases
    bench.indexer.tidy(repo.project)
    assert bench.generation(repo).info.id == second.id != first.id
    assert bench.generation(repo).symbols.named("other")


def test_a_text_that_cannot_be_embedded_is_counted_in_every_answer_and_only_it_is_tried_again(
    services: Services, embedder: FakeEmbedder, tmp_path: Path
) -> None:
    """Thousands of such failures were warnings in a log, and the index passed for complete."""
    source = make_repo(tmp_path, code(TEXTS), name="code")
    repo = services.registry.add_repo(services.registry.project("default").id, source).id
    services.index(repo)
    settle(services)
    with serving(services) as client:
        index = client.get("/api/v1/repos/code").json()["index"]
        assert (index["chunks"], index["vectors"], index["vectors_failed"]) == (TEXTS, 79 / 80, 1)
        found = client.get("/api/v1/search", params={"q": "f7"}).json()
        assert [fresh["vectors"] for fresh in found["freshness"]] == [79 / 80]
        assert "code: 98.7% of the vectors are there; the rest goes by words alone." in found["warnings"]
        embedder.refuses = lambda _text: False
        embedder.texts.clear()
        assert client.post("/api/v1/repos/code/refresh").status_code == 202
        settle(services)
        assert [ODD in text for text in embedder.texts if "def " in text] == [True]
        index = client.get("/api/v1/repos/code").json()["index"]
        assert (index["vectors"], index["vectors_failed"]) == (1.0, 0)


def test_a_change_of_the_policy_of_secrets_has_what_was_kept_made_anew_by_itself(services: Services, tmp_path: Path) -> None:
    """Keys stayed in an index that was made before they were to be masked."""
    source = make_repo(tmp_path, {"a.py": f"KEY = '{planted.AWS_KEY}'\n"}, name="kept")
    repo = services.registry.add_repo(services.registry.project("default").id, source).id
    services.index(repo)
    settle(services)
    mend(services, again=False)
    last = services.last_index(repo)
    assert last is not None
    assert last.ended, "nothing has changed"
    with closing(make_services(services.paths.root, extra={"SKELLIG_INDEX__MASK_SECRETS": "false"})) as other:
        mend(other, again=False)
        asked = [job.kind for job in other.jobs.list() if job.state == "queued"]
    assert sorted(asked) == ["index", "tidy"]


def test_after_its_work_a_repository_rests_until_that_was_no_more_than_its_share(services: Services, tmp_path: Path) -> None:
    """Nobody could say how much of a machine a busy repository may have."""
    source = make_repo(tmp_path, {"a.py": "a = 1\n"}, name="busy")
    settings = RepoSettings(share=10)
    repo = services.registry.add_repo(services.registry.project("default").id, source, settings=settings).id
    clock = FakeClock()
    at = replace(services, clock=clock)
    services.jobs._clock = clock
    for kind, seconds in (("index", 40.0), ("embed", 20.0)):
        services.jobs.enqueue(kind, key=repo)
        lease = services.jobs.lease(worker="test", kinds=[kind], seconds=3600)
        assert lease is not None
        clock.advance(seconds)
        services.jobs.complete(lease)
    assert not ask_for(at, repo), "a minute of work is a tenth of ten"
    clock.advance(539)
    assert not ask_for(at, repo)
    clock.advance(2)
    assert ask_for(at, repo)
    services.registry.change_repo(repo, branch=None, settings=RepoSettings())
    clock.advance(-60)
    assert ask_for(at, repo), "who may have all of the time never rests"
