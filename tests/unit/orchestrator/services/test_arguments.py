import json
from collections.abc import Mapping
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.contracts.tools import Json
from appliance.errors import ApplianceError, InvalidInput, LimitExceeded
from appliance.orchestrator.services.arguments import Arguments

SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "maxLength": 50},
        "limit": {"type": "integer", "minimum": 1, "maximum": 50},
        "share": {"type": "number"},
        "all": {"type": "boolean"},
        "paths": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
        "filters": {"type": ["object", "null"]},
        "line": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "required": ["query"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("given", "understood"),
    [
        ({"query": "a"}, {"query": "a"}),
        ('{"query": "a", "limit": 3}', {"query": "a", "limit": 3}),
        ({"query": "7"}, {"query": "7"}),
        ({"query": "null"}, {"query": "null"}),
        ({"query": ""}, {"query": ""}),
        ({"query": "a", "limit": " 3 "}, {"query": "a", "limit": 3}),
        ({"query": "a", "limit": "03"}, {"query": "a", "limit": 3}),
        ({"query": "a", "limit": "٣"}, {"query": "a", "limit": 3}),
        ({"query": "a", "limit": 3.0}, {"query": "a", "limit": 3}),
        ({"query": "a", "limit": "3.0"}, {"query": "a", "limit": 3}),
        ({"query": "a", "limit": ""}, {"query": "a"}),
        ({"query": "a", "limit": "null"}, {"query": "a"}),
        ({"query": "a", "limit": None}, {"query": "a"}),
        ({"query": "a", "share": "0.5", "all": "true"}, {"query": "a", "share": 0.5, "all": True}),
        ({"query": "a", "paths": '["x", "y"]'}, {"query": "a", "paths": ["x", "y"]}),
        ({"query": "a", "filters": '{"lang": "go"}'}, {"query": "a", "filters": {"lang": "go"}}),
        ({"query": "a", "filters": "null"}, {"query": "a", "filters": None}),
        ({"query": "a", "line": "12"}, {"query": "a", "line": 12}),
    ],
)
def test_what_models_write_is_understood_where_there_is_one_reading(given: object, understood: Mapping[str, Json]) -> None:
    checked = Arguments(SCHEMA).checked(given)
    assert checked == understood
    assert type(checked.get("limit", 0)) is int


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (None, "query"),
        ("", "query"),
        ({}, "query"),
        ([], "list"),
        ("[1]", "list"),
        ("not json", "JSON"),
        ('{"query": NaN}', "JSON"),
        ({1: "a"}, "object"),
        ({"query": None}, "query"),
        ({"query": 7}, "query"),
        ({"query": "a" * 51}, "query"),
        ({"query": "a", "limit": 0}, "limit"),
        ({"query": "a", "limit": "+1"}, "limit"),
        ({"query": "a", "limit": 1.5}, "limit"),
        ({"query": "a", "limit": True}, "limit"),
        ({"query": "a", "paths": "x, y"}, "paths"),
        ({"query": "a", "paths": ["x", 1]}, "paths.1"),
        ({"query": "a", "sudo": True}, "sudo"),
        ({"query": "a", "share": float("inf")}, "JSON"),
        ({"query": "a", "filters": object()}, "JSON"),
        ("[" * 100_000, "JSON"),
    ],
)
def test_whatever_does_not_fit_is_refused_with_the_argument_and_what_fits(given: object, named: str) -> None:
    with pytest.raises(InvalidInput, match=named) as refused:
        Arguments(SCHEMA).checked(given)
    assert refused.value.remedy
    assert len(str(refused.value)) < 1_500


_KNOWN = Arguments(SCHEMA)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_NAMED = st.dictionaries(
    st.sampled_from(["query", "limit", "share", "all", "paths", "filters", "line", "x"]), _JSON, max_size=4
)


@settings(max_examples=40, deadline=None)
@given(sent=_JSON | _NAMED | _NAMED.map(json.dumps) | st.text(max_size=20))
def test_whatever_is_sent_is_understood_or_refused_and_what_is_understood_fits(sent: object) -> None:
    with suppress(InvalidInput, LimitExceeded):
        checked = _KNOWN.checked(sent)
        assert _KNOWN.checked(checked) == checked


def test_arguments_without_end_are_refused_before_they_are_walked() -> None:
    deep: object = "x"
    for _ in range(100_000):
        deep = [deep]
    for sent in ({"query": deep}, {"query": "x" * 1_000_000}):
        with pytest.raises(LimitExceeded):
            Arguments(SCHEMA).checked(sent)


