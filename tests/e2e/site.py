"""A running appliance as a test sees it, and the browser that looks at it."""

import json
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import httpx2
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request, StorageState

from appliance.access.tokens import OneTimeTokens
from appliance.base import sqlite
from appliance.base.clock import SystemClock
from appliance.base.paths import DataPaths
from tests.e2e.program import HOLD, REST, SAID

UP_S = 40.0
_WITHOUT = (
    "WebUIOmniboxPopup",  # with the next, two pages of the browser's own in each window: half of what a page costs
    "WebUIOmniboxAimPopup",
    "HttpsUpgrades",  # this and the rest Playwright does without as well; of two such lists the last counts
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "OptimizationHints",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join(_WITHOUT)}",
)


def chromium() -> str | None:
    """Return where Debian's Chromium is, or None."""
    return shutil.which("chromium")


@dataclass(frozen=True, slots=True)
class Site:
    """An appliance that answers at ``url``."""

    url: str
    data: Path

    def token(self) -> str:
        """Issue a one-time token, as the command line does."""
        tokens = OneTimeTokens(sqlite.connect(DataPaths(self.data).global_db), clock=SystemClock())
        try:
            return tokens.issue()
        finally:
            tokens.close()

    def awake(self) -> None:
        """Let a worker that rests since the start work."""
        (self.data / REST).unlink()

    def says(self, *sentences: str) -> None:
        """Have the model say *sentences*; none: that the evidence is lacking."""
        (self.data / SAID).write_text(json.dumps(sentences), encoding="utf-8")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the model from reading for the length of the block."""
        hold = self.data / HOLD
        hold.touch()
        try:
            yield
        finally:
            hold.unlink()


@contextmanager
def running(data: Path, *, rest: bool = False) -> Iterator[Site]:
    """Run an appliance on *data* for the length of the block; with *rest* its worker waits for `Site.awake`."""
    data.mkdir(parents=True, exist_ok=True)
    if rest:
        (data / REST).touch()
    port = _free_port()
    log = data.parent / f"{data.name}.log"
    with log.open("wb") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.program", str(data), str(port)], stdout=output, stderr=output
        )
    try:
        site = Site(f"http://127.0.0.1:{port}", data)
        _await_answer(site, child, log)
        yield site
    finally:
        child.terminate()
        child.wait(30)


@dataclass
class Watched:
    """A page, and everything on it that should not be: ``troubles`` stays empty on a good one."""

    page: Page
    site: Site
    troubles: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)  # parts of console messages that the test provokes

    def __post_init__(self) -> None:
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        self.page.on("dialog", self._dialog)
        self.page.on("request", self._request)
        self.page.set_default_timeout(20_000)

    def open(self, path: str) -> None:
        """Go to *path*."""
        self.page.goto(self.site.url + path)

    def login(self) -> None:
        """Log in with a fresh token; on return the home page is open."""
        self.open("/login")
        self.page.get_by_label("One-time token").fill(self.site.token())
        self.page.get_by_role("button", name="Log in").click()
        self.page.wait_for_url("**/ask")

    def add(self, source: Path, *, name: str = "") -> None:
        """Add the repository at *source* by the form and wait until it is indexed; on return its page is open."""
        self.open("/repos")
        self.page.get_by_label("Path or address").fill(str(source))
        if name:
            self.page.get_by_label("Name").fill(name)
        self.page.get_by_role("button", name="Add repository").click()
        self.page.wait_for_url(re.compile(r"/repos/repo_"))
        self.page.locator(".facts").wait_for()

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not any(part in message.text for part in self.expected):
            self.troubles.append(f"{message.type}: {message.text}")

    def _dialog(self, dialog: Dialog) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.site.url + "/", "data:", "blob:")):
            self.troubles.append(f"request to {request.url}")


@contextmanager
def watched(
    browser: Browser,
    site: Site,
    *,
    session: StorageState | None = None,
    width: int = 1280,
    scheme: Literal["light", "dark"] = "light",
    script: bool = True,
) -> Iterator[Watched]:
    """Open a page in a context of its own; at the end nothing may have been amiss."""
    with closing(
        browser.new_context(
            viewport={"width": width, "height": 900 if width > 600 else 844},
            color_scheme=scheme,
            storage_state=session,
            java_script_enabled=script,
            reduced_motion="reduce",
        )
    ) as context:
        seen = Watched(context.new_page(), site)
        yield seen
        assert not seen.troubles, seen.troubles


def logged_in(browser: Browser, site: Site) -> StorageState:
    """Log in and return the session, for as many pages as want it."""
    with watched(browser, site) as seen:
        seen.login()
        return seen.page.context.storage_state()


def paint(seen: Watched, name: str, *, folder: Path, full: bool = True) -> None:
    """Write a picture of the page to *folder*."""
    folder.mkdir(parents=True, exist_ok=True)
    seen.page.screenshot(path=folder / f"{name}.png", full_page=full, animations="disabled")


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_answer(site: Site, child: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + UP_S
    while time.monotonic() < end:
        assert child.poll() is None, log.read_text(errors="replace")[-3000:]
        try:
            if httpx2.get(f"{site.url}/api/v1/health", timeout=5).status_code < 500:
                return
        except httpx2.TransportError:
            time.sleep(0.05)
    raise AssertionError(f"The appliance did not come up: {log.read_text(errors='replace')[-3000:]}")
