"""What expressions of workflows can do with values. Nothing grows beyond its bounds, nothing is converted in silence."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from appliance.errors import InvalidInput

LONGEST_TEXT: Final = 100_000  # characters
LONGEST_LIST: Final = 10_000  # items
LARGEST: Final = 10**18  # of a whole number

Step = Callable[[int], None]
"""Counts steps, and raises where they are too many."""

_CHARACTERS_A_STEP: Final = 100
_ITEMS_A_STEP: Final = 10  # that are copied; each that is compared is one


class Wrong(Exception):
    """A value cannot be had; the text says why, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the language, and how many arguments it takes."""

    least: int
    most: int
    call: Callable[[list[object], Step], object]

    @property
    def told(self) -> str:
        """How many arguments it takes, in words."""
        few = str(self.least) if self.least == self.most else f"{self.least} to {self.most}"
        return f"{few if self.most < LONGEST_LIST else f'{self.least} or more'} argument{'' if few == '1' else 's'}"


def compared(sign: str, left: object, right: object, step: Step) -> bool:
    """Return whether ``left sign right`` holds."""
    step(1 + _size(left) + _size(right))
    if sign in ("in", "not in"):
        return _holds(right, left) == (sign == "in")
    if sign in ("==", "!="):
        return _equal(left, right) == (sign == "==")
    if not ((_is_number(left) and _is_number(right)) or (isinstance(left, str) and isinstance(right, str))):
        raise Wrong(f"`{sign}` compares two numbers or two texts, not {kind_of(left)} and {kind_of(right)}")
    less, equal = left < right, left == right  # type: ignore[operator]
    return bool({"<": less, "<=": less or equal, ">": not (less or equal), ">=": not less}[sign])


def looked_up(value: object, key: object) -> object:
    """Return what *value* has at *key*: a map at a text, a list or text at a whole number, from its end below 0."""
    if isinstance(value, Mapping) and isinstance(key, str):
        if key not in value:
            raise Wrong(f"the map has no {key!r}")
        return value[key]
    if isinstance(value, list | tuple | str) and isinstance(key, int) and not isinstance(key, bool):
        if not -len(value) <= key < len(value):
            raise Wrong(f"there is no item {key} of {len(value)}")
        return value[key]
    raise Wrong(f"{kind_of(value)} has nothing at {kind_of(key)}")


def as_text(value: object) -> str:
    """Return *value* as it reads within text: text as it is, what is no text as JSON.

    Raise `InvalidInput` for a JSON that is too long, before all of it is written.
    """
    if isinstance(value, str):
        return value
    parts, size = list[str](), 0
    for part in json.JSONEncoder(ensure_ascii=False).iterencode(value):
        size += len(part)
        if size > LONGEST_TEXT:
            raise InvalidInput(f"A text would be longer than {LONGEST_TEXT:,} characters.", remedy="Put less into it.")
        parts.append(part)
    return "".join(parts)


def bounded(value: object) -> object:
    """Return *value*, which an operation made; raise `Wrong` where it is too large."""
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise Wrong(f"a text would be longer than {LONGEST_TEXT:,} characters")
    if isinstance(value, list) and len(value) > LONGEST_LIST:
        raise Wrong(f"a list would have more than {LONGEST_LIST:,} items")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST:
        raise Wrong("a whole number would be larger than 10^18")
    if isinstance(value, float) and not math.isfinite(value):
        raise Wrong("a number would be infinite, or none")
    return value


def _add(left: object, right: object, step: Step) -> object:
    if isinstance(left, str) and isinstance(right, str):
        step((len(left) + len(right)) // _CHARACTERS_A_STEP)
        return bounded(left + right)
    if isinstance(left, list) and isinstance(right, list):
        step((len(left) + len(right)) // _ITEMS_A_STEP)
        return bounded(left + right)
    if not (_is_number(left) and _is_number(right)):
        raise Wrong(f"`+` takes two numbers, two texts or two lists, not {kind_of(left)} and {kind_of(right)}")
    return bounded(left + right)  # type: ignore[operator]


def _arithmetic(sign: str, work: Callable[[float, float], float]) -> Callable[[object, object, Step], object]:
    def operation(left: object, right: object, step: Step) -> object:
        del step
        if not (isinstance(left, int | float) and isinstance(right, int | float)) or not (
            _is_number(left) and _is_number(right)
        ):
            raise Wrong(f"`{sign}` takes two numbers, not {kind_of(left)} and {kind_of(right)}")
        if sign in ("/", "//", "%") and right == 0:
            raise Wrong("it divides by 0")
        try:
            return bounded(work(left, right))
        except OverflowError as exc:
            raise Wrong("a number would be infinite") from exc

    return operation


def _holds(whole: object, part: object) -> bool:
    if isinstance(whole, str) and isinstance(part, str):
        return part in whole
    if isinstance(whole, list | tuple):
        return any(_equal(each, part) for each in whole)
    if isinstance(whole, Mapping) and isinstance(part, str):
        return part in whole
    raise Wrong(f"`in` looks into text, lists and maps, not for {kind_of(part)} in {kind_of(whole)}")


def _equal(left: object, right: object) -> bool:
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    return bool(left == right)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _size(value: object) -> int:
    if isinstance(value, str):
        return len(value) // _CHARACTERS_A_STEP
    return len(value) if isinstance(value, Sequence | Mapping) else 0


def kind_of(value: object) -> str:
    """Return what *value* is, in the words of workflows."""
    names = {bool: "a flag", int: "a number", float: "a number", str: "text", list: "a list", dict: "a map"}
    return "null" if value is None else names.get(type(value), "a value of another kind")


def _text_of(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise Wrong(f"`{name}` takes text, not {kind_of(value)}")
    return value


def _list_of(value: object, name: str) -> list[object]:
    if not isinstance(value, list):
        raise Wrong(f"`{name}` takes a list, not {kind_of(value)}")
    return value


def _numbers(values: Sequence[object], name: str) -> list[float]:
    found = [each for each in values if isinstance(each, int | float) and not isinstance(each, bool)]
    if len(found) != len(values):
        raise Wrong(f"`{name}` takes numbers alone")
    return found


def _several(given: list[object], name: str) -> list[float]:
    """Return the numbers that a function of one list, or of several numbers, was given."""
    values = given[0] if len(given) == 1 and isinstance(given[0], list) else given
    found = _numbers(values, name)
    if not found:
        raise Wrong(f"`{name}` of an empty list is nothing")
    return found


def _len(given: list[object], step: Step) -> object:
    del step
    if not isinstance(given[0], str | list | tuple | Mapping):
        raise Wrong(f"`len` takes text, a list or a map, not {kind_of(given[0])}")
    return len(given[0])


def _number(given: list[object], step: Step) -> object:
    del step
    if _is_number(given[0]):
        return given[0]
    text = _text_of(given[0], "number").strip()
    try:
        found = float(text) if set(text) & set(".eEnN") else int(text)
    except ValueError as exc:
        raise Wrong(f"{text[:40]!r} is no number") from exc
    return bounded(found)


def _get(given: list[object], step: Step) -> object:
    del step
    fallback = given[2] if len(given) == 3 else None
    try:
        return looked_up(given[0], given[1])
    except Wrong:
        return fallback


def _texts(name: str, work: Callable[[str], str]) -> Function:
    def call(given: list[object], step: Step) -> object:
        text = _text_of(given[0], name)
        step(len(text) // _CHARACTERS_A_STEP)
        return bounded(work(text))

    return Function(1, 1, call)


def _tests(name: str, work: Callable[[str, str], bool]) -> Function:
    return Function(2, 2, lambda given, _: work(_text_of(given[0], name), _text_of(given[1], name)))


def _join(given: list[object], step: Step) -> object:
    parts = [_text_of(each, "join") for each in _list_of(given[0], "join")]
    between = _text_of(given[1], "join")
    size = sum(map(len, parts)) + len(between) * len(parts)
    step(len(parts) + size // _CHARACTERS_A_STEP)
    if size > LONGEST_TEXT + len(between):
        raise Wrong(f"a text would be longer than {LONGEST_TEXT:,} characters")
    return bounded(between.join(parts))


def _split(given: list[object], step: Step) -> object:
    text, by = _text_of(given[0], "split"), _text_of(given[1], "split")
    if not by:
        raise Wrong("`split` takes a text to split by that is not empty")
    step(text.count(by) + len(text) // _CHARACTERS_A_STEP)
    return bounded(text.split(by))


def _text(given: list[object], step: Step) -> object:
    found = as_text(given[0])
    step(len(found) // _CHARACTERS_A_STEP)
    return bounded(found)


OPERATIONS: Final[Mapping[str, Callable[[object, object, Step], object]]] = {
    "+": _add,
    "-": _arithmetic("-", lambda left, right: left - right),
    "*": _arithmetic("*", lambda left, right: left * right),
    "/": _arithmetic("/", lambda left, right: left / right),
    "//": _arithmetic("//", lambda left, right: left // right),
    "%": _arithmetic("%", lambda left, right: left % right),
}
"""What stands between two values."""

FUNCTIONS: Final[Mapping[str, Function]] = {
    "len": Function(1, 1, _len),
    "lower": _texts("lower", str.lower),
    "upper": _texts("upper", str.upper),
    "trim": _texts("trim", str.strip),
    "starts_with": _tests("starts_with", str.startswith),
    "ends_with": _tests("ends_with", str.endswith),
    "split": Function(2, 2, _split),
    "join": Function(2, 2, _join),
    "text": Function(1, 1, _text),
    "number": Function(1, 1, _number),
    "round": Function(1, 1, lambda given, _: bounded(round(_numbers(given, "round")[0]))),
    "abs": Function(1, 1, lambda given, _: bounded(abs(_numbers(given, "abs")[0]))),
    "min": Function(1, LONGEST_LIST, lambda given, _: min(_several(given, "min"))),
    "max": Function(1, LONGEST_LIST, lambda given, _: max(_several(given, "max"))),
    "sum": Function(1, 1, lambda given, _: bounded(sum(_numbers(_list_of(given[0], "sum"), "sum")))),
    "keys": Function(1, 1, lambda given, _: _keys(given[0])),
    "get": Function(2, 3, _get),
}
"""What can be called."""


def _keys(value: object) -> object:
    if not isinstance(value, Mapping):
        raise Wrong(f"`keys` takes a map, not {kind_of(value)}")
    return bounded(list(value))
