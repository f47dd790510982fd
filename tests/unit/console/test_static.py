"""The console's own files: vendored ones are what they were, colours can be read, nothing is inline."""

import hashlib
import re
from pathlib import Path

import pytest

from appliance.console import assets
from appliance.console.assets import Assets
from appliance.errors import NotFound

CONSOLE = Path(assets.__file__).parent
VENDOR = CONSOLE / "static" / "vendor"
TOKENS = (CONSOLE / "static" / "tokens.css").read_text(encoding="utf-8")
COLOURS = {name: (light, dark) for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", TOKENS)}


def luminance(colour: str) -> float:
    """Return the relative luminance, as WCAG 2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_vendored_file_has_its_listed_digest() -> None:
    lines = (VENDOR / "DIGESTS").read_text(encoding="utf-8").splitlines()
    listed = {name: digest for digest, name in (line.split() for line in lines if not line.startswith("#"))}
    found = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in VENDOR.iterdir() if file.name != "DIGESTS"}
    assert found == listed


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "papers"),
    [
        ("text", ("bg", "surface", "sunk", "raised", "hot", "accent-soft")),
        ("muted", ("bg", "surface", "sunk", "amber-soft", "red-soft")),
        ("accent", ("bg", "surface", "sunk", "accent-soft", "hot")),
        ("accent-strong", ("bg", "surface")),
        ("on-accent", ("accent", "accent-strong")),
        ("amber", ("bg", "surface", "amber-soft")),
        ("red", ("bg", "surface", "red-soft")),
        *((f"code-{name}", ("surface", "hot")) for name in ("comment", "keyword", "string", "number", "name", "type")),
    ],
)
def test_ink_stands_out_from_its_paper(theme: int, ink: str, papers: tuple[str, ...]) -> None:
    weak = {paper: round(contrast(COLOURS[ink][theme], COLOURS[paper][theme]), 2) for paper in papers}
    assert {paper: ratio for paper, ratio in weak.items() if ratio < 4.5} == {}


def test_all_scripts_that_pages_load_stay_small_together() -> None:
    assert Assets().script_bytes() < 150_000


def test_no_template_has_inline_script_or_style() -> None:
    """The content security policy would refuse them, on the user's screen and not here."""
    inline = re.compile(r"<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]*\ssrc=)", re.IGNORECASE)
    found = {file.name: inline.findall(file.read_text(encoding="utf-8")) for file in (CONSOLE / "templates").glob("*.html")}
    assert {name: hits for name, hits in found.items() if hits} == {}


def test_no_file_names_another_origin() -> None:
    own = [file for file in (CONSOLE / "static").glob("*.*") if file.suffix in {".css", ".js"}]
    assert [file.name for file in own if "://" in file.read_text(encoding="utf-8")] == []


def test_scripts_never_write_markup() -> None:
    """What comes from a model or a repository is text: no script of ours can make it anything else."""
    own = list((CONSOLE / "static").glob("*.js"))
    sinks = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function")
    assert [file.name for file in own if sinks.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("name", ["../render.py", "vendor/../../render.py", "/etc/passwd", "vendor/DIGESTS", "", "app"])
def test_only_the_known_names_are_files(name: str) -> None:
    with pytest.raises(NotFound):
        Assets().get(name)


def test_a_changed_file_has_a_new_address(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("a{}", encoding="utf-8")
    before = Assets(tmp_path).url("a.css")
    (tmp_path / "a.css").write_text("b{}", encoding="utf-8")
    assert Assets(tmp_path).url("a.css") != before
