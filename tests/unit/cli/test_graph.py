import json
from urllib.parse import parse_qs

from tests.support.scripted_http import Reply, ScriptedServer
from tests.unit.cli.conftest import Line

FRESH = {"repo_name": "shop", "branch": "main", "commit": "c" * 40, "behind": 2, "left_out": 0, "vectors": 1.0}
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


def test_impact_says_how_far_away_by_what_and_how_sure(appliance: ScriptedServer, line: Line) -> None:
    near = {
        "path": "shop/cart.py", "start_line": 5, "symbol": "add", "via": "Price.total", "steps": 1, "confidence": 0.9,
        "test": False,
    }  # fmt: skip
    far = near | {"path": "tests/t.py", "symbol": "test_add", "via": "add", "steps": 2, "test": True}
    found = {key: value for key, value in FOUND.items() if key not in {"calls", "direction"}}
    appliance.replies["GET /api/v1/graph/impact"] = Reply(found | {"reached": [near, far], "tests": 1, "cut": False})
    ran = line("graph", "impact", "Price.total", "--steps", "2")
    assert ran.status == 0
    assert ran.out == (
        "Price.total  method, shop shop/prices.py:7\n"
        "  1  shop/cart.py:5  add  through Price.total  0.90\n"
        "  2  tests/t.py:5  test_add  through add  test  0.90\n"
        "note: 2 calls could not be told.\n"
        "2 of 3 places, 1 test among them (next: --offset 2); shop at main cccccccccc, 2 commits behind\n"
    )
    assert parse_qs(appliance.asked[-1].query)["steps"] == ["2"]


def test_json_is_what_the_api_says(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["GET /api/v1/graph/callers"] = Reply(FOUND)
    assert json.loads(line("graph", "callers", "x", "--json").out) == FOUND
