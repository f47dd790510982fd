"""What the tools answer, asked by the official client, which holds each answer against the tool's own schema."""

import asyncio
import json
from collections.abc import Mapping
from typing import cast

import pytest
from mcp_types import CallToolResult

from appliance.codeintel.query.impact import MOST_STEPS
from appliance.mcp import arguments
from appliance.mcp.catalogue import TOOLS
from appliance.mcp.pages import CHARACTERS_A_TOKEN
from appliance.mcp.toolbox import RUNS
from tests.support import planted
from tests.support.agents import error_of, found_in, over_http, text_of
from tests.support.house import until
from tests.unit.mcp.conftest import CALLS, LINES, Served

ARGUMENTS: Mapping[str, Mapping[str, object]] = {
    "search_code": {"query": "put parcel on shelf"},
    "read_lines": {"path": "store/shelf.py", "start_line": 4, "end_line": 6},
    "definition": {"name": "label_of"},
    "references": {"name": "label_of"},
    "callers": {"name": "label_of"},
    "callees": {"name": "Shelf.put"},
    "impact": {"name": "label_of"},
    "outline": {"path": "store/shelf.py"},
    "repomap": {"focus": ["store/"]},
    "ask": {"question": "Where is label_of defined?"},
}
NAMED = {
    "search_code": "store/shelf.py",
    "read_lines": "def label_of(parcel):",
    "definition": "def label_of(parcel):",
    "references": "self.parcels[label_of(parcel)]",
    "callers": "Shelf.put",
    "callees": "label_of",
    "impact": "Shelf.put",
    "outline": "def take(self, label)",
    "repomap": "def label_of(parcel)",
    "ask": "store/shelf.py",
}


def call(served: Served, tool: str, **given: object) -> CallToolResult:
    async def scenario() -> CallToolResult:
        async with over_http(served.port, served.key) as session:
            return await session.call_tool(tool, dict(given))

    return asyncio.run(scenario())


def size(result: CallToolResult) -> int:
    return len(text_of(result)) + len(json.dumps(found_in(result), separators=(",", ":"), ensure_ascii=False))


def dated(result: CallToolResult) -> CallToolResult | None:
    """Return *result* if every repository could be asked, in the short time that an answer gives it, how far it is."""
    index = found_in(result)["index"]
    return result if all(None not in (each["behind"], each["dirty"]) for each in index) else None  # type: ignore[attr-defined]


def walk(served: Served, tool: str, items: str, **given: object) -> list[dict[str, object]]:
    """Go through a list by its cursors, and return its pages."""

    async def scenario() -> list[dict[str, object]]:
        pages, cursor = [], ""
        async with over_http(served.port, served.key) as session:
            while True:
                result = await session.call_tool(tool, given | {"cursor": cursor})
                page = found_in(result)
                assert size(result) <= int(given.get("max_tokens", arguments.DEFAULT_TOKENS)) * CHARACTERS_A_TOKEN  # type: ignore[call-overload]
                assert page[items]
                assert (page["truncated"], bool(page["hint"])) == (bool(page["next_cursor"]),) * 2
                pages.append(page)
                cursor = str(page["next_cursor"])
                if not cursor:
                    return pages

    return asyncio.run(scenario())


def test_each_tool_of_the_catalogue_is_tried_here_and_does_something() -> None:
    assert set(TOOLS) == set(RUNS) == set(ARGUMENTS)
    assert arguments.MOST_STEPS == MOST_STEPS


def test_the_tools_are_told_of_with_what_a_model_needs_to_choose(served: Served) -> None:
    async def scenario() -> None:
        async with over_http(served.port, served.key) as session:
            listed = (await session.list_tools()).tools
            assert [tool.name for tool in listed] == list(TOOLS)
            for tool in listed:
                assert tool.description
                assert tool.annotations is not None
                assert tool.annotations.read_only_hint
                properties = tool.input_schema["properties"]
                needed = tool.input_schema.get("required", [])
                assert list(properties)[: len(needed)] == needed
                assert all(each["description"] for each in properties.values()), tool.name
                assert "$defs" not in tool.input_schema, "small models cannot follow references"
                assert len(json.dumps(tool.input_schema)) < 2_000

    asyncio.run(scenario())


