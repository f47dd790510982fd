"""What runs cost: tokens and whatever else runners count."""

from collections.abc import Mapping
from typing import Any, Final, TypeGuard

_MOST: Final = 1 << 63


def added(total: Mapping[str, Any], more: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the sum of two reports: numbers are added, mappings summed by key, and of anything else the later stays.

    What was counted stays counted: a number gives way to nothing else, and one that is negative, not finite or beyond 2**63
    does not count.
    """
    summed = dict(total)
    for key, value in (more or {}).items():
        before = summed.get(key)
        if isinstance(value, Mapping):
            if not _counts(before):
                summed[key] = added(before if isinstance(before, Mapping) else {}, value)
        elif _counts(value):
            summed[key] = min(before + value, _MOST) if _counts(before) else value
        elif not (value is None or _counts(before) or type(value) in (int, float)):
            summed[key] = value
    return summed


def tokens(usage: Mapping[str, Any]) -> int:
    """Return how many tokens *usage* speaks of: ``total_tokens``, or else those that went in and those that came out."""
    parts = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")
    named = ("total_tokens",) if _counts(usage.get("total_tokens")) else parts
    return sum(int(usage[part]) for part in named if _counts(usage.get(part)))


def _counts(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST
