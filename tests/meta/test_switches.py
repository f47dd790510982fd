"""Claims about the environment variables of the test suite: all have one prefix, and an entry."""

import re
from pathlib import Path

from appliance.config import names

ROOT = Path(__file__).resolve().parents[2]
_READ = re.compile(r"(?:environ(?:\.get\(|\[)|Final = )\"(SKELLIG_[A-Z_]+)\"")


def test_every_switch_of_the_tests_has_its_prefix_and_an_entry() -> None:
    """Another name would be an unknown setting, and end every `skellig` in the same shell."""
    settings = {f"SKELLIG_{name.replace('.', '__').upper()}" for name in names()}
    read = {found for path in (ROOT / "tests").rglob("*.py") for found in _READ.findall(path.read_text())} - settings
    entries = (ROOT / "docs" / "howto" / "develop.md").read_text()
    assert read
    assert not [name for name in read if not name.startswith("SKELLIG_TEST_")]
    assert not [name for name in read if f"| `{name}` |" not in entries]
