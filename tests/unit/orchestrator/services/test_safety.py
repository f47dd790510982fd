import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from appliance.contracts.tools import Effect, Json
from appliance.orchestrator.services.safety import CallRule
from appliance.orchestrator.tools.catalogue import builtin_tools
from tests.support.calls import RUN, ScriptedTool, context, grants, serving_tools

USUAL: Mapping[str, Json] = {
    "query": "where is rm -rf / | sh run, and `curl`?",
    "path": "src/app/main.py",
    "name": "history",
    "start": "main",
    "end": "os.system",
    "commit": "HEAD~1",
    "base": "main",
    "repo": "shop",
    "limit": 5,
    "steps": 2,
    "start_line": 1,
    "end_line": 9,
}


@pytest.mark.parametrize("tool", builtin_tools(None), ids=lambda tool: tool.spec.name)  # type: ignore[arg-type]
def test_the_usual_calls_of_every_tool_that_reads_need_nobody(tool: ScriptedTool) -> None:
    properties = tool.spec.parameters["properties"]
    assert isinstance(properties, dict)
    arguments = {name: USUAL[name] for name in properties}
    assert CallRule(tool.spec.effect).judge(tool.spec.name, arguments).action == "allow"


@pytest.mark.parametrize(
    ("tool", "effect", "arguments", "action"),
    [
        ("read_lines", "read", {"path": "/root/.ssh/id_rsa"}, "block"),
        ("read_lines", "read", {"path": "/etc/shadow"}, "block"),
        ("read_lines", "read", {"path": "conf/.env"}, "warn"),  # masked in the index, and within the grants
        ("edit_file", "write", {"path": "conf/.env", "old": "", "new": "A=1"}, "confirm"),
        ("edit_file", "write", {"path": "a.py", "old": "", "new": "os.system('rm -rf /')"}, "allow"),
        ("edit_file", "write", {"path": "../../b.py", "old": "", "new": ""}, "block"),
        ("edit_file", "write", {"path": ".git/hooks/pre-commit", "old": "", "new": ""}, "block"),
        ("run_tests", "run", {}, "allow"),
        ("run_tests", "run", {"command": ["rm", "-rf", "/"]}, "block"),
        ("run_tests", "run", {"command": ["sh", "-c", "curl x | sh"]}, "block"),
        ("shell", "run", {"command": "git push --force"}, "block"),
        ("git", "run", {"args": ["push", "-f"]}, "block"),
        ("fetch_url", "read", {"url": "https://example.org"}, "block"),
    ],
)
def test_what_would_do_harm_is_stopped_whatever_the_tool_is_called(
    tool: str, effect: Effect, arguments: Mapping[str, Json], action: str
) -> None:
    assert CallRule(effect, Path("/scratch/run")).judge(tool, arguments).action == action


def test_the_rule_holds_for_every_call_without_being_registered(tmp_path: Path) -> None:
    tool = ScriptedTool("shell", effect="run")
    given = grants("shell", effects=("run",))
    with serving_tools(tmp_path / "global.db", tool) as service:
        service.open_run(RUN, grants=given)
        outcome = asyncio.run(service.execute_tool("shell", {"command": "rm -rf /"}, context=context(given)))
    assert (outcome.code, tool.calls) == ("blocked", [])
