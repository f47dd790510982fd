"""What a plugin is: a distribution with an entry point in ``skellig.plugins``, which imports `appliance.contracts` alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from appliance.contracts.agents import AgentDefinition
from appliance.contracts.languages import LanguageDefinition
from appliance.contracts.safety import SafetyRule
from appliance.contracts.tools import Tool
from appliance.contracts.workflows import WorkflowDefinition

ENTRY_POINTS: Final = "skellig.plugins"


@dataclass(frozen=True, slots=True)
class Manifest:
    """Who a plugin is. *requires* is a version range of the appliance, as ``>=0.1,<0.2``."""

    name: str
    version: str
    requires: str
    description: str = ""
    permissions: Sequence[str] = ()


class PluginContext(Protocol):
    """What a plugin may add. A name that is taken is refused with a sentence."""

    def register_tool(self, tool: Tool) -> None:
        """Add a tool; it runs under the same grants, budget and audit as those that are built in."""

    def register_agent(self, agent: AgentDefinition) -> None:
        """Add an agent."""

    def register_workflow(self, workflow: WorkflowDefinition) -> None:
        """Add a workflow; one that is not valid is refused."""

    def register_safety_rule(self, rule: SafetyRule) -> None:
        """Add a rule; it can only make verdicts stricter."""

    def register_language(self, language: LanguageDefinition) -> None:
        """Add a language; its grammar is tried in a process of its own before the plugin counts as loaded."""


@runtime_checkable
class Plugin(Protocol):
    """What the entry point names: an object with these two."""

    @property
    def manifest(self) -> Manifest:
        """Who it is."""

    def register(self, context: PluginContext) -> None:
        """Add what it has. Called once; what it raises is shown to the administrator and stops nothing else."""
