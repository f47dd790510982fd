"""Values in workflows: plain, or with ``${expression}`` within their text."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from appliance.contracts.tools import Json
from appliance.errors import InvalidInput, LimitExceeded
from appliance.framework.expression_values import LONGEST_TEXT, as_text
from appliance.framework.expressions import Expression, parsed_until_brace

MOST_PARTS: Final = 100  # expressions of one text
MOST_SIZE: Final = 1_000_000  # characters of one value, or what is as large

_SIZE_OF_ONE: Final = 8  # of a number, a flag, a list or a mapping
_PLAIN: Final = re.compile(r"(?:[^$]|\$\$\{|\$(?!\{))+")


@dataclass(frozen=True, slots=True)
class Template:
    """A value of a workflow as it was written, and the *names* of the state that it reads."""

    written: object
    names: frozenset[str]
    _made: object = field(repr=False, compare=False)  # as written, with parsed texts in place of texts

    def value(self, state: Mapping[str, object]) -> Json:
        """Return the value over *state*; a text that is one ``${…}`` alone gives that value as it is."""
        return sound(_filled(self._made, state))

    def text(self, state: Mapping[str, object]) -> str:
        """Return the value as it reads within text."""
        return as_text(self.value(state))


def template(written: object) -> Template:
    """Return what *written* is as a template; raise `InvalidInput` or `LimitExceeded` for an expression that is none."""
    names: set[str] = set()
    made = _parsed(written, names)
    return Template(written, frozenset(names), made)


def sound(value: object) -> Json:
    """Return *value*, which is handed on; raise `InvalidInput` where it is no JSON, `LimitExceeded` where it is too large.

    What holds one value many times is as large as if each stood there: it is copied and written down so.
    """
    left, pending = MOST_SIZE, [value]
    while pending:
        each = pending.pop()
        inner: Collection[object] = ()
        if isinstance(each, Mapping):
            inner = [*each, *each.values()]
            if not all(isinstance(key, str) for key in each):
                raise InvalidInput("A value that is no JSON cannot be handed on.")
        elif isinstance(each, list | tuple):
            inner = each
        elif not (each is None or isinstance(each, str | int | float)):
            raise InvalidInput("A value that is no JSON cannot be handed on.")
        left -= len(each) if isinstance(each, str) else _SIZE_OF_ONE
        if left < len(inner):
            raise LimitExceeded(
                f"A value of the workflow would be larger than {MOST_SIZE:,} characters.", remedy="Put less into it."
            )
        pending += inner
    return cast("Json", value)


@dataclass(frozen=True, slots=True)
class _Text:
    """A text with expressions in it."""

    parts: tuple[str | Expression, ...]

    def filled(self, state: Mapping[str, object]) -> object:
        if len(self.parts) == 1 and isinstance(self.parts[0], Expression):
            return self.parts[0].value(state)
        found, size = list[str](), 0
        for part in self.parts:
            text = part if isinstance(part, str) else as_text(part.value(state))
            size += len(text)
            if size > LONGEST_TEXT:
                raise InvalidInput(f"A text would be longer than {LONGEST_TEXT:,} characters.", remedy="Put less into it.")
            found.append(text)
        return "".join(found)


def _parsed(written: object, names: set[str]) -> object:
    if isinstance(written, Mapping):
        return {key: _parsed(each, names) for key, each in written.items()}
    if isinstance(written, list | tuple):
        return [_parsed(each, names) for each in written]
    return _text(written, names) if isinstance(written, str) and "${" in written else written


def _text(written: str, names: set[str]) -> object:
    parts: list[str | Expression] = []
    at = 0
    while at < len(written):
        if plain := _PLAIN.match(written, at):
            parts.append(plain[0].replace("$${", "${"))
            at = plain.end()
            continue
        expression, at = parsed_until_brace(written, at + len("${"))
        names |= expression.names
        parts.append(expression)
        if len(parts) > 2 * MOST_PARTS:
            raise InvalidInput(f"A text has more than {MOST_PARTS} expressions.", remedy="Split it over several keys.")
    return _Text(tuple(parts)) if any(isinstance(part, Expression) for part in parts) else "".join(map(str, parts))


def _filled(made: object, state: Mapping[str, object]) -> object:
    if isinstance(made, _Text):
        return made.filled(state)
    if isinstance(made, Mapping):
        return {key: _filled(each, state) for key, each in made.items()}
    if isinstance(made, list):
        return [_filled(each, state) for each in made]
    return made
