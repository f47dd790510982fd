"""The page of reasons has every reason that a file can be left out for, and no other."""

import re
from pathlib import Path
from typing import get_args

from appliance.codeintel.source.base import Reason

DOCS = Path(__file__).resolve().parents[2] / "docs"
ROW = re.compile(r"^\| `([a-z-]+)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def test_every_reason_has_its_meaning_and_what_to_do() -> None:
    rows = ROW.findall((DOCS / "reference" / "left-out-reasons.md").read_text())
    assert [name for name, *_ in rows] == sorted(get_args(Reason))
    assert all(len(text) > 15 for _, *texts in rows for text in texts)


def test_the_guide_names_only_reasons_that_exist() -> None:
    text = (DOCS / "howto" / "add-repositories.md").read_text()
    named = re.search(r"stands there with its reason: (.*?) and so on", text, re.DOTALL)
    assert named
    assert set(re.findall(r"`([a-z-]+)`", named[1])) <= set(get_args(Reason))
