"""The public API for authors of agents: graphs and workflows, agents, tools and plugins.

A name is imported when it is first asked for, so that a graph does not load what an agent needs.
"""

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from appliance.framework.agent import Agent
    from appliance.framework.chat import ChatSession
    from appliance.framework.checkpoint import Checkpoint, Checkpointer
    from appliance.framework.checkpoint_memory import MemoryCheckpointer
    from appliance.framework.checkpoint_sqlite import SqliteCheckpointer
    from appliance.framework.client import ApplianceClient
    from appliance.framework.events import AgentEvent, EventType
    from appliance.framework.graph import StateGraph
    from appliance.framework.graph_compiled import CompiledGraph
    from appliance.framework.graph_events import GraphEvent, GraphEventType, GraphResult
    from appliance.framework.graph_shape import END, START, Send
    from appliance.framework.options import SessionConfig
    from appliance.framework.plugins import PluginSet, PluginStatus
    from appliance.framework.results import ApprovalRequest, FoundLines, SessionMetrics, TaskResult, ToolCallRecord, TurnCost
    from appliance.framework.teams import Team, TeamLimits, TeamMember, TeamResult
    from appliance.framework.toolset import ToolSet
    from appliance.framework.workflow import Workflow
    from appliance.framework.workflow_appliance import NamedAgents, ServiceTools, TableApprovals
    from appliance.framework.workflow_check import load_workflow, validate_workflow
    from appliance.framework.workflow_doors import Doors, Question
    from appliance.framework.workflow_engine import WorkflowEngine
    from appliance.framework.workflow_render import render_workflow

_MODULES: Final = {
    "agent": ("Agent",),
    "chat": ("ChatSession",),
    "client": ("ApplianceClient",),
    "checkpoint": ("Checkpoint", "Checkpointer"),
    "checkpoint_memory": ("MemoryCheckpointer",),
    "checkpoint_sqlite": ("SqliteCheckpointer",),
    "events": ("AgentEvent", "EventType"),
    "graph": ("StateGraph",),
    "graph_compiled": ("CompiledGraph",),
    "graph_events": ("GraphEvent", "GraphEventType", "GraphResult"),
    "graph_shape": ("END", "START", "Send"),
    "options": ("SessionConfig",),
    "plugins": ("PluginSet", "PluginStatus"),
    "results": ("ApprovalRequest", "FoundLines", "SessionMetrics", "TaskResult", "ToolCallRecord", "TurnCost"),
    "teams": ("Team", "TeamLimits", "TeamMember", "TeamResult"),
    "toolset": ("ToolSet",),
    "workflow": ("Workflow",),
    "workflow_appliance": ("NamedAgents", "ServiceTools", "TableApprovals"),
    "workflow_check": ("load_workflow", "validate_workflow"),
    "workflow_doors": ("Doors", "Question"),
    "workflow_engine": ("WorkflowEngine",),
    "workflow_render": ("render_workflow",),
}
"""The modules of this package, and what each gives to its public face."""

_HOMES: Final = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "END",
    "START",
    "Agent",
    "AgentEvent",
    "ApplianceClient",
    "ApprovalRequest",
    "ChatSession",
    "Checkpoint",
    "Checkpointer",
    "CompiledGraph",
    "Doors",
    "EventType",
    "FoundLines",
    "GraphEvent",
    "GraphEventType",
    "GraphResult",
    "MemoryCheckpointer",
    "NamedAgents",
    "PluginSet",
    "PluginStatus",
    "Question",
    "Send",
    "ServiceTools",
    "SessionConfig",
    "SessionMetrics",
    "SqliteCheckpointer",
    "StateGraph",
    "TableApprovals",
    "TaskResult",
    "Team",
    "TeamLimits",
    "TeamMember",
    "TeamResult",
    "ToolCallRecord",
    "ToolSet",
    "TurnCost",
    "Workflow",
    "WorkflowEngine",
    "load_workflow",
    "render_workflow",
    "validate_workflow",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
