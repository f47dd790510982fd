"""What a coordinator may ask for: one transition, which is valid from the moment that it exists."""

import copy
import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, Self

from appliance.orchestrator.state.frozen import freeze, to_json

Scope = Literal["conversation", "session"]
SCOPES: Final[tuple[Scope, ...]] = ("conversation", "session")
DEEPEST_BATCH: Final = 16


class TransitionType(enum.Enum):
    """Everything that can be asked for."""

    ADD_MESSAGE = "add_message"
    ADD_MESSAGES = "add_messages"
    UPDATE_STATE = "update_state"
    DELETE_STATE = "delete_state"
    EXECUTE_TOOL = "execute_tool"
    TOOL_RESULT = "tool_result"
    UPDATE_CAPABILITY = "update_capability"
    UPDATE_STAGE = "update_stage"
    CREATE_SESSION = "create_session"
    CLOSE_SESSION = "close_session"
    BATCH = "batch"


@dataclass(frozen=True)
class StateTransition:
    """One change or effect. Made only if valid, and else a `ValueError` says what is missing or wrong.

    *data* is a frozen copy: what each type takes stands in docs/reference/state.md. *metadata* is a copy and the owner's to
    change; nothing acts on it.
    """

    transition_type: TransitionType
    data: Mapping[str, object]
    metadata: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.transition_type, TransitionType):
            raise ValueError(f"{self.transition_type!r} is no transition type: give a member of TransitionType.")
        if not isinstance(self.metadata, Mapping):
            raise ValueError("The metadata of a transition must be a mapping.")
        object.__setattr__(self, "data", _valid(self.transition_type, self.data))
        object.__setattr__(self, "metadata", copy.deepcopy(dict(self.metadata)))

    def to_dict(self) -> dict[str, object]:
        """Return the transition in JSON's types; raise `ValueError`, which names the value, where JSON has none for it."""
        data = dict(self.data)
        if self.transition_type is TransitionType.BATCH:
            data["transitions"] = [each.to_dict() for each in nested(self)]
        name = self.transition_type.value
        return {
            "transition_type": name,
            "data": to_json(data, what=name),
            "metadata": to_json(self.metadata, what=f"{name}.metadata"),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self:
        """Return the transition that `to_dict` wrote; raise `ValueError` for anything else."""
        return cls._read(data, depth=0)

    @classmethod
    def _read(cls, raw: object, *, depth: int) -> Self:
        if depth > DEEPEST_BATCH:
            raise ValueError(f"Batches are nested deeper than {DEEPEST_BATCH}.")
        if not isinstance(raw, Mapping) or not raw.keys() <= {"transition_type", "data", "metadata"}:
            raise ValueError("A transition is a mapping with transition_type, data and metadata.")
        try:
            kind = TransitionType(raw.get("transition_type"))
        except ValueError as exc:
            raise ValueError(f"{raw.get('transition_type')!r} is no transition type.") from exc
        data = raw.get("data")
        if kind is TransitionType.BATCH and isinstance(data, Mapping) and isinstance(data.get("transitions"), list):
            data = {**data, "transitions": [cls._read(each, depth=depth + 1) for each in data["transitions"]]}
        metadata = raw.get("metadata", {})
        return cls(kind, data, metadata)  # type: ignore[arg-type] # __post_init__ looks at both

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return type(self)(self.transition_type, self.data, copy.deepcopy(self.metadata, memo))


def nested(batch: StateTransition) -> tuple[StateTransition, ...]:
    """Return the transitions in a transition of type BATCH."""
    inner = batch.data["transitions"]
    return inner if isinstance(inner, tuple) else ()


def scope_of(transition: StateTransition) -> Scope:
    """Return which state an UPDATE_STATE or DELETE_STATE is for: that of the conversation unless it says otherwise."""
    return "session" if transition.data.get("scope") == "session" else "conversation"


Check = Callable[[object], bool]


def _given(value: object) -> bool:
    return value is not None


def _anything(_value: object) -> bool:
    return True


def _name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _optional_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _flag(value: object) -> bool:
    return isinstance(value, bool)


def _scope(value: object) -> bool:
    return isinstance(value, str) and value in SCOPES


def _arguments(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def _messages(value: object) -> bool:
    return isinstance(value, list | tuple) and None not in value


def _batch(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, StateTransition) for each in value)


@dataclass(frozen=True, slots=True)
class _Form:
    """What the data of one type must have, and what it may."""

    required: Mapping[str, Check]
    optional: Mapping[str, Check] = field(default_factory=dict)


_T: Final = TransitionType
_FORMS: Final[Mapping[TransitionType, _Form]] = {
    _T.ADD_MESSAGE: _Form({"message": _given}),
    _T.ADD_MESSAGES: _Form({"messages": _messages}),
    _T.UPDATE_STATE: _Form({"key": _name, "value": _anything}, {"scope": _scope}),
    _T.DELETE_STATE: _Form({"key": _name}, {"scope": _scope}),
    _T.EXECUTE_TOOL: _Form({"tool_name": _name, "arguments": _arguments}),
    _T.TOOL_RESULT: _Form(
        {"tool_name": _name, "result": _anything},
        {"tool_call_id": _optional_text, "success": _flag, "error": _optional_text},
    ),
    _T.UPDATE_CAPABILITY: _Form({"capability": _name}, {"value": _anything}),
    _T.UPDATE_STAGE: _Form({"stage": _name}),
    _T.CREATE_SESSION: _Form({}, {"session_id": _name, "kwargs": _arguments}),
    _T.CLOSE_SESSION: _Form({"session_id": _name}),
    _T.BATCH: _Form({"transitions": _batch}),
}


def _valid(kind: TransitionType, data: object) -> Mapping[str, object]:
    """Return a frozen copy of *data*, which has all that *kind* requires and nothing that it does not know."""
    form, name = _FORMS[kind], kind.value
    if not isinstance(data, Mapping):
        raise ValueError(f"The data of {name} must be a mapping, not {type(data).__name__}.")
    known = {**form.required, **form.optional}
    missing = sorted(form.required.keys() - data.keys())
    unknown = sorted(map(str, data.keys() - known.keys()))
    if missing or unknown:
        parts = [f"it lacks {', '.join(missing)}"] * bool(missing) + [f"it knows no {', '.join(unknown)}"] * bool(unknown)
        raise ValueError(f"{name} takes {', '.join(known) or 'nothing'}: {'; '.join(parts)}.")
    for key, value in data.items():
        if not known[key](value):
            raise ValueError(f"{key} of {name} cannot be a {type(value).__name__} like {_shown(value)}.")
    if kind is TransitionType.BATCH:
        return MappingProxyType({"transitions": _shallow(data["transitions"])})
    if kind is TransitionType.CREATE_SESSION and "session_id" in data and "session_id" in data.get("kwargs", {}):
        raise ValueError("session_id of create_session stands in its kwargs too.")
    return MappingProxyType({key: freeze(value) for key, value in data.items()})


def _shallow(transitions: tuple[StateTransition, ...]) -> tuple[StateTransition, ...]:
    """Return *transitions*; raise `ValueError` where batches in them are nested too deep."""
    level: Sequence[StateTransition] = transitions
    depth = 1
    while level := [inner for each in level if each.transition_type is TransitionType.BATCH for inner in nested(each)]:
        depth += 1
        if depth > DEEPEST_BATCH:
            raise ValueError(f"Batches are nested deeper than {DEEPEST_BATCH}.")
    return tuple(transitions)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
