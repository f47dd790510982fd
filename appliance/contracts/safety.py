"""What a safety rule is: it looks at one call before it is made and may only make the verdict stricter."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from appliance.contracts.tools import Json

SafetyAction = Literal["allow", "warn", "confirm", "block"]
"""From lenient to strict; of several verdicts the strictest holds."""


@dataclass(frozen=True, slots=True)
class SafetyVerdict:
    """What a rule says of a call, and why."""

    action: SafetyAction
    reason: str = ""


@runtime_checkable
class SafetyRule(Protocol):
    """A rule."""

    @property
    def name(self) -> str:
        """How the audit names it."""

    def judge(self, tool: str, arguments: Mapping[str, Json]) -> SafetyVerdict:
        """Return the verdict on a call. A rule that raises counts as ``block``."""
