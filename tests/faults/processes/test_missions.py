"""A mission whose worker is killed while the model writes: the next worker goes on where its record ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from appliance.config import load
from appliance.contracts.chat import ChatRequest
from appliance.ids import MissionId
from appliance.services import DEFAULT_PROJECT, Services, build
from tests.support.appliance import serving, settings_for
from tests.support.chat import said
from tests.support.engines import ScriptedEngine, served_in_thread
from tests.support.house import until
from tests.support.missioned import reads, replies, strays
from tests.support.quick import QuickGraphs, QuickIndexer
from tests.support.repos import make_repo
from tests.support.shop import FILES

GOAL = "How is the digest of a model compared with the catalogue?"
SAID = "The digest of the installed model is compared with the catalogue by verify."


class Dawdling:
    """An engine's words: the first reading of the evidence comes so slowly that it can be cut off."""

    def __init__(self) -> None:
        self.engine = ScriptedEngine(self._says)
        self._say = replies(SAID)

    def _says(self, request: ChatRequest) -> str:
        first = reads(request) and self.engine.pace is None
        self.engine.pace = 1.0 if first else None
        return said(enough=False) if strays(request) else self._say(request)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return settings_for(tmp_path / "data") | {"SKELLIG_CHAT__MODEL": "auto", "PATH": os.environ["PATH"]}


@pytest.fixture
def services(tmp_path: Path, environment: dict[str, str]) -> Iterator[Services]:
    """Yield services over an indexed shop with its graph."""
    with closing(build(load(environ=environment))) as services:
        project, limits = services.registry.project(DEFAULT_PROJECT).id, services.settings.index
        repo = services.registry.add_repo(project, make_repo(tmp_path, FILES, name="shop"))
        indexer = QuickIndexer(services.registry, paths=services.paths, limits=limits, clock=services.clock)
        indexer.index(repo.id, progress=lambda *_: None, check=lambda: None)
        graphs = QuickGraphs(services.registry, paths=services.paths, limits=limits)
        graphs.build(repo.id, progress=lambda *_: None, check=lambda: None)
        yield services


@contextmanager
def worker(environment: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    child = subprocess.Popen([sys.executable, "-m", "appliance", "worker"], env=environment, stdout=subprocess.DEVNULL)
    try:
        yield child
    finally:
        child.terminate()
        child.wait(30)


def test_a_mission_whose_worker_was_killed_goes_on_where_its_record_ends(
    services: Services, environment: dict[str, str]
) -> None:
    model = Dawdling()
    desk = services.missions.desk

    def kinds(mission: MissionId) -> list[str]:
        return [entry.kind for entry in desk.entries(mission)]

    with served_in_thread(model.engine, services.paths.engine_socket("chat")), serving(services) as client:
        mission = MissionId(client.post("/api/v1/missions", json={"goal": GOAL, "repos": ["shop"]}).json()["id"])
        with worker(environment) as first:
            until(lambda: kinds(mission)[-1:] == ["asked_model"])
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
        known = desk.entries(mission)
        with worker(environment):
            until(lambda: desk.get(mission).state == "done")
        after = desk.entries(mission)
        assert after[: len(known)] == known
        assert after[len(known)].kind == "interrupted"
        assert kinds(mission).count("begun") == 1
        assert client.post(f"/api/v1/missions/{mission}/verify").json()["whole"]
        assert client.post(f"/api/v1/missions/{mission}/replay").json()["same"]
        answer = client.get(f"/api/v1/missions/{mission}").json()["answer"]
    assert answer["model"] == "scripted"
    assert SAID in [sentence["text"] for sentence in answer["sentences"]]
    assert all(cited["verified"] for cited in answer["evidence"])
