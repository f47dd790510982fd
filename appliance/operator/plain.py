"""Copies of what JSON can hold, so that no caller's list is also ours."""

from types import NoneType
from typing import Final, TypeVar, cast

T = TypeVar("T")
_ATOMS: Final = frozenset({str, int, float, bool, NoneType})


def copied(value: T) -> T:
    """Return *value* with each dict, list, tuple, set and bytearray in it made anew, at any depth.

    Other objects (a client or a lock in a host's metadata) stay the same objects: only their owner knows how to copy them.
    """
    return cast("T", _copy(value))


def _copy(value: object) -> object:
    if type(value) in _ATOMS:
        return value
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_copy(inner) for inner in value]
    if type(value) is tuple:
        return tuple(_copy(inner) for inner in value)
    return value.copy() if isinstance(value, set | bytearray) else value
