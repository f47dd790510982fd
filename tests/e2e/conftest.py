"""One browser and one appliance for each file of tests: each test has a session and a page of its own.

Not one for all files: while Playwright's synchronous door is open its event loop counts as running in this thread, and the
tests of other folders that come next could not run theirs.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, StorageState, sync_playwright

from tests.e2e.site import FLAGS, Site, Watched, chromium, logged_in, running, watched
from tests.support.repos import make_repo

_ROOT = Path(__file__).parents[2]
_SHOWN = ("appliance/jobs", "appliance/access", "appliance/base", "appliance/errors.py", "appliance/ids.py")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window and with a profile of its own."""
    path = chromium()
    if path is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, headless=True, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository with some of this project's own code, and some files that are left out."""
    files = [file for part in _SHOWN for file in sorted(_files(_ROOT / part))]
    content: dict[str, bytes | str | None] = {file.relative_to(_ROOT).as_posix(): file.read_bytes() for file in files}
    content |= {
        "docs/logo.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "data/rates.json": b"[" + b"1, " * 400_000 + b"1]",
        "vendor/left-pad/index.js": "module.exports = (s, n) => s.padStart(n);\n",
    }
    return make_repo(tmp_path_factory.mktemp("code"), content, name="skellig")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, browser: Browser, code: Path) -> Iterator[Site]:
    """Run an appliance with `code` indexed."""
    with running(tmp_path_factory.mktemp("appliance") / "data") as up:
        with watched(browser, up) as seen:
            seen.login()
            seen.add(code)
        yield up


@pytest.fixture(scope="module")
def session(browser: Browser, site: Site) -> StorageState:
    """Log in once."""
    return logged_in(browser, site)


@pytest.fixture
def seen(browser: Browser, site: Site, session: StorageState) -> Iterator[Watched]:
    """Open the home page, logged in."""
    with watched(browser, site, session=session) as page:
        page.open("/ask")
        yield page


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures go: into the documentation when ``SKELLIG_TEST_SCREENSHOTS=1`` asks for it, else aside."""
    if os.environ.get("SKELLIG_TEST_SCREENSHOTS") == "1":
        return _ROOT / "docs" / "images"
    return tmp_path_factory.mktemp("pictures")


def _files(part: Path) -> list[Path]:
    return [part] if part.is_file() else list(part.rglob("*.py"))
