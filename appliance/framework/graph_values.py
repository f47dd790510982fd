"""Values in the state of a graph: copied within bounds, compared, told, and looked at for what JSON can say."""

import copy
import reprlib
from collections.abc import Mapping
from typing import Final, cast

from appliance.errors import LimitExceeded

DEEPEST: Final = 200  # lists and mappings within each other
MOST_SIZE: Final = 16_000_000  # characters of one value, or what is as large
_SIZE_OF_ONE: Final = 8  # of an item

_ATOMS: Final = frozenset({int, float, bool, type(None)})
_LARGEST: Final = 10**4000  # Python reads numbers of 4,300 digits at most
_SHOWN: Final = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = 200


def copied(value: object) -> object:
    """Return a deep copy of *value*.

    Raise `RecursionError` where it nests too deep, and `LimitExceeded` where it is larger than `MOST_SIZE`; what holds one
    thing many times is as large as if each stood there, as it is copied and written so.
    """
    return _copied(value, [MOST_SIZE], 0)


def same(one: object, other: object) -> bool:
    """Return whether the values are of one type and equal; values that cannot be compared are not."""
    if one is other:
        return True
    try:
        return type(one) is type(other) and bool(one == other)
    except Exception:  # noqa: BLE001 - as it says
        return False


def differs(given: Mapping[str, object], key: str, value: object) -> bool:
    """Return whether *value* is not what *given* has for *key*."""
    return key not in given or not same(given[key], value)


def plain(value: object) -> bool:
    """Return whether JSON can say *value* so that it comes back the same."""
    kind = type(value)
    if kind is float:
        return value == value and value not in (float("inf"), float("-inf"))  # noqa: PLR0124 - NaN differs from itself
    if kind is int:
        return -_LARGEST < cast("int", value) < _LARGEST
    if kind is str or kind in _ATOMS:
        return True
    if kind is list:
        return all(map(plain, cast("list[object]", value)))
    if kind is dict:
        return all(type(key) is str and plain(each) for key, each in cast("dict[object, object]", value).items())
    return False


def shown(value: object) -> str:
    """Return *value* as a sentence may hold it: short whatever it is."""
    try:
        return _SHOWN.repr(value)
    except Exception:  # noqa: BLE001 - whatever a class of the author's does, or a number of thousands of digits
        return f"a {type(value).__name__}"


def _copied(value: object, left: list[int], depth: int) -> object:
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is str or kind is bytes:
        _take(len(cast("str", value)), left)
        return value
    if depth > DEEPEST:
        raise RecursionError
    if kind is dict:
        inside = cast("dict[object, object]", value)
        _take(_SIZE_OF_ONE * len(inside), left)
        return {_copied(key, left, depth + 1): _copied(each, left, depth + 1) for key, each in inside.items()}
    if kind is list or kind is tuple:
        _take(_SIZE_OF_ONE * len(cast("list[object]", value)), left)
        items = [_copied(each, left, depth + 1) for each in cast("list[object]", value)]
        return items if kind is list else tuple(items)
    return copy.deepcopy(value)


def _take(size: int, left: list[int]) -> None:
    left[0] -= size
    if left[0] < 0:
        raise LimitExceeded(
            f"it has more than {MOST_SIZE:,} characters, or {MOST_SIZE // _SIZE_OF_ONE:,} items.",
            remedy="Keep it in a file, and its name in the state.",
        )
