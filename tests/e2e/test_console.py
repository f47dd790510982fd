"""The console in a browser: login, repositories, search, answers, keys."""

import re
import time
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from playwright.sync_api import TimeoutError as Expired

from tests.e2e.site import Site, Watched, watched
from tests.support.repos import commit, make_repo

pytestmark = pytest.mark.browser

WORK_MS = 30_000  # until a worker has done what takes it less than one second on a quiet machine
QUESTION = "What happens to a running job when its lease is not renewed?"
SENTENCES = (
    "A lease that is not renewed puts its running job back in the queue.",
    "`heartbeat` renews the lease and tells whether it is still held.",
    "The supervisor calls `resurrect_everything` once an hour.",
)


def test_a_one_time_token_lets_in_once(browser: Browser, site: Site) -> None:
    token = site.token()
    for refused in (False, True):
        with watched(browser, site) as seen:
            seen.expected.append("401 (Unauthorized)")
            seen.open("/repos")
            expect(seen.page).to_have_url(re.compile(r"/login\?next=/repos$"))
            seen.page.get_by_label("One-time token").fill(token)
            seen.page.get_by_role("button", name="Log in").click()
            if refused:
                expect(seen.page.get_by_role("alert")).to_contain_text("unauthenticated")
            else:
                expect(seen.page).to_have_url(site.url + "/repos")


def test_after_logout_the_session_is_dead(browser: Browser, site: Site) -> None:
    with watched(browser, site) as seen:
        seen.login()
        seen.page.get_by_role("button", name="Log out").click()
        expect(seen.page.get_by_role("heading", name="Log in")).to_be_visible()
        seen.open("/status")
        expect(seen.page).to_have_url(re.compile(r"/login\?next=/status$"))


def test_a_repository_is_added_and_its_files_are_counted(seen: Watched) -> None:
    seen.open("/repos")
    row = seen.page.get_by_role("row", name=re.compile("skellig"))
    expect(row).to_contain_text("Current")
    row.get_by_role("link", name="skellig").click()
    expect(seen.page.get_by_role("heading", level=1)).to_have_text("skellig")
    for reason, path in {"binary": "docs/logo.png", "oversize": "data/rates.json", "vendored": "vendor/left-pad/"}.items():
        expect(seen.page.locator("#left-out").get_by_role("row").filter(has_text=path)).to_contain_text(reason)
    expect(seen.page.locator("#left-out nav").get_by_role("link")).to_have_count(4)


def test_a_path_that_is_no_repository_is_refused_in_one_line(seen: Watched) -> None:
    seen.expected.append("404 (Not Found)")
    seen.open("/repos")
    seen.page.get_by_label("Path or address").fill("/nowhere/at/all")
    seen.page.get_by_role("button", name="Add repository").click()
    expect(seen.page.get_by_role("alert")).to_contain_text("/nowhere/at/all")
    expect(seen.page.get_by_label("Path or address")).to_have_value("/nowhere/at/all")


def test_search_finds_a_definition_and_opens_its_lines(seen: Watched) -> None:
    seen.open("/search")
    seen.page.get_by_role("searchbox").fill("JobQueue")
    seen.page.get_by_role("button", name="Search").click()
    first = seen.page.locator(".hit").first
    expect(first).to_contain_text("queue.py")
    expect(seen.page).to_have_url(re.compile(r"/search\?q=JobQueue"))
    first.locator("a.path").click()
    expect(seen.page.get_by_role("heading", level=1)).to_contain_text("queue.py")
    hot = seen.page.locator(".code li.hot")
    expect(hot.first).to_be_visible()
    expect(seen.page.locator(".code")).to_contain_text("class JobQueue")


def test_evidence_stands_before_the_model_reads(seen: Watched) -> None:
    seen.site.says(*SENTENCES)
    with seen.site.held():
        seen.page.get_by_label("Question").fill(QUESTION)
        seen.page.keyboard.press("Enter")
        expect(seen.page.locator("#e1")).to_contain_text("verified")
        expect(seen.page.locator(".strip .live")).to_contain_text("Reading")
        expect(seen.page.locator(".prose")).to_be_empty()
    expect(seen.page.locator(".prose p").first).to_contain_text("A lease that is not renewed")
    expect(seen.page.locator(".strip")).to_contain_text("Done in")
    expect(seen.page.get_by_text("The locations are verified; the reading is not.")).to_be_visible()
    struck = seen.page.get_by_role("list", name="Struck claims")
    expect(struck.locator("s").last).to_contain_text("resurrect_everything")
    expect(struck.locator(".reason").last).not_to_be_empty()


