"""The whole appliance in one process: real stores, real index, a scripted model."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from litestar import Litestar
from litestar.testing import TestClient

from appliance.base import sqlite
from appliance.codeintel.answer import Answerer
from appliance.codeintel.needs import ChatModel, Embedder
from appliance.codeintel.query.gather import Patience
from appliance.codeintel.query.search import Searcher
from appliance.config import load
from appliance.jobs.worker import Handler
from appliance.orchestrator.missions.build import Parts
from appliance.server import create_app
from appliance.services import CLI_KEY, Services, build, missions_of
from appliance.sightings import Sightings
from appliance.tables import MIGRATIONS
from appliance.worker import job_handlers, worker_of
from tests.support.quick import QuickGraphs, QuickIndexer

Client = TestClient[Litestar]
BASE = "http://127.0.0.1:7878"


def settings_for(root: Path) -> dict[str, str]:
    """Return the environment of an appliance on *root* without engines."""
    return {
        "HOME": str(root),
        "SKELLIG_DATA": str(root),
        "SKELLIG_CHAT__MODEL": "none",
        "SKELLIG_EMBED__MODEL": "none",
        "SKELLIG_INDEX__WORKERS": "1",
    }


def make_services(
    root: Path,
    *,
    chat: ChatModel | None = None,
    embedder: Embedder | None = None,
    extra: Mapping[str, str] | None = None,
) -> Services:
    """Return real services on *root*, with *chat* and *embedder* in the engines' place. The caller closes them."""
    services = build(load(environ=settings_for(root) | dict(extra or {})))
    searcher = Searcher(services.generations, embedder, services.clock, patience=Patience(vector=5.0))
    answerer = Answerer(services.generations, searcher, chat, services.clock)
    services.missions.close()
    parts = Parts(
        connect=lambda: sqlite.connect(services.paths.global_db, migrations=MIGRATIONS),
        registry=services.registry,
        generations=services.generations,
        searcher=searcher,
        chat=chat,
        digest=lambda name: f"digest of {name}",
        clock=services.clock,
    )
    missions = missions_of(parts, jobs=services.jobs)
    return replace(services, searcher=searcher, answerer=answerer, embedder=embedder, missions=missions)


@contextmanager
def serving(services: Services, *, key: str | None = "local") -> Iterator[Client]:
    """Yield a client of the application over *services*, with the command line's key, another one, or none."""
    with TestClient(create_app(services), base_url=BASE, raise_server_exceptions=False) as client:
        if key == "local":
            key = (services.paths.run / CLI_KEY).read_text(encoding="ascii").strip()
        if key is not None:
            client.headers["authorization"] = f"Bearer {key}"
        yield client


def handlers(services: Services, sightings: Sightings | None = None) -> Mapping[str, Handler]:
    """Return what works on each kind of job, without programs of its own for indexes."""
    seen = sightings or Sightings(services.clock)
    return job_handlers(services, seen, indexing=QuickIndexer, graphing=QuickGraphs)


@contextmanager
def working(services: Services, sightings: Sightings | None = None) -> Iterator[None]:
    """Run a worker on the jobs of *services* for the length of the block, without programs of their own for its indexes."""
    stop = threading.Event()
    seen = sightings or Sightings(services.clock)
    worker = worker_of(services, seen, indexing=QuickIndexer, graphing=QuickGraphs)
    thread = threading.Thread(target=worker.run, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(60)
        assert not thread.is_alive()
