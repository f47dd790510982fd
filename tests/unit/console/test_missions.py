"""The pages of missions: the list, one mission's steps, what it asks people, its answer, and its record checked."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.ids import MissionId
from appliance.services import Services
from tests.support.appliance import Client, make_services
from tests.support.plays import FAILS, GOAL, MANY, MARKUP, PAUSES, played, tampered, waits, with_plays
from tests.unit.console.test_pages import Outline, logged_in

HOSTILE = '<script>alert(1)</script> "onload=x'


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with closing(with_plays(make_services(tmp_path_factory.mktemp("data")))) as services:
        yield services


@pytest.fixture(scope="module")
def browser(services: Services) -> Iterator[Client]:
    with logged_in(services) as client:
        yield client


def started(browser: Client, goal: str = GOAL) -> MissionId:
    """Ask for a mission by the form, and return its id."""
    answer = browser.post("/missions", data={"goal": goal}, follow_redirects=False)
    assert answer.status_code == 303
    return MissionId(answer.headers["location"].removeprefix("/missions/"))


def asks(services: Services, mission: MissionId, arguments: str = "tests") -> str:
    """Let *mission* wait for a decision, and return what decides it."""
    waits(services, mission)
    return services.missions.approvals.ask(mission, what="run_tests", arguments={"path": arguments}, why="to see").id


def test_a_mission_that_works_shows_its_steps_and_follows_them(browser: Client, services: Services) -> None:
    mission = started(browser, PAUSES)
    assert "None yet: it waits for the worker;" in browser.get(f"/missions/{mission}").text
    played(services, mission)
    page = browser.get(f"/missions/{mission}").text
    for said in ("begins: How is the total", "asks the researcher: Find the total.", "search query=total", "1 model call",
                 "2 tool calls", "1,290 tokens", "It used all of its tokens.", "What should it do now?"):  # fmt: skip
        assert said in page
    entries = services.missions.desk.get(mission).entries
    assert f'data-live="/api/v1/missions/{mission}/events" data-after="{entries}"' in page
    assert page.count('data-kind="') == entries


def test_limits_of_the_form_hold_and_one_that_is_no_number_comes_back_with_the_reason(
    browser: Client, services: Services
) -> None:
    """Who asks from a browser may bound a mission as the command line and the API may."""
    answer = browser.post("/missions", data={"goal": GOAL, "max_seconds": "60", "max_tokens": " "}, follow_redirects=False)
    mission = services.missions.desk.get(MissionId(answer.headers["location"].removeprefix("/missions/")))
    assert (mission.limits.seconds, mission.limits.tokens) == (60, services.missions.desk.ceilings.tokens)
    page = browser.post("/missions", data={"goal": GOAL, "max_tool_calls": "-1"}).text
    assert "The limit of tool calls is no whole number above 0." in page
    assert 'name="max_tool_calls" min="1" max="60" step="1" value="-1"' in page


def test_a_paused_mission_goes_on_by_the_form_and_one_that_has_ended_can_only_be_deleted(
    browser: Client, services: Services
) -> None:
    mission = started(browser, PAUSES)
    played(services, mission)
    back = browser.post(f"/missions/{mission}/resume", data={"instruction": "Carts alone."}, follow_redirects=False)
    assert (back.status_code, back.headers["location"]) == (303, f"/missions/{mission}")
    assert played(services, mission).state == "done"
    late = browser.post(f"/missions/{mission}/resume", data={"instruction": ""})
    assert (late.status_code, "only a paused one can be resumed" in late.text) == (409, True)
    kept = browser.post(f"/missions/{mission}/remove", data={"confirm": ""})
    assert "Nothing was deleted." in kept.text
    gone = browser.post(f"/missions/{mission}/remove", data={"confirm": "yes"}, follow_redirects=False)
    assert (gone.status_code, gone.headers["location"]) == (303, "/missions")
    assert browser.get(f"/missions/{mission}").status_code == 404


def test_the_answer_stands_on_the_page_with_its_sentences_numbered_and_its_steps_one_click_away(
    browser: Client, services: Services
) -> None:
    mission = started(browser)
    played(services, mission)
    page = browser.get(f"/missions/{mission}").text
    assert "<code>Cart.total</code> adds up the lines." in page
    assert 'class="prose numbered"' in page, "A note names sentences by their numbers"
    assert page.count('<span class="small muted">the model&#39;s reading</span></p>') == 1, "Each says whose it is"
    assert page.count("Done") == 1
    assert "The locations are verified; the reading is not." not in page, "What the graph tells stands there too"
    assert "frobnicate" in page.partition('aria-label="Struck claims"')[2]
    assert "/file?repo=repo_0&amp;path=shop%2Fcart.py" in page
    assert "data-live" not in page
    link = page.partition('href="/missions/')[2]
    while "?before=" not in link.partition('"')[0]:
        link = link.partition('href="/missions/')[2]
    steps = browser.get("/missions/" + link.partition('"')[0]).text
    assert steps.count('data-kind="') == services.missions.desk.get(mission).entries
    assert "ended: done" in steps


def test_an_answer_of_many_places_keeps_its_page_small_and_says_what_is_not_on_it(
    browser: Client, services: Services
) -> None:
    mission = started(browser, MANY)
    played(services, mission)
    answer = browser.get(f"/missions/{mission}")
    assert len(answer.content) < 60_000
    assert "40 of 40 verified at their commit; 24 further places" in answer.text
    assert "[40]</a>" in answer.text.partition('class="prose numbered"')[2]
    assert "start=3&amp;end=4#L3" in answer.text.partition('class="prose numbered"')[2].partition("[40]")[0]


def test_what_models_and_repositories_say_is_text_on_every_page_of_a_mission(browser: Client, services: Services) -> None:
    mission = started(browser)
    played(services, mission)
    for address in (f"/missions/{mission}", f"/missions/{mission}?before=99"):
        page = browser.get(address).text
        assert MARKUP not in page
        assert "&lt;img src=x onerror=alert(1)&gt;" in page


def test_nothing_on_the_pages_of_missions_turns_text_around(browser: Client, services: Services) -> None:
    """Whoever wrote what stands in the record, and in the mission's row."""
    mission, turned = started(browser), "a\u202eb\x1b[31m\u2028"
    played(services, mission)
    with closing(sqlite3.connect(services.paths.global_db)) as conn, conn:
        for column in ("goal", "reason", "asked_by", "model"):
            conn.execute(f"UPDATE missions SET {column} = ? WHERE id = ?", (turned, mission))  # noqa: S608 - ours
        conn.execute("UPDATE mission_entries SET agent = ? WHERE mission = ?", (turned, mission))
    for address in (f"/missions/{mission}", f"/missions/{mission}?before=99", "/missions"):
        page = browser.get(address).text
        assert "a\\u202eb" in page
        assert not {"\u202e", "\x1b", "\u2028"} & set(page)