def test_a_refusal_shows_no_secret() -> None:
    key = "ghp_" + "a1B2c3D4e5" * 4
    with pytest.raises(InvalidInput) as refused:
        Arguments(SCHEMA).checked({"query": f"{key} {key}"})
    assert key not in str(refused.value)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        [],
        "text",
        {"type": "array"},
        {"type": "object", "properties": {"a": {"type": "text"}}},
        {"type": "object", "properties": {"a": {"$ref": "https://example.org/schema.json"}}},
        {"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/absent"}}},
        {"type": "object", "$id": "https://example.org/a", "properties": {}},
        {"type": "object", "properties": {"a": {"$dynamicRef": "#a"}}},
        {"type": "object", "properties": {"a": {"default": object()}}},
    ],
)
def test_a_schema_that_is_none_or_looks_elsewhere_is_refused(schema: object) -> None:
    with pytest.raises(InvalidInput):
        Arguments(schema)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "part",
    [
        {"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}},
        {"patternProperties": {"^(a|a)*$": {}}},
        {"properties": {"a": {"type": "array", "items": {"anyOf": [{"pattern": "(a?){40}a{40}"}]}}}},
    ],
)
def test_no_schema_matches_a_text_that_a_model_chose_for_ever(part: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="without end"):
        Arguments({"type": "object", **part})


def test_an_argument_may_be_called_as_a_keyword_is() -> None:
    schema = {"type": "object", "properties": {"pattern": {"type": "string"}}}
    assert Arguments(schema).checked({"pattern": "x"}) == {"pattern": "x"}


@pytest.mark.parametrize("sent", [{"n": 10**400}, '{"n": 1%s}' % ("0" * 400)])
def test_a_number_without_bounds_is_refused(sent: object) -> None:
    with pytest.raises(InvalidInput, match="too large"):
        Arguments({"type": "object", "properties": {"n": {"type": "number", "multipleOf": 0.01}}}).checked(sent)


def test_what_holds_itself_many_times_is_refused_before_it_is_walked() -> None:
    many: list[object] = []
    many += [many, many, many]
    with pytest.raises(LimitExceeded):
        Arguments({"type": "object"}).checked({"a": many})


def test_a_schema_that_refers_to_itself_ends() -> None:
    tree = {"type": "object", "properties": {"inner": {"$ref": "#/$defs/node"}}, "$defs": {"node": {"type": "object"}}}
    assert Arguments(tree).checked({"inner": {}}) == {"inner": {}}
    endless = {"type": "object", "properties": {"a": {"$ref": "#/$defs/loop"}}, "$defs": {"loop": {"$ref": "#/$defs/loop"}}}
    with pytest.raises(ApplianceError, match="without end"):
        Arguments(endless).checked({"a": 1})


def chain(length: int, link: str) -> dict[str, object]:
    """Return a schema in which each definition refers twice to the next, in the keyword *link*."""
    definitions: dict[str, object] = {f"d{n}": {link: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(length)}
    whole = definitions | {f"d{length}": {"type": "string"}}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": whole}


@pytest.mark.parametrize("link", ["allOf", "anyOf"])
def test_references_that_double_at_each_step_are_not_followed_for_ever(link: str) -> None:
    """Sixty short definitions would take longer than the world stands."""
    with pytest.raises(LimitExceeded, match="lead to too much"):
        Arguments(chain(60, link)).checked({"a": {}})


def test_a_schema_that_would_be_endless_written_out_is_refused() -> None:
    wide = {f"p{n}": {"$ref": "#/$defs/d"} for n in range(40)}
    with pytest.raises(InvalidInput, match="parts once its references are followed"):
        Arguments({"type": "object", "properties": wide, "$defs": {"d": {"type": "object", "properties": wide}}})


def test_a_tree_of_nodes_is_taken_and_checked() -> None:
    node = {"type": "object", "properties": {side: {"$ref": "#/$defs/node"} for side in ("left", "right")}}
    tree = Arguments({"type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}})
    given: dict[str, Json] = {"root": {"left": {"left": {}, "right": {"left": {}}}, "right": {}}}
    assert tree.checked(given) == given
    with pytest.raises(InvalidInput, match="root"):
        tree.checked({"root": {"left": {"right": 5}}})
