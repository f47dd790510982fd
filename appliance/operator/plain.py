"""Copies of what JSON can hold, so that no caller's list is also ours."""

from typing import TypeVar, cast

T = TypeVar("T")


def copied(value: T) -> T:
    """Return *value* with each dict, list, tuple, set and bytearray in it made anew, at any depth.

    Other objects (a client or a lock in a host's metadata) stay the same objects: only their owner knows how to copy them.
    """
    return cast("T", _copy(value))


def _copy(value: object) -> object:
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_copy(inner) for inner in value]
    if type(value) is tuple:
        return tuple(_copy(inner) for inner in value)
    return value.copy() if isinstance(value, set | bytearray) else value
