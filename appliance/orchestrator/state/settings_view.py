"""Settings as a coordinator sees them: read-only, and without secrets."""

import dataclasses
import enum
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Final

from appliance.orchestrator.state.frozen import freeze

REDACTED: Final = "[redacted]"
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET: Final = frozenset(
    {
        "secret", "secrets", "password", "passwords", "passwd", "passphrase", "token", "apikey", "credential", "credentials",
        "authorization", "cookie", "bearer", "pin",
    }
)  # fmt: skip
_KEYS: Final = frozenset({"key", "keys"})
_SECRET_TEXT: Final = re.compile(r"://[^/\s:@]*:[^/\s@]+@|-----BEGIN [A-Z ]*PRIVATE KEY-----|\bBearer\s+\S", re.IGNORECASE)
_DEEPEST: Final = 20


class SettingsView(Mapping[str, object]):
    """A frozen copy of settings, by key and by attribute. What looks like a secret reads ``[redacted]``."""

    __slots__ = ("_values",)
    _values: Mapping[str, object]

    def __init__(self, values: Mapping[str, object]) -> None:
        object.__setattr__(self, "_values", dict(values))

    def __getitem__(self, key: str) -> object:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> object:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(f"There is no setting {name!r}.")
        return self._values[name]

    def __setattr__(self, name: str, value: object) -> None:
        raise TypeError(f"Settings in a snapshot are read-only: {name!r} cannot be set.")

    def __repr__(self) -> str:
        return f"SettingsView({self._values!r})"

    def __deepcopy__(self, memo: dict[int, object]) -> "SettingsView":
        return self


def view_of(settings: object) -> object:
    """Return *settings* as a `SettingsView` where they have named values, and else frozen; None stays None.

    Paths are shown as text, members of enumerations as their values, so that what is shown can be written as JSON.

    Raise `ValueError` for what cannot be copied or is nested too deep.
    """
    return _viewed(settings, depth=0)


def _viewed(value: object, *, depth: int) -> object:
    if depth > _DEEPEST:
        raise ValueError(f"Settings are nested deeper than {_DEEPEST}.")
    if isinstance(value, list | tuple):
        return tuple(_viewed(inner, depth=depth + 1) for inner in value)
    named = None if isinstance(value, SettingsView) else _named(value)
    if named is None:
        return _plain(value)
    return SettingsView(
        {
            str(key): REDACTED if inner and _is_secret(str(key)) else _viewed(inner, depth=depth + 1)
            for key, inner in named.items()
        }
    )


def _plain(value: object) -> object:
    """Return a value that has no named values of its own, as it is shown."""
    shown = value.value if isinstance(value, enum.Enum) else str(value) if isinstance(value, PurePath) else value
    if callable(getattr(shown, "get_secret_value", None)) or (isinstance(shown, str) and _SECRET_TEXT.search(shown)):
        return REDACTED
    return shown if isinstance(shown, SettingsView) else freeze(shown)


def _named(value: object) -> Mapping[str, object] | None:
    """Return the named values of a mapping, a dataclass, a model or another object with attributes; of others None."""
    if isinstance(value, enum.Enum) or callable(getattr(value, "get_secret_value", None)):
        return None
    if isinstance(value, Mapping):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(value, "__dict__") and not callable(value):
        return {name: inner for name, inner in vars(value).items() if not name.startswith("_")}
    return None


def _is_secret(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name)]
    return not _SECRET.isdisjoint(words) or bool(words and words[-1] in _KEYS)
