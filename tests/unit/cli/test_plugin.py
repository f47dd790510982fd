"""Claims about plugins on the command line."""

from tests.support.scripted_http import Reply, ScriptedServer
from tests.unit.cli.conftest import Line

GLOSSARY = {
    "name": "glossary", "state": "loaded", "reason": "", "remedy": "", "version": "1.2.0", "description": "Words.",
    "tools": ["glossary"], "agents": ["lexicographer"], "workflows": [], "safety_rules": ["no-lock-files"],
    "languages": ["words"],
}  # fmt: skip
BROKEN = GLOSSARY | {
    "name": "broken", "state": "failed", "reason": "It raised RuntimeError.", "remedy": "Ask who wrote it.", "version": "",
    "tools": [], "agents": [], "safety_rules": [], "languages": [],
}  # fmt: skip


def test_plugins_are_listed_with_what_they_add_and_why_one_failed(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["GET /api/v1/plugins"] = Reply([BROKEN, GLOSSARY])
    ran = line("plugin", "list")
    assert ran.status == 0
    assert "glossary  1.2.0    loaded  tool glossary; agent lexicographer; rule no-lock-files; language words" in ran.out
    assert "broken: It raised RuntimeError. Ask who wrote it." in ran.out
    assert line("plugin", "list", "--json").json() == [BROKEN, GLOSSARY]


def test_none_is_said_with_the_setting_that_loads_them(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["GET /api/v1/plugins"] = Reply([])
    assert "plugins.enabled" in line("plugin", "list").out
