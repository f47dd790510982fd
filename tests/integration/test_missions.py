"""A mission behind the real server, with a worker: who listens, who leaves, and what goes on without them."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx2
import pytest

from appliance.base import sqlite
from appliance.base.paths import DataPaths
from appliance.cli import place
from appliance.cli.mission_watch import Watch
from appliance.cli.remote import Remote
from appliance.config import Web
from appliance.contracts.safety import SafetyVerdict
from appliance.contracts.tools import Json
from appliance.framework.plugins import PluginSet
from appliance.ids import MissionId
from appliance.orchestrator.missions.build import Parts
from appliance.services import CLI_KEY, DEFAULT_PROJECT, Services, missions_of
from appliance.tables import MIGRATIONS
from tests.support.appliance import make_services, serving, settings_for, working
from tests.support.house import until
from tests.support.listening import listening
from tests.support.plays import GOAL, HELD, HOLD, with_plays
from tests.support.quick import QuickGraphs, QuickIndexer
from tests.support.repos import make_repo
from tests.support.shop import FILES


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with closing(with_plays(make_services(tmp_path))) as services, working(services):
        yield services


@pytest.fixture
def port(services: Services) -> Iterator[int]:
    with listening(services) as port:
        yield port


@pytest.fixture
def client(services: Services, port: int) -> Iterator[httpx2.Client]:
    key = (services.paths.run / CLI_KEY).read_text(encoding="ascii").strip()
    headers = {"authorization": f"Bearer {key}"}
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}/api/v1/", headers=headers, trust_env=False) as client:
        yield client


def asked(client: httpx2.Client, goal: str) -> MissionId:
    return MissionId(client.post("missions", json={"goal": goal}).json()["id"])


def test_a_listener_that_leaves_takes_nothing_with_it(client: httpx2.Client, services: Services) -> None:
    hold = services.paths.root / HOLD
    hold.touch()
    mission = asked(client, HELD)
    seen: list[int] = []
    with client.stream("GET", f"missions/{mission}/events") as response:
        for event in httpx2.EventSource(response):
            seen.append(json.loads(event.data)["seq"])
            if len(seen) == 3:
                break
    with client.stream("GET", f"missions/{mission}/events", headers={"last-event-id": "3"}) as response:
        names = []
        for event in httpx2.EventSource(response):
            if event.event == "entry":
                seen.append(json.loads(event.data)["seq"])
            names.append(event.event)
            hold.unlink(missing_ok=True)
    assert names[-1] == "mission"
    assert seen == list(range(1, len(seen) + 1))
    assert services.missions.desk.get(mission).state == "done"


def test_the_command_line_follows_a_mission_and_stops_one_from_elsewhere(
    client: httpx2.Client, services: Services, port: int
) -> None:
    paths = DataPaths(services.paths.root)
    with Remote(Web(port=port), paths=paths) as remote:
        assert Watch(remote, asked(client, GOAL), quiet=True).until_it_stops().answer is not None
        (services.paths.root / HOLD).touch()
        mission = asked(client, HELD)
        stopper = threading.Thread(target=_stop_at, args=(services, mission, 5))
        stopper.start()
        stopped = Watch(remote, mission, quiet=True).until_it_stops()
        stopper.join()
    assert (stopped.state, stopped.reason) == ("cancelled", "ada stopped it.")


def _stop_at(services: Services, mission: MissionId, entries: int) -> None:
    until(lambda: services.missions.desk.get(mission).entries == entries, seconds=30)
    services.missions.cancel(mission, by="ada")


@pytest.mark.parametrize(("verb", "state", "said"), [("run", "cancelled", "is cancelled"), ("watch", "running", "goes on")])
def test_ctrl_c_stops_what_run_started_and_only_the_watching_of_watch(
    services: Services, client: httpx2.Client, port: int, verb: str, state: str, said: str
) -> None:
    place.write(place.of(Web(port=port), chat="none", embed="none"), paths=services.paths)
    (services.paths.root / HOLD).touch()
    about = HELD if verb == "run" else asked(client, HELD)
    command = [sys.executable, "-m", "appliance", "mission", verb, about]
    environment = settings_for(services.paths.root) | {"PATH": os.environ["PATH"]}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        told = [next(child.stderr) for _ in range(3)]  # it listens, and the mission is held
        child.send_signal(signal.SIGINT)
        told += child.stderr.readlines()
    assert (child.returncode, said in "".join(told)) == (130, True)
    (mission,) = services.missions.desk.list()
    until(lambda: services.missions.desk.get(mission.id).state == state, seconds=30)
    (services.paths.root / HOLD).unlink()


class Careful:
    """A rule, as a plugin adds one: nobody looks into the graph before a person said so."""

    name = "careful"

    def judge(self, tool: str, arguments: Mapping[str, Json]) -> SafetyVerdict:
        del arguments
        return SafetyVerdict("confirm", "It looks into the graph.") if tool == "structure" else SafetyVerdict("allow")


@pytest.fixture(scope="module")
def careful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Yield services over an indexed shop, whose missions are real and ask first; a worker is there."""
    with closing(make_services(tmp_path_factory.mktemp("data"))) as made:
        source = make_repo(tmp_path_factory.mktemp("repos"), FILES, name="shop")
        added = made.registry.add_repo(made.registry.project(DEFAULT_PROJECT).id, source)
        limits = made.settings.index
        QuickIndexer(made.registry, paths=made.paths, limits=limits, clock=made.clock).index(
            added.id, progress=lambda *_: None, check=lambda: None
        )
        QuickGraphs(made.registry, paths=made.paths, limits=limits).build(
            added.id, progress=lambda *_: None, check=lambda: None
        )
        parts = Parts(
            connect=partial(sqlite.connect, made.paths.global_db, migrations=MIGRATIONS),
            registry=made.registry,
            generations=made.generations,
            searcher=made.searcher,  # type: ignore[arg-type]
            chat=None,
            digest=str,
            clock=made.clock,
        )
        made.missions.close()
        services = replace(made, missions=missions_of(parts, jobs=made.jobs, plugins=PluginSet(rules=(Careful(),))))
        with working(services):
            yield services
        services.missions.close()


