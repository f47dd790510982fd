"""What the tools do not do, and how they say so: with a code, a reason and the next step, never with an empty list."""

import asyncio
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from mcp_types import CallToolResult

from appliance.codeintel.offers import Graphing
from appliance.codeintel.results import DefinitionsResponse, Scope, Subject
from appliance.mcp.replies import Reply
from appliance.mcp.toolbox import Toolbox
from appliance.services import Services
from tests.support.agents import error_of, over_http, text_of
from tests.support.appliance import make_services, working
from tests.support.repos import commit, make_repo
from tests.unit.mcp.conftest import Served, add, settle

WRONG: Mapping[str, tuple[str, Mapping[str, object], str]] = {
    "no such tool": ("shell", {}, "not_found"),
    "a tool with an endless name": ("x" * 5_000, {}, "not_found"),
    "nothing given": ("search_code", {}, "invalid_input"),
    "an unknown argument": ("search_code", {"query": "x", "shell": "rm"}, "invalid_input"),
    "a query that is too long": ("search_code", {"query": "x" * 100_000}, "invalid_input"),
    "a query of punctuation": ("search_code", {"query": "!!! ???"}, "invalid_input"),
    "an unknown filter": ("search_code", {"query": "nope:x y"}, "invalid_input"),
    "a list for a word": ("search_code", {"query": ["a", "b"]}, "invalid_input"),
    "an object for a number": ("search_code", {"query": "x", "limit": {"a": 1}}, "invalid_input"),
    "a limit that is too large": ("search_code", {"query": "x", "limit": 10**30}, "invalid_input"),
    "a negative limit": ("callers", {"name": "ping", "limit": -1}, "invalid_input"),
    "an answer of no length": ("ask", {"question": "x", "max_tokens": 0}, "invalid_input"),
    "many repositories": ("search_code", {"query": "x", "repos": ["a"] * 1_000}, "invalid_input"),
    "an unknown project": ("search_code", {"query": "x", "project": "nope"}, "not_found"),
    "an unknown repository": ("search_code", {"query": "x", "repos": ["nope"]}, "not_found"),
    "an unknown name": ("callers", {"name": "pingg"}, "not_found"),
    "an unknown name to define": ("definition", {"name": "nowhere_at_all"}, "not_found"),
    "no file of that name": ("read_lines", {"path": "store/shelve.py"}, "not_found"),
    "a file that the index leaves out": ("read_lines", {"path": "logo.png"}, "not_found"),
    "a file of several repositories": ("read_lines", {"path": "README.md"}, "invalid_input"),
    "a way out": ("read_lines", {"path": "../../etc/passwd"}, "unsafe_path"),
    "a way out in the middle": ("outline", {"path": "store/../../x"}, "unsafe_path"),
    "an absolute path": ("read_lines", {"path": "/etc/passwd"}, "unsafe_path"),
    "a NUL in a path": ("read_lines", {"path": "store/shelf.py\0.png"}, "unsafe_path"),
    "a way out beside a name": ("definition", {"name": "x", "path": "../x", "line": 1}, "unsafe_path"),
    "an endless path": ("read_lines", {"path": "a/" * 5_000}, "invalid_input"),
    "lines behind the end": ("read_lines", {"path": "store/shelf.py", "start_line": 1_000}, "invalid_input"),
    "lines backwards": ("read_lines", {"path": "store/shelf.py", "start_line": 9, "end_line": 3}, "invalid_input"),
    "line 0": ("read_lines", {"path": "store/shelf.py", "start_line": 0}, "invalid_input"),
    "a cursor that is none": ("search_code", {"query": "x", "cursor": "!!"}, "invalid_input"),
    "a cursor of our form with nonsense": ("search_code", {"query": "x", "cursor": "YS5iLmM"}, "invalid_input"),
    "too many steps": ("impact", {"name": "ping", "steps": 1_000}, "invalid_input"),
    "a question without words": ("ask", {"question": " . "}, "invalid_input"),
}


