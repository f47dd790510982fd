"""The state of a graph: read from its schema, checked at every write, copied whenever it changes hands."""

import contextlib
import dataclasses
import re
import typing
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, NotRequired, Required, cast

from pydantic import BaseModel, ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

if typing.TYPE_CHECKING:
    from _typeshed import DataclassInstance

from appliance.errors import Conflict, InvalidInput, LimitExceeded, StepFailed
from appliance.framework.graph_values import DEEPEST, MOST_SIZE, copied, differs, plain, same, shown

Values = dict[str, object]
Merger = typing.Callable[[object, object], object]

_ARBITRARY: Final = ConfigDict(arbitrary_types_allowed=True)
_DEEP: Final = f"Give plain values that nest no deeper than {DEEPEST} and do not contain themselves."
_NO_NAME: Final = re.compile(r"(?:\w+\.)+(?=\w)| at 0x[0-9a-f]+")  # modules and addresses


class StateSchema:
    """What keys a state has, and of what types. *schema* is a TypedDict, a dataclass, a pydantic model, or ``dict``.

    A key of a TypedDict may be absent until somebody writes it. With ``dict`` every key of text is taken, of any value.
    """

    def __init__(self, schema: type) -> None:
        self.name = getattr(schema, "__name__", repr(schema))
        self._made = schema
        self._kind = _kind(schema)
        self._hints = _hints(schema, self._kind)
        self._types = {key: _adapter(self.name, key, hint) for key, hint in self._hints.items()}

    @property
    def keys(self) -> frozenset[str] | None:
        """The keys that a state may have; None where any."""
        return None if self._kind == "open" else frozenset(self._types)

    @property
    def described(self) -> Mapping[str, str]:
        """The keys with their types, as text that is the same in every process, whatever its main module is."""
        return {key: _NO_NAME.sub("", str(hint)) for key, hint in self._hints.items()}

    def begin(self, given: object) -> Values:
        """Return the state that a run starts with; raise `InvalidInput` where *given* is none of the schema."""
        if not isinstance(given, Mapping) and not (self._kind in ("dataclass", "model") and isinstance(given, self._made)):
            raise InvalidInput(
                f"The input of the graph is {_a(given)}, and should be a mapping with the keys of {self.name}.",
                remedy=self._known(),
            )
        state = self._checked(_values(given), "The input")
        return dict(_values(self._instance(state, "The input"))) if self._kind in ("dataclass", "model") else state

    def update(self, returned: object, *, given: Mapping[str, object], who: str) -> Values:
        """Return what *who* wrote by returning *returned*: a mapping with some keys, None for nothing, or an instance.

        An instance is compared with the state that was *given*: what differs is written. Raise `InvalidInput`.
        """
        if returned is None:
            return {}
        if isinstance(returned, Mapping):
            return self._checked(returned, f"What {who} returned")
        if self._kind in ("dataclass", "model") and isinstance(returned, self._made):
            whole = _values(returned)
            changed = {key: value for key, value in whole.items() if differs(given, key, value)}
            return self._checked(changed, f"What {who} returned")
        raise InvalidInput(
            f"{_capital(who)} returned {_a(returned)}.",
            remedy=f"Return a mapping with the keys of {self.name} that change, or None.",
        )

    def shown(self, state: Mapping[str, object]) -> object:
        """Return a copy of *state* in the form that the schema has; raise `InvalidInput` where a model refuses it."""
        values = {key: copied(value) for key, value in state.items()}
        return values if self._kind in ("open", "mapping") else self._instance(values, "The state")

    def merged(
        self, state: Mapping[str, object], writes: Sequence[tuple[str, Values]], mergers: Mapping[str, Merger]
    ) -> Values:
        """Return *state* after the *writes* of one step, in their order, each as who wrote and what.

        A key with a merger takes every write through it. A key without one takes one; raise `Conflict` naming two who wrote.
        """
        after, writers = dict(state), dict[str, str]()
        for who, update in writes:
            for key, value in update.items():
                if key in mergers:
                    after[key] = self._merge(key, after, value, mergers[key])
                    continue
                if key in writers:
                    raise Conflict(
                        f"{_capital(writers[key])} and {who} both wrote the key {key!r} in one step.",
                        remedy=f"Say how the two become one: add_state_merger({key!r}, …).",
                    )
                writers[key] = who
                after[key] = value
        if self._kind in ("dataclass", "model"):
            self._instance(after, "The state")
        return after

    def dumped(self, state: Mapping[str, object]) -> Values:
        """Return *state* as JSON values; raise `InvalidInput` naming the key that has none, or would come back changed."""
        return {key: value if plain(value) else self._json(key, value) for key, value in state.items()}

    def loaded(self, stored: Mapping[str, object]) -> Values:
        """Return the state that `dumped` gave as *stored*; raise `InvalidInput` where it is none of the schema."""
        state: Values = {}
        for key, value in stored.items():
            if self._kind != "open" and key not in self._types:
                raise InvalidInput(f"The stored key {shown(key)} is none of {self.name}.", remedy=self._known())
            try:
                state[key] = self._types[key].validate_python(value, strict=False) if key in self._types else value
            except ValidationError as exc:
                raise InvalidInput(f"The stored key {key!r} is no {self._type(key)}: {_said(exc)}.", key=key) from exc
        return state

    def _checked(self, given: Mapping[str, object], what: str) -> Values:
        checked: Values = {}
        for key, value in given.items():
            if not isinstance(key, str) or (self._kind != "open" and key not in self._types):
                name = shown(key)
                raise InvalidInput(f"{what} has a key {name}, which {self.name} has not.", remedy=self._known(), key=name)
            try:
                own = copied(value)
                checked[key] = self._types[key].validate_python(own, strict=True) if self._types else own
            except LimitExceeded as exc:
                raise LimitExceeded(
                    f"{what} is too large at the key {key!r}: {exc.message}", remedy=exc.remedy, limit=MOST_SIZE
                ) from exc
            except ValidationError as exc:
                raise InvalidInput(
                    f"{what} has for the key {key!r} {_a(value)}, which is no {self._type(key)}: {_said(exc)}.", key=key
                ) from exc
            except Exception as exc:  # whatever a class of the author's does when it is copied or checked
                raise InvalidInput(f"{what} has for the key {key!r} a value that cannot be copied.", remedy=_DEEP) from exc
        return checked

    def _instance(self, values: Mapping[str, object], what: str) -> object:
        try:
            if issubclass(self._made, BaseModel):
                return self._made.model_validate(dict(values), strict=True, by_alias=False, by_name=True)
            return self._made(**values)
        except ValidationError as exc:
            raise InvalidInput(f"{what} is no {self.name}: {_said(exc)}.") from exc
        except Exception as exc:  # whatever the author's class does when it is made
            raise InvalidInput(f"{what} makes no {self.name}: {type(exc).__name__}: {exc}.") from exc

    def _merge(self, key: str, state: Mapping[str, object], value: object, merger: Merger) -> object:
        if key not in state:
            return value
        try:
            merged = merger(copied(state[key]), value)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as exc:  # the merger is the author's
            raise StepFailed(f"The merger of the key {key!r} raised {type(exc).__name__}: {exc}") from exc
        return self._checked({key: merged}, "What the merger made")[key]

    def _json(self, key: str, value: object) -> object:
        with contextlib.suppress(PydanticSerializationError, ValidationError, KeyError, RecursionError, ValueError):
            stored = cast("object", self._types[key].dump_python(value, mode="json"))
            if plain(stored) and same(self._types[key].validate_python(stored, strict=False), value):
                return stored
        raise InvalidInput(
            f"The key {key!r} holds {_a(value)} that is no JSON, so the state cannot be kept.",
            remedy="Give it a type in the schema that pydantic can write as JSON, or keep it outside the state.",
            key=key,
        )

    def _type(self, key: str) -> str:
        hint = self._hints[key]
        return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)

    def _known(self) -> str:
        return "" if self._kind == "open" else f"{self.name} has {', '.join(map(repr, self._types)) or 'no keys'}."


