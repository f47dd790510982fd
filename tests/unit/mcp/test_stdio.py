"""``skellig mcp`` as editors start it: a process of its own that speaks the protocol and nothing else."""

import asyncio
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from appliance.base.paths import DataPaths
from appliance.cli import place
from appliance.cli.wire import LONGEST_LINE, Lines
from appliance.mcp.catalogue import TOOLS
from tests.support.agents import command, error_of, found_in, over_stdio, text_of
from tests.support.house import until
from tests.unit.mcp.conftest import Served

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
QUESTION = {"question": "How does a parcel get on the shelf under its label?", "prose": True}


def test_an_editor_asks_waits_gives_up_and_outlives_the_appliance(served: Served, tmp_path: Path) -> None:
    """One long walk, because each start of a process takes a second."""
    paths: DataPaths = served.services.paths

    async def scenario() -> None:
        told: list[str] = []

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            del progress, total
            told.append(message or "")

        with (tmp_path / "errors").open("w+") as errors:
            async with over_stdio(command(paths.root), errors=errors) as session:
                assert [tool.name for tool in (await session.list_tools()).tools] == list(TOOLS)
                found = found_in(await session.call_tool("callers", {"name": "label_of"}))
                assert found["total"] == 1
                assert error_of(await session.call_tool("read_lines", {"path": "../x"})) == "unsafe_path"
                result = await session.call_tool("ask", QUESTION, progress_callback=tell)
                assert "Shelf.put" in text_of(result)
                assert [each.startswith("`Shelf.put`") for each in told] == [False, True]

                served.chat.held = True
                asking = asyncio.create_task(session.call_tool("ask", QUESTION))
                await asyncio.to_thread(until, lambda: served.chat.open)
                asking.cancel()
                await asyncio.to_thread(until, lambda: not served.chat.open)
                served.chat.held = False

                where = place.read(paths)
                assert where is not None
                place.forget(paths)
                gone = await session.call_tool("callers", {"name": "label_of"})
                place.write(where, paths=paths)
                assert "Start it with: skellig up" in text_of(gone)
                assert error_of(gone) == "unavailable"
                again = await asyncio.gather(*(session.call_tool("definition", {"name": f"spoke{n}"}) for n in range(10)))
                assert ["def spoke7" in text_of(each) for each in again].index(True) == 7
            errors.seek(0)
            assert errors.read() == ""

    asyncio.run(scenario())


def test_nothing_but_the_protocol_is_said_whatever_comes_in_and_the_end_of_input_is_the_end(served: Served) -> None:
    """The call that is being answered when the input ends is given up: nobody reads what would come of it."""
    served.chat.held = True
    ask = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "ask", "arguments": QUESTION}}
    lines: list[object] = [
        b"", b"{", b"\xff\xfe", b"null", b"[]", b"[" * 10_000, b"x" * 1_000_000, HELLO, READY, b'{"jsonrpc": "2.0"}',
        b"x" * (LONGEST_LINE + 1), {**HELLO, "id": "far", "method": "x" * LONGEST_LINE},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, {"jsonrpc": "2.0", "id": 9, "method": "no/such"},
    ]  # fmt: skip
    argv = [sys.executable, "-m", "appliance", "--data", str(served.services.paths.root), "mcp"]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdin is not None
        for line in [*lines, ask]:
            process.stdin.write((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")
        process.stdin.flush()
        until(lambda: served.chat.open)
        out, err = process.communicate(timeout=20)
    finally:
        served.chat.held = False
        process.kill()
    assert (process.returncode, err) == (0, b"")
    said = [json.loads(line) for line in out.splitlines()]
    assert all(each["jsonrpc"] == "2.0" for each in said)
    answers = {each["id"]: each for each in said if each.get("id") is not None}
    assert answers[1]["result"]["serverInfo"]["name"] == "skellig"
    assert len(answers[2]["result"]["tools"]) == len(TOOLS)
    assert answers[9]["error"]["code"] == -32601
    assert "more than 1,000,000 characters" in answers["far"]["error"]["message"], "else its sender would wait for ever"
    nobodys = [each["error"]["code"] for each in said if each.get("id") is None]
    assert nobodys == [-32700] * 8, "one for each line that is no message"
    until(lambda: not served.chat.open)


@pytest.mark.parametrize("length", [LONGEST_LINE - 1, LONGEST_LINE, LONGEST_LINE + 1, 3 * LONGEST_LINE])
@pytest.mark.parametrize("end", ["\n", ""])
def test_a_line_of_any_length_is_held_within_bounds_and_harms_no_other(length: int, end: str) -> None:
    """An editor that sends a line without an end would otherwise have us keep all of it."""
    lines = Lines(io.BytesIO(f"first\n\n{'x' * length}{end}".encode()))
    assert lines.readline() == "first\n"
    kept = lines.readline()
    assert len(kept.rstrip("\n")) == (length if length <= LONGEST_LINE else 200)
    assert lines.readline() == ""


def test_what_speaks_the_protocol_is_loaded_by_nobody_who_does_not_need_it() -> None:
    """It takes half a second and 25 MB: neither the command line nor an appliance without editors pays that."""
    names = "[name for name in sys.modules if name.split('.')[0] in {'mcp', 'mcp_types', 'starlette'}]"
    look = f"import sys, appliance.server, appliance.cli.main; print({names})"
    found = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
