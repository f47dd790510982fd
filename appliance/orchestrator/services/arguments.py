"""The arguments of a call, as models send them: understood where the schema leaves one reading, and checked against it."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Final, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError, relevance
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from appliance.contracts.chat import JsonSchema
from appliance.contracts.tools import Json
from appliance.errors import InvalidInput, LimitExceeded
from appliance.orchestrator.calls import MOST_BYTES, canonical, without_secrets

_ELSEWHERE: Final = frozenset({"$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef"})
_ENDLESS: Final = frozenset({"pattern", "patternProperties"})  # a model chooses the text: some take for ever
_DEFINITION: Final = "#/$defs/"
_INTEGER: Final = re.compile(r"\s*-?\d{1,18}(?:\.0+)?\s*")
_FAULTS: Final = 3  # that are told at once: a model mends one after the other anyway
_FAULT_CHARACTERS: Final = 200
_REMEMBERED: Final = 256  # schemas that were found good: each run is given the same tools again
_MOST_FOLLOWED: Final = 20_000  # references, while one call is checked
_MOST_PARTS: Final = 50_000  # of a schema whose references are written out, as an engine is given it
_DEEPEST_WRITTEN: Final = 7  # references within each other that are written out

_followed: Final[ContextVar[int]] = ContextVar("_followed", default=0)


def _follow(validator: Validator, reference: str, instance: object, schema: object) -> Iterator[ValidationError]:
    """Follow *reference* as the draft says, so often and no more: two of the next in each of a row are 2**n of the last."""
    _followed.set(_followed.get() + 1)
    if _followed.get() > _MOST_FOLLOWED:
        raise LimitExceeded(
            "The arguments cannot be checked: the references of the tool's schema lead to too much.", limit=_MOST_FOLLOWED
        )
    yield from Draft202012Validator.VALIDATORS["$ref"](validator, reference, instance, schema) or ()


_Bounded: Final = extend(Draft202012Validator, {"$ref": _follow})


class Arguments:
    """What a tool's schema says of its arguments. *schema* is of one object and refers to nothing outside itself.

    Raise `InvalidInput` for a schema that is none.
    """

    def __init__(self, schema: JsonSchema) -> None:
        text = canonical(cast("Mapping[str, Json]", schema))
        plain: object = json.loads(text)
        if not isinstance(plain, dict) or plain.get("type") != "object":
            raise InvalidInput("The schema of a tool's arguments is not of an object.", remedy='Give it `"type": "object"`.')
        _require_local(plain, plain.get("$defs"))
        _require_schema(text)
        self.schema: JsonSchema = plain
        _require_few(plain)
        self._validator = _Bounded(plain)

    def checked(self, given: object) -> dict[str, Json]:
        """Return what *given* says, as the schema has it; raise `InvalidInput` with what is wrong, or `LimitExceeded`.

        Small models write arguments, or one of them, as a string of JSON; ``1.0`` for 1; ``"null"``, null or ``""`` for
        what they do not give. Where the schema leaves one reading, it is taken.
        """
        arguments = self._understood(_object(given))
        canonical(arguments)  # bounds size and depth before the validator walks it
        _followed.set(0)
        try:
            faults = sorted(self._validator.iter_errors(arguments), key=relevance, reverse=True)
        except RecursionError as exc:
            raise InvalidInput("The arguments cannot be checked: the tool's schema refers to itself without end.") from exc
        except ArithmeticError as exc:
            raise InvalidInput("A number is too large to be checked.", remedy="Send a smaller one.") from exc
        if faults:
            raise InvalidInput(
                " ".join(_sentence(fault) for fault in faults[:_FAULTS]),
                remedy=f"Call it again with arguments that fit: {self._wanted()}.",
            )
        return arguments

    def _understood(self, given: Mapping[str, Json]) -> dict[str, Json]:
        parts = _properties(self.schema)
        required = self.schema.get("required")
        needed = required if isinstance(required, list) else []
        found: dict[str, Json] = {}
        for name, value in given.items():
            types = _types(parts.get(name))
            read = _read(value, types)
            if read is None and "null" not in types and name not in needed:
                continue  # not given
            found[name] = read
        return found

    def _wanted(self) -> str:
        required = self.schema.get("required")
        needed = required if isinstance(required, list) else []
        rows = [
            f"{name}{'' if name in needed else '?'}: {'|'.join(sorted(_types(part))) or 'any'}"
            for name, part in _properties(self.schema).items()
        ]
        return (", ".join(rows) or "none")[:600]


@lru_cache(_REMEMBERED)
def _require_schema(text: str) -> None:
    try:
        Draft202012Validator.check_schema(json.loads(text))
    except SchemaError as exc:
        raise InvalidInput(
            f"The schema of a tool's arguments is no JSON schema: {exc.message[:_FAULT_CHARACTERS]}",
            remedy="Mend it by draft 2020-12.",
        ) from exc


def _object(given: object) -> Mapping[str, Json]:
    if isinstance(given, str):
        given = _parsed(given) if given.strip() else {}
    if given is None:
        given = {}
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise InvalidInput(
            f"The arguments are no JSON object, but {type(given).__name__}.",
            remedy='Send one object, as {"name": "value"}; {} where there are none.',
        )
    return given


def _read(value: Json, types: frozenset[str]) -> Json:
    """Return the one reading that *types* leave of *value*, or *value* itself."""
    if isinstance(value, float) and value.is_integer() and "integer" in types and "number" not in types:
        return int(value)
    if isinstance(value, str) and types and "string" not in types:
        return _read_text(value, types)
    return value


def _read_text(value: str, types: frozenset[str]) -> Json:
    text = value.strip()
    if text in {"", "null"}:
        return None
    if "integer" in types and _INTEGER.fullmatch(text):
        return int(text.partition(".")[0])
    try:
        return cast("Json", _parsed(text))
    except InvalidInput:
        return value  # the validator says it with the argument's name


def _parsed(text: str) -> object:
    if len(text) > MOST_BYTES:
        raise InvalidInput(f"The arguments are longer than {MOST_BYTES:,} bytes.", remedy="Send less in one call.")
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as exc:
        raise InvalidInput("The arguments are a text that is no JSON.", remedy="Send one JSON object.") from exc


def _refuse_constant(name: str) -> object:
    raise ValueError(name)


def _types(part: object) -> frozenset[str]:
    """Return the types that *part* of a schema allows; none where it does not say."""
    if not isinstance(part, Mapping):
        return frozenset()
    stated = part.get("type")
    if isinstance(stated, str):
        return frozenset({stated})
    if isinstance(stated, list):
        return frozenset(str(each) for each in stated)
    choices = part.get("anyOf") or part.get("oneOf")
    inner = [_types(choice) for choice in choices] if isinstance(choices, list) else []
    return frozenset().union(*inner) if inner and all(inner) else frozenset()


def _properties(schema: JsonSchema) -> Mapping[str, object]:
    parts = schema.get("properties")
    return parts if isinstance(parts, Mapping) else {}


def _sentence(fault: ValidationError) -> str:
    where = ".".join(str(step) for step in fault.absolute_path)
    text = without_secrets(fault.message[: 10 * _FAULT_CHARACTERS])
    text = text if len(text) <= _FAULT_CHARACTERS else f"{text[:_FAULT_CHARACTERS]}…"
    return f"{where[:60] or 'arguments'}: {text}."


def _require_local(schema: object, definitions: object) -> None:
    """Refuse what would have to be looked up elsewhere, and a reference to a definition that is not there."""
    known = definitions if isinstance(definitions, Mapping) else {}
    for name, value in _walk(schema):
        if name in _ENDLESS and not (name == "pattern" and isinstance(value, Mapping)):  # an argument may be called so
            raise InvalidInput(
                f"The schema of a tool's arguments has {name}, which is not matched: it could go on without end.",
                remedy="Bound the text by `maxLength` or `enum`, and look at it in `run`.",
            )
        there = value == "#" or str(value).removeprefix(_DEFINITION) in known
        if name in _ELSEWHERE or (name == "$ref" and not there):
            raise InvalidInput(
                f"The schema of a tool's arguments has {name}: {str(value)[:_FAULT_CHARACTERS]!r}, which is not followed.",
                remedy="Refer to `#/$defs/NAME` of the same schema, or write it out.",
            )


def _require_few(schema: Mapping[str, object]) -> None:
    """Refuse a schema that has too many parts once what it refers to stands in the place of each reference."""
    definitions = schema.get("$defs")
    known = {f"{_DEFINITION}{name}": each for name, each in definitions.items()} if isinstance(definitions, Mapping) else {}
    body: Mapping[str, object] = {key: value for key, value in schema.items() if key != "$defs"}
    counted: dict[tuple[int, int], int] = {}

    def parts(value: object, deeper: int) -> int:
        if not isinstance(value, Mapping | list):
            return 0
        key = (id(value), deeper)
        if key not in counted:
            inner = value.values() if isinstance(value, Mapping) else value
            counted[key] = 1 + sum(parts(each, deeper) for each in inner)
            name = value.get("$ref") if isinstance(value, Mapping) else None
            if isinstance(name, str) and deeper:
                counted[key] += parts(known.get(name, body), deeper - 1)
        return counted[key]

    if (count := parts(body, _DEEPEST_WRITTEN)) > _MOST_PARTS:
        raise InvalidInput(
            f"The schema of a tool's arguments has {min(count, 10**9):,} parts once its references are followed.",
            remedy=f"Keep to {_MOST_PARTS:,}: refer to less, or to fewer within each other.",
        )


def _walk(value: object) -> Iterator[tuple[str, object]]:
    """Yield every key of *value* at any depth, with what it holds; what is here was bounded before."""
    inner: Iterable[object] = ()
    if isinstance(value, Mapping):
        yield from value.items()
        inner = value.values()
    elif isinstance(value, list):
        inner = value
    for each in inner:
        yield from _walk(each)