@pytest.mark.parametrize("tool", ARGUMENTS)
def test_an_answer_says_the_same_in_both_forms_and_of_which_state_it_speaks(served: Served, tool: str) -> None:
    result = until(lambda: dated(call(served, tool, **ARGUMENTS[tool])))
    found, text = found_in(result), text_of(result)
    assert NAMED[tool] in text
    assert NAMED[tool] in json.dumps(found)
    info = served.services.generations.published(served.services.registry.repo("depot").id).info
    indexed = {each["repo"]: each for each in found["index"]}  # type: ignore[attr-defined]
    depot = indexed["depot"]
    assert (depot["commit"], depot["generation"], depot["behind"]) == (info.commit, info.id, 1)
    assert depot["dirty"], "nothing was checked out since the first commit"
    assert info.commit[:12] in text
    assert info.id in text
    assert "1 behind" in text
    assert found["complete"] is False, "the branch has moved on"
    assert any("not in the index" in each for each in found["warnings"])  # type: ignore[attr-defined]
    assert size(result) <= arguments.DEFAULT_TOKENS * CHARACTERS_A_TOKEN


def test_a_list_of_thousands_comes_in_pages_that_hold_each_entry_once(served: Served) -> None:
    pages = walk(served, "search_code", "hits", query="/^parcel number/", limit=100, max_tokens=12_000)
    seen = [(each["path"], each["start_line"]) for page in pages for each in page["hits"]]  # type: ignore[attr-defined]
    assert {page["total"] for page in pages} == {LINES}
    assert (len(seen), len(set(seen))) == (LINES, LINES)
    first = found_in(call(served, "search_code", query='content:"parcel number"', limit=60))
    assert (first["total"], first["truncated"], len(first["hits"])) == (LINES, True, 60)  # type: ignore[arg-type]
    assert "next_cursor" in str(first["hint"])


def test_calls_come_in_pages_too(served: Served) -> None:
    pages = walk(served, "callers", "calls", name="ping", limit=60)
    seen = [(each["path"], each["line"]) for page in pages for each in page["calls"]]  # type: ignore[attr-defined]
    assert {page["total"] for page in pages} == {CALLS}
    assert (len(seen), len(set(seen))) == (CALLS, CALLS)


def test_a_long_file_comes_in_pages_that_make_it_whole(served: Served) -> None:
    pages = walk(served, "read_lines", "text", path="store/long.txt", start_line=11)
    text = "\n".join(str(page["text"]) for page in pages)
    assert text == "\n".join(f"line {number} of the long file" for number in range(11, 3_001))
    assert len(pages) > 3
    assert pages[1]["start_line"] == int(str(pages[0]["end_line"])) + 1


def test_an_impact_says_what_git_changed_too_and_how_much_could_not_be_told(served: Served) -> None:
    result = call(served, "impact", name="label_of")
    found = found_in(result)
    (other,) = cast("list[dict[str, int | str]]", found["together"])
    assert other["path"] == "README.md"
    assert int(other["times"]) >= 2
    assert f"changed with it {other['times']} of {other['commits']} times: README.md" in text_of(result)
    assert 0 <= found["unresolved"] < 1  # type: ignore[operator]
    assert f"{found['unresolved']:.0%} of all calls could not be told" in text_of(result)


def test_search_results_and_outlines_come_in_pages_too(served: Served) -> None:
    pages = walk(served, "search_code", "hits", query="ping", limit=5, max_tokens=1_500)
    seen = [(each["path"], each["start_line"]) for page in pages for each in page["hits"]]  # type: ignore[attr-defined]
    assert len(seen) == len(set(seen)) == pages[0]["total"]
    outline = walk(served, "outline", "entries", path="store/shelf.py", limit=1)
    assert [each["symbol"] for page in outline for each in page["entries"]] == [  # type: ignore[attr-defined]
        "label_of", "Shelf", "Shelf.put", "Shelf.take"
    ]  # fmt: skip


@pytest.mark.parametrize("tool", [name for name in ARGUMENTS if name != "ask"])
def test_the_shortest_answer_keeps_to_its_length(served: Served, tool: str) -> None:
    wide = {"callers": "ping", "references": "ping", "impact": "ping"}
    given = dict(ARGUMENTS[tool]) | ({"name": wide[tool]} if tool in wide else {}) | {"max_tokens": arguments.LEAST_TOKENS}
    assert size(call(served, tool, **given)) <= arguments.LEAST_TOKENS * CHARACTERS_A_TOKEN


