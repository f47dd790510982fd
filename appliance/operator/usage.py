"""What runs cost: tokens and whatever else runners count."""

from collections.abc import Mapping
from typing import Any


def added(total: Mapping[str, Any], more: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the sum of two reports: numbers are added, mappings summed by key, and of anything else the later stays."""
    summed = dict(total)
    for key, value in (more or {}).items():
        before = summed.get(key)
        if isinstance(value, Mapping):
            summed[key] = added(before if isinstance(before, Mapping) else {}, value)
        elif _counts(value) and _counts(before):
            summed[key] = before + value
        elif value is not None:
            summed[key] = value
    return summed


def tokens(usage: Mapping[str, Any]) -> int:
    """Return how many tokens *usage* speaks of: ``total_tokens``, or else those that went in and those that came out."""
    parts = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")
    named = ("total_tokens",) if _counts(usage.get("total_tokens")) else parts
    return sum(int(usage[part]) for part in named if _counts(usage.get(part)))


def _counts(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")
