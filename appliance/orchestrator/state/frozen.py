"""Values that nobody can change: copied on the way in, read-only all the way down, copied again on the way out."""

import copy
import dataclasses
import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Final

_ATOMS: Final = frozenset({str, int, float, bool, type(None), bytes, complex})
_DEEPEST: Final = 100
_MOST: Final = 2_000_000  # items of one value
_BUSY: Final = object()


class FrozenList(tuple[object, ...]):
    """What a list became. It equals the list that it was made of, and thaws to a list again."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


def freeze(value: object) -> object:
    """Return a copy of *value* that cannot be changed: mappings read-only, lists and sets frozen, at every depth.

    Objects of other types are copied deeply. Raise `ValueError` for what contains itself, is nested too deep, cannot be
    copied, or has too many items: what holds one thing many times has as many as if each stood there.
    """
    return _Freezing().frozen(value, 0)


def frozen_mapping(value: object, *, what: str) -> Mapping[str, object]:
    """Return *value* frozen; raise `ValueError` unless it is a mapping whose keys are text."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"{what} must be a mapping with text for keys.")
    return MappingProxyType({key: freeze(inner) for key, inner in value.items()})


def thaw(value: object) -> object:
    """Return a copy of what `freeze` made that is the caller's own to change."""
    if type(value) in _ATOMS:
        return value
    if isinstance(value, Mapping):
        return {key: thaw(inner) for key, inner in value.items()}
    if isinstance(value, FrozenList):
        return [thaw(inner) for inner in value]
    if type(value) is tuple:
        return tuple(thaw(inner) for inner in value)
    return copy.deepcopy(value)


def to_json(value: object, *, what: str) -> object:
    """Return *value* in the types that JSON has; raise `ValueError`, which names *what*, where it has none for it."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{what} is {value}: JSON has no such number.")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise ValueError(f"{what} has a key that is no text: JSON cannot say it.")
        return {key: to_json(inner, what=f"{what}.{key}") for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(inner, what=f"{what}[{index}]") for index, inner in enumerate(value)]
    raise ValueError(f"{what} is a {type(value).__name__}: JSON cannot say it. Give it as mappings, lists and text.")


def same(one: object, other: object) -> bool:
    """Say whether two frozen values are equal; objects that only know identity are compared by their attributes."""
    if one is other or one == other:
        return True
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(inner, other[key]) for key, inner in one.items())
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    knows_identity_only = type(one) is type(other) and type(one).__eq__ is object.__eq__
    return knows_identity_only and hasattr(one, "__dict__") and same(vars(one), vars(other))


class _Freezing:
    """One value on its way to be frozen: what was seen of it, and how many items it has."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, int]] = {}
        self._items = 0  # so far, each as often as it stands there

    def frozen(self, value: object, depth: int) -> object:
        if type(value) in _ATOMS:
            return value
        known, items = self._known.get(id(value), (None, 0))
        if known is _BUSY:
            raise ValueError("A value that contains itself cannot be frozen.")
        if known is None:
            if depth > _DEEPEST:
                raise ValueError(f"A value is nested deeper than {_DEEPEST}.")
            self._known[id(value)] = (_BUSY, 0)
            before = self._items
            known = self._of_kind(value, depth + 1)
            self._known[id(value)] = (known, self._items - before)
        else:
            self._count(items)
        return known

    def _of_kind(self, value: object, depth: int) -> object:
        if isinstance(value, Mapping):
            self._count(len(value))
            return MappingProxyType({key: self.frozen(inner, depth) for key, inner in value.items()})
        if isinstance(value, list | tuple):
            self._count(len(value))
            kind = FrozenList if isinstance(value, list | FrozenList) else tuple
            return kind(self.frozen(inner, depth) for inner in value)
        if isinstance(value, AbstractSet):
            return frozenset(value)
        return value if _is_flat(value) else _copied(value)

    def _count(self, items: int) -> None:
        self._items += items
        if self._items > _MOST:
            raise ValueError(f"A value has more than {_MOST:,} items.")


def _copied(value: object) -> object:
    try:
        return copy.deepcopy(value)
    except Exception as exc:  # whatever a foreign __deepcopy__ raises, the reason is the same
        raise ValueError(f"A {type(value).__name__} cannot be copied: {exc}.") from exc


def _is_flat(value: object) -> bool:
    """Say whether *value* is a frozen dataclass of plain values, which needs no copy."""
    params = getattr(type(value), "__dataclass_params__", None)
    if params is None or not params.frozen or not dataclasses.is_dataclass(value):
        return False
    return all(type(getattr(value, field.name)) in _ATOMS for field in dataclasses.fields(value))
