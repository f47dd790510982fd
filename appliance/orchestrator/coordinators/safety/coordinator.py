"""Whether a tool may be called as a model wants it, decided before it is: by rules, of which the strictest holds.

The rules keep mistakes and plain harm away from people's time. They are no boundary: that is the sandbox.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from appliance.contracts.safety import SafetyRule, SafetyVerdict
from appliance.contracts.tools import Json
from appliance.orchestrator.coordinators.safety.calls import judge_call
from appliance.orchestrator.coordinators.safety.paths import Workspace
from appliance.orchestrator.coordinators.safety.verdicts import ORDER, block, stricter, strictest
from appliance.orchestrator.state import ContextSnapshot, CoordinatorResult, TransitionBatch

_CONFIDENCE: Final = {"allow": 1.0, "warn": 0.7, "confirm": 0.5, "block": 1.0}
_MOST_WARNINGS: Final = 20

Arguments = Mapping[str, object] | Sequence[object] | str | None


class SafetyStatePassedCoordinator:
    """Judges calls of tools. *rules* are those that were registered besides our own; they can only make a verdict stricter.

    *strict_mode* makes a warning a question to a person, and such a question a refusal. *workspace* is the folder in which
    files may be written; without it the snapshot's capability ``workspace``, and else only relative paths are inside.
    """

    def __init__(
        self,
        rules: Sequence[SafetyRule] | None = None,
        strict_mode: bool = False,  # noqa: FBT001, FBT002 - where its callers have it
        *,
        workspace: Path | None = None,
    ) -> None:
        self._rules = tuple(rules or ())
        self._strict = strict_mode
        self._workspace = workspace

    async def check(self, context: ContextSnapshot, tool_name: str, tool_args: Arguments = None) -> CoordinatorResult:
        """Return transitions that set ``last_safety_check``: the tool, whether it is safe, the action and the warnings.

        The action is ``allow``; ``warn``, with ``safety_warnings`` beside it; ``confirm`` or ``block``, which stop. The
        same call gets the same verdict whether its arguments come as a mapping, as a list or as one text.
        """
        verdicts = list(judge_call(str(tool_name), tool_args, self._workspace_of(context)))
        verdicts += (_by_rule(rule, str(tool_name), tool_args) for rule in self._rules)
        if self._strict:
            verdicts = [stricter(verdict) for verdict in verdicts]
        verdict = strictest(verdicts)
        warnings = _warnings(verdicts)
        safe = verdict.action in {"allow", "warn"}
        batch = TransitionBatch().update_state(
            "last_safety_check",
            {"tool": str(tool_name), "is_safe": safe, "action": verdict.action, "warnings": warnings},
        )
        if verdict.action == "warn":
            batch.update_state("safety_warnings", warnings)
        return CoordinatorResult(
            batch,
            reasoning=f"{verdict.action}: {verdict.reason}" if verdict.reason else verdict.action,
            confidence=_CONFIDENCE[verdict.action],
            metadata={"action": verdict.action, "warnings": warnings},
            should_continue=safe,
        )

    def _workspace_of(self, context: ContextSnapshot) -> Workspace:
        said = context.get_capability_value("workspace") if self._workspace is None else self._workspace
        return Workspace(str(said)) if isinstance(said, str | Path) else Workspace()


def _by_rule(rule: SafetyRule, tool: str, arguments: Arguments) -> SafetyVerdict:
    try:
        verdict = rule.judge(tool, _named(arguments))
    except Exception as exc:  # noqa: BLE001 - whatever a rule of others raises, the call does not pass
        return block(f"the rule {_name_of(rule)} failed: {type(exc).__name__}")
    known = isinstance(verdict, SafetyVerdict) and verdict.action in ORDER
    return verdict if known else block(f"the rule {_name_of(rule)} gave no verdict")


def _name_of(rule: SafetyRule) -> str:
    return str(getattr(rule, "name", type(rule).__name__))[:80]


def _named(arguments: Arguments) -> Mapping[str, Json]:
    """Return *arguments* as rules take them: those without names stand under ``args``."""
    if isinstance(arguments, Mapping):
        return {str(key): value for key, value in arguments.items()}  # type: ignore[misc] # as the model wrote them
    listed = [] if arguments is None else [arguments] if isinstance(arguments, str) else list(arguments)
    return {"args": listed}  # type: ignore[dict-item] # as above


def _warnings(verdicts: Sequence[SafetyVerdict]) -> list[str]:
    """Return the reasons, the strictest first, each once."""
    ranked = sorted((each for each in verdicts if each.reason), key=lambda each: -ORDER.index(each.action))
    return list(dict.fromkeys(each.reason for each in ranked))[:_MOST_WARNINGS]
