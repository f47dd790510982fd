"""What lies outside of the repository: what its attributes and calls give, as far as that can be said."""

import builtins
from functools import lru_cache
from typing import Final

from appliance.codeintel.resolve.values import Constant, External, Value

_LONGEST: Final = 5  # dots in a name
_REMEMBERED: Final = 4_000  # members
_SILENT: Final = frozenset({"typing", "abc", "types", "enum"})  # what their calls give has no members worth a name
_TEXT: Final = frozenset({
    "capitalize", "casefold", "center", "expandtabs", "format", "join", "ljust", "lower", "lstrip", "removeprefix",
    "removesuffix", "replace", "rjust", "rstrip", "strip", "swapcase", "title", "translate", "upper", "zfill", "decode",
})  # fmt: skip
_TYPES: Final = {"None": type(None), "ellipsis": type(...)}


def builtin_type(text: str) -> type | None:
    """Return the type of a constant or builtin by name, None if it is no type."""
    found = _TYPES.get(text) or getattr(builtins, text, None)
    return found if isinstance(found, type) else None


@lru_cache(maxsize=_REMEMBERED)
def member(path: str, name: str) -> External | None:
    """Return what *name* of the external thing *path* is, None where it has none. Names do not grow for ever."""
    head, _, rest = path.partition(".")
    if head in _SILENT and rest:
        return None
    if head == "builtins":
        kind, _, deeper = rest.partition(".")
        known = builtin_type(kind)
        if deeper or known is None or not hasattr(known, name):
            return None
    return External(path if path.count(".") >= _LONGEST else f"{path}.{name}")


def result(path: str) -> Value | None:
    """Return what a call of the external thing *path* gives, None where nothing can be said."""
    head, _, rest = path.partition(".")
    if head in _SILENT:
        return None
    if head != "builtins":
        return External(path)
    kind, _, method = rest.partition(".")
    if method:
        return Constant("str") if kind in {"str", "bytes"} and method in _TEXT else None
    return External(path) if builtin_type(kind) else None
