"""A JSON schema as a grammar of llama.cpp (GBNF): JSON without blanks between its parts, and a bound to everything.

The grammar's form: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from appliance.contracts.chat import JsonSchema
from appliance.errors import InvalidInput

_MAX_RULES = 2000
_MAX_DEPTH = 64
_MAX_REPEAT = 2000  # llama.cpp's own bound
_UNIT = re.compile(r"\\u[0-9a-f]{4}|\\.|.", re.DOTALL)  # a character of a JSON string as it is written
_NO_CHAR: Final = r'"\\\x00-\x1F\x7F'
_CODE: Final = "\\U{:08X}"
_REMARKS = frozenset({"$schema", "$id", "$defs", "definitions", "title", "description", "default", "examples", "format"})
_KEYWORDS: Mapping[str, frozenset[str]] = {
    "object": frozenset({"type", "properties", "required", "additionalProperties"}),
    "array": frozenset({"type", "items", "minItems", "maxItems"}),
    "string": frozenset({"type", "minLength", "maxLength"}),
    "integer": frozenset({"type"}),
    "number": frozenset({"type"}),
    "boolean": frozenset({"type"}),
    "null": frozenset({"type"}),
}
_FIXED: Final = r"""
value ::= object | array | string | number | boolean | null
object ::= "{" (pair ("," pair)*)? "}"
pair ::= string ":" value
array ::= "[" (value ("," value)*)? "]"
string ::= "\"" char* "\""
char ::= [^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-CefEF] hex | [dD] [0-7]) hex hex)
hex ::= [0-9a-fA-F]
integer ::= "-"? ("0" | [1-9] [0-9]{0,15})
number ::= integer ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?
boolean ::= "true" | "false"
null ::= "null"
"""


def grammar(schema: JsonSchema) -> str:
    """Return the grammar of *schema*, which begins at ``root``.

    Raise `InvalidInput` for what is no schema, is too large, or asks for something that a grammar of ours does not hold:
    it is never left out.
    """
    writer = _Writer(schema)
    return f"root ::= {writer.of(schema, depth=0)}\n{writer.text}{_FIXED}"


class _Writer:
    """Writes a rule for each part of a schema that has parts of its own."""

    def __init__(self, root: JsonSchema) -> None:
        self._root = root
        self._rules: list[str] = []
        self._known: dict[str, str] = {}  # the rule of each reference

    @property
    def text(self) -> str:
        return "\n".join(f"r{number} ::= {rule}" for number, rule in enumerate(self._rules))

    def of(self, schema: object, *, depth: int) -> str:
        """Return the expression of *schema*."""
        if schema is True or schema == {}:
            return "value"
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            raise InvalidInput("This is not a JSON schema, or one that is nested too deeply.")
        for keyword, write in (("$ref", self._reference), ("enum", self._enum), ("const", self._const)):
            if keyword in schema:
                self._only(schema, {keyword, "type"})
                return write(schema[keyword], depth)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                self._only(schema, {keyword})
                return self._rule(" | ".join(self.of(part, depth=depth + 1) for part in _list(schema[keyword], keyword)))
        kinds = schema.get("type", _implied(schema))
        if isinstance(kinds, list) and kinds:
            return self._rule(" | ".join(self._typed({**schema, "type": kind}, kind, depth, kinds) for kind in kinds))
        return self._typed(schema, kinds, depth, (kinds,))

    def _typed(self, schema: JsonSchema, kind: object, depth: int, kinds: Sequence[object]) -> str:
        if not isinstance(kind, str) or kind not in _KEYWORDS:
            raise InvalidInput(f"A JSON schema has no type {str(kind)[:40]!r}.")
        self._only(schema, {word for each in kinds if isinstance(each, str) for word in _KEYWORDS.get(each, ())})
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            item = self.of(schema.get("items", True), depth=depth + 1)
            least, most = _bounds(schema, "minItems", "maxItems")
            return self._rule(f'"[" {_listed(item, least, most)} "]"')
        if kind == "string":
            least, most = _bounds(schema, "minLength", "maxLength")
            return "string" if (least, most) == (0, None) else self._rule(rf'"\"" {_repeated("char", least, most)} "\""')
        return kind

    def _object(self, schema: JsonSchema, depth: int) -> str:
        members, required = schema.get("properties", {}), schema.get("required", [])
        more = schema.get("additionalProperties", True)
        if not isinstance(members, Mapping) or not isinstance(required, list) or not isinstance(more, bool):
            raise InvalidInput("In a JSON schema properties is an object, required a list, additionalProperties a boolean.")
        every = {**members, **dict.fromkeys([str(name) for name in required if name not in members], True)}
        if not every:
            return "object" if more else r'"{}"'
        other = self._other(every) if more else ""
        after = self._rule(f'("," {other})*' if more else '""')
        first = self._rule(f'({other} ("," {other})*)?' if more else '""')
        for name, part in reversed(every.items()):
            pair = f"{_literal(name)} {_quoted(':')} {self.of(part, depth=depth + 1)}"
            if name in required:
                first, after = self._rule(f"{pair} {after}"), self._rule(f'"," {pair} {after}')
            else:
                first, after = self._rule(f"{pair} {after} | {first}"), self._rule(f'("," {pair})? {after}')
        return f'"{{" {first} "}}"'

    def _other(self, names: Iterable[str]) -> str:
        """Return a rule for a pair with another name than these: else a member could come again, with any value."""
        written = {tuple(_UNIT.findall(json.dumps(name, ensure_ascii=False)[1:-1])) for name in names}
        begun = sorted({name[:size] for name in written for size in range(len(name) + 1)}, key=len, reverse=True)
        if len(begun) > _MAX_RULES:
            raise InvalidInput(f"The JSON schema takes more than {_MAX_RULES:,} rules.")
        rules: dict[tuple[str, ...], str] = {}
        for begin in begun:
            on = [longer[-1] for longer in rules if longer and longer[:-1] == begin]
            taken = "".join(_CODE.format(ord(unit)) for unit in on if len(unit) == 1)
            ways = [f"[^{_NO_CHAR}{taken}] char*", *(f"{_quoted(unit)} {rules[(*begin, unit)]}" for unit in on)]
            rules[begin] = self._rule(" | ".join(ways if begin in written else [*ways, '""']))
        return self._rule(rf'"\"" {rules[()]} "\"" ":" value')

    def _reference(self, name: object, depth: int) -> str:
        parts = str(name).split("/")
        found: object = self._root
        for part in parts[1:]:
            found = found.get(part) if isinstance(found, Mapping) else None
        if parts[0] != "#" or found is None:
            raise InvalidInput(f"The JSON schema has no {str(name)[:80]!r}.")
        if str(name) not in self._known:
            self._known[str(name)] = rule = self._rule("")  # known before it is written: it may mean itself
            self._rules[int(rule[1:])] = self.of(found, depth=depth + 1)
        return self._known[str(name)]

    def _enum(self, values: object, depth: int) -> str:
        del depth
        return self._rule(" | ".join(_literal(value) for value in _list(values, "enum")))

    def _const(self, value: object, depth: int) -> str:
        del depth
        return _literal(value)

    def _only(self, schema: JsonSchema, known: Iterable[str]) -> None:
        if unknown := schema.keys() - _REMARKS - set(known):
            raise InvalidInput(f"The engine cannot hold to {', '.join(sorted(map(str, unknown)))[:80]} of a JSON schema.")

    def _rule(self, text: str) -> str:
        if len(self._rules) >= _MAX_RULES:
            raise InvalidInput(f"The JSON schema takes more than {_MAX_RULES:,} rules.")
        self._rules.append(text)
        return f"r{len(self._rules) - 1}"


def _implied(schema: JsonSchema) -> str:
    """Return the type of a schema that names none: the one whose keywords it has."""
    has = schema.keys() - _REMARKS
    return next((kind for kind, words in _KEYWORDS.items() if has and has <= words), "")


def _list(value: object, keyword: str) -> list[object]:
    if not isinstance(value, list) or not value:
        raise InvalidInput(f"In a JSON schema {keyword} is a list with something in it.")
    return value


def _bounds(schema: JsonSchema, least: str, most: str) -> tuple[int, int | None]:
    low, high = schema.get(least, 0), schema.get(most)
    if not isinstance(low, int) or not isinstance(high, int | None) or not 0 <= low <= (low if high is None else high):
        raise InvalidInput(f"In a JSON schema {least} and {most} are whole numbers, the second not below the first.")
    if max(low, high or 0) > _MAX_REPEAT:
        raise InvalidInput(f"The engine takes at most {_MAX_REPEAT:,} as {least} and {most} of a JSON schema.")
    return low, high


def _listed(item: str, least: int, most: int | None) -> str:
    if most == 0:
        return '""'
    rest = _repeated(f'("," {item})', max(0, least - 1), None if most is None else most - 1)
    return f"{item} {rest}" if least else f"({item} {rest})?"


def _repeated(item: str, least: int, most: int | None) -> str:
    return f"{item}{{{least},{'' if most is None else most}}}"


def _literal(value: object) -> str:
    """Return the JSON of *value* as a literal."""
    return _quoted(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    try:
        escaped.encode()
    except UnicodeEncodeError as exc:
        raise InvalidInput("A JSON schema has half a surrogate pair in it.") from exc
    return f'"{escaped}"'
