"""Which tools there are, and which rules judge their calls: those that are built in, and those of plugins."""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from appliance.contracts.safety import SafetyRule
from appliance.contracts.tools import Tool, ToolSpec
from appliance.errors import Conflict, InvalidInput, NotFound
from appliance.orchestrator.services.arguments import Arguments

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_EFFECTS: Final = frozenset({"read", "run", "write"})
_LONGEST_S: Final = 3_600.0
_LONGEST_DESCRIPTION: Final = 4_000  # characters


@dataclass(frozen=True, slots=True)
class Registered:
    """A tool, what it said of itself when it was registered, and its schema, ready to check arguments."""

    tool: Tool
    spec: ToolSpec
    arguments: Arguments


class ToolRegistry:
    """Tools by name, and safety rules. What a tool says of itself is read once: it cannot become another later."""

    def __init__(self) -> None:
        self._tools: dict[str, Registered] = {}
        self._rules: list[SafetyRule] = []

    def register(self, tool: Tool) -> ToolSpec:
        """Add *tool*, and return what counts of what it says of itself.

        Raise `InvalidInput` for one that is none, and `Conflict` for a name that is taken.
        """
        if isinstance(tool, type) or not isinstance(tool, Tool):
            raise InvalidInput(f"{_short(tool)} is no tool.", remedy="Register an object with `spec` and `run`.")
        spec: object = tool.spec
        if not isinstance(spec, ToolSpec):
            raise InvalidInput(f"The spec of {_short(tool)} is no ToolSpec.", remedy="See `appliance.contracts.tools`.")
        _check(spec)
        if spec.name in self._tools:
            raise Conflict(f"There is a tool {spec.name} already.", remedy="Give it another name.", name=spec.name)
        arguments = Arguments(spec.parameters)
        known = replace(spec, parameters=arguments.schema)
        self._tools[spec.name] = Registered(tool, known, arguments)
        return known

    def add_rule(self, rule: SafetyRule) -> None:
        """Let *rule* judge every call from now on; raise `InvalidInput` for what is no rule."""
        if isinstance(rule, type) or not isinstance(rule, SafetyRule):
            raise InvalidInput(f"{_short(rule)} is no safety rule.", remedy="Add an object with `name` and `judge`.")
        self._rules.append(rule)

    @property
    def rules(self) -> Sequence[SafetyRule]:
        """The rules, in the order in which they came."""
        return tuple(self._rules)

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """What every tool says of itself, by name."""
        return tuple(self._tools[name].spec for name in sorted(self._tools))

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def get(self, name: object, *, granted: AbstractSet[str] | None = None) -> Registered:
        """Return the tool called *name*; raise `NotFound`, which names those that there are, or are *granted*."""
        found = self._tools.get(name) if isinstance(name, str) else None
        if found is None:
            there = sorted(self._tools if granted is None else granted & self._tools.keys())
            raise NotFound(
                f"There is no tool {str(name)[:64]!r}.",
                remedy=f"Call one of: {', '.join(there) or 'none, there are no tools'}.",
            )
        return found


def _check(spec: ToolSpec) -> None:
    if not isinstance(spec.name, str) or not _NAME.fullmatch(spec.name):
        raise InvalidInput(
            f"{str(spec.name)[:64]!r} cannot be the name of a tool.",
            remedy="Use small letters, digits, underscores and dashes, a letter first, 64 at most.",
        )
    if not isinstance(spec.description, str) or len(spec.description) > _LONGEST_DESCRIPTION:
        raise InvalidInput(f"The description of {spec.name} is no text of at most {_LONGEST_DESCRIPTION:,} characters.")
    if spec.effect not in _EFFECTS:
        raise InvalidInput(
            f"The effect of {spec.name} is {spec.effect!r}.", remedy=f"Use one of: {', '.join(sorted(_EFFECTS))}."
        )
    if not 0 < spec.timeout_s <= _LONGEST_S:
        raise InvalidInput(
            f"The time-out of {spec.name} is {spec.timeout_s:g} s.", remedy=f"Use more than 0 and at most {_LONGEST_S:g}."
        )


def _short(thing: object) -> str:
    return f"A {type(thing).__name__}" if not isinstance(thing, type) else f"The class {thing.__name__}"
