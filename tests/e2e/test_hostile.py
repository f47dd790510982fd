"""What comes from a repository, a model or an address is text: nothing of it runs, all of it can be read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, StorageState, expect

from tests.e2e.site import Site, Watched, logged_in, running, watched
from tests.support.repos import make_repo

pytestmark = pytest.mark.browser

PAYLOADS: Final = (
    "<script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "<svg onload=window.pwned=1>",
    "<svg><animate onbegin=window.pwned=1 attributeName=x dur=1s>",
    "<body onload=window.pwned=1>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'>",
    "<details open ontoggle=window.pwned=1>",
    "<input autofocus onfocus=window.pwned=1>",
    "<a href=javascript:window.pwned=1>link</a>",
    "</code></pre><script>window.pwned=1</script>",
    "</textarea><script>window.pwned=1</script>",
    "</title><script>window.pwned=1</script>",
    "</template><script>window.pwned=1</script>",
    "<!--><script>window.pwned=1</script>-->",
    "<style>*{background:url(//evil.example/x)}</style>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<base href=//evil.example/>",
    "<form action=//evil.example><button>go</button></form>",
    '" onmouseover="window.pwned=1" x="',
    "' onmouseover='window.pwned=1' x='",
    "javascript:window.pwned=1",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;script&gt;window.pwned=1&lt;/script&gt;",
    "<div hx-get=//evil.example hx-trigger=load data-hx-on:load=window.pwned=1></div>",
)
NAMES: Final = tuple(f"{number:02} {payload.replace('/', '|')}.md" for number, payload in enumerate(PAYLOADS))


ADDRESSES: Final = ("/search?q=", "/ask?q=", "/search?q=payload&repo=", "/login?next=", "/repos/", "/file?commit=x&repo=")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository in which every name, heading, line and string is a payload."""
    lines = [line for payload in PAYLOADS for line in (f"# {payload}", "", f"payload: {payload}", "")]
    files: dict[str, bytes | str | None] = dict.fromkeys(NAMES, "\n".join(lines))
    files["code.py"] = "\n".join(f"payload_{n} = {payload!r}  # {payload}" for n, payload in enumerate(PAYLOADS))
    files[f"{NAMES[1]}.png"] = b"\x89PNG\0"
    return make_repo(tmp_path_factory.mktemp("hostile"), files, name="hostile")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, browser: Browser, source: Path) -> Iterator[Site]:
    """Run an appliance on that repository; on the way there, its progress is shown."""
    with running(tmp_path_factory.mktemp("appliance") / "data", rest=True) as site:
        with watched(browser, site) as seen:
            seen.login()
            seen.open("/repos")
            expect(seen.page.get_by_role("heading", name="No repository yet")).to_be_visible()
            seen.page.get_by_label("Path or address").fill(str(source))
            seen.page.get_by_label("Name").fill(PAYLOADS[1])
            seen.page.get_by_role("button", name="Add repository").click()
            expect(seen.page.get_by_role("region", name="Progress").locator("progress")).to_be_visible()
            expect(seen.page.locator("[data-slot=line]")).to_have_text("Live")
            site.awake()
            expect(seen.page.locator(".facts")).to_be_visible(timeout=60_000)
            expect(seen.page.get_by_role("region", name="Progress")).to_have_count(0, timeout=60_000)
        yield site


@pytest.fixture(scope="module")
def session(browser: Browser, hostile: Site) -> StorageState:
    """Log in once."""
    return logged_in(browser, hostile)


@pytest.fixture
def page(browser: Browser, hostile: Site, session: StorageState) -> Iterator[Watched]:
    """Open a page, logged in; at the end nothing may have run."""
    with watched(browser, hostile, session=session) as seen:
        seen.open("/ask")
        yield seen
        assert seen.page.evaluate("window.pwned") is None


def test_names_of_repositories_and_files_left_out_are_text(page: Watched) -> None:
    page.open("/repos")
    page.page.get_by_role("link", name=PAYLOADS[1], exact=True).click()
    expect(page.page.get_by_role("heading", level=1)).to_have_text(PAYLOADS[1])
    expect(page.page.locator("#left-out")).to_contain_text(f"{NAMES[1]}.png")
    page.open("/status")
    expect(page.page.locator("#live")).to_contain_text(PAYLOADS[1])


def test_names_of_files_and_their_lines_are_text(page: Watched) -> None:
    page.open("/search?q=payload")
    address = page.page.locator(".hit a.path").first.get_attribute("href") or ""
    before, _, rest = address.partition("&path=")
    commit = rest.partition("&commit=")[2].partition("&")[0]
    for name in NAMES:
        page.open(f"{before}&path={quote(name)}&commit={commit}&start=50&end=52")
        expect(page.page.get_by_role("heading", level=1)).to_contain_text(name)
        shown = page.page.locator(".code li > code").all_inner_texts()
        assert [line for line in shown if line.startswith("payload: ")] == [f"payload: {payload}" for payload in PAYLOADS]


def test_what_a_model_says_is_text(page: Watched) -> None:
    for start in range(0, len(PAYLOADS), 3):
        said = [f"The payload is {payload}." for payload in PAYLOADS[start : start + 3]]
        page.site.says(*said)
        page.page.get_by_label("Question").fill("payload payload_1 window pwned script")
        page.page.keyboard.press("Enter")
        for sentence in said:
            expect(page.page.locator("[data-slot=reading]")).to_contain_text(sentence)
        expect(page.page.locator(".strip")).to_contain_text("Done in")
        expect(page.page.locator("#e1 .code")).to_contain_text("payload")


def test_what_an_address_says_is_text(page: Watched) -> None:
    page.expected.append("status of 4")
    for place in ADDRESSES:
        for payload in PAYLOADS[::4]:
            page.open(place + quote(payload, safe=""))
            expect(page.page.locator("main, pre").first).to_be_visible()
