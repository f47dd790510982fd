"""The rule that every call is judged by: what its arguments would run, read, write or reach."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from appliance.contracts.safety import SafetyVerdict
from appliance.contracts.tools import Effect, Json
from appliance.orchestrator.coordinators.safety.calls import judge_call
from appliance.orchestrator.coordinators.safety.paths import Workspace
from appliance.orchestrator.coordinators.safety.verdicts import strictest


@dataclass(frozen=True, slots=True)
class CallRule:
    """Judges commands and paths in the arguments of a tool with *effect*.

    *workspace* is the folder in which the call may write; None: only relative paths are inside.
    """

    effect: Effect
    workspace: Path | None = None
    name: str = "commands and paths"

    def judge(self, tool: str, arguments: Mapping[str, Json]) -> SafetyVerdict:
        """Return the strictest verdict on what the call would do."""
        place = Workspace() if self.workspace is None else Workspace(str(self.workspace))
        # One that only reads is no program, though it may be called like one, as `history` is.
        what = f"read_{tool}" if self.effect == "read" else tool
        verdict = strictest(judge_call(what, arguments, place))
        # Grants bound what is read. If a doubtful path asked a person, a repository's text could have people asked all day.
        asks = verdict.action == "confirm" and self.effect == "read"
        return SafetyVerdict("warn", verdict.reason) if asks else verdict
