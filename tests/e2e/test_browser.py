"""The repository browser: folders, files, what a name means, who uses it, and the graph of calls, drawn."""

import re
import time
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.site import Watched

pytestmark = pytest.mark.browser

QUEUE = "appliance/jobs/queue.py"


def _browse(seen: Watched) -> None:
    seen.open("/repos")
    seen.page.get_by_role("row", name=re.compile("skellig")).get_by_role("link", name="skellig").click()
    seen.page.get_by_role("link", name="Browse").click()


def _open_queue(seen: Watched) -> None:
    _browse(seen)
    for part in ("appliance", "jobs", r"queue\.py"):
        seen.page.get_by_role("region", name="Files").get_by_role("link", name=re.compile(rf"^{part}\b")).click()
    expect(seen.page.get_by_role("heading", level=1)).to_contain_text("queue.py")


def _word(seen: Watched, line: str, word: str) -> Locator:
    """Click *word* where *line* has it, as a hand would: on its first letter."""
    code = seen.page.locator(".code li code").filter(has_text=line).first
    code.scroll_into_view_if_needed()
    place = code.evaluate(
        """(code, word) => {
          const walk = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
          while (walk.nextNode()) {
            const at = walk.currentNode.data.indexOf(word);
            if (at < 0) continue;
            const range = document.createRange();
            range.setStart(walk.currentNode, at);
            range.setEnd(walk.currentNode, at + 1);
            const box = range.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
          }
        }""",
        word,
    )
    seen.page.mouse.click(*place)
    return seen.page.locator("#symbol")


def _graphed(seen: Watched) -> None:
    """Wait until the graph behind the index is there."""
    end = time.monotonic() + 60
    while True:
        repo = parse_qs(urlsplit(seen.page.url).query)["repo"][0]
        answer = seen.page.request.get(f"{seen.site.url}/api/v1/graph/callers?name=JobQueue.lease&repo={repo}")
        if answer.ok and answer.json()["total"]:
            return
        assert time.monotonic() < end
        time.sleep(0.2)


def test_folders_lead_to_a_file_whose_own_folder_stands_beside_it(seen: Watched) -> None:
    _open_queue(seen)
    files = seen.page.get_by_role("region", name="Files")
    expect(files.get_by_role("link", name="worker.py")).to_be_visible()
    expect(files.locator("[aria-current=page]")).to_have_text(re.compile("queue.py"))
    files.get_by_role("link", name="jobs").click()
    expect(seen.page.get_by_role("heading", level=1)).to_contain_text("jobs")


def test_a_folder_that_is_not_there_is_said_to_be_none(seen: Watched) -> None:
    seen.expected.append("404 (Not Found)")
    _browse(seen)
    seen.page.goto(seen.page.url + "&path=no/such/folder")
    expect(seen.page.get_by_role("alert")).to_contain_text("no/such/folder")


def test_a_click_on_a_name_tells_what_it_means_and_leads_there(seen: Watched) -> None:
    _open_queue(seen)
    _graphed(seen)
    seen.page.locator(".outline a").filter(has_text=re.compile(r"^lease\d+$")).click()
    panel = _word(seen, "def lease(", "lease")
    expect(panel.locator(".meaning").first).to_contain_text("JobQueue.lease")
    expect(panel).to_contain_text("method")
    uses = panel.get_by_role("region", name="References").locator("a.path")
    expect(uses.first).to_contain_text("worker.py")
    uses.first.click()
    expect(seen.page.locator(".code li.hot").first).to_contain_text("lease(")


def test_callers_and_callees_are_drawn_and_lead_to_their_lines(seen: Watched) -> None:
    _open_queue(seen)
    _graphed(seen)
    seen.page.locator(".outline a").filter(has_text=re.compile(r"^lease\d+$")).click()
    panel = _word(seen, "def lease(", "lease")
    graph = panel.locator(".graph")
    expect(graph).to_be_visible()
    expect(graph).to_have_attribute("data-drawn", re.compile(r"^([3-9]|\d\d)$"))
    drawn = graph.locator("canvas").last.bounding_box()
    assert drawn is not None
    assert drawn["width"] > 100
    callers = panel.get_by_role("group").filter(has_text="Called by").get_by_role("link")
    expect(callers.first).to_contain_text("Worker")


def test_a_name_is_looked_up_without_a_click_and_without_script(seen: Watched) -> None:
    _open_queue(seen)
    seen.page.get_by_label("A name").fill("JobQueue.lease")
    seen.page.get_by_role("button", name="Look up").click()
    expect(seen.page.get_by_role("heading", level=1)).to_contain_text("JobQueue.lease")
    expect(seen.page.locator(".meaning a.path").first).to_contain_text("queue.py")


def test_a_name_that_nobody_defines_is_said_in_the_panel(seen: Watched) -> None:
    seen.expected.append("404 (Not Found)")
    _open_queue(seen)
    panel = _word(seen, "import sqlite3", "sqlite3")
    expect(panel).to_contain_text(re.compile(r"sqlite3"))


def test_lines_are_chosen_by_their_numbers_and_keep_their_address(seen: Watched) -> None:
    _open_queue(seen)
    seen.page.locator("#L5 > a").click()
    expect(seen.page.locator(".code li.hot")).to_have_count(1)
    seen.page.locator("#L8 > a").click(modifiers=["Shift"])
    expect(seen.page.locator(".code li.hot")).to_have_count(4)
    link = seen.page.get_by_role("link", name="Permalink").get_attribute("href")
    assert link is not None
    query = parse_qs(urlsplit(link).query)
    assert (query["start"], query["end"], query["path"]) == (["5"], ["8"], [QUEUE])
    assert re.fullmatch(r"[0-9a-f]{40}", query["commit"][0])


def test_chosen_lines_are_asked_about_in_one_click(seen: Watched) -> None:
    _open_queue(seen)
    seen.page.locator("#L5 > a").click()
    seen.site.says("It keeps jobs.")
    seen.page.get_by_role("link", name="Ask about these lines").click()
    expect(seen.page.get_by_label("Question")).to_have_value(re.compile(re.escape(f"{QUEUE}:5-5")))
    expect(seen.page.locator("#e1")).to_be_visible()
