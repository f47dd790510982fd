"""Calls of tools that ``skellig mcp`` hands on: to our appliance alone, and never without a reply."""

import asyncio
import json
import os

import pytest

from appliance.base.paths import DataPaths
from appliance.cli import place
from appliance.cli.relay import Relay
from appliance.mcp.replies import Reply as Told
from tests.support.scripted_http import Reply, ScriptedServer, problem
from tests.unit.cli.conftest import Line

FOUND = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {"content": [{"type": "text", "text": "found"}], "structuredContent": {"n": 1}},
}
FAILED = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {
        "content": [{"type": "text", "text": "error: no [not_found]"}],
        "isError": True,
        "_meta": {"skellig/error": {"code": "not_found"}},
    },
}
STEP = {
    "jsonrpc": "2.0",
    "method": "notifications/progress",
    "params": {"progressToken": 1, "progress": 2, "message": "half"},
}


def stream(*messages: object) -> Reply:
    body = "".join(f"event: message\r\ndata: {json.dumps(message)}\r\n\r\n" for message in messages)
    return Reply(body.encode(), content_type="text/event-stream")


def called(line: Line, tool: str = "search_code") -> tuple[Told, list[tuple[int, str]]]:
    steps: list[tuple[int, str]] = []

    async def tell(number: int, words: str) -> None:
        steps.append((number, words))

    return asyncio.run(Relay(DataPaths(line.data))(tool, {"query": "secret words"}, tell)), steps


def code_of(told: Told) -> object:
    return None if told.error is None else told.error["code"]


def test_a_call_is_one_request_to_the_appliance_with_its_key(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["POST /mcp"] = Reply(FOUND)
    told, steps = called(line)
    assert (told, steps) == (Told("found", structured={"n": 1}), [])
    (asked,) = appliance.asked
    assert asked.headers["authorization"] == "Bearer the-key"
    sent = json.loads(asked.body)["params"]
    assert (sent["name"], sent["arguments"]) == ("search_code", {"query": "secret words"})


def test_progress_on_the_way_is_handed_on(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["POST /mcp"] = stream(STEP, FOUND)
    told, steps = called(line)
    assert (told.text, steps) == ("found", [(2, "half")])


@pytest.mark.parametrize(
    ("reply", "code", "said"),
    [
        (Reply(FAILED), "not_found", "error: no [not_found]"),
        (Reply(problem("forbidden", "No."), status=403, content_type="application/problem+json"), "forbidden", "No."),
        (stream(STEP), "unavailable", "broke off in the middle"),
        (stream(), "unavailable", "broke off in the middle"),
        (Reply(b"<html>", content_type="text/html"), "unavailable", "broke off"),
        (Reply(b"{", content_type="application/json"), "unavailable", "broke off"),
        (Reply(b"\xff"), "unavailable", "broke off"),
        (Reply({"jsonrpc": "2.0", "id": 1, "result": {"content": 5}}), "unavailable", "broke off"),
        (Reply({"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "Bad."}}), "unavailable", "Bad."),
    ],
)
def test_whatever_comes_back_is_a_reply(appliance: ScriptedServer, line: Line, reply: Reply, code: str, said: str) -> None:
    appliance.replies["POST /mcp"] = reply
    told, _ = called(line)
    assert code_of(told) == code
    assert said in told.text


def test_a_tool_that_does_not_exist_is_not_asked_for(appliance: ScriptedServer, line: Line) -> None:
    told, _ = called(line, "shell\r\nx: y")
    assert code_of(told) == "not_found"
    assert not appliance.asked


def test_while_nothing_runs_a_call_says_how_to_start(line: Line) -> None:
    told, _ = called(line)
    assert told.text == "error: Skellig is not running. Start it with: skellig up [unavailable]"


def test_whoever_took_the_port_of_an_appliance_gets_neither_key_nor_question(appliance: ScriptedServer, line: Line) -> None:
    appliance.key = ""
    told, _ = called(line)
    assert code_of(told) == "unavailable"
    assert f"(process {os.getpid()})" in told.text
    assert [(asked.method, asked.path) for asked in appliance.asked] == [("GET", "/api/v1/identity")]
    assert "secret" not in f"{appliance.asked[0]}"
    assert "the-key" not in f"{appliance.asked[0]}"


def test_it_follows_the_appliance_to_wherever_that_is_now(appliance: ScriptedServer, line: Line) -> None:
    """An editor runs for days, and the appliance is started anew meanwhile: elsewhere, perhaps with another key."""
    appliance.replies["POST /mcp"] = Reply(FOUND)
    paths = DataPaths(line.data)
    relay = Relay(paths)

    async def silent(number: int, words: str) -> None:
        del number, words

    async def scenario() -> list[str]:
        where = place.read(paths)
        assert where is not None
        first = await relay("search_code", {}, silent)
        place.forget(paths)
        second = await relay("search_code", {}, silent)
        (paths.run / "cli.key").write_text("another-key\n")
        appliance.key = "another-key"
        place.write(where, paths=paths)
        third = await relay("search_code", {}, silent)
        return [first.text, second.text[:30], third.text]

    assert asyncio.run(scenario()) == ["found", "error: Skellig is not running.", "found"]
    assert appliance.asked[-1].headers["authorization"] == "Bearer another-key"
