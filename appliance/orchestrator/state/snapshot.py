"""What a coordinator is shown: the state of a host at one moment, which nothing can change any more."""

import dataclasses
import enum
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from appliance.orchestrator.state.frozen import freeze, frozen_mapping, same, to_json
from appliance.orchestrator.state.hosts import version_of
from appliance.orchestrator.state.settings_view import view_of

COMPLETE: Final = "complete"
_TEXTS: Final = ("session_id", "conversation_stage", "model", "provider")
_MAPPINGS: Final = ("conversation_state", "session_state", "capabilities")
_NOT_STATE: Final = frozenset({"snapshot_timestamp", "version"})


@dataclass(frozen=True, eq=False)
class ContextSnapshot:
    """The state of a host at one moment. It shares nothing with the host, and cannot be changed at any depth.

    Everything is copied in: mappings become read-only, lists tuples, *settings* a `SettingsView` without secrets. A value
    of the wrong kind is a `ValueError`. Snapshots are equal where the state is: *snapshot_timestamp* (seconds since the
    epoch) and *version* (how often the host's state has changed) do not count.
    """

    messages: tuple[object, ...]
    session_id: str
    conversation_stage: str
    settings: object
    model: str
    provider: str
    max_tokens: int
    temperature: float
    conversation_state: Mapping[str, object]
    session_state: Mapping[str, object]
    observed_files: tuple[str, ...]
    capabilities: Mapping[str, object]
    snapshot_timestamp: float = field(default_factory=time.time)
    version: int = 0

    def __post_init__(self) -> None:
        for name in _TEXTS:
            if not isinstance(getattr(self, name), str):
                raise ValueError(f"{name} must be text, not {getattr(self, name)!r}.")
        for name in ("max_tokens", "temperature", "snapshot_timestamp", "version"):
            if not _is_number(getattr(self, name), whole=name in {"max_tokens", "version"}):
                raise ValueError(f"{name} must be a number, not {getattr(self, name)!r}.")
        put = object.__setattr__
        put(self, "messages", tuple(map(freeze, _items(self.messages, what="messages"))))
        put(self, "observed_files", tuple(map(str, _items(self.observed_files, what="observed_files"))))
        put(self, "settings", view_of(self.settings))
        for name in _MAPPINGS:
            put(self, name, frozen_mapping(getattr(self, name), what=name))

    @property
    def message_count(self) -> int:
        """How many messages the conversation has."""
        return len(self.messages)

    @property
    def is_complete(self) -> bool:
        """Whether the conversation has reached the stage ``complete``."""
        return self.conversation_stage == COMPLETE

    def get_state(self, key: str, default: object = None) -> object:
        """Return the value of *key* in the conversation, else in the session, else *default*. A stored None is a value."""
        for state in (self.conversation_state, self.session_state):
            if key in state:
                return state[key]
        return default

    def has_capability(self, name: str) -> bool:
        """Say whether the host has *name*, with a value that is true."""
        return bool(self.capabilities.get(name))

    def get_capability_value(self, name: str, default: object = None) -> object:
        """Return the value of the capability, *default* where there is none."""
        return self.capabilities.get(name, default)

    def changed_from(self, other: Self) -> tuple[str, ...]:
        """Return the names of the fields in which the state differs from that of *other*."""
        return tuple(name for name in _STATE if not same(getattr(self, name), getattr(other, name)))

    def to_dict(self) -> dict[str, object]:
        """Return the snapshot in JSON's types; raise `ValueError`, which names the value, where JSON has none for it."""
        return {each.name: to_json(getattr(self, each.name), what=each.name) for each in dataclasses.fields(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self:
        """Return the snapshot that `to_dict` wrote; raise `ValueError` for anything else."""
        try:
            return cls(**data)  # type: ignore[arg-type] # __post_init__ looks at every value
        except TypeError as exc:
            raise ValueError(f"This is no snapshot: {exc}.") from exc

    def __eq__(self, other: object) -> bool:
        return not self.changed_from(other) if isinstance(other, ContextSnapshot) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.session_id, self.conversation_stage, self.model, len(self.messages), self.observed_files))

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self


_STATE: Final = tuple(each.name for each in dataclasses.fields(ContextSnapshot) if each.name not in _NOT_STATE)


def create_snapshot(host: object) -> ContextSnapshot:
    """Return the state of *host*, a `Host` or any object with some of its attributes; the others have defaults.

    Raise `ValueError` where an attribute is of the wrong kind.
    """
    provider = _of(host, "provider_name", "") or _of(host, "provider", "")
    return ContextSnapshot(
        messages=_tuple_of(host, "messages"),
        session_id=str(_of(host, "session_id", "")),
        conversation_stage=_text(_of(host, "conversation_stage", "initial")),
        settings=getattr(host, "settings", None),
        model=_text(_of(host, "model", "")),
        provider=provider if isinstance(provider, str) else str(getattr(provider, "name", type(provider).__name__)),
        max_tokens=_of(host, "max_tokens", 4096),  # type: ignore[arg-type] # looked at by the snapshot, as those below
        temperature=_of(host, "temperature", 0.7),  # type: ignore[arg-type]
        conversation_state=_of(host, "conversation_state", {}),  # type: ignore[arg-type]
        session_state=_of(host, "session_state", {}),  # type: ignore[arg-type]
        observed_files=_tuple_of(host, "observed_files"),  # type: ignore[arg-type]
        capabilities=_of(host, "_capabilities", {}),  # type: ignore[arg-type]
        version=version_of(host),
    )


def _of(host: object, name: str, default: object) -> object:
    value = getattr(host, name, None)
    return default if value is None else value


def _tuple_of(host: object, name: str) -> tuple[object, ...]:
    value = _of(host, name, ())
    return tuple(sorted(value)) if isinstance(value, set | frozenset) else _items(value, what=name)


def _text(value: object) -> str:
    return str(value.value) if isinstance(value, enum.Enum) else str(value)


def _items(value: object, *, what: str) -> tuple[object, ...]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise ValueError(f"{what} must be a list or tuple, not {type(value).__name__}.")
    return tuple(value)


def _is_number(value: object, *, whole: bool) -> bool:
    return isinstance(value, int if whole else int | float) and not isinstance(value, bool) and math.isfinite(value)
