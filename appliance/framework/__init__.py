"""The public API for authors of agents: graphs and workflows, agents, tools and plugins.

A name is imported when it is first asked for, so that a graph does not load what an agent needs.
"""

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from appliance.framework.events import AgentEvent, EventType
    from appliance.framework.plugins import PluginSet, PluginStatus

_HOMES: Final = {
    "AgentEvent": "events",
    "EventType": "events",
    "PluginSet": "plugins",
    "PluginStatus": "plugins",
}
"""The module of this package that has each name."""

__all__ = ["AgentEvent", "EventType", "PluginSet", "PluginStatus"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
