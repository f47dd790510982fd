"""What an agent is, as a plugin or a workflow names it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from appliance.contracts.tools import Json


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """A named agent: what it is for, how it is to work, and the tools that it may use, all of them granted by the run."""

    name: str
    description: str
    skill: str
    tools: tuple[str, ...] = ()
    model: str = ""  # "" is the appliance's own
    metadata: Mapping[str, Json] = field(default_factory=dict)
