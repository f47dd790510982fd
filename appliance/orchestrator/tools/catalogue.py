"""Every tool that agents have without a plugin."""

from pathlib import Path
from typing import cast

from appliance.base.clock import SystemClock
from appliance.base.paths import DataPaths
from appliance.contracts.tools import Tool, ToolSpec
from appliance.orchestrator.tools.editing import edit_tools
from appliance.orchestrator.tools.files import file_tools
from appliance.orchestrator.tools.graph import graph_tools
from appliance.orchestrator.tools.past import past_tools
from appliance.orchestrator.tools.reach import CodeIndex
from appliance.orchestrator.tools.running import run_tools
from appliance.orchestrator.tools.search import search_tools
from appliance.orchestrator.tools.workbench import Workbench


def builtin_tools(index: CodeIndex, bench: Workbench | None = None) -> tuple[Tool, ...]:
    """Return the tools over *index*, those that only read first; those that run or change something work at *bench*."""
    reading = (*search_tools(index), *file_tools(index), *graph_tools(index), *past_tools(index))
    return reading if bench is None else (*reading, *run_tools(index, bench), *edit_tools(bench))


def builtin_specs() -> tuple[ToolSpec, ...]:
    """Return what is known of every tool that there is without a plugin, before there is an index to call it on."""
    nothing: object = None
    bench = Workbench(DataPaths(Path()), clock=SystemClock())
    return tuple(tool.spec for tool in builtin_tools(cast("CodeIndex", nothing), bench))
