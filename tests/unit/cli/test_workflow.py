"""Claims about ``skellig workflow``."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Line

REVIEW = Path(__file__).resolve().parents[3] / "docs" / "howto" / "review.yaml"


def test_a_valid_file_is_said_to_be_one(line: Line) -> None:
    ran = line("workflow", "validate", str(REVIEW))
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == f"{REVIEW} is valid: the workflow review with 9 nodes.\n"
    told = line("workflow", "validate", str(REVIEW), "--json").json()
    assert isinstance(told, dict)
    assert (told["name"], told["entry"], len(told["nodes"])) == ("review", "read", 9)


def test_a_chart_is_printed_for_a_program_that_draws(line: Line) -> None:
    ran = line("workflow", "render", str(REVIEW))
    assert ran.status == 0
    assert ran.out.startswith('flowchart TD\n    n0(("review"))\n')
    assert line("workflow", "render", str(REVIEW), "--json").json() == {"mermaid": ran.out}


@pytest.mark.parametrize("verb", ["validate", "render"])
def test_a_fault_is_told_with_its_line_and_a_status(line: Line, tmp_path: Path, verb: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("name: bad\nentry: a\nnodes:\n  a: {kind: tool, tool: x, nxt: b}\n")
    ran = line("workflow", verb, str(file))
    assert (ran.status, ran.out) == (2, "")
    assert "line 4, nodes.a.nxt: there is no such key here" in ran.err
    assert ran.err.endswith("[invalid_input]\n")
    assert line("workflow", verb, str(tmp_path / "none.yaml")).status == 3
