"""Verdicts from lenient to strict, and how several become one."""

from collections.abc import Iterable
from typing import Final

from appliance.contracts.safety import SafetyAction, SafetyVerdict

ORDER: Final[tuple[SafetyAction, ...]] = ("allow", "warn", "confirm", "block")
ALLOW: Final = SafetyVerdict("allow")


def warn(reason: str) -> SafetyVerdict:
    """Return a verdict that lets a call through and says why it is worth a look."""
    return SafetyVerdict("warn", reason)


def confirm(reason: str) -> SafetyVerdict:
    """Return a verdict that leaves a call to a person."""
    return SafetyVerdict("confirm", reason)


def block(reason: str) -> SafetyVerdict:
    """Return a verdict that refuses a call."""
    return SafetyVerdict("block", reason)


def strictest(verdicts: Iterable[SafetyVerdict]) -> SafetyVerdict:
    """Return the strictest of *verdicts*, the first of several, and ``allow`` of none."""
    return max(verdicts, key=lambda each: ORDER.index(each.action), default=ALLOW)


def stricter(verdict: SafetyVerdict) -> SafetyVerdict:
    """Return *verdict* one step stricter, where it is not ``allow`` and there is a step."""
    if verdict.action == "allow":
        return verdict
    return SafetyVerdict(ORDER[min(ORDER.index(verdict.action) + 1, len(ORDER) - 1)], verdict.reason)
