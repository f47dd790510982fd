"""JSON of whatever a host put into its machine, or the place of what JSON cannot hold."""

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter

from appliance.operator.errors import SnapshotError

_ANYTHING: Final[TypeAdapter[Any]] = TypeAdapter(Any)
_DEEPEST: Final = 200


def encoded(value: object, *, place: str = "") -> str:
    """Return *value* as JSON; raise `SnapshotError` with the place of the first thing in it that JSON cannot hold."""
    try:
        return _ANYTHING.dump_json(value).decode()
    except ValueError as exc:
        if sentence := _unfit(value, place, depth=0):
            raise SnapshotError(f"{sentence} Remove it, or keep it on the runner.") from exc
        return json.dumps(_ANYTHING.dump_python(value, mode="json"))  # half a surrogate pair can stand there escaped


def writable(text: str) -> bool:
    """Whether *text* can be written as UTF-8, as half a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unfit(value: object, place: str, *, depth: int) -> str:
    if depth > _DEEPEST:
        return f"{place[:200]} is nested too deeply for JSON."
    if isinstance(value, Mapping | BaseModel):
        inside = [(f"{place}.{key}".lstrip("."), inner) for key, inner in dict(value).items()]
    elif isinstance(value, list | tuple):
        inside = [(f"{place}[{number}]", inner) for number, inner in enumerate(value)]
    else:
        return _unfit_leaf(value, place)
    found = (_unfit(inner, where, depth=depth + 1) for where, inner in inside)
    return next((sentence for sentence in found if sentence), "")


def _unfit_leaf(value: object, place: str) -> str:
    if not isinstance(value, str):
        try:
            _ANYTHING.dump_json(value)
        except ValueError:
            return f"{place} holds an object of the type {type(value).__name__}, which JSON cannot hold."
    return ""
