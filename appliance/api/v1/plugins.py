"""Plugins: code of others in the appliance, and how each is."""

from litestar import Controller, get
from pydantic import Field

from appliance.api.problems import documented
from appliance.api.schemas import Output
from appliance.framework.plugins import PluginState, PluginStatus
from appliance.web.wiring import Wired


class PluginOut(Output):
    """A plugin that is installed or enabled, and what it added."""

    name: str
    state: PluginState = Field(description="`off`: it is installed and not enabled, and nothing of it was run.")
    reason: str = Field(description="Why it failed.")
    remedy: str
    distribution: str
    version: str
    requires: str = Field(description="The versions of the appliance that it is made for.")
    description: str
    permissions: list[str]
    tools: list[str]
    agents: list[str]
    workflows: list[str]
    safety_rules: list[str]
    languages: list[str]

    @classmethod
    def of(cls, status: PluginStatus) -> "PluginOut":
        """Return *status* for the wire."""
        return cls(
            name=status.name,
            state=status.state,
            reason=status.reason,
            remedy=status.remedy,
            distribution=status.distribution,
            version=status.version,
            requires=status.requires,
            description=status.description,
            permissions=list(status.permissions),
            tools=list(status.tools),
            agents=list(status.agents),
            workflows=list(status.workflows),
            safety_rules=list(status.safety_rules),
            languages=list(status.languages),
        )


class PluginController(Controller):
    """``/api/v1/plugins``."""

    path = "/plugins"
    tags = ("plugins",)

    @get("/", summary="All plugins", responses=documented(), sync_to_thread=False)
    def plugins(self, services: Wired) -> list[PluginOut]:
        """Return the plugins that are installed or enabled, by name, each with how it is."""
        return [PluginOut.of(status) for status in services.plugins]
