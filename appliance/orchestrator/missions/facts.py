"""What the record holds of its mission's row: who asked for what, when, about which code, and within which limits."""

from typing import Final

from appliance.contracts.tools import Json
from appliance.orchestrator.missions.encoding import plain
from appliance.orchestrator.missions.model import Mission

KEY: Final = "mission"
"""Under which the first entry and the last one hold it. Those of recipes before `FIRST_RECIPE` do not."""
FIRST_RECIPE: Final = 2
NAMES: Final = ("asked_by", "created_at", "goal", "limits", "model", "repo_names", "scope", "started_at")


def facts(mission: Mission) -> dict[str, Json]:
    """Return what the row of *mission* says and no step changes, as an entry holds it."""
    return {KEY: {name: plain(getattr(mission, name)) for name in NAMES}}
