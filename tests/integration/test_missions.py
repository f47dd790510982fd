"""A mission behind the real server, with a worker: who listens, who leaves, and what goes on without them."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from appliance.base.paths import DataPaths
from appliance.cli.mission_watch import Watch
from appliance.cli.remote import Remote
from appliance.config import Web
from appliance.ids import MissionId
from appliance.services import CLI_KEY, Services
from tests.support.appliance import make_services, working
from tests.support.house import until
from tests.support.listening import listening
from tests.support.plays import GOAL, HELD, HOLD, with_plays


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