def _kind(schema: type) -> Literal["open", "mapping", "dataclass", "model"]:
    if schema is dict:
        return "open"
    if typing.is_typeddict(schema):
        return "mapping"
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return "model"
    if isinstance(schema, type) and dataclasses.is_dataclass(schema):
        return "dataclass"
    raise InvalidInput(
        f"{schema!r} is no schema of a state.", remedy="Give a TypedDict, a dataclass, a pydantic model, or dict."
    )


def _hints(schema: type, kind: str) -> Mapping[str, object]:
    if kind == "open":
        return {}
    if issubclass(schema, BaseModel):
        return {
            key: Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
            for key, field in schema.model_fields.items()
        }
    try:
        hints = typing.get_type_hints(schema, include_extras=True)
    except NameError as exc:
        raise InvalidInput(
            f"A type that {schema.__name__} names cannot be found: {exc}.",
            remedy="Define the schema at the top of a module.",
        ) from exc
    if kind == "dataclass":
        hints = {
            field.name: hints[field.name]
            for field in dataclasses.fields(cast("type[DataclassInstance]", schema))
            if field.init
        }
    return {key: _bare(hint) for key, hint in hints.items()}


def _bare(hint: object) -> object:
    """Return *hint* without what a TypedDict alone may say."""
    return typing.get_args(hint)[0] if typing.get_origin(hint) in (NotRequired, Required) else hint


def _adapter(schema: str, key: str, hint: object) -> TypeAdapter[object]:
    known = cast("type[object]", hint)
    try:
        try:
            return TypeAdapter(known, config=_ARBITRARY)
        except PydanticUserError:  # models and the like have their own configuration
            return TypeAdapter(known)
    except PydanticUserError as exc:
        raise InvalidInput(f"The key {key!r} of {schema} has a type that cannot be checked: {exc.message}") from exc


def _values(given: object) -> Mapping[str, object]:
    if isinstance(given, Mapping):
        return given
    if isinstance(given, BaseModel):
        return {key: getattr(given, key) for key in type(given).model_fields}
    return {each.name: getattr(given, each.name) for each in dataclasses.fields(given) if each.init}  # type: ignore[arg-type]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _a(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def _said(exc: ValidationError) -> str:
    first = exc.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where + ': ' if where else ''}{first['msg'][:1].lower()}{first['msg'][1:]}"
