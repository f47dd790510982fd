"""Every tool that agents have without a plugin."""

from appliance.contracts.tools import Tool
from appliance.orchestrator.tools.files import file_tools
from appliance.orchestrator.tools.graph import graph_tools
from appliance.orchestrator.tools.past import past_tools
from appliance.orchestrator.tools.reach import CodeIndex
from appliance.orchestrator.tools.search import search_tools


def builtin_tools(index: CodeIndex) -> tuple[Tool, ...]:
    """Return the tools over *index*, those that only read first."""
    return (*search_tools(index), *file_tools(index), *graph_tools(index), *past_tools(index))