def test_what_it_asks_is_decided_by_two_buttons_and_only_once(browser: Client, services: Services) -> None:
    mission = started(browser)
    approval = asks(services, mission, HOSTILE)
    page = browser.get(f"/missions/{mission}").text
    assert "May it run_tests?" in page
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page
    form = {"decision": "approved"}
    foreign = browser.post(f"/approvals/{approval}", data=form, headers={"sec-fetch-site": "cross-site"})
    assert foreign.status_code == 403
    assert browser.post(f"/approvals/{approval}", data={"decision": "maybe"}).status_code == 400
    yes = browser.post(f"/approvals/{approval}", data=form, follow_redirects=False)
    assert (yes.status_code, yes.headers["location"]) == (303, f"/missions/{mission}")
    assert services.missions.approvals.get(approval).state == "approved"
    late = browser.post(f"/approvals/{approval}", data={"decision": "rejected"})
    assert (late.status_code, "approved by administrator already" in late.text) == (409, True)


def test_a_mission_that_waits_is_under_what_needs_a_decision(browser: Client, services: Services) -> None:
    mission = started(browser)
    approval = asks(services, mission)
    page = browser.get("/status").text
    assert "Needs a decision" in page
    assert f'href="/missions/{mission}"' in page
    services.missions.decide(approval, "rejected", by="somebody")
    assert f'href="/missions/{mission}"' not in browser.get("/status").text


