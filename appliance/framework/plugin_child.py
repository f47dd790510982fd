"""The program that makes one call of a plugin's tool, inside the sandbox.

Its environment says which, as JSON in pieces. What came of it goes to the standard output, which the plugin has no hold of.
"""

import asyncio
import importlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import reduce
from pathlib import Path
from typing import Any, Final

from appliance.contracts.agents import AgentDefinition
from appliance.contracts.languages import LanguageDefinition
from appliance.contracts.plugin import Plugin
from appliance.contracts.safety import SafetyRule
from appliance.contracts.tools import Grants, Json, Tool, ToolContext, ToolOutput
from appliance.contracts.workflows import WorkflowDefinition

ORDER: Final = "SKELLIG_CALL_"
"""The names of the pieces begin so, and go on with where each begins."""


def main() -> None:
    """Make the call, and say the output, or the error."""
    said = os.dup(1)
    os.dup2(2, 1)  # what the plugin prints is no result
    try:
        told: dict[str, object] = {"output": asdict(_called(_order()))}
    except Exception as exc:  # noqa: BLE001 - the outermost loop of a call: whatever the plugin raises is told
        told = {"error": f"{type(exc).__name__}: {exc}"[:500]}
    with os.fdopen(said, "w", encoding="utf-8", errors="backslashreplace") as out:
        json.dump(told, out, default=dict)


class _Tools:
    """A context that keeps the tools alone; satisfies `PluginContext`."""

    def __init__(self) -> None:
        self.tools: dict[str, Tool] = {}

    def register_tool(self, tool: Tool) -> None:
        """Keep *tool*."""
        self.tools[tool.spec.name] = tool

    def register_agent(self, agent: AgentDefinition) -> None:
        """Pass over *agent*."""

    def register_workflow(self, workflow: WorkflowDefinition) -> None:
        """Pass over *workflow*."""

    def register_safety_rule(self, rule: SafetyRule) -> None:
        """Pass over *rule*."""

    def register_language(self, language: LanguageDefinition) -> None:
        """Pass over *language*."""


class _Never:
    """Nobody asks for a stop in here: the whole process is ended then."""

    def check(self) -> None:
        """Return."""


def _order() -> Mapping[str, Any]:
    pieces = sorted((int(name.removeprefix(ORDER)), name) for name in os.environ if name.startswith(ORDER))
    order: Mapping[str, Any] = json.loads("".join(os.environ.pop(name) for _, name in pieces))
    return order


def _called(order: Mapping[str, Any]) -> ToolOutput:
    sys.path.extend(order["path"])
    module, _, names = order["point"].partition(":")
    plugin: Plugin = reduce(getattr, names.split("."), importlib.import_module(module))
    kept = _Tools()
    plugin.register(kept)
    workspace = Path(order["workspace"]) if order["workspace"] else None
    arguments: Mapping[str, Json] = order["arguments"]
    context = ToolContext(order["run"], Grants(order["project"]), _Never(), workspace)
    output: object = asyncio.run(_awaited(kept.tools[order["tool"]], arguments, context))
    if not isinstance(output, ToolOutput):
        raise TypeError(f"the tool gave {type(output).__name__}, not a ToolOutput")
    return output


async def _awaited(tool: Tool, arguments: Mapping[str, Json], context: ToolContext) -> object:
    return await tool.run(arguments, context=context)
