"""Claims about grammars: what is no schema, or asks for more than a grammar holds, is refused and never left out."""

import pytest

from appliance.contracts.chat import JsonSchema
from appliance.errors import InvalidInput
from appliance.inference.engines.gbnf import grammar


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ({"type": "nonsense"}, "nonsense"),
        ({"type": ["string", "nonsense"]}, "nonsense"),
        ({"type": []}, "no type"),
        ({"enum": []}, "enum"),
        ({"enum": 5}, "enum"),
        ({"anyOf": {}}, "anyOf"),
        ({"$ref": "#/nowhere"}, "#/nowhere"),
        ({"$ref": "https://example.org/schema"}, "example.org"),
        ({"type": "string", "pattern": "a+"}, "pattern"),
        ({"type": "integer", "minimum": 3}, "minimum"),
        ({"type": "object", "patternProperties": {}}, "patternProperties"),
        ({"allOf": [{"type": "string"}]}, "no type"),
        ({"type": "string", "maxLength": 1_000_000}, "2,000"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "minLength"),
        ({"type": "array", "maxItems": "3"}, "maxItems"),
        ({"type": "object", "properties": []}, "properties"),
        ({"enum": ["\ud800"]}, "surrogate"),
        ({"enum": [1, 2, 3], "minLength": 1}, "minLength"),
        ({"anyOf": [{"type": "string"}], "properties": {}}, "properties"),
        ({"items": 3}, "not a JSON schema"),
    ],
)
def test_what_cannot_be_held_to_is_refused(schema: JsonSchema, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        grammar(schema)


def test_schema_that_is_nested_too_deeply_is_refused() -> None:
    deep: dict[str, object] = {"type": "string"}
    for _ in range(200):
        deep = {"type": "array", "items": deep}
    with pytest.raises(InvalidInput, match="deeply"):
        grammar(deep)


def test_schema_with_too_many_parts_is_refused() -> None:
    with pytest.raises(InvalidInput, match="rules"):
        grammar({"anyOf": [{"enum": [number]} for number in range(5000)]})


def test_remarks_constrain_nothing() -> None:
    plain = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert grammar({**plain, "title": "A", "description": "an object", "examples": [{}]}) == grammar(plain)
