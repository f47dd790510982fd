"""A picture of every page, for the documentation, and the layout that a picture shows: nothing wider than the window."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect

from tests.e2e.site import Site, Watched, paint, watched
from tests.e2e.test_console import QUESTION, SENTENCES, WORK_MS

pytestmark = pytest.mark.browser

KEPT: Final = {"ask", "ask-dark", "ask-narrow", "search", "missions", "repositories", "repository", "file", "status"}
WIDER: Final = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def ask(seen: Watched) -> None:
    seen.site.says(*SENTENCES)
    seen.open("/ask")
    seen.page.get_by_label("Question").fill(QUESTION)
    seen.page.keyboard.press("Enter")
    expect(seen.page.locator(".strip")).to_contain_text("Done in")
    expect(seen.page.locator("#e1 .code i").first).to_be_visible()  # the colours have come
    seen.page.locator("h1").click()  # no cursor in the picture


def search(seen: Watched) -> None:
    seen.open("/search?q=renew+a+lease")
    expect(seen.page.locator(".hit").first).to_be_visible()


def missions(seen: Watched) -> None:
    """One that is done is enough: each look shows the same."""
    seen.site.says(*SENTENCES)
    seen.open("/missions")
    if not seen.page.locator("#rows a.name").count():
        seen.page.get_by_label("Goal").fill(QUESTION)
        seen.page.get_by_role("button", name="Start").click()
        expect(seen.page.locator("#answer")).to_be_visible(timeout=WORK_MS)
        seen.open("/missions")
    seen.page.locator("#rows a.name").first.click()
    expect(seen.page.locator("#e1 .code i").first).to_be_visible()


def repositories(seen: Watched) -> None:
    seen.open("/repos")


def repository(seen: Watched) -> None:
    seen.open("/repos")
    seen.page.get_by_role("link", name="skellig", exact=True).click()
    expect(seen.page.locator(".facts")).to_be_visible()


def file(seen: Watched) -> None:
    seen.open("/search?q=JobQueue")
    seen.page.locator(".hit a.path").first.click()
    expect(seen.page.locator(".code li.hot").first).to_be_visible()


def status(seen: Watched) -> None:
    seen.open("/status")


SCENES: Final[Mapping[str, Callable[[Watched], None]]] = {
    "ask": ask,
    "search": search,
    "missions": missions,
    "repositories": repositories,
    "repository": repository,
    "file": file,
    "status": status,
}


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)])
def test_every_page_fits_its_window(
    browser: Browser,
    site: Site,
    session: StorageState,
    pictures: Path,
    tmp_path: Path,
    scheme: Literal["light", "dark"],
    width: int,
) -> None:
    with watched(browser, site, session=session, scheme=scheme, width=width) as seen:
        for name, scene in SCENES.items():
            scene(seen)
            assert (name, seen.page.evaluate(WIDER)) == (name, 0)
            shown = _named(name, scheme=scheme, width=width)
            paint(seen, shown, folder=pictures if shown in KEPT else tmp_path, full=False)


def test_the_login_page_fits_its_window(browser: Browser, site: Site, pictures: Path) -> None:
    with watched(browser, site) as seen:
        seen.open("/login")
        expect(seen.page.get_by_label("One-time token")).to_be_focused()
        assert seen.page.evaluate(WIDER) == 0
        paint(seen, "login", folder=pictures)


def test_focus_is_seen_wherever_the_keyboard_goes(seen: Watched) -> None:
    """In reading order: rail, then content."""
    seen.open("/status")
    visited = []
    for _ in range(9):
        seen.page.keyboard.press("Tab")
        visited.append(_focused(seen.page))
    assert all(re.match(r"(solid|auto) [1-9]", outline) for _, outline in visited), visited
    assert len({name for name, _ in visited}) == len(visited)


def _focused(page: Page) -> tuple[str, str]:
    name, outline = page.evaluate(
        "(() => { const e = document.activeElement, s = getComputedStyle(e);"
        " return [e.id || e.textContent.trim() || e.getAttribute('aria-label'), `${s.outlineStyle} ${s.outlineWidth}`]; })()"
    )
    return str(name), str(outline)


def _named(name: str, *, scheme: str, width: int) -> str:
    return "-".join([name, *(["dark"] if scheme == "dark" else []), *(["narrow"] if width < 600 else [])])
