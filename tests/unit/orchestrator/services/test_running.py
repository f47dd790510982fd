import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.contracts.tools import Evidence, Json, ToolOutput
from appliance.errors import Cancelled, NotFound
from appliance.orchestrator.services.running import OutputBounds
from appliance.orchestrator.services.tool import ToolCall
from tests.support.calls import RUN, ScriptedTool, Stop, call, context, grants, never, serving_tools


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "global.db"


class _Broken:
    """What a tool may do instead of its work."""

    async def raises(self, arguments: Mapping[str, Json]) -> object:
        raise RuntimeError(f"password=hunter2hunter2 {arguments}")

    async def times_out_by_itself(self, arguments: Mapping[str, Json]) -> object:
        raise TimeoutError(str(arguments))

    async def gives_up(self, arguments: Mapping[str, Json]) -> object:
        raise asyncio.CancelledError(str(arguments))

    async def gives_nothing(self, arguments: Mapping[str, Json]) -> object:
        del arguments
        return None

    async def gives_a_dict(self, arguments: Mapping[str, Json]) -> object:
        return dict(arguments)

    async def gives_what_json_cannot_say(self, arguments: Mapping[str, Json]) -> object:
        return ToolOutput("x", data={"a": object(), **arguments})  # type: ignore[dict-item]

    async def is_refused(self, arguments: Mapping[str, Json]) -> object:
        raise NotFound("There is no such file.", remedy=f"Look again {arguments}.")


@pytest.mark.parametrize(
    ("way", "code"),
    [
        ("raises", "tool_failed"),
        ("times_out_by_itself", "tool_failed"),
        ("gives_up", "tool_failed"),
        ("gives_nothing", "tool_failed"),
        ("gives_a_dict", "tool_failed"),
        ("gives_what_json_cannot_say", "tool_failed"),
        ("is_refused", "not_found"),
    ],
)
def test_whatever_a_tool_does_its_call_ends_with_a_code(path: Path, way: str, code: str) -> None:
    with serving_tools(path, ScriptedTool(act=getattr(_Broken(), way))) as service:
        outcome = call(service)
        (row,) = service.audit.list()
    assert outcome.code == code
    assert "hunter2" not in outcome.text
    assert (row.outcome, row.code) == ("failed", code)


def test_a_tool_that_does_not_run_asynchronously_fails_and_says_so(path: Path) -> None:
    class Plain(ScriptedTool):
        def run(self, arguments: object, *, context: object) -> ToolOutput:  # type: ignore[override]
            del arguments, context
            return ToolOutput("x")

    with serving_tools(path, Plain()) as service:
        assert "async def" in call(service).text


def test_a_tool_that_never_returns_is_ended_even_where_it_will_not_stop(path: Path) -> None:
    async def stubborn(arguments: Mapping[str, Json]) -> object:
        try:
            return await never(arguments)
        except asyncio.CancelledError:
            return ToolOutput("I stayed")

    tools = [ScriptedTool(act=never, timeout_s=0.01), ScriptedTool("other", act=stubborn, timeout_s=0.01)]
    with serving_tools(path, *tools) as service:
        service.open_run(RUN, grants=grants("search", "other"))
        for name in ("search", "other"):
            outcome = call(service, name, given=grants("search", "other"))
            assert outcome.code == "deadline_exceeded"


def test_a_run_that_is_stopped_stops_its_calls_and_says_so_in_the_record(path: Path) -> None:
    stop = Stop()

    async def begun(arguments: Mapping[str, Json]) -> object:
        stop.stopped = True
        return await never(arguments)

    tool = ScriptedTool(act=begun)
    with serving_tools(path, tool) as service:
        service.open_run(RUN, grants=grants("search"))
        where = context(grants("search"), stop=stop)
        with pytest.raises(Cancelled):
            asyncio.run(service.execute_tool("search", {}, context=where))
        with pytest.raises(Cancelled):
            asyncio.run(service.execute_tools_parallel([ToolCall("search", {})] * 3, context=where))
        (row,) = service.audit.list()
    assert (row.outcome, row.code) == ("cancelled", "cancelled")
    assert len(tool.calls) == 1


def test_a_task_that_is_cancelled_leaves_a_record_and_no_tool_at_work(path: Path) -> None:
    ended: list[str] = []

    async def long(arguments: Mapping[str, Json]) -> object:
        try:
            return await never(arguments)
        finally:
            ended.append("ended")

    tool = ScriptedTool(act=long)
    with serving_tools(path, tool) as service:
        service.open_run(RUN, grants=grants("search"))

        async def main() -> None:
            task = asyncio.create_task(service.execute_tool("search", {}, context=context(grants("search"))))
            await tool.called.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        (row,) = service.audit.list()
    assert ended == ["ended"]
    assert row.outcome == "cancelled"


def _piece(repo: str = "repo_shop", text: str = "x") -> Evidence:
    return Evidence(repo, "shop", "a.py", 1, 1, "b" * 40, "c" * 40, text)


def test_an_output_is_bounded_and_says_what_was_cut(path: Path) -> None:
    long = ToolOutput("x" * 50, evidence=tuple(_piece(text="y" * 10) for _ in range(5)), warnings=("w",))
    with serving_tools(path, ScriptedTool(output=long)) as service:
        small = replace(service, bounds=OutputBounds(text=20, evidence=4, evidence_text=30))
        output = call(small).unwrap()
        assert call(service).unwrap() == long
    assert (output.text, len(output.evidence), output.cut) == ("x" * 20, 3, True)
    assert output.warnings == (
        "w",
        "The text was cut: 20 of 50 characters are here.",
        "Evidence was left out: 3 of 5 pieces are here.",
    )


def test_an_output_with_lines_of_another_repository_is_withheld_whole(path: Path) -> None:
    leak = ToolOutput("lines of the bank", evidence=(_piece(), _piece("repo_bank", "the bank's")))
    with serving_tools(path, ScriptedTool(output=leak)) as service:
        outcome = call(service)
    assert (outcome.code, outcome.output) == ("not_granted", None)
    assert "lines of the bank" not in outcome.text