def test_a_citation_opens_exactly_the_cited_lines(seen: Watched) -> None:
    seen.site.says(*SENTENCES[:1])
    seen.page.get_by_label("Question").fill(QUESTION)
    seen.page.keyboard.press("Enter")
    cite = seen.page.locator(".prose .cite").first
    number = cite.inner_text().strip("[]")
    card = seen.page.locator(f"#e{number}")
    numbers = card.locator(".code li > span").all_inner_texts()
    lines = card.locator(".code li > code").all_inner_texts()
    cite.click()
    expect(seen.page.get_by_role("heading", level=1)).to_be_visible()
    hot = seen.page.locator(".code li.hot")
    assert hot.locator("a").all_inner_texts() == numbers
    assert hot.locator("code").all_inner_texts() == lines


def test_a_repository_of_another_project_and_a_branch_of_it_are_asked_and_say_how_far_behind_they_are(
    seen: Watched, tmp_path: Path
) -> None:
    source = make_repo(tmp_path, {"keys.py": "def derive_key():\n    return 1\n"}, name="vault")
    commit(source, {"next.py": "def roll_key():\n    return 2\n"}, branch="next")
    own = {"origin": seen.site.url}
    assert seen.page.request.post(f"{seen.site.url}/api/v1/projects", data={"name": "lab"}, headers=own).ok
    added = seen.page.request.post(
        f"{seen.site.url}/api/v1/repos",
        data={"path": str(source), "project": "lab", "settings": {"branches": ["next"]}},
        headers=own,
    ).json()
    seen.open(f"/repos/{added['id']}")
    seen.page.locator(".facts").wait_for()
    commit(source, {"more.py": "x = 1\n"})
    end = time.monotonic() + 20
    while not seen.page.get_by_text("1 commit behind").count():  # a count is believed for two seconds
        assert time.monotonic() < end
        seen.open(f"/repos/{added['id']}")
    for choice in ("vault", "All of lab"):
        end = time.monotonic() + 20
        while "1 commit behind, changes that no commit has" not in asked(seen, "derive_key", choice):
            assert time.monotonic() < end  # a look at the work tree that comes late serves the next answer
        expect(seen.page.locator("#e1")).to_contain_text("keys.py")
    assert "vault at next" in asked(seen, "roll_key", "vault at next")
    expect(seen.page.locator("#e1")).to_contain_text("next.py")


def asked(seen: Watched, name: str, where: str) -> str:
    """Ask *where* for the definition of *name*, and return which state the answer speaks of."""
    seen.open("/ask")
    seen.page.get_by_label("in", exact=True).select_option(label=where)
    seen.page.get_by_label("Question").fill(f"Where is {name} defined?")
    seen.page.keyboard.press("Enter")
    expect(seen.page.locator(".strip")).to_contain_text("vault at")
    return seen.page.locator(".strip").inner_text()


def test_a_search_that_fails_says_why_in_the_place_of_its_results(seen: Watched) -> None:
    seen.expected += ["400 (Bad Request)", "Response Status Error Code 400"]
    seen.open("/search?q=JobQueue")
    seen.page.get_by_role("searchbox").fill("repo:nothing JobQueue")
    seen.page.get_by_role("button", name="Search").click()
    expect(seen.page.locator("#results").get_by_role("alert")).to_contain_text("fits no repository")


def test_the_login_warns_where_a_browser_would_drop_the_session(browser: Browser, site: Site) -> None:
    with watched(browser, site) as seen:
        seen.open("/login")
        expect(seen.page.locator("#insecure")).to_be_hidden()
        seen.page.add_init_script("Object.defineProperty(window, 'isSecureContext', { value: false })")
        seen.open("/login")
        expect(seen.page.locator("#insecure")).to_contain_text("SSH tunnel")


