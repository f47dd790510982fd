"""The trust table in the documentation: each attack is made, and has exactly the code and the sentence that stand there."""

import re
from pathlib import Path

import pytest

from appliance.errors import ApplianceError
from tests.adversarial.bundle.attacks import ATTACKS, Scene

_PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "trust-table.md"
_ROW = re.compile(r"^\| ([^|]+) \| `(\w+)` \| ([^|]+) \|$", re.MULTILINE)
TABLE = {attack: (code, sentence) for attack, code, sentence in _ROW.findall(_PAGE.read_text())}


def test_the_table_has_every_attack_and_no_other() -> None:
    assert list(TABLE) == list(ATTACKS)


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_refused_as_the_table_says(tmp_path: Path, attack: str) -> None:
    scene = Scene(tmp_path)
    with pytest.raises(ApplianceError) as told:
        ATTACKS[attack](scene)
    code, sentence = TABLE[attack]
    assert told.value.code == code
    assert re.fullmatch(re.escape(sentence).replace("…", ".+"), told.value.message), told.value.message
    assert not (tmp_path / "host" / "bundles" / ".staging").exists()
