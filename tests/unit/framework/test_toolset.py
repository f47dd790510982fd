"""Claims about sets of tools: they hold names that exist, combine as sets do, and never change."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from appliance.contracts.tools import ToolSpec
from appliance.errors import InvalidInput
from appliance.framework.toolset import ToolSet, built_in
from appliance.orchestrator.fence import RULE
from appliance.orchestrator.runners import native
from appliance.orchestrator.runners.envelope import MOST_TOKENS, about_tokens, compact, envelope
from appliance.orchestrator.runners.prompts import preamble

PRESETS = ("default", "minimal", "full", "airgapped", "coding", "research")
SKILL = "You help a programmer with code. Be brief and exact, and say what you do not know."
OWN = ToolSpec("glossary", "Say what a word means.", {"type": "object"}, category="knowledge")


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_names_tools_that_are_registered(preset: str) -> None:
    tools: ToolSet = getattr(ToolSet, preset)()
    assert tools.names
    assert tools.names <= built_in().keys()
    assert {"search_code", "read_lines"} <= tools.names


@pytest.mark.parametrize("preset", PRESETS)
def test_what_stands_before_a_task_is_small_for_every_preset(preset: str) -> None:
    """Prompts of 3,000 tokens take a small model most of a minute before it says a word."""
    specs = [built_in()[name] for name in getattr(ToolSet, preset)()]
    assert about_tokens(preamble(specs, SKILL)) + about_tokens(compact(envelope(specs))) <= MOST_TOKENS
    assert about_tokens(f"{SKILL}\n{RULE}\n{native.instructions(specs)}") <= MOST_TOKENS


def test_the_default_reads_and_does_nothing_else() -> None:
    assert ToolSet.default().effects == {"read"}
    assert ToolSet.minimal() <= ToolSet.default() <= ToolSet.full()


def test_sets_combine() -> None:
    few = ToolSet.from_tools(["search_code", "callers"])
    assert few.names == {"search_code", "callers"}
    assert few.include("impact").names == {"search_code", "callers", "impact"}
    assert few.exclude_tools("callers").names == {"search_code"}
    assert few.include_category("git").names > {"search_code", "callers", "git_log"}
    assert (few | ToolSet.from_tools(["impact"])).names == {"search_code", "callers", "impact"}
    assert (few & ToolSet.from_tools(["callers", "impact"])).names == {"callers"}
    assert (few - ToolSet.from_tools(["callers"])).names == {"search_code"}
    assert list(few) == ["callers", "search_code"]
    assert ("callers" in few, "impact" in few, len(few)) == (True, False, 2)


@pytest.mark.parametrize("names", [5, None, [1], [["search_code"]], [None]])
def test_what_is_no_name_is_refused(names: Any) -> None:  # noqa: ANN401
    makes: list[Callable[[Any], ToolSet]] = [ToolSet.from_tools, ToolSet.from_categories]
    if isinstance(names, list):
        makes += [lambda each: ToolSet.minimal().include(*each), lambda each: ToolSet.minimal().exclude_tools(*each)]
    for make in makes:
        with pytest.raises(InvalidInput, match="name"):
            make(names)


def test_a_set_never_changes() -> None:
    tools = ToolSet.minimal()
    before = tools.names
    tools.include("callers")
    tools.exclude_tools("search_code")
    assert tools.names == before
    with pytest.raises(dataclasses.FrozenInstanceError):
        tools.names = frozenset()  # type: ignore[misc]


def test_sets_are_equal_when_their_names_are() -> None:
    wider = {**built_in(), "glossary": OWN}
    assert ToolSet.from_tools(["callers"], catalogue=wider) == ToolSet.from_tools(["callers"])
    assert len({ToolSet.minimal(), ToolSet.minimal()}) == 1


MISSPELT: dict[str, Callable[[], ToolSet]] = {
    "from_tools": lambda: ToolSet.from_tools(["serch_code"]),
    "include": lambda: ToolSet.default().include("serch_code"),
    "exclude_tools": lambda: ToolSet.default().exclude_tools("serch_code"),
    "over": lambda: ToolSet.from_tools(["search_code"]).over({}),
}


@pytest.mark.parametrize("how", MISSPELT)
def test_a_name_that_does_not_exist_is_refused_with_those_that_come_close(how: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        MISSPELT[how]()
    assert "search_code" in str(refused.value)


def test_a_category_that_does_not_exist_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidInput, match="graph"):
        ToolSet.from_categories(["grahp"])


def test_one_text_is_not_a_list_of_letters() -> None:
    with pytest.raises(InvalidInput, match="not several names"):
        ToolSet.from_tools("callers")


def test_a_plugin_s_tool_is_of_a_set_over_its_catalogue_and_never_of_the_airgapped() -> None:
    wider = {**built_in(), "glossary": OWN}
    assert "glossary" in ToolSet.default(catalogue=wider)
    assert "glossary" not in ToolSet.airgapped(catalogue=wider)
    assert "glossary" not in ToolSet.default()
