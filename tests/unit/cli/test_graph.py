import json
from urllib.parse import parse_qs

from tests.support.scripted_http import Reply, ScriptedServer
from tests.unit.cli.conftest import Line

FRESH = {
    "repo_name": "shop",
    "branch": "main",
    "commit": "c" * 40,
    "behind": 2,
    "dirty": False,
    "left_out": 0,
    "vectors": 1.0,
}
CALL = {
    "repo_name": "shop", "path": "shop/cart.py", "start_line": 5, "caller": "add", "callee": "Price.total", "inside": True,
    "kind": "call", "how": "type", "confidence": 0.9, "text": "    price.total()",
}  # fmt: skip
FOUND = {
    "direction": "callers",
    "definitions": [
        {"repo_name": "shop", "path": "shop/prices.py", "start_line": 7, "symbol": "Price.total", "kind": "method"}
    ],
    "calls": [CALL, CALL | {"caller": "", "start_line": 9, "how": "candidate", "confidence": 0.4}],
    "total": 3, "truncated": True, "freshness": [FRESH], "warnings": ["2 calls could not be told."], "timings": {},
}  # fmt: skip


def test_callers_come_with_their_lines_how_sure_they_are_and_what_is_missing(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["GET /api/v1/graph/callers"] = Reply(FOUND)
    ran = line("graph", "callers", "Price.total", "--repo", "shop", "--limit", "2")
    assert ran.status == 0
    assert ran.out == (
        "Price.total  method, shop shop/prices.py:7\n"
        "  shop/cart.py:5  add  type 0.90\n      price.total()\n"
        "  shop/cart.py:9  top level  candidate 0.40\n      price.total()\n"
        "note: 2 calls could not be told.\n"
        "2 of 3 calls (next: --offset 2); shop at main cccccccccc, 2 commits behind\n"
    )
    assert parse_qs(appliance.asked[-1].query) == {
        "name": ["Price.total"], "repo": ["shop"], "project": ["default"], "limit": ["2"], "offset": ["0"],
    }  # fmt: skip


def test_callees_name_what_lies_outside(appliance: ScriptedServer, line: Line) -> None:
    outside = CALL | {"callee": "json.dumps", "inside": False}
    appliance.replies["GET /api/v1/graph/callees"] = Reply(FOUND | {"direction": "callees", "calls": [CALL, outside]})
    out = line("graph", "callees", "add").out
    assert "shop/cart.py:5  Price.total  type 0.90\n" in out
    assert "shop/cart.py:5  json.dumps  outside\n" in out


def test_of_several_repositories_each_line_says_which_one_it_is_of(appliance: ScriptedServer, line: Line) -> None:
    """Two repositories may well have a file of one name."""
    calls = [CALL, CALL | {"repo_name": "till"}]
    appliance.replies["GET /api/v1/graph/callers"] = Reply(
        FOUND | {"calls": calls, "freshness": [FRESH, FRESH | {"repo_name": "till"}]}
    )
    out = line("graph", "callers", "Price.total").out
    assert "  shop shop/cart.py:5  add  type 0.90\n" in out
    assert "  till shop/cart.py:5  add  type 0.90\n" in out


def test_impact_says_how_far_away_by_what_and_how_sure(appliance: ScriptedServer, line: Line) -> None:
    near = {
        "repo_name": "shop", "path": "shop/cart.py", "start_line": 5,
        "symbol": "add", "via": "Price.total", "steps": 1, "confidence": 0.9,
        "test": False,
    }  # fmt: skip
    far = near | {"path": "tests/t.py", "symbol": "test_add", "via": "add", "steps": 2, "test": True}
    found = {key: value for key, value in FOUND.items() if key not in {"calls", "direction"}}
    more = {"together": [{"path": "shop/tax.py", "times": 3, "commits": 4}], "unresolved": 0.125}
    appliance.replies["GET /api/v1/graph/impact"] = Reply(found | {"reached": [near, far], "tests": 1, "cut": False} | more)
    ran = line("graph", "impact", "Price.total", "--steps", "2")
    assert ran.status == 0
    assert ran.out == (
        "Price.total  method, shop shop/prices.py:7\n"
        "  1  shop/cart.py:5  add  through Price.total  0.90\n"
        "  2  tests/t.py:5  test_add  through add  test  0.90\n"
        "  changed with it 3 of 4 times: shop/tax.py\n"
        "note: 2 calls could not be told.\n"
        "2 of 3 places, 1 test among them, 12% of all calls untold (next: --offset 2); "
        "shop at main cccccccccc, 2 commits behind\n"
    )
    assert parse_qs(appliance.asked[-1].query)["steps"] == ["2"]


def test_json_is_what_the_api_says(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["GET /api/v1/graph/callers"] = Reply(FOUND)
    assert json.loads(line("graph", "callers", "x", "--json").out) == FOUND


REST = {"total": 2, "truncated": False, "freshness": [FRESH], "warnings": [], "timings": {}}
READ = "shop at main cccccccccc, 2 commits behind\n"


def test_a_place_is_asked_about_as_a_place_and_a_name_as_a_name(appliance: ScriptedServer, line: Line) -> None:
    meaning = {
        "repo_name": "shop", "path": "shop/prices.py", "start_line": 7, "symbol": "A::total", "kind": "method",
        "signature": "def total(self)", "how": "type", "confidence": 0.9,
    }  # fmt: skip
    appliance.replies["GET /api/v1/graph/definition"] = Reply(REST | {"definitions": [meaning]})
    assert line("graph", "definition", "shop/cart.py:5:total").out == (
        "A::total  method, shop shop/prices.py:7  type 0.90\n    def total(self)\n1 of 2 definitions; " + READ
    )
    asked = parse_qs(appliance.asked[-1].query)
    assert (asked["path"], asked["line"], asked["word"], "name" in asked) == (["shop/cart.py"], ["5"], ["total"], False)
    line("graph", "definition", "shop/cart.py:5:9")
    assert parse_qs(appliance.asked[-1].query)["column"] == ["9"]
    line("graph", "definition", "A::total")
    assert parse_qs(appliance.asked[-1].query)["name"] == ["A::total"]
    refused = line("graph", "definition", "shop/cart.py:5")
    assert (refused.status, "Give FILE:LINE:WORD" in refused.err) == (2, True)


def test_references_say_of_which_kind_they_are(appliance: ScriptedServer, line: Line) -> None:
    use = {
        "repo_name": "shop", "path": "shop/cart.py", "start_line": 5,
        "inside": "", "kind": "imports", "how": "name", "confidence": 1.0,
        "text": "from x import y",
    }  # fmt: skip
    found = REST | {"definitions": FOUND["definitions"], "references": [use], "kinds": {"imports": 1, "references": 4}}
    appliance.replies["GET /api/v1/graph/references"] = Reply(found)
    assert line("graph", "references", "RATE").out == (
        "Price.total  method, shop shop/prices.py:7\n"
        "  shop/cart.py:5  top level  imports  name 1.00\n      from x import y\n"
        "1 of 2 uses (references 4, imports 1); " + READ
    )


def test_a_way_is_shown_step_by_step_and_none_as_none(appliance: ScriptedServer, line: Line) -> None:
    hop = {
        "repo_name": "shop", "path": "a.py", "start_line": 5,
        "source": "", "target": "make", "kind": "call", "how": "name", "confidence": 1.0,
        "text": " make()",
    }  # fmt: skip
    way = REST | {"start": "a", "end": "b", "hops": [hop], "confidence": 0.9}
    appliance.replies["GET /api/v1/graph/path"] = [Reply(way), Reply(way | {"hops": [], "confidence": 0.0})]
    out = line("graph", "path", "a", "b").out
    assert out == "  a.py:5  top level -> make  call  name 1.00\n      make()\n1 step, 90% sure; " + READ
    assert line("graph", "path", "b", "a").out == "no way; " + READ


def test_an_outline_nests_and_a_history_is_dated(appliance: ScriptedServer, line: Line) -> None:
    entry = {"symbol": "A", "kind": "class", "signature": "class A", "start_line": 3, "depth": 0}
    inner = entry | {"symbol": "A.b", "signature": "", "kind": "field", "start_line": 4, "depth": 1}
    appliance.replies["GET /api/v1/graph/outline"] = Reply(REST | {"language": "python", "entries": [entry, inner]})
    assert line("graph", "outline", "a.py").out == (
        "     3  class A  class\n     4    A.b  field\n2 of 2 definitions; " + READ
    )
    change = {"commit": "d" * 40, "author": "Ada", "date": "2026-01-02T03:04:05+00:00", "summary": "Add A"}
    appliance.replies["GET /api/v1/graph/history"] = Reply(REST | {"definitions": [], "changes": [change]})
    assert line("graph", "history", "A").out == "  dddddddddd  2026-01-02  Ada  Add A\n1 of 2 commits; " + READ


def test_a_map_and_a_pack_are_their_text_and_what_they_lack_is_said_beside(appliance: ScriptedServer, line: Line) -> None:
    text = REST | {"text": "a.py\n    1 class A", "tokens": 5, "budget": 100, "warnings": ["more is to be said."]}
    for route, asked in (("repomap", ("repomap", "--focus", "a.py")), ("context", ("context", "what", "is", "A"))):
        appliance.replies[f"GET /api/v1/{route}"] = Reply(text)
        ran = line(*asked)
        assert ran.out == "a.py\n    1 class A\n"
        assert ran.err.endswith("note: more is to be said.\nabout 5 of 100 tokens; " + READ)
    assert parse_qs(appliance.asked[-1].query)["question"] == ["what is A"]
