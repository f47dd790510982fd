"""What the record holds of typed values, and back."""

import json
from typing import TypeVar

import msgspec

from appliance.contracts.tools import Json
from appliance.orchestrator.missions.canonical import canonical

_T = TypeVar("_T")


def plain(value: object) -> Json:
    """Return *value*, a dataclass or a sequence of such, as JSON says it."""
    said: Json = json.loads(canonical(msgspec.to_builtins(value)))
    return said


def typed(data: Json, kind: type[_T]) -> _T:
    """Return the *kind* that *data* is the JSON of; raise `msgspec.ValidationError`."""
    return msgspec.convert(data, kind)
