"""The schema under which a model writes: whatever a tool says of its arguments, every part of it has a bound."""

import json
from collections.abc import Mapping, Sequence

import pytest

from appliance.contracts.chat import JsonSchema
from appliance.contracts.tools import ToolSpec
from appliance.errors import MalformedContent
from appliance.orchestrator.runners.completion import Completion, parsed
from appliance.orchestrator.runners.envelope import bounded, envelope

_TEXT = {"type": "string"}
SEARCH = ToolSpec("search", "Find lines.", {"type": "object", "properties": {"query": _TEXT}, "required": ["query"]})


def _bounds(schema: object) -> list[str]:
    """Return which parts of *schema* have no bound."""
    found: list[str] = []
    if isinstance(schema, Mapping):
        kind = schema.get("type")
        if kind == "string" and not {"maxLength", "enum", "const"} & schema.keys():
            found.append(str(schema))
        if kind == "array" and "maxItems" not in schema:
            found.append(str(schema))
        if kind == "object" and schema.get("additionalProperties") is not False:
            found.append(str(schema))
        found += [fault for part in schema.values() for fault in _bounds(part)]
    elif isinstance(schema, Sequence) and not isinstance(schema, str):
        found += [fault for part in schema for fault in _bounds(part)]
    return found


def test_every_part_of_an_envelope_is_bounded() -> None:
    deep = {
        "type": "object",
        "properties": {
            "names": {
                "type": "array",
                "items": {"type": "object", "properties": {"name": {"type": "string", "pattern": "x"}}},
            },
            "limit": {"type": "integer", "minimum": 1},
            "either": {"anyOf": [{"type": "string"}, {"type": "array"}]},
        },
    }
    assert _bounds(envelope([ToolSpec("deep", "Deep.", deep), SEARCH])) == []
    assert "pattern" not in json.dumps(bounded(deep))


ANYTHING: dict[str, JsonSchema] = {
    "several types": {"type": ["string", "null"]},
    "several types with parts": {"type": ["array", "object"], "properties": {"name": _TEXT}},
    "nothing": {},
    "true": True,  # type: ignore[dict-item]
    "a definition": {"$ref": "#/$defs/name"},
    "a definition of itself": {"$ref": "#/$defs/tree"},
    "a definition in a circle": {"$ref": "#/$defs/circle"},
    "one of all": {"allOf": [{"$ref": "#/$defs/name"}]},
    "several of all": {"allOf": [{"type": "string"}, {"minLength": 1}]},
    "a list of anything": {"type": "array", "items": {}},
    "a list of places": {"type": "array", "prefixItems": [{"type": "string"}]},
    "names by pattern": {"type": "object", "patternProperties": {".*": {"type": "string"}}},
    "any names": {"type": "object", "additionalProperties": {"type": "string"}},
    "a condition": {"if": {"type": "string"}, "then": {"type": "string"}},
    "a negation": {"not": {"type": "string"}},
}
DEFINITIONS = {
    "name": {"type": "string"},
    "tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}, "right": {"$ref": "#/$defs/tree"}}},
    "circle": {"$ref": "#/$defs/circle"},
}


@pytest.mark.parametrize("said", ANYTHING)
def test_whatever_a_tool_says_of_its_arguments_a_model_is_held_to_bounds(said: str) -> None:
    spec = ToolSpec("odd", "Odd.", {"type": "object", "properties": {"it": ANYTHING[said]}, "$defs": DEFINITIONS})
    schema = envelope([spec])
    assert _bounds(schema) == []
    assert "$" not in json.dumps(schema)  # a definition could not be found within an envelope
    for value in ("x" * 300, ["x"] * 9, {"x": "y"}):
        text = json.dumps({"tool": "odd", "arguments": {"it": value}})
        with pytest.raises(MalformedContent):
            parsed(Completion(text, "stop"), schema)


def test_what_a_tool_takes_can_be_written_within_the_bounds() -> None:
    """A schema that is held to more than it says lets a model make no call at all."""
    either = {
        "type": "object",
        "properties": {"path": _TEXT, "names": {"type": "array", "items": _TEXT, "minItems": 2}},
        "anyOf": [{"required": ["path"]}, {"required": ["names"]}],
    }
    schema = envelope([ToolSpec("either", "Either.", either)])
    for arguments in ({"path": "a.py"}, {"names": ["a", "b"]}):
        assert parsed(Completion(json.dumps({"tool": "either", "arguments": arguments}), "stop"), schema)
    longest = bounded({"type": "object", "properties": {"it": {"type": "array", "minItems": 20}, "is": {"minLength": 900}}})
    assert "20" not in json.dumps(longest).replace("200", "")
    assert "900" not in json.dumps(longest)