@pytest.mark.parametrize("decision", ["approved", "rejected"])
def test_a_mission_waits_for_a_person_and_goes_on_as_that_person_says(careful: Services, decision: str) -> None:
    desk = careful.missions.desk
    with serving(careful) as client:
        mission = MissionId(client.post("/api/v1/missions", json={"goal": "Who calls digest_of?"}).json()["id"])
        said = []
        while (state := until(lambda: _stands(careful, mission))) == "waiting":
            (asked, *_) = client.get("/api/v1/approvals", params={"run": mission}).json()
            assert (asked["what"], asked["state"]) == ("structure", "pending")
            said.append(client.post(f"/api/v1/approvals/{asked['id']}", json={"decision": decision}).status_code)
        assert (state, set(said)) == ("done", {200})
        kinds = [entry.kind for entry in desk.entries(mission)]
        assert kinds.count("asked_approval") == kinds.count("approval") == len(said)
        assert client.post(f"/api/v1/missions/{mission}/verify").json()["whole"]
        assert client.post(f"/api/v1/missions/{mission}/replay").json()["same"]
        told = [sentence["text"] for sentence in client.get(f"/api/v1/missions/{mission}").json()["answer"]["sentences"]]
    assert any("ModelStore.verify" in text for text in told) == (decision == "approved")


def _stands(services: Services, mission: MissionId) -> str:
    """Return how *mission* stands once it needs somebody or has ended, else nothing."""
    state = services.missions.desk.get(mission).state
    pending = services.missions.approvals.list(state="pending", run=mission)
    return state if state == "done" or (state == "waiting" and pending) else ""
