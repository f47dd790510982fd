"""What a mission has used, counted from its record alone: whoever reads the record counts the same."""

from dataclasses import replace
from typing import Final

from appliance.contracts.tools import Json
from appliance.orchestrator.missions.model import Entry, EntryKind, MissionLimits, Usage

_IDLE: Final[frozenset[EntryKind]] = frozenset({"paused", "interrupted", "asked_approval"})  # no work before or behind
_OUTCOMES: Final[frozenset[EntryKind]] = frozenset({"model_said", "tool_gave"})


class Meter:
    """Fed every entry in order. Limits hold from the beginning, and anew from each time that a person lets it go on."""

    def __init__(self) -> None:
        self.total = Usage()
        self.commissions = 0
        self.instructs = 0
        self._base = Usage()
        self._last: Entry | None = None

    @property
    def at(self) -> float:
        """When the last entry was written; 0 before the first."""
        return 0.0 if self._last is None else self._last.at

    def feed(self, entry: Entry) -> None:
        """Count *entry*."""
        last, self._last = self._last, entry
        total = self.total
        if last is not None:
            total = replace(total, seconds=round(total.seconds + _worked(last, entry), 3))
        if entry.kind == "asked_model":
            total = replace(total, model_calls=total.model_calls + 1)
        elif entry.kind == "called_tool":
            total = replace(total, tool_calls=total.tool_calls + 1)
        elif entry.kind == "model_said":
            total = replace(
                total,
                prompt_tokens=total.prompt_tokens + _number(entry.data.get("prompt_tokens")),
                completion_tokens=total.completion_tokens + _number(entry.data.get("completion_tokens")),
            )
        elif entry.kind == "commissioned":
            self.commissions += 1
        elif entry.kind == "instructed":
            self.instructs += 1
        self.total = total
        if entry.kind == "resumed":
            self._base, self.commissions, self.instructs = total, 0, 0

    def beyond(self, limits: MissionLimits) -> str:
        """Return which of *limits* is reached, as a sentence, or "" while none is."""
        base, total = self._base, self.total
        tokens = total.prompt_tokens + total.completion_tokens - base.prompt_tokens - base.completion_tokens
        for used, limit, what in (
            (total.model_calls - base.model_calls, limits.model_calls, "calls of the model"),
            (total.tool_calls - base.tool_calls, limits.tool_calls, "calls of tools"),
            (tokens, limits.tokens, "tokens"),
            (total.seconds - base.seconds, limits.seconds, "seconds of work"),
        ):
            if used >= limit:
                return f"The mission has used its {limit:,.0f} {what}."
        return ""


def _worked(last: Entry, entry: Entry) -> float:
    """Return the seconds of work that lie between *last* and *entry*, which follows it."""
    if _IDLE.isdisjoint((last.kind, entry.kind)):
        return entry.at - last.at
    if last.kind == "interrupted" and entry.kind in _OUTCOMES:  # the step in flight was begun again: its time is its own
        spent = entry.data.get("seconds")
        return min(float(spent), entry.at - last.at) if isinstance(spent, int | float) else 0.0
    return 0.0


def _number(value: Json) -> int:
    return value if isinstance(value, int) else 0