@pytest.mark.parametrize(("tool", "given", "code"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_done_is_an_error_with_a_code_and_a_next_step(
    served: Served, tool: str, given: Mapping[str, object], code: str
) -> None:
    async def scenario() -> CallToolResult:
        async with over_http(served.port, served.key) as session:
            return await session.call_tool(tool, dict(given))

    result = asyncio.run(scenario())
    assert error_of(result) == code
    assert len(text_of(result)) < 1_500, "what was sent is not sent back"
    assert result.meta is not None
    assert result.meta["skellig/error"]["remedy"], text_of(result)


def asked(services: Services, tool: str, **given: object) -> Reply:
    async def silent(number: int, words: str) -> None:
        del number, words

    return asyncio.run(Toolbox(services)(tool, given, silent))


def code_of(reply: Reply) -> object:
    return None if reply.error is None else reply.error["code"]


def structured(reply: Reply) -> Mapping[str, object]:
    assert reply.structured is not None, reply.text
    return reply.structured


def test_a_cursor_does_not_go_on_with_another_question_or_another_index(tmp_path: Path) -> None:
    source = make_repo(tmp_path, {f"m{n}.py": f"def part{n}():\n    return helper()\n" for n in range(5)}, name="r")
    commit(source, {"helper.py": "def helper():\n    return 1\n"})
    with closing(make_services(tmp_path / "data")) as services:
        add(services, source)
        settle(services)
        first = structured(asked(services, "search_code", query="helper", limit=2))
        cursor = first["next_cursor"]
        assert code_of(asked(services, "search_code", query="part3", limit=2, cursor=cursor)) == "invalid_input"
        assert code_of(asked(services, "callers", name="helper", cursor=cursor)) == "invalid_input"
        assert structured(asked(services, "search_code", query="helper", limit=1, cursor=cursor))["hits"]
        commit(source, {"more.py": "def more():\n    return helper()\n"})
        services.index(services.registry.repo("r").id)
        settle(services)
        refused = asked(services, "search_code", query="helper", limit=2, cursor=cursor)
        assert code_of(refused) == "conflict"
        assert "Ask anew without the cursor" in refused.text


def test_an_index_that_must_not_be_behind_is_waited_for_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = make_repo(tmp_path, {"a.py": "def first():\n    return 1\n"}, name="r")
    with closing(make_services(tmp_path / "data")) as services:
        add(services, source)
        settle(services)
        commit(source, {"b.py": "def second():\n    return 2\n"})
        assert code_of(asked(services, "definition", name="second")) == "not_found"
        monkeypatch.setattr("appliance.mcp.tools.asked._WAIT_S", 0.1)
        assert code_of(asked(services, "definition", name="second", max_behind=0)) == "stale", "nobody works"
        monkeypatch.setattr("appliance.mcp.tools.asked._WAIT_S", 60.0)
        with working(services):
            found = structured(asked(services, "definition", name="second", max_behind=0))
        assert (found["total"], found["complete"]) == (1, True)


def test_a_list_that_is_empty_because_something_is_missing_says_so(tmp_path: Path) -> None:
    """Agents take an empty list for a fact."""
    source = make_repo(tmp_path, {"a.py": "def alone():\n    return 1\n", "b.go": "package b\n"}, name="r")
    with closing(make_services(tmp_path / "data")) as services:
        add(services, source)
        lease = services.jobs.lease(worker="t", kinds=["index"], seconds=60)
        assert lease is not None
        services.jobs.complete(lease)
        assert code_of(asked(services, "search_code", query="alone")) == "not_found", "nothing is indexed yet"
        services.index(services.registry.repo("r").id)
        settle(services)
        whole = structured(asked(services, "callers", name="alone"))
        assert (whole["total"], whole["complete"]) == (0, True)
        add(services, make_repo(tmp_path, {"z.py": "z = 1\n"}, name="later"))
        partly = asked(services, "callers", name="alone")
        assert (structured(partly)["total"], structured(partly)["complete"]) == (0, False)
        assert partly.text.startswith("function alone is defined")
        assert "not everything could be looked at" in partly.text
        assert any("later is not indexed yet" in str(each) for each in structured(partly)["warnings"])  # type: ignore[attr-defined]


def test_a_repository_that_has_vanished_leaves_lines_unread_and_says_why(tmp_path: Path) -> None:
    source = make_repo(tmp_path, {"a.py": "def alone():\n    return 1\n"}, name="r")
    with closing(make_services(tmp_path / "data")) as services:
        add(services, source)
        settle(services)
        source.rename(tmp_path / "gone")
    with closing(make_services(tmp_path / "data")) as services:
        found = asked(services, "search_code", query="alone")
        assert structured(found)["complete"] is False
        assert "cannot be read now" in found.text
        assert "(not verified)" in found.text
        assert "may be behind, may be dirty" in found.text, "nobody could tell"
        assert code_of(asked(services, "read_lines", path="a.py")) == "not_found"


class Broken:
    """A part of the appliance with a fault of ours in it."""

    async def definition(self, subject: Subject, *, scope: Scope, limit: int = 50, offset: int = 0) -> DefinitionsResponse:
        del subject, scope, limit, offset
        raise ZeroDivisionError("secret/path/of/ours")


def test_a_fault_of_ours_tells_nothing_of_our_insides_and_is_counted(served: Served) -> None:
    broken = replace(served.services, graphs=cast("Graphing", Broken()))
    reply = asked(broken, "definition", name="x")
    assert code_of(reply) == "internal"
    assert "secret" not in reply.text
    counts = served.services.metrics.text().decode()
    assert 'skellig_tools_total{outcome="internal",tool="definition"} 1.0' in counts


def test_calls_of_tools_are_counted_by_outcome_and_never_by_what_strangers_call_them(served: Served) -> None:
    asked(served.services, "callers", name="ping")
    asked(served.services, "callers", name="nope_nope")
    asked(served.services, "x" * 100)
    counts = served.services.metrics.text().decode()
    for labels in (
        'outcome="ok",tool="callers"',
        'outcome="not_found",tool="callers"',
        'outcome="not_found",tool="unknown"',
    ):
        assert f"skellig_tools_total{{{labels}}}" in counts
    assert 'skellig_tool_seconds_count{tool="callers"}' in counts
    assert "xxx" not in counts
