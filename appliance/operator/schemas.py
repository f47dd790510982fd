"""Schemas of tools, as OpenAI's chat completions take them, from the signatures of functions."""

import enum
import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from appliance.operator.plain import copied

Tool = Callable[..., object]
Schema = dict[str, Any]
READY = "__oa_tool_schema__"

_SIMPLE: dict[object, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}
_OWNERS = ("self", "cls")  # of a method that is described before it is bound
_ARRAYS = (Sequence, AbstractSet)


def openai_tool_schema(fn: Tool, *, name: str | None = None, description: str | None = None) -> Schema:
    """Return the entry for ``tools[]`` that describes *fn*.

    The description is the first paragraph of its docstring. What takes any further arguments, or is bound by a partial, is
    not described, and no others are allowed.
    """
    ready = getattr(fn, READY, None)
    schema = copied(ready) if isinstance(ready, dict) else _described(fn)
    if name is not None:
        schema["function"]["name"] = name
    if description is not None:
        schema["function"]["description"] = description
    return schema


def tool_schemas(tools: Sequence[Tool]) -> list[Schema]:
    """Return the entries for *tools* in their order."""
    return [openai_tool_schema(tool) for tool in tools]


def _described(fn: Tool) -> Schema:
    inner, bound = fn, set(_OWNERS)
    while isinstance(inner, functools.partial):
        bound |= set(inner.keywords)
        inner = inner.func
    name = getattr(inner, "__name__", type(inner).__name__)
    paragraph = (inspect.getdoc(inner) or "").strip().partition("\n\n")[0]
    hints = _hints(inner)
    described = {
        parameter.name: parameter
        for parameter in inspect.signature(fn).parameters.values()
        if parameter.name not in bound and parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
    }
    parameters = {
        "type": "object",
        "properties": {each: _of_type(hints.get(each, str)) for each in described},
        "required": [each for each, parameter in described.items() if parameter.default is parameter.empty],
        "additionalProperties": False,
    }
    said = " ".join(paragraph.split()) or name
    return {"type": "function", "function": {"name": name, "description": said, "parameters": parameters}}


def _hints(fn: Tool) -> Mapping[str, object]:
    """Return the types of the parameters, each by itself: what only a type checker can read is left out."""
    made = getattr(fn, "__init__", fn) if inspect.isclass(fn) else fn
    written = inspect.unwrap(made if inspect.isroutine(made) else type(made).__call__)
    hints: dict[str, object] = {}
    for name, hint in getattr(written, "__annotations__", {}).items():
        alone = types.SimpleNamespace(__annotations__={name: hint})
        with suppress(NameError, TypeError, AttributeError, SyntaxError):
            hints |= typing.get_type_hints(alone, getattr(written, "__globals__", {}), include_extras=True)
    return hints


def _of_type(hint: object) -> Schema:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        said = [each for each in inner[1:] if isinstance(each, str)]
        return _of_type(inner[0]) | ({"description": said[0]} if said else {})
    if origin is Literal:
        return _of_values(inner)
    if origin in {Union, types.UnionType}:
        others = [each for each in inner if each is not type(None)]
        return _of_type(others[0]) if len(others) == 1 else {"type": "string"}
    kind = origin or hint
    if isinstance(kind, type):
        return _of_class(kind, inner)
    return {"type": "string"}


def _of_class(kind: type, inner: tuple[object, ...]) -> Schema:
    if kind in _SIMPLE:
        return {"type": _SIMPLE[kind]}
    if issubclass(kind, enum.Enum):
        return _of_values(tuple(member.value for member in kind))
    if issubclass(kind, str | bytes):
        return {"type": "string"}
    if issubclass(kind, Mapping) or typing.is_typeddict(kind) or hasattr(kind, "model_fields"):
        values = _of_type(inner[1]) if len(inner) == 2 and inner[1] is not Any else None
        return {"type": "object"} if values is None else {"type": "object", "additionalProperties": values}
    if issubclass(kind, _ARRAYS):
        return {"type": "array", "items": _of_type(inner[0]) if inner and inner[0] is not Any else {}}
    return {"type": "string"}


def _of_values(values: tuple[object, ...]) -> Schema:
    kinds = {_SIMPLE.get(type(value), "string") for value in values}
    return {"type": kinds.pop() if len(kinds) == 1 else "string", "enum": list(values)}
