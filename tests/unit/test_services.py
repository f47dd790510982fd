import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from appliance import worker
from appliance.base import sqlite
from appliance.errors import Cancelled, Conflict, EngineUnavailable, NotFound, StoreCorrupt
from appliance.ids import RepoId
from appliance.inference.engines.base import EngineHealth, Role
from appliance.jobs.queue import MAX_ATTEMPTS, Job, JobQueue
from appliance.jobs.worker import JobContext
from appliance.ops.health import Verdict
from appliance.services import EngineProbe, Services, WorkerProbe
from appliance.sightings import Sightings
from appliance.worker import mend, work, worker_of
from tests.support.appliance import handlers, make_services, serving
from tests.support.chat import ScriptedChat
from tests.support.clock import FakeClock
from tests.support.house import until
from tests.support.indexed import WordEmbedder
from tests.support.repos import commit, make_repo


class Engines:
    """Says one health after the other; the last one stays."""

    def __init__(self, *states: str) -> None:
        self.asked = 0
        self._states: Sequence[str] = states

    async def health(self, role: Role) -> EngineHealth:
        del role
        self.asked += 1
        state = self._states[min(self.asked, len(self._states)) - 1]
        return EngineHealth(state, "Why.", "a-model")  # type: ignore[arg-type]


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with closing(make_services(tmp_path / "data", embedder=WordEmbedder())) as services:
        yield services


@pytest.fixture
def repo(services: Services, tmp_path: Path) -> RepoId:
    project = services.registry.project("default").id
    return services.registry.add_repo(project, make_repo(tmp_path, {"a.py": "def first():\n    return 1\n"}, name="r")).id


def run(services: Services, kind: str, *, stop: threading.Event | None = None) -> Job:
    """Do the next job of *kind*, as a worker would."""
    lease = services.jobs.lease(worker="test", kinds=[kind], seconds=60)
    assert lease is not None
    handlers(services)[kind](JobContext(services.jobs, lease, stop=stop or threading.Event(), clock=services.clock))
    return services.jobs.complete(lease)


def test_the_chat_model_is_warmed_once_it_is_ready_and_not_before(services: Services) -> None:
    chat, engines = ScriptedChat("{"), Engines("loading", "ready")
    asyncio.run(replace(services, chat=chat, engines=engines).warm())
    assert (len(chat.requests), engines.asked) == (1, 2)


def test_a_chat_model_that_fails_to_warm_or_is_none_is_no_matter(services: Services) -> None:
    chat = ScriptedChat(errors=[EngineUnavailable("Gone.")])
    asyncio.run(replace(services, chat=chat, engines=Engines("ready")).warm())
    asyncio.run(replace(services, chat=None).warm())
    assert len(chat.requests) == 1


def test_the_application_warms_and_its_end_does_not_wait_for_that(services: Services) -> None:
    engines = Engines("loading")
    with serving(replace(services, chat=ScriptedChat("{"), engines=engines)):
        until(lambda: engines.asked)


def test_a_finished_index_asks_for_its_vectors(services: Services, repo: RepoId) -> None:
    services.index(repo)
    run(services, "index")
    assert services.generations.published(repo).info.completeness == 0.0
    run(services, "embed")
    assert services.generations.published(repo).info.completeness == 1.0


def test_the_embedding_waits_until_its_engine_is_ready(services: Services, repo: RepoId) -> None:
    """At the start of an appliance the model may still be loading: that is no failure."""
    services.index(repo)
    run(services, "index")
    engines = Engines("down", "loading", "ready")
    job = run(replace(services, engines=engines), "embed")
    assert engines.asked == 3
    assert job.progress is not None
    assert services.generations.published(repo).info.completeness == 1.0


def test_a_worker_that_stops_does_not_wait_for_an_engine(services: Services, repo: RepoId) -> None:
    services.index(repo)
    run(services, "index")
    stop = threading.Event()
    stop.set()
    with pytest.raises(Cancelled):
        run(replace(services, engines=Engines("down")), "embed", stop=stop)


def test_without_an_embedder_there_are_no_vectors_and_no_failure(services: Services, repo: RepoId) -> None:
    services.index(repo)
    run(services, "index")
    assert run(replace(services, embedder=None), "embed").state == "done"


def test_vectors_that_nothing_can_make_are_not_asked_for(services: Services, repo: RepoId) -> None:
    bare = replace(services, embedder=None)
    bare.index(repo)
    run(bare, "index")
    mend(bare)
    mend(bare, again=False)
    assert services.jobs.list(kind="embed") == []


