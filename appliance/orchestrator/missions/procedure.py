"""What the desk and the runner need of the code that a mission is."""

from typing import Protocol

from appliance.orchestrator.missions.journal import Journal
from appliance.orchestrator.missions.model import Mission

RECIPE = 2
"""Raise it when missions take other steps: the record of an older recipe can be verified, and not replayed."""


class Procedure(Protocol):
    """A mission's code: deterministic but for what it asks its journal."""

    async def perform(self, journal: Journal, mission: Mission) -> None:
        """Take *mission* from its beginning to its last entry, or raise the `Halt` that came in between."""
