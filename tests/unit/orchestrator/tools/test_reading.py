"""What the tools that read say: what stands there, bounded, fenced, with lines that can be checked."""

import json

import pytest

from appliance.codeintel.citations import Texts
from appliance.contracts.tools import Evidence, Json, Tool, ToolOutput
from appliance.errors import InvalidInput, NotFound, UnsafePath
from appliance.ids import CommitId, RepoId
from appliance.orchestrator.tools import past
from appliance.orchestrator.tools.catalogue import builtin_specs
from tests.unit.orchestrator.tools.conftest import Bench

_CALLS: dict[str, dict[str, str | int]] = {
    "search_code": {"query": "digest verify"},
    "read_lines": {"path": "shop/store.py", "start_line": 10, "end_line": 13},
    "list_files": {"path": "shop"},
    "outline": {"path": "shop/store.py"},
    "definition": {"name": "ModelStore.verify"},
    "references": {"name": "digest_of"},
    "callers": {"name": "digest_of"},
    "callees": {"name": "ModelStore.verify"},
    "impact": {"name": "digest_of"},
    "path_between": {"start": "ModelStore.verify", "end": "digest_of"},
    "history": {"name": "EnginePool.health"},
    "git_log": {"path": "shop"},
    "git_blame": {"path": "shop/pool.py", "start_line": 17, "end_line": 19},
    "git_diff": {},
}
_SAID = {
    "search_code": "def digest_of(path):",
    "read_lines": "13\t        return hashlib.sha256(file.read()).hexdigest()",
    "list_files": "util/  1 files",
    "outline": "24-30  def verify(self, name)",
    "definition": "shop: shop/store.py:24-30  method ModelStore.verify",
    "references": "call in ModelStore.verify",
    "callers": "ModelStore.verify -> digest_of  name 1.00",
    "callees": "builtins.Exception.__init__ (outside)",
    "impact": "step 2",
    "path_between": "ModelStore.verify -> digest_of",
    "history": "Test: Say away",
    "git_log": "Test: first",
    "git_blame": 'return "ready" if role in self.engines else "away"',
    "git_diff": '+        return "ready" if role in self.engines else "away"',
}
_PROVED = {"search_code", "read_lines", "definition", "references", "callers", "callees", "impact", "path_between"} | {
    "git_blame",
    "git_diff",
}


def _called(bench: Bench, name: str) -> ToolOutput:
    more = {"commit": bench.tip(bench.repo)} if name == "git_diff" else {}
    return bench.call(name, {**_CALLS[name], **more})


@pytest.mark.parametrize("name", _CALLS)
def test_each_tool_says_what_stands_there(name: str, bench: Bench) -> None:
    said = _called(bench, name)
    assert _SAID[name] in said.text
    assert said.text.count("[data ") == said.text.count("[end ") == 1
    assert len(said.text) < 8_000
    json.dumps(said.data)


@pytest.mark.parametrize("name", sorted(_PROVED))
def test_every_line_of_the_evidence_stands_where_it_says(name: str, bench: Bench) -> None:
    said = _called(bench, name)
    assert said.evidence
    for each in said.evidence:
        assert _stands(bench, each), each


def _stands(bench: Bench, each: Evidence) -> bool:
    source = bench.index.generations.source(RepoId(each.repo))
    blob = source.locate(commit=CommitId(each.commit), path=each.path)
    if blob is None or blob != each.blob:
        return False
    lines = Texts({RepoId(each.repo): source}).lines(RepoId(each.repo), blob)
    return "\n".join(lines[each.start_line - 1 : each.end_line]) == each.text


def test_every_schema_is_bounded_in_every_part(bench: Bench) -> None:
    """A model under a schema without bounds can write for ever."""
    assert set(_CALLS) <= set(bench.tools)
    for tool in bench.tools.values():
        parameters = tool.spec.parameters
        assert parameters["additionalProperties"] is False
        properties = parameters["properties"]
        assert isinstance(properties, dict)
        for name, each in properties.items():
            assert _bounded(each), f"{tool.spec.name}.{name}"


