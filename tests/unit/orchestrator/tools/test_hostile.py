"""Whatever a repository holds, what a tool says of it stays in one fence and speaks as nobody else."""

import json

import pytest

from appliance.contracts.tools import Json
from appliance.errors import ApplianceError, HostUnfit
from appliance.orchestrator.tools.told import Entry, Resting, told
from tests.unit.orchestrator.tools.conftest import EVIL, TOKENS, Bench

_PATHS: list[dict[str, Json]] = [{"path": path} for path in EVIL]
_ASKED: list[tuple[str, dict[str, Json]]] = [
    ("search_code", {"query": "lure bait free rules"}),
    ("search_code", {"query": "/./"}),
    *(("read_lines", path) for path in _PATHS),
    *(("outline", path) for path in _PATHS),
    *(("git_blame", path) for path in _PATHS),
    *(("git_log", path) for path in _PATHS),
    ("list_files", {"path": "evil"}),
    ("definition", {"name": "lure"}),
    ("references", {"name": "lure"}),
    ("callers", {"name": "bait"}),
    ("callees", {"name": "lure"}),
    ("impact", {"name": "bait"}),
    ("path_between", {"start": "lure", "end": "bait"}),
    ("history", {"name": "lure"}),
    ("git_log", {}),
    ("git_diff", {}),
    ("run_tests", {"command": ["sh", "-c", "cat evil/*; ls evil; exit 1"]}),
    ("run_tests", {"command": ["echo", TOKENS]}),
    ("read_lines", {"path": f"none {TOKENS}"}),
    ("definition", {"name": f"lure {TOKENS}"}),
    ("run_tests", {}),
]


@pytest.mark.parametrize(("name", "arguments"), _ASKED)
def test_nothing_of_a_hostile_repository_leaves_its_fence(name: str, arguments: dict[str, Json], bench: Bench) -> None:
    more: dict[str, Json] = {"commit": bench.tip(bench.evil)} if name == "git_diff" else {}
    try:
        said = bench.call(name, {**arguments, **more}, bench.context(bench.evil)).text
    except HostUnfit as exc:
        pytest.skip(f"a sandbox: {exc.message}")
    except ApplianceError as exc:
        said = f"{exc}"
        assert "[end " not in said
    else:
        head, _, rest = said.partition("\n[data ")
        inside, _, foot = rest.partition("\n[end ")
        assert inside
        assert "evil/" not in head + foot
        assert "[data " not in inside
    assert "<|im_start|>" not in said
    assert "[INST]" not in said
    assert "<s>" not in said
    assert all(each.isprintable() or each in "\n\t" for each in said)


def test_what_instructs_other_programs_models_is_said_to_be_data(bench: Bench) -> None:
    said = bench.call("read_lines", {"path": "evil/AGENTS.md"}, bench.context(bench.evil)).text
    assert "data like any other" in said


def test_endless_names_are_bounded_in_what_a_program_gets() -> None:
    files = {f"{'n' * 200}/{'m' * 200}/{'é' * 120}{number}.py": "x = 1\n" for number in range(200)}
    entries = [Entry(path, {"path": path * 10}) for path in files]
    said = told("files", entries, Resting(()), total=len(entries))
    assert len(json.dumps(said.data)) < 210_000
    assert len(said.text) < 5_000
    assert said.cut


def test_what_could_not_be_looked_at_is_told_before_what_was_found() -> None:
    """Where there is much, the end is what is cut."""
    said = told("hits", [Entry("x" * 200, {}, "y\n" * 9)] * 50, Resting((), ("half of it is missing",)), total=50)
    assert "note: half of it is missing" in said.text
    assert said.data["complete"] is False
    assert told("hits", [], Resting((), ("half of it is missing",)), total=0).text.startswith("No hits found, but not")
