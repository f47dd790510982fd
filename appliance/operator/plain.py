"""Copies of what JSON can hold, so that no caller's list is also ours."""

from types import NoneType
from typing import Final, TypeVar, cast

T = TypeVar("T")
_ATOMS: Final = frozenset({str, float, bool, NoneType})
_LARGEST: Final = 10**4000  # Python reads numbers of 4,300 digits at most


class NotPlain(ValueError):
    """A value cannot be copied."""


def copied(value: T) -> T:
    """Return *value* with each dict, list, tuple, set and bytearray in it made anew, at any depth.

    Other objects (a client or a lock in a host's metadata) stay the same objects: only their owner knows how to copy them.
    Raise `NotPlain` for what is nested too deeply, contains itself, or has a number that nobody could read again.
    """
    try:
        return cast("T", _copy(value))
    except RecursionError as exc:
        raise NotPlain("a value is nested too deeply to be copied, or contains itself") from exc


def _copy(value: object) -> object:
    kind = type(value)
    if kind in _ATOMS:
        return value
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_copy(inner) for inner in value]
    if isinstance(value, int) and not -_LARGEST < value < _LARGEST:
        raise NotPlain("a number has more digits than JSON is read with")
    if kind is tuple:
        return tuple(_copy(inner) for inner in cast("tuple[object, ...]", value))
    return value.copy() if isinstance(value, set | bytearray) else value
