import pytest

from appliance.errors import Conflict, InvalidInput, NotFound
from appliance.orchestrator.services.registry import ToolRegistry
from tests.support.calls import Rule, ScriptedTool


def test_only_what_is_a_tool_is_registered_and_a_name_once() -> None:
    bad = [
        ScriptedTool,
        object(),
        ScriptedTool("Search"),
        ScriptedTool("a" * 65),
        ScriptedTool(timeout_s=0),
        ScriptedTool(effect="nuke"),  # type: ignore[arg-type]
        ScriptedTool("other", parameters={"type": "array"}),
    ]
    registry = ToolRegistry()
    registry.register(ScriptedTool())
    for tool in bad:
        with pytest.raises(InvalidInput):
            registry.register(tool)  # type: ignore[arg-type]
    with pytest.raises(Conflict):
        registry.register(ScriptedTool())
    with pytest.raises(InvalidInput):
        registry.add_rule(Rule)  # type: ignore[arg-type]
    assert [spec.name for spec in registry.specs] == ["search"]
    assert registry.get("search").spec.description == "Does search."
    with pytest.raises(NotFound, match="search"):
        registry.get("find")
