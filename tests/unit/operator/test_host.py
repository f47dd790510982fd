"""The claim that a host of operator-architecture 0.4.0 runs unchanged once its import is replaced."""

from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[2] / "support"
THEIRS, OURS = "from operator_architecture import", "from appliance.operator import"


def test_a_host_written_for_the_public_package_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """The text beside the script is what it printed with operator-architecture 0.4.0 itself."""
    script = SUPPORT / "operator_host.py"
    source = script.read_text()
    assert source.count("operator_architecture") == source.count(THEIRS) == 1
    code = compile(source.replace(THEIRS, OURS), str(script), "exec")
    exec(code, {"__name__": "__main__"})  # noqa: S102 - it is ours
    assert capsys.readouterr().out == script.with_suffix(".txt").read_text()