def test_a_worker_that_starts_asks_for_the_vectors_that_are_missing(services: Services, repo: RepoId) -> None:
    """The embedder may have been away so long that its job failed."""
    services.index(repo)
    run(services, "index")
    run(replace(services, embedder=None), "embed")
    stop = threading.Event()
    stop.set()
    work(services, stop)
    assert [job.state for job in services.jobs.list(kind="embed")] == ["queued", "done"]


def test_a_worker_that_starts_removes_what_agents_of_a_killed_one_left(services: Services) -> None:
    left = services.paths.scratch / "worktree-1"
    left.mkdir(parents=True)
    left.with_name("worktree-1.lock").touch()
    stop = threading.Event()
    stop.set()
    work(services, stop)
    assert list(services.paths.scratch.iterdir()) == []


def test_a_damaged_index_ends_no_worker_and_is_asked_for_again(services: Services, repo: RepoId, tmp_path: Path) -> None:
    project = services.registry.project("default").id
    ill = services.registry.add_repo(project, make_repo(tmp_path, {"b.py": "y = 1\n"}, name="ill")).id
    for each in (repo, ill):
        services.index(each)
        run(services, "index")
    (services.generations.published(ill).folder / "chunk_file.npy").write_bytes(b"damaged")
    services.generations.forget(ill)
    stop = threading.Event()
    stop.set()
    work(services, stop)
    assert [(job.kind, job.key) for job in services.jobs.list() if job.state == "queued" and job.kind == "index"] == [
        ("index", ill)
    ]
    with serving(services) as client:
        shown = {each["id"]: each for each in client.get("/api/v1/repos").json()}
    assert (shown[ill]["error"], shown[repo]["error"]) == ("store_corrupt", "")
    assert "Index" in shown[ill]["remedy"]
    run(services, "index")
    assert services.generations.published(ill).info.files == 1
    assert services.registry.repo(ill).error == ""


