"""Claims about the schemas that are made of functions."""

import enum
import functools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Optional, TypedDict, Union

import pytest

from appliance.operator import openai_tool_schema, tool_schemas


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Row(TypedDict):
    name: str


def parameters(fn: Any) -> dict[str, Any]:  # noqa: ANN401 - any callable
    return dict(openai_tool_schema(fn)["function"]["parameters"])


def look(path: str, depth: int = 1, *, strict: bool = False, ratio: float | None = None) -> None:
    """Look at
    a path.

    Second paragraph.
    """  # noqa: D205 - a paragraph of two lines is the claim


def test_a_schema_is_read_from_the_signature_and_the_first_paragraph() -> None:
    schema = openai_tool_schema(look)
    assert schema["type"] == "function"
    assert (schema["function"]["name"], schema["function"]["description"]) == ("look", "Look at a path.")
    kinds = {name: each["type"] for name, each in parameters(look)["properties"].items()}
    assert kinds == {"path": "string", "depth": "integer", "strict": "boolean", "ratio": "number"}
    assert parameters(look)["required"] == ["path"]
    assert parameters(look)["additionalProperties"] is False


def test_name_and_description_can_be_given() -> None:
    function = openai_tool_schema(look, name="n", description="d")["function"]
    assert (function["name"], function["description"]) == ("n", "d")
    assert tool_schemas([look, look]) == [openai_tool_schema(look)] * 2


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (list[list[int]], {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}),
        (list, {"type": "array", "items": {}}),
        (list[Any], {"type": "array", "items": {}}),
        (Sequence[float], {"type": "array", "items": {"type": "number"}}),
        (set[str], {"type": "array", "items": {"type": "string"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (dict[str, Any], {"type": "object"}),
        (Mapping[str, Any], {"type": "object"}),
        (Row, {"type": "object"}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
        (Optional[Literal["a"]], {"type": "string", "enum": ["a"]}),  # noqa: UP045 - how older hosts write it
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (int | None, {"type": "integer"}),
        (Union[int, str], {"type": "string"}),  # noqa: UP007 - as above
        (Annotated[int, "how deep"], {"type": "integer", "description": "how deep"}),
        (bytes, {"type": "string"}),
        (object, {"type": "string"}),
        (Any, {"type": "string"}),
    ],
    ids=str,
)
def test_each_type_has_its_schema(hint: object, schema: dict[str, Any]) -> None:
    def fn(value: Any) -> None:  # noqa: ANN401 - replaced below
        """Do."""

    fn.__annotations__["value"] = hint
    assert parameters(fn)["properties"] == {"value": schema}


def test_further_arguments_are_not_described() -> None:
    def fn(mode: Literal["a", "b"], *rest: str, **more: str) -> None:
        """F."""

    assert list(parameters(fn)["properties"]) == parameters(fn)["required"] == ["mode"]


def test_what_a_partial_binds_is_not_described() -> None:
    described = openai_tool_schema(functools.partial(look, "here", strict=True))["function"]
    assert (described["name"], list(described["parameters"]["properties"])) == ("look", ["depth", "ratio"])


def test_methods_and_objects_that_can_be_called_are_described() -> None:
    class Search:
        def __call__(self, query: str, limit: int = 5) -> None:
            """Search."""

        def by(self, name: str) -> None:
            """Search by name."""

    assert openai_tool_schema(Search().by)["function"]["name"] == "by"
    assert parameters(Search().by) == parameters(Search.by)
    assert list(parameters(Search.by)["properties"]) == parameters(Search.by)["required"] == ["name"]
    assert openai_tool_schema(Search())["function"]["name"] == "Search"
    assert parameters(Search())["properties"] == {"query": {"type": "string"}, "limit": {"type": "integer"}}


def test_annotations_in_words_are_read_and_those_that_cannot_be_are_text() -> None:
    def known(path: "str", depth: "int | None" = None) -> "None": ...

    def unknown(path: "NoSuchType", depth: "int") -> None: ...  # type: ignore[name-defined]  # noqa: F821 - the claim

    @functools.wraps(known)
    def wrapped(*args: str) -> None: ...

    def bare(path, depth=1): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - the claim

    assert parameters(known)["properties"] == {"path": {"type": "string"}, "depth": {"type": "integer"}}
    assert parameters(wrapped) == parameters(known)
    assert parameters(unknown)["properties"] == {"path": {"type": "string"}, "depth": {"type": "integer"}}
    assert (parameters(bare)["required"], openai_tool_schema(bare)["function"]["description"]) == (["path"], "bare")