def test_a_line_of_thousands_of_characters_is_cut_and_says_so(served: Served) -> None:
    text = str(found_in(call(served, "read_lines", path="store/wide.txt"))["text"])
    assert text.endswith("more characters")
    assert len(text) < 2_100


def test_an_empty_file_has_no_lines(served: Served) -> None:
    found = found_in(call(served, "read_lines", path="store/empty.txt"))
    assert (found["lines"], found["total"], found["text"]) == (0, 0, "")


def test_a_name_that_is_not_utf_8_is_read_as_it_is_shown(served: Served) -> None:
    path = found_in(call(served, "definition", name="brewed"))["definitions"][0]["path"]  # type: ignore[index]
    assert path == "caf\\xe9.py"
    assert "def brewed()" in str(found_in(call(served, "read_lines", path=path))["text"])
    assert found_in(call(served, "outline", path=path))["total"] == 1


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("read_lines", {"path": "src/settings.py"}),
        ("search_code", {"query": "/ACCESS|SESSION|password|Connect/"}),
        ("search_code", {"query": "settings password connection"}),
        ("definition", {"name": "src/settings.ACCESS"}),
        ("outline", {"path": "src/settings.py"}),
        ("repomap", {"focus": ["src/settings.py"]}),
        ("ask", {"question": "Which password does the settings file connect to the database with?"}),
    ],
)
def test_secrets_in_files_are_told_by_no_tool(served: Served, tool: str, given: dict[str, object]) -> None:
    result = call(served, tool, **given)
    told = text_of(result) + json.dumps(found_in(result))
    assert "settings" in told
    assert not [secret for secret in planted.SECRETS if secret in told]


def test_a_file_that_the_index_leaves_out_is_not_read_and_the_reason_is_told(served: Served) -> None:
    for path, reason in ((".env", "secret"), ("logo.png", "binary")):
        for tool in ("read_lines", "outline"):
            result = call(served, tool, path=path)
            assert error_of(result) == "not_found"
            assert f"leaves out '{path}': {reason}." in text_of(result)


def test_lines_are_of_the_indexed_commit_and_of_no_other(served: Served) -> None:
    commit = served.services.generations.published(served.services.registry.repo("depot").id).info.commit
    for given in ("", commit, commit[:12]):
        found = found_in(call(served, "read_lines", path="README.md", repo="depot", commit=given))
        assert (found["text"], found["commit"]) == ("# Parcels", commit)
    for other in ("0" * 40, commit[:4], "HEAD", "main"):
        result = call(served, "read_lines", path="README.md", repo="depot", commit=other)
        assert error_of(result) == "conflict"
        assert commit in text_of(result)


def test_what_is_meant_can_be_said_by_a_place(served: Served) -> None:
    found = found_in(call(served, "definition", name="put", path="store/shelf.py", line=12))
    assert [each["symbol"] for each in found["definitions"]] == ["Shelf.put"]  # type: ignore[attr-defined]
    assert error_of(call(served, "definition", name="put", line=12)) == "invalid_input"


def test_a_model_may_send_strings_for_numbers_one_word_for_a_list_and_null_for_nothing(served: Served) -> None:
    found = found_in(call(served, "search_code", query="parcel", limit="1", repos="depot", cursor=None, project=None))
    assert len(found["hits"]) == 1  # type: ignore[arg-type]


def test_questions_get_evidence_alone_unless_prose_is_asked_for(served: Served) -> None:
    question = "How does a parcel get on the shelf under its label?"
    plain = found_in(call(served, "ask", question=question))
    assert (plain["kind"], plain["sentences"], plain["no_prose"]) == ("evidence", [], "")
    prose = call(served, "ask", question=question, prose=True)
    assert found_in(prose)["kind"] == "prose"
    assert "which may be wrong" in text_of(prose)
    assert "Shelf.put` puts the parcel" in text_of(prose)


@pytest.mark.parametrize("max_tokens", [800, 12_000])
def test_evidence_is_shortened_to_the_length_that_was_asked_for(served: Served, max_tokens: int) -> None:
    result = call(served, "ask", question="Where does ping get its number, on which shelf?", max_tokens=max_tokens)
    assert size(result) <= max_tokens * CHARACTERS_A_TOKEN
    assert found_in(result)["evidence"]
    if max_tokens == 800:
        assert found_in(result)["truncated"]