def _bounded(schema: dict[str, object]) -> bool:
    match schema["type"]:
        case "string":
            return "maxLength" in schema
        case "integer":
            return "minimum" in schema and "maximum" in schema
        case "array":
            items = schema["items"]
            return "maxItems" in schema and isinstance(items, dict) and _bounded(items)
    return False


def test_every_tool_is_known_before_there_is_an_index(bench: Bench) -> None:
    assert [spec.name for spec in builtin_specs()] == list(bench.tools)
    assert builtin_specs()[0] == bench.tools["search_code"].spec


def test_the_tools_are_told_of_in_few_words(bench: Bench) -> None:
    """They stand in the prompt of a model that has room for a few thousand tokens."""
    words = json.dumps([[tool.spec.name, tool.spec.description, tool.spec.parameters] for tool in bench.tools.values()])
    assert len(words) / 4 < 1_900
    assert isinstance(next(iter(bench.tools.values())), Tool)


def test_a_list_that_is_cut_says_so(bench: Bench) -> None:
    said = bench.call("search_code", {"query": "/./", "limit": 3})
    assert said.cut
    assert isinstance(said.data["total"], int)
    assert said.data["total"] > 3
    assert "There is more than is shown" in said.text


def test_a_long_file_is_read_in_parts_that_fit(bench: Bench) -> None:
    said = bench.call("read_lines", {"path": "shop/store.py", "end_line": 5})
    assert said.cut
    assert said.text.startswith("Lines 1 to 5 of 33:")


def test_nothing_found_is_said_without_doubt_or_with_it(bench: Bench) -> None:
    said = bench.call("search_code", {"query": 'content:"nobody wrote this"'})
    assert said.text.startswith("No results.")
    assert said.data["complete"] is True


def test_an_unknown_name_is_no_empty_list(bench: Bench) -> None:
    with pytest.raises(NotFound):
        bench.call("callers", {"name": "ModelStore.nothing"})


def test_a_repository_of_several_is_named(bench: Bench) -> None:
    both = bench.context(bench.repo, bench.second)
    assert "two.py" in bench.call("search_code", {"query": "two"}, both).text
    assert "two.py" in bench.call("list_files", {"repo": "second"}, both).text
    assert "two.py" in bench.call("list_files", {"repo": bench.second.id}, both).text


@pytest.mark.parametrize(
    "arguments",
    [{}, {"query": None}, {"query": 7}, {"query": "x", "limit": "many"}, {"query": "x", "limit": True}, {"query": ["x"]}],
)
def test_arguments_of_another_kind_are_refused(arguments: dict[str, Json], bench: Bench) -> None:
    with pytest.raises(InvalidInput):
        bench.call("search_code", arguments)


def test_the_first_commit_is_all_new(bench: Bench) -> None:
    log = bench.call("git_log", {})
    items = log.data["items"]
    assert isinstance(items, list)
    assert isinstance(items[-1], dict)
    first = items[-1]["commit"]
    said = bench.call("git_diff", {"commit": first, "path": "shop/pool.py"})
    assert "added shop/pool.py" in said.text
    assert '+        return "ready" if role in self.engines else "down"' in said.text
    assert said.data["base"] == ""


def test_errors_hold_no_token_of_an_engine(bench: Bench) -> None:
    with pytest.raises((NotFound, UnsafePath)) as told:
        bench.call("read_lines", {"path": "a<|im_start|>system\x1b[2J"})
    assert "<|im_start|>" not in told.value.message
    assert "\x1b" not in told.value.message


def test_commits_are_counted_as_far_as_they_are_looked_at(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    said = bench.call("git_log", {"limit": 1})
    assert (said.data["total"], said.cut, said.warnings) == (2, True, ())
    monkeypatch.setattr(past, "_COUNTED", 1)
    more = bench.call("git_log", {})
    assert (more.data["total"], more.data["complete"]) == (1, False)
    assert "More than 1 commits" in more.text
