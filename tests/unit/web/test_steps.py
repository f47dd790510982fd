"""What a step tells people: one line, whatever the record holds."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.contracts.tools import Json
from appliance.ids import MissionId
from appliance.orchestrator.missions.model import FIELDS, Entry, EntryKind
from appliance.web.steps import LONGEST, told

KINDS: tuple[EntryKind, ...] = get_args(EntryKind)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=600),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def line(kind: EntryKind, **data: Json) -> str:
    return told(Entry(MissionId("mission_1"), 1, 0.0, kind, "researcher", data, "", ""))


@given(kind=st.sampled_from(KINDS), data=st.data())
def test_whatever_an_entry_holds_is_told_in_one_bounded_line(kind: EntryKind, data: st.DataObject) -> None:
    """It comes from models and repositories, and an edited record may hold anything."""
    names = data.draw(st.lists(st.sampled_from(FIELDS[kind]), unique=True))
    said = line(kind, **{name: data.draw(JSON) for name in names})
    assert len(said) <= LONGEST
    assert said.isprintable()


@pytest.mark.parametrize(
    ("said", "kind", "data"),
    [
        ("begins: Why?; in shop, till; small", "begun", {"goal": "Why?", "repos": ["shop", "till"], "model": "small"}),
        ("begins: Why?; no model", "begun", {"goal": "Why?", "repos": [], "model": ""}),
        ("asks the model for at most 64 tokens", "asked_model", {"parameters": {"max_tokens": 64}}),
        ("the model, 1,200 + 90 tokens, 1.5 s, cut off: It", "model_said",
         {"text": "It", "finish": "length", "prompt_tokens": 1_200, "completion_tokens": 90, "seconds": 1.5}),
        ('search query=a b, limit=3, paths=["x"]', "called_tool",
         {"tool": "search", "arguments": {"query": "a\n b", "limit": 3, "paths": ["x"]}}),
        ("search gave, after 0.2 s: 2 places", "tool_gave", {"tool": "search", "evidence": [{}, {}], "seconds": 0.2}),
        ("read gave, after 0.2 s: def f():", "tool_gave", {"tool": "read", "text": "def f():\n", "seconds": 0.2}),
        ("read failed after 0.0 s: It is gone.", "tool_gave", {"tool": "read", "error": "It is gone."}),
        ("run_tests needs a person's yes", "tool_gave",
         {"tool": "run_tests", "error": "It needs approval.", "code": "approval_required"}),
        ("waits for a yes or no to run_tests path=tests: to see", "asked_approval",
         {"tool": "run_tests", "arguments": {"path": "tests"}, "reason": "to see"}),
        ("rejected by ada: No.", "approval", {"decision": "rejected", "by": "ada", "reason": "No."}),
        ("evidence [1] a.py:3-4 of shop", "evidence",
         {"n": 1, "repo_name": "shop", "path": "a.py", "start_line": 3, "end_line": 4}),
        ("It adds up. [1] [2]", "sentence", {"text": "It adds up.", "cites": [1, 2]}),
        ("goes on, by ada: Carts.", "resumed", {"instruction": "Carts.", "by": "ada"}),
        ("ended: failed: No model.", "ended", {"state": "failed", "reason": "No model."}),
    ],
)  # fmt: skip
def test_a_step_says_what_was_done(said: str, kind: EntryKind, data: dict[str, Json]) -> None:
    assert line(kind, **data) == said


def test_what_is_cut_says_so() -> None:
    assert line("staged", junior="tracer", summary="x" * 1_000).endswith(" …")