def test_stop_ends_the_reading_and_keeps_the_evidence(seen: Watched) -> None:
    seen.site.says(*SENTENCES)
    with seen.site.held():
        seen.page.get_by_label("Question").fill(QUESTION)
        seen.page.keyboard.press("Enter")
        expect(seen.page.locator("#e1")).to_be_visible()
        seen.page.get_by_role("button", name="Stop").click()
        expect(seen.page.locator(".strip")).to_contain_text("Stopped")
        expect(seen.page.locator("#e1")).to_be_visible()
        expect(seen.page.get_by_role("button", name="Stop")).to_be_hidden()


def test_weak_evidence_brings_no_prose(seen: Watched) -> None:
    seen.site.says()
    seen.page.get_by_label("Question").fill(QUESTION)
    seen.page.keyboard.press("Enter")
    expect(seen.page.locator(".prose")).to_contain_text("No prose: the evidence is weak: the model gives it")
    expect(seen.page.locator("#e1")).to_be_visible()


def test_a_question_of_structure_is_answered_by_the_symbol_table(seen: Watched) -> None:
    seen.page.get_by_label("Question").fill("Where is JobQueue defined?")
    seen.page.keyboard.press("Enter")
    expect(seen.page.get_by_role("heading", name="From the symbol table")).to_be_visible()
    expect(seen.page.locator(".prose")).to_contain_text("is defined in appliance/jobs/queue.py")


def test_a_mission_is_seen_at_work_and_its_answer_and_its_record_can_be_checked(seen: Watched) -> None:
    seen.site.says(*SENTENCES[:1])
    page = seen.page
    with seen.site.held():
        page.keyboard.press("Escape")
        seen.open("/missions")
        page.get_by_label("Goal").fill(QUESTION)
        page.get_by_label("in", exact=True).select_option(label="skellig")
        page.get_by_role("button", name="Start").click()
        expect(page).to_have_url(re.compile(r"/missions/mission_\w+$"))
        expect(page.locator("[data-slot=line]")).to_contain_text("Live")
        expect(page.locator("#answer")).to_have_count(0)
    expect(page.locator(".prose")).to_contain_text("JobQueue", timeout=WORK_MS)
    expect(page.get_by_text("Done").first).to_be_visible()
    here = page.url
    page.locator(".prose .cite").first.click()
    expect(page.locator(".code li.hot").first).to_be_visible()
    seen.page.goto(here)
    page.get_by_role("button", name="Verify the record").click()
    expect(page.get_by_role("status").first).to_contain_text("The record is whole")
    page.get_by_role("button", name="Replay").click()
    expect(page.get_by_role("status").first).to_contain_text("the same, byte for byte")
    page.get_by_role("link", name="All of its steps").click()
    expect(page.locator(".steps")).to_contain_text("asks the researcher")


def test_keys_move_between_pages(seen: Watched) -> None:
    page = seen.page
    page.locator("h1").click()
    for second, place in {"s": "/search", "m": "/missions", "r": "/repos", "t": "/status", "a": "/ask"}.items():
        for patience in (4_000, 8_000, 16_000):  # on a busy machine the two keys may come too far apart
            page.keyboard.press("Escape")
            page.keyboard.press("g")
            page.keyboard.press(second)
            with suppress(Expired):
                page.wait_for_url("**" + place, timeout=patience)
                break
        page.wait_for_url("**" + place)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.get_by_label("Question")).to_be_focused()


def test_the_theme_switch_is_remembered(seen: Watched) -> None:
    background = "getComputedStyle(document.documentElement).backgroundColor"
    light = seen.page.evaluate(background)
    seen.page.get_by_role("button", name="Switch between light and dark").click()
    dark = seen.page.evaluate(background)
    assert dark != light
    seen.open("/search")
    assert seen.page.evaluate(background) == dark


def test_everything_but_streaming_works_without_script(browser: Browser, site: Site) -> None:
    site.says(*SENTENCES[:1])
    with watched(browser, site, script=False) as seen:
        seen.login()
        seen.page.get_by_label("Question").fill(QUESTION)
        seen.page.get_by_role("button", name="Ask", exact=True).click()
        expect(seen.page.locator(".prose")).to_contain_text("A lease that is not renewed")
        expect(seen.page.locator("#e1")).to_contain_text("verified")
        seen.open("/search?q=JobQueue")
        expect(seen.page.locator(".hit").first).to_contain_text("queue.py")
