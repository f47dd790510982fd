"""Missions over HTTP: asked for, watched, stopped, let go on, checked; and what people decide."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.codeintel.results import Scope
from appliance.errors import NotFound
from appliance.ids import MissionId
from appliance.jobs.queue import Job
from appliance.missioning import JOB
from appliance.orchestrator.approvals import Approval
from appliance.orchestrator.missions.model import Mission
from appliance.services import DEFAULT_PROJECT, Services
from tests.support.appliance import Client, make_services, serving
from tests.support.plays import GOAL, PAUSES, played, tampered, waits, with_plays


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with closing(with_plays(make_services(tmp_path_factory.mktemp("data")))) as services:
        yield services


@pytest.fixture(scope="module")
def client(services: Services) -> Iterator[Client]:
    with serving(services) as client:
        yield client


@pytest.fixture
def mission(client: Client) -> MissionId:
    """Ask for a mission, and return its id."""
    return MissionId(client.post("/api/v1/missions", json={"goal": GOAL}).json()["id"])


def newest(services: Services, mission: str) -> Job | None:
    return next(iter(services.jobs.list(kind=JOB, key=mission, limit=1)), None)


def idle(services: Services, mission: str) -> None:
    """End the job of *mission*, as if it had not been asked for."""
    services.jobs.cancel(services.jobs.list(kind=JOB, key=mission)[0].id)


def asked(services: Services, mission: str) -> Approval:
    return services.missions.approvals.ask(mission, what="run_tests", arguments={"path": "tests"}, why="to see it fail")


def sent(text: str) -> list[tuple[str, str, dict[str, object]]]:
    """Return the id, name and data of each event of a stream."""
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if lines:
            found.append((lines.get("id", ""), lines["event"], json.loads(lines["data"])))
    return found


def test_a_mission_is_on_record_at_once_and_a_job_will_work_on_it(client: Client, services: Services) -> None:
    response = client.post("/api/v1/missions", json={"goal": f"  {GOAL} ", "max_tool_calls": 7})
    assert response.status_code == 202
    asked_for = response.json()
    assert (asked_for["limits"]["tool_calls"], asked_for["limits"]["tokens"]) == (7, 40_000)
    assert response.headers["location"] == f"/api/v1/missions/{asked_for['id']}"
    assert (asked_for["goal"], asked_for["state"], asked_for["asked_by"]) == (GOAL, "queued", "command line")
    assert client.get(response.headers["location"]).json() == asked_for
    job = newest(services, asked_for["id"])
    assert job is not None
    assert job.state == "queued"


def test_missions_come_newest_first_page_by_page(client: Client) -> None:
    made = [client.post("/api/v1/missions", json={"goal": f"{n}?"}).json()["id"] for n in range(3)]
    first = client.get("/api/v1/missions", params={"limit": 2, "project": DEFAULT_PROJECT}).json()
    assert [each["id"] for each in first["items"]] == [made[2], made[1]]
    second = client.get("/api/v1/missions", params={"limit": 2, "offset": first["next_offset"]}).json()
    assert second["items"][0]["id"] == made[0]
    assert client.get("/api/v1/missions", params={"offset": 900_000}).json() == {"items": [], "next_offset": None}


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"goal": ""}, 400, "A goal needs words."),
        ({"goal": " \n "}, 400, "A goal needs words."),
        ({"goal": "x" * 4_001}, 400, "goal"),
        ({}, 400, "goal"),
        ({"goal": GOAL, "limit": 1}, 400, "limit"),
        ({"goal": GOAL, "max_tokens": 40_001}, 400, "more than 0 and at most 40,000 tokens"),
        ({"goal": GOAL, "max_seconds": 0}, 400, "max_seconds"),
        ({"goal": GOAL, "max_seconds": True}, 400, "max_seconds"),
        ({"goal": GOAL, "max_tokens": True}, 400, "max_tokens"),
        ({"goal": GOAL, "max_tokens": "7"}, 400, "max_tokens"),
        ({"goal": GOAL, "max_tokens": 10**400}, 400, "tokens"),
        ({"goal": GOAL, "repos": ["nothing"]}, 404, "nothing"),
        ({"goal": GOAL, "project": "nowhere"}, 404, "nowhere"),
    ],
)
def test_what_cannot_be_a_mission_is_refused_by_name(
    client: Client, body: dict[str, object], status: int, said: str
) -> None:
    response = client.post("/api/v1/missions", json=body)
    assert response.status_code == status
    assert said in response.text
    assert response.json()["code"] in {"invalid_input", "not_found"}


def test_nothing_that_a_mission_says_of_itself_moves_a_terminal(client: Client, services: Services) -> None:
    odd = "Why? \x1b[2J\x9b31m \u202e"
    mission = client.post("/api/v1/missions", content=json.dumps({"goal": odd}).encode()).json()
    services.missions.approvals.ask(mission["id"], what="run_tests", arguments={"path": "\x9b2J\u202e"}, why="\x1b[31m")
    asked = client.get("/api/v1/approvals", params={"run": mission["id"]}).json()
    said = [mission["goal"], asked[0]["arguments"], asked[0]["why"]]
    assert all(text.isprintable() for text in said), said
    page = client.get("/api/v1/missions", params={"limit": 1}).json()
    assert page["items"][0]["goal"] == mission["goal"]


@pytest.mark.parametrize(
    ("method", "rest"),
    [("GET", ""), ("GET", "/events"), ("GET", "/record")]
    + [("POST", f"/{verb}") for verb in ("cancel", "resume", "verify", "replay")],
)
def test_a_mission_that_there_is_not_is_not_found_by_any_call(client: Client, method: str, rest: str) -> None:
    body = {"instruction": ""} if rest == "/resume" else None
    response = client.request(method, f"/api/v1/missions/mission_0{rest}", json=body)
    assert (response.status_code, response.json()["code"]) == (404, "not_found")
    assert response.json()["remedy"]


def test_its_steps_are_streamed_and_the_whole_mission_is_the_end(
    client: Client, services: Services, mission: MissionId
) -> None:
    played(services, mission)
    events = sent(client.get(f"/api/v1/missions/{mission}/events").text)
    assert [(number, name) for number, name, _ in events[:-1]] == [(str(n), "entry") for n in range(1, len(events))]
    assert [data["kind"] for _, _, data in events[:3]] == ["begun", "commissioned", "called_tool"]
    assert events[1][2]["line"] == "asks the researcher: Find the total."
    number, name, whole = events[-1]
    assert (number, name) == ("", "mission")
    assert whole == client.get(f"/api/v1/missions/{mission}").json()
    assert whole["answer"]["sentences"] == [{"text": "`Cart.total` adds up the lines.", "cites": [1], "origin": "model"}]  # type: ignore[index]


@pytest.mark.parametrize("way", ["header", "parameter"])
def test_a_listener_who_comes_back_gets_what_it_has_not_seen(
    client: Client, services: Services, mission: MissionId, way: str
) -> None:
    played(services, mission)
    headers = {"last-event-id": "5"} if way == "header" else {}
    parameters = {"after": "5"} if way == "parameter" else {}
    events = sent(client.get(f"/api/v1/missions/{mission}/events", headers=headers, params=parameters).text)
    assert [number for number, _, _ in events] == [*map(str, range(6, len(events) + 5)), ""]


@pytest.mark.parametrize("number", ["-1", "x", "1.5", "9" * 40])
def test_a_last_event_that_is_no_number_is_refused(client: Client, mission: MissionId, number: str) -> None:
    assert client.get(f"/api/v1/missions/{mission}/events", headers={"last-event-id": number}).status_code == 400


def test_the_record_comes_as_it_is_stored(client: Client, services: Services, mission: MissionId) -> None:
    played(services, mission)
    response = client.get(f"/api/v1/missions/{mission}/record")
    assert response.headers["content-type"] == "application/jsonl"
    assert response.content == b"".join(line + b"\n" for line in services.missions.desk.record(mission))
    entries = [json.loads(line) for line in response.content.splitlines()]
    assert [entry["prev"] for entry in entries[1:]] == [entry["hash"] for entry in entries[:-1]]


def test_a_cancelled_mission_stops_and_so_does_its_job_and_can_be_deleted(
    client: Client, services: Services, mission: MissionId
) -> None:
    assert client.delete(f"/api/v1/missions/{mission}").status_code == 409
    stopped = client.post(f"/api/v1/missions/{mission}/cancel")
    assert (stopped.status_code, stopped.json()["state"]) == (202, "cancelled")
    job = newest(services, mission)
    assert job is not None
    assert job.state == "cancelled"
    again = client.post(f"/api/v1/missions/{mission}/cancel")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert [client.delete(f"/api/v1/missions/{mission}").status_code for _ in range(2)] == [204, 404]


def test_a_paused_mission_goes_on_with_a_persons_words_and_no_other_does(client: Client, services: Services) -> None:
    mission = MissionId(client.post("/api/v1/missions", json={"goal": PAUSES}).json()["id"])
    early = client.post(f"/api/v1/missions/{mission}/resume", json={})
    assert (early.status_code, early.json()["code"]) == (409, "conflict")
    assert played(services, mission).state == "paused"
    idle(services, mission)
    resumed = client.post(f"/api/v1/missions/{mission}/resume", json={"instruction": " Look at carts alone. "})
    assert (resumed.status_code, resumed.json()["state"]) == (202, "queued")
    job = newest(services, mission)
    assert job is not None
    assert job.state == "queued"
    assert played(services, mission).state == "done"
    entries = services.missions.desk.entries(mission)
    assert {"instruction": "Look at carts alone.", "by": "command line"} in [entry.data for entry in entries]


@pytest.mark.parametrize("spoilt", [None, 3])
def test_a_record_is_checked_and_replayed_by_whoever_may_read(
    services: Services, client: Client, mission: MissionId, spoilt: int | None
) -> None:
    played(services, mission)
    if spoilt:
        tampered(services, mission, seq=spoilt)
    secret = services.access.keys.create("auditor", permissions=frozenset({"read"}))
    try:
        with serving(services, key=secret) as auditor:
            whole = auditor.post(f"/api/v1/missions/{mission}/verify").json()
            same = auditor.post(f"/api/v1/missions/{mission}/replay").json()
    finally:
        services.access.keys.revoke("auditor")
    assert (whole["whole"], whole["broken_at"]) == (spoilt is None, spoilt)
    assert (same["same"], same["differs_at"]) == (spoilt is None, spoilt)
    assert whole["head"] == client.get(f"/api/v1/missions/{mission}").json()["head"]
    assert (same["head"] == whole["head"]) == (spoilt is None)


def test_a_yes_is_given_once_and_has_the_mission_go_on(client: Client, services: Services, mission: MissionId) -> None:
    approval = asked(services, mission)
    waits(services, mission)
    idle(services, mission)
    services.missions.take_up()
    assert newest(services, mission).state == "cancelled", "nobody has decided"  # type: ignore[union-attr]
    (pending,) = client.get("/api/v1/approvals", params={"run": mission}).json()
    assert (pending["id"], pending["what"], pending["state"]) == (approval.id, "run_tests", "pending")
    assert json.loads(pending["arguments"]) == {"path": "tests"}
    decided = client.post(f"/api/v1/approvals/{approval.id}", json={"decision": "approved", "note": "Go."})
    assert decided.status_code == 200
    assert (decided.json()["state"], decided.json()["decided_by"], decided.json()["note"]) == (
        "approved",
        "command line",
        "Go.",
    )
    job = newest(services, mission)
    assert job is not None
    assert job.state == "queued"
    late = client.post(f"/api/v1/approvals/{approval.id}", json={"decision": "rejected"})
    assert (late.status_code, late.json()["code"]) == (409, "conflict")
    assert client.get("/api/v1/approvals", params={"run": mission}).json() == []
    assert client.get(f"/api/v1/approvals/{approval.id}").json() == decided.json()


@pytest.mark.parametrize(("body", "status"), [({}, 400), ({"decision": "maybe"}, 400), ({"decision": "approved"}, 404)])
def test_no_decision_is_made_on_what_there_is_not(client: Client, body: dict[str, str], status: int) -> None:
    assert client.post("/api/v1/approvals/apr_0", json=body).status_code == status


def test_a_no_to_what_is_no_mission_is_recorded_all_the_same(client: Client, services: Services) -> None:
    approval = asked(services, "team_0")
    assert client.post(f"/api/v1/approvals/{approval.id}", json={"decision": "rejected"}).json()["state"] == "rejected"


def left(services: Services) -> Mission:
    """Put a mission on record without the job that is to work on it: whoever asked was cut off between the two."""
    scope = Scope(services.registry.project(DEFAULT_PROJECT).id)
    return services.missions.desk.create(GOAL, scope=scope, asked_by="somebody")


def test_a_mission_whose_job_was_never_asked_for_is_taken_up_once(services: Services) -> None:
    mission = left(services)
    for _ in range(2):
        services.missions.take_up()
    assert [job.state for job in services.jobs.list(kind=JOB, key=mission.id)] == ["queued"]


def test_a_mission_whose_job_failed_waits_for_a_person(services: Services) -> None:
    """Else it would fail for ever."""
    mission = left(services)
    services.missions.take_up()
    lease = services.jobs.lease(worker="w", kinds=[JOB], seconds=30)
    while lease is not None and lease.job.key != mission.id:
        lease = services.jobs.lease(worker="w", kinds=[JOB], seconds=30)
    assert lease is not None
    services.jobs.fail(lease, "It broke.", retryable=False)
    services.missions.take_up()
    assert len(services.jobs.list(kind=JOB, key=mission.id)) == 1


def test_a_no_that_time_gave_has_the_mission_go_on(tmp_path: Path) -> None:
    with closing(with_plays(make_services(tmp_path))) as services:
        mission = left(services)
        waits(services, mission.id)
        services.missions.approvals.ask(mission.id, what="run_tests", arguments={}, expires_s=0.0)
        services.missions.take_up()
        assert [job.key for job in services.jobs.list(kind=JOB)] == [mission.id]
        with pytest.raises(NotFound):
            services.missions.cancel(MissionId("mission_0"), by="somebody")
