"""Arguments as models write them: numbers in quotes, JSON in strings, ``null`` in words."""

import json
import re
import reprlib
from collections.abc import Mapping
from typing import Any, Final

from appliance.operator.plain import copied

_INDEX: Final = re.compile(r"(\d{1,18})(?:\.0+)?")
_DEEPEST: Final = 32
_SHOWN: Final = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = 120


class BadArgument(ValueError):
    """An argument cannot be understood; the sentence says which, and what it should be."""


class NoIndex(IndexError):
    """No objective has that index."""


def shown(value: object) -> str:
    """Return *value* as a sentence may hold it: short whatever it is."""
    try:
        return _SHOWN.repr(value)
    except Exception:  # noqa: BLE001 - whatever a class of a host's does, or a number of thousands of digits
        return f"a {type(value).__name__}"


def absent(value: object) -> bool:
    """Whether *value* is a way to say that nothing was given: None, blank text, or the word ``null``."""
    return value is None or (isinstance(value, str) and value.strip() in {"", "null"})


def text(value: object, *, name: str) -> str:
    """Return the text without blanks around it, ``""`` for None; raise `BadArgument` for anything else."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadArgument(f"{name} must be text, not {shown(value)}.")
    return value.strip()


def index(value: object) -> int:
    """Return the whole number that *value* is or spells; raise `NoIndex` if it is none."""
    if isinstance(value, str) and (found := _INDEX.fullmatch(value.strip())):
        return int(found[1])
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise NoIndex(f"{shown(value)} is no index: give the whole number that the commission returned.")


def checklist(value: object) -> list[str] | None:
    """Return the items as text, without nulls; None where none is given; raise `BadArgument` for what is no list."""
    if absent(value):
        return None
    items = _of_json(value) if isinstance(value, str) else value
    if not isinstance(items, list):
        raise BadArgument(f"checklist must be a list of texts, not {shown(value)}.")
    _bound(items, name="checklist")
    return [str(item) for item in items if item is not None]


def props(value: object) -> dict[str, Any] | None:
    """Return a copy of the properties; None where none are given; raise `BadArgument` for what is no object."""
    if absent(value):
        return None
    found = _of_json(value) if isinstance(value, str) else value
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise BadArgument(f"agent_props must be an object with names as keys, not {shown(value)}.")
    _bound(found, name="agent_props")
    return copied(found)


def _of_json(value: str) -> object:
    try:
        return json.loads(value, parse_constant=_refused)
    except (ValueError, RecursionError):
        return None


def _refused(constant: str) -> object:
    raise ValueError(constant)


def _bound(value: object, *, name: str) -> None:
    """Raise `BadArgument` where *value* is nested so deeply that it could not be copied and written safely."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise BadArgument(f"{name} is nested deeper than {_DEEPEST} levels.")


def _inside(value: object) -> list[object]:
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else []