def test_what_something_else_than_a_mission_asks_is_decided_where_it_stands(browser: Client, services: Services) -> None:
    asked = [services.missions.approvals.ask("chat_1", what="edit_file", arguments={"line": n}).id for n in range(6)]
    approval = asked[-1]
    page = browser.get("/status").text
    assert "May it edit_file?" in page
    assert "/missions/chat_1" not in page
    assert page.count("Yes, let it") == 5
    assert "more wait" in page
    said = browser.post(f"/approvals/{approval}", data={"decision": "rejected"}, follow_redirects=False)
    assert (said.status_code, said.headers["location"]) == (303, "/status")
    assert services.missions.approvals.get(approval).state == "rejected"
    services.missions.approvals.withdraw("chat_1")


@pytest.mark.parametrize(
    ("verb", "good", "bad"),
    [("verify", "The record is whole:", "not as it was written, from entry 3 on"),
     ("replay", "the same, byte for byte:", "not the same, from entry 3 on")],
)  # fmt: skip
def test_a_record_is_checked_on_its_page(browser: Client, services: Services, verb: str, good: str, bad: str) -> None:
    mission = started(browser)
    played(services, mission)
    assert good in browser.post(f"/missions/{mission}/{verb}").text
    tampered(services, mission, seq=3)
    assert bad in browser.post(f"/missions/{mission}/{verb}").text


def test_one_that_failed_says_why_and_one_that_was_stopped_by_whom(browser: Client, services: Services) -> None:
    failed, stopped = started(browser, FAILS), started(browser)
    played(services, failed)
    assert "The engine is away." in browser.get(f"/missions/{failed}").text
    assert browser.post(f"/missions/{stopped}/cancel", follow_redirects=False).status_code == 303
    assert "administrator stopped it." in browser.get(f"/missions/{stopped}").text
    assert browser.post(f"/missions/{stopped}/cancel").status_code == 409


@pytest.mark.parametrize(
    ("form", "status", "said"),
    [({"goal": ""}, 400, "A goal needs words."), ({"goal": "x" * 4_001}, 413, "A goal has at most 4,000 characters."),
     ({"goal": GOAL, "repo": "repo_0"}, 404, "repo_0")],
)  # fmt: skip
def test_a_goal_that_cannot_be_one_comes_back_with_the_reason(
    browser: Client, form: dict[str, str], status: int, said: str
) -> None:
    answer = browser.post("/missions", data=form)
    assert answer.status_code == status
    assert said in answer.text
    assert "fault-code" in answer.text
    assert form["goal"][:100] in answer.text


def test_missions_are_listed_page_by_page_newest_first(browser: Client) -> None:
    newest = [started(browser, f"{HOSTILE} {n}") for n in range(31)]
    page = browser.get("/missions").text
    assert page.index(newest[30]) < page.index(newest[1])
    assert newest[0] not in page
    assert "<script>alert" not in page
    assert newest[0] in browser.get("/missions?offset=30").text
    assert "No more missions." in browser.get("/missions?offset=9000").text


def test_what_is_not_there_is_a_page_with_a_code(browser: Client) -> None:
    for method, path in (("GET", "/missions/m"), ("POST", "/missions/m/cancel"), ("POST", "/missions/m/verify")):
        answer = browser.request(method, path)
        assert (answer.status_code, "fault-code" in answer.text) == (404, True)


def test_without_a_repository_and_without_a_mission_the_page_teaches(tmp_path: Path) -> None:
    with closing(make_services(tmp_path / "data")) as services, logged_in(services) as browser:
        assert "skellig repo add" in browser.get("/missions").text
        with closing(with_plays(services)) as played_by, logged_in(played_by) as other:
            page = other.get("/missions?goal=Why%3F").text
            assert "skellig mission run" in page
            assert ">Why?</textarea>" in page


def test_pages_of_missions_are_accessible_small_and_under_the_strict_policy(browser: Client, services: Services) -> None:
    mission = started(browser, PAUSES)
    played(services, mission)
    asks(services, mission)
    for address in ("/missions", f"/missions/{mission}", f"/missions/{mission}?before=4"):
        answer = browser.get(address)
        page = Outline(answer.text)
        assert (page.tags.count("h1"), page.tags.count("main"), page.tags.count("title")) == (1, 1, 1)
        assert [field for field in page.fields if field.get("id") not in page.labelled and "aria-label" not in field] == []
        assert len(answer.content) < 60_000
        assert "unsafe" not in answer.headers["content-security-policy"]
