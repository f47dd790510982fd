"""What a run may do: grants are handed down narrower, never wider, and of several verdicts on a call the strictest holds."""

import json
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from appliance.base import log
from appliance.contracts.safety import SafetyAction, SafetyRule, SafetyVerdict
from appliance.contracts.tools import Effect, Grants, Json, ToolContext
from appliance.errors import NotGranted
from appliance.orchestrator.calls import canonical

STRICTNESS: Final[Mapping[SafetyAction, int]] = {"allow": 0, "warn": 1, "confirm": 2, "block": 3}
NOTHING: Final = Grants("", effects=frozenset())

_REASON_CHARACTERS: Final = 300
_log = log.get("safety")


def meet(one: Grants, other: Grants) -> Grants:
    """Return what both grant: nothing where they are of two projects. It never holds more than either."""
    if one.project != other.project:
        return NOTHING
    return Grants(
        one.project,
        tuple(repo for repo in one.repos if repo in other.repos),
        one.tools & other.tools,
        one.effects & other.effects,
    )


def covers(outer: Grants, inner: Grants) -> bool:
    """Return whether *outer* grants everything that *inner* does."""
    return (
        (outer.project == inner.project or inner == NOTHING)
        and set(inner.repos) <= set(outer.repos)
        and inner.tools <= outer.tools
        and inner.effects <= outer.effects
    )


def narrow(
    parent: Grants,
    *,
    tools: Iterable[str] | None = None,
    repos: Iterable[str] | None = None,
    effects: AbstractSet[Effect] | None = None,
) -> Grants:
    """Return what a child of a run gets from *parent*: an agent, a node of a workflow, a member of a team.

    What is None is passed on as it is. Raise `NotGranted` for anything that the parent has not: a child that silently got
    less than it names would fail later, and further from the reason.
    """
    child = Grants(
        parent.project,
        parent.repos if repos is None else tuple(dict.fromkeys(repos)),
        parent.tools if tools is None else frozenset(tools),
        parent.effects if effects is None else frozenset(effects),
    )
    beyond = sorted({*child.tools - parent.tools, *child.effects - parent.effects, *set(child.repos) - set(parent.repos)})
    if beyond:
        raise NotGranted(
            f"The run does not have what it is to hand down: {', '.join(beyond)[:_REASON_CHARACTERS]}.",
            remedy="Grant it to the run, or leave it out here: grants are handed down narrower, never wider.",
            beyond=beyond[:20],
        )
    return child


def handed_down(
    context: ToolContext,
    *,
    agent: str,
    tools: Iterable[str] | None = None,
    repos: Iterable[str] | None = None,
    effects: AbstractSet[Effect] | None = None,
) -> ToolContext:
    """Return *context* for *agent*, a child of its run, with grants as `narrow` makes them."""
    return replace(context, agent=agent, grants=narrow(context.grants, tools=tools, repos=repos, effects=effects))


def judged(rules: Iterable[SafetyRule], tool: str, arguments: Mapping[str, Json]) -> SafetyVerdict:
    """Return the strictest verdict on a call, with the reasons of all that gave it. A rule that breaks blocks."""
    found: list[tuple[str, SafetyVerdict]] = [(_named(rule), _verdict(rule, tool, arguments)) for rule in rules]
    actions: list[SafetyAction] = ["allow", *(verdict.action for _, verdict in found)]
    action = max(actions, key=STRICTNESS.__getitem__)
    reasons = [
        f"{name}: {verdict.reason}" if verdict.reason else name
        for name, verdict in found
        if verdict.action == action != "allow"
    ]
    return SafetyVerdict(action, "; ".join(reasons)[:_REASON_CHARACTERS])


def _verdict(rule: SafetyRule, tool: str, arguments: Mapping[str, Json]) -> SafetyVerdict:
    try:
        verdict: object = rule.judge(tool, json.loads(canonical(arguments)))  # its own: what it changes changes no call
    except Exception as exc:  # noqa: BLE001 - a rule is anybody's code, and one that breaks must not let anything through
        _log.warning("rule.failed", rule=_named(rule), tool=tool, error=type(exc).__name__)
        return SafetyVerdict("block", f"The rule failed ({type(exc).__name__}).")
    if not isinstance(verdict, SafetyVerdict) or verdict.action not in STRICTNESS:
        return SafetyVerdict("block", "The rule gave no verdict.")
    return verdict


def _named(rule: SafetyRule) -> str:
    try:
        return str(rule.name)[:64]
    except Exception:  # noqa: BLE001 - as above
        return type(rule).__name__