def test_a_worker_is_there_before_every_index_was_looked_at(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large indexes take long to open: until then it would be called failed, and the start of the appliance with it."""
    looked, stop = threading.Event(), threading.Event()
    monkeypatch.setattr(worker, "mend", lambda *_given, **_named: looked.wait(20))
    working = threading.Thread(target=work, args=(services, stop))
    working.start()
    try:
        until(lambda: services.jobs.absent_for() is not None)
        assert not looked.is_set()
    finally:
        looked.set()
        stop.set()
        working.join(20)
    assert not working.is_alive()


def test_a_look_asks_for_what_no_engine_could_make_once_one_is_ready(services: Services, repo: RepoId) -> None:
    """The embed job failed three times while the engine was away."""
    services.index(repo)
    run(services, "index")
    run(replace(services, embedder=None), "embed")
    mend(replace(services, engines=Engines("down")), again=False)
    assert [job.state for job in services.jobs.list(kind="embed")] == ["done"]
    mend(replace(services, engines=Engines("ready")), again=False)
    mend(replace(services, engines=Engines("ready")), again=False)
    assert [job.state for job in services.jobs.list(kind="embed")] == ["queued", "done"]
    run(replace(services, engines=Engines("ready")), "embed")
    mend(replace(services, engines=Engines("ready")), again=False)
    assert [job.state for job in services.jobs.list(kind="embed")] == ["done", "done"]


def test_a_dropped_repo_takes_its_jobs_with_it(services: Services, repo: RepoId) -> None:
    job = services.index(repo)
    services.drop(repo)
    assert services.jobs.get(job.id).state == "cancelled"
    with pytest.raises(NotFound):
        services.registry.repo(repo)


def test_a_dropped_repo_leaves_nothing_on_the_disk(services: Services, repo: RepoId) -> None:
    project = services.registry.repo(repo).project
    services.index(repo)
    run(services, "index")
    run(services, "embed")
    paths = services.paths.project(project)
    assert list(paths.generations.iterdir())
    services.drop(repo)
    run(services, "tidy")
    run(services, "tidy-vectors")
    assert not [path for folder in (paths.generations, paths.mirrors, paths.vectors) for path in folder.iterdir()]
    with closing(sqlite.connect(paths.db)) as conn:
        counts = {name: conn.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("blobs", "vector_tables")}  # noqa: S608
    assert counts == {"blobs": 0, "vector_tables": 0}


def test_what_could_not_be_tidied_is_tried_again_by_the_next_index(services: Services, repo: RepoId, tmp_path: Path) -> None:
    """What the removed repository left would stay on the disk until another one is removed."""
    project = services.registry.repo(repo).project
    gone = services.registry.add_repo(project, make_repo(tmp_path, {"b.py": "y = 1\n"}, name="gone")).id
    for each in (repo, gone):
        services.index(each)
        run(services, "index")
    (services.generations.published(repo).folder / "generation.db").write_bytes(b"damaged")
    services.drop(gone)
    with pytest.raises(StoreCorrupt):
        run(services, "tidy")
    (job,) = services.jobs.list(kind="tidy")
    services.jobs.recover(worker="test")
    for _ in range(MAX_ATTEMPTS - 1):
        services.jobs.lease(worker="test", kinds=["tidy"], seconds=60)
        services.jobs.recover(worker="test")
    assert services.jobs.get(job.id).state == "failed"
    services.index(repo)
    run(services, "index")
    assert run(services, "tidy").state == "done"
    with closing(sqlite.connect(services.paths.project(project).db)) as conn:
        assert conn.execute("SELECT count(*) FROM blobs").fetchone()[0] == 1
    services.index(repo)
    run(services, "index")
    assert services.jobs.list(kind="tidy")[0].state == "done"


def test_a_second_start_on_the_same_data_finds_what_the_first_left(services: Services, repo: RepoId) -> None:
    with closing(make_services(services.paths.root)) as again:
        assert again.registry.repo(repo).name == "r"
        with pytest.raises(Conflict):
            again.registry.add_project("default")


@pytest.mark.parametrize(
    ("engine", "part"),
    [("ready", "ok"), ("loading", "starting"), ("down", "degraded"), ("failed", "degraded"), ("off", "off")],
)
def test_an_engine_that_is_away_degrades_the_appliance_and_no_more(engine: str, part: str) -> None:
    """Search and evidence need no model."""
    verdict = asyncio.run(EngineProbe(Engines(engine), role="chat").check())
    assert (verdict.state, verdict.detail) == (part, "a-model Why.")
    assert not EngineProbe(Engines(engine), role="chat").vital


def test_a_worker_that_was_not_seen_for_long_is_told_of(services: Services) -> None:
    clock = FakeClock()
    jobs = JobQueue(sqlite.connect(services.paths.global_db), clock=clock)
    probe = WorkerProbe(jobs, clock=clock, since=clock.monotonic())
    assert asyncio.run(probe.check()).state == "starting"
    jobs.present(worker="worker")
    assert asyncio.run(probe.check()) == Verdict("ok")
    clock.advance(25)
    verdict = asyncio.run(probe.check())
    jobs.close()
    assert verdict.state == "failed"
    assert "25 s" in verdict.detail


def test_a_heartbeat_of_an_earlier_run_is_no_failure_of_this_one(services: Services) -> None:
    """A machine that lost its power comes up again; the worker needs seconds until its first sign of life."""
    clock = FakeClock()
    with closing(JobQueue(sqlite.connect(services.paths.global_db), clock=clock)) as jobs:
        jobs.present(worker="worker")
        clock.advance(81)
        probe = WorkerProbe(jobs, clock=clock, since=clock.monotonic())
        assert asyncio.run(probe.check()).state == "starting"
        clock.advance(20)
        assert asyncio.run(probe.check()).state == "starting"
        clock.advance(1)
        assert asyncio.run(probe.check()).state == "failed"
        jobs.present(worker="worker")
        assert asyncio.run(probe.check()) == Verdict("ok")


def test_a_worker_that_stopped_in_good_order_is_not_missed(services: Services) -> None:
    stop = threading.Event()
    stop.set()
    worker_of(services, Sightings(services.clock)).run(stop)
    assert services.jobs.absent_for() is None


def test_a_repo_shows_the_job_that_runs_and_not_the_one_that_waits(services: Services, repo: RepoId) -> None:
    services.index(repo)
    lease = services.jobs.lease(worker="test", kinds=["index"], seconds=60)
    assert lease is not None
    waiting = services.index(repo)
    with serving(services) as client:
        assert client.get(f"/api/v1/repos/{repo}").json()["job"]["id"] == lease.job.id != waiting.id


def test_a_worn_index_is_built_anew_behind_it_and_loses_neither_vectors_nor_graph(
    services: Services, repo: RepoId, tmp_path: Path
) -> None:
    for kind in ("index", "graph", "embed"):
        services.jobs.enqueue(kind, key=repo, payload={"repo": repo})
        run(services, kind)
    body = "".join(f"def part_{n}(value):\n    kept = value + {n}\n    return kept\n\n\n" for n in range(3000))
    commit(tmp_path / "r", {"big.py": body})
    services.index(repo)
    for kind in ("index", "graph", "embed"):
        run(services, kind)
    worn = services.generations.published(repo)
    assert worn.info.patches == 1
    run(services, "renew")
    assert services.generations.published(repo) is worn
    run(services, "adopt")
    renewed = services.generations.published(repo)
    assert (renewed.info.patches, renewed.info.chunks, renewed.info.completeness) == (0, worn.info.chunks, 1)
    assert renewed.graph is not None
    assert not services.jobs.list(kind="renew")[0].reason
