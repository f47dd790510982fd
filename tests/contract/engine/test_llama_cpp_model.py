"""What llama-cpp-python's model does step by step, where a client sees only the whole."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest

from appliance.contracts.chat import ChatDelta, ChatRequest, Message
from appliance.inference.engines.gbnf import grammar
from tests.support.engines import needed_package
from tests.support.models import SMOL, needed

if TYPE_CHECKING:
    from appliance.inference.engines.llama_cpp_model import LlamaModel


@pytest.fixture(scope="module")
def loaded() -> "LlamaModel":
    """Give the smallest model with a context of 1024 tokens."""
    needed_package("llama_cpp_python")
    from appliance.inference.engines.llama_cpp_model import LlamaModel  # noqa: PLC0415 - it loads the library

    return LlamaModel(needed(SMOL)[0], name=SMOL, context=1024, threads=(1, 1), vectors=False, gpu=False)


def asked(text: str, *, tokens: int = 4, stop: tuple[str, ...] = (), temperature: float = 0.0, seed: int = 0) -> ChatRequest:
    return ChatRequest([Message("user", text)], max_tokens=tokens, stop=stop, temperature=temperature, seed=seed)


def whole(steps: Iterator[ChatDelta | None]) -> tuple[str, ChatDelta]:
    deltas = [step for step in steps if step is not None]
    return "".join(delta.text for delta in deltas), deltas[-1]


def test_prompt_is_read_in_pieces_between_which_it_can_be_given_up(loaded: "LlamaModel") -> None:
    """Else a closed browser tab would keep everybody waiting until the last word of its prompt is read."""
    steps = loaded.write(asked("def function(): pass\n" * 80))
    assert [next(steps), next(steps)] == [None, None]
    steps.close()
    _, last = whole(loaded.write(asked("Something else.")))
    assert last.finish == "length"


def test_what_was_read_before_a_prompt_was_given_up_is_known_to_the_next(loaded: "LlamaModel") -> None:
    pack = "class Given: up = True\n" * 60
    steps = loaded.write(asked(pack))
    assert next(steps) is None
    steps.close()
    _, last = whole(loaded.write(asked(pack, tokens=1)))
    assert last.cached_tokens >= 100
    again, same = whole(loaded.write(asked(pack, tokens=6)))
    assert same.cached_tokens == same.prompt_tokens - 1
    assert again == whole(loaded.write(asked(pack, tokens=6)))[0]


def test_text_ends_before_a_stop_word_even_if_tokens_cut_it(loaded: "LlamaModel") -> None:
    free, _ = whole(loaded.write(asked("Count from one to ten in words.", tokens=30)))
    word = free[len(free) // 2 : len(free) // 2 + 5]
    cut, last = whole(loaded.write(asked("Count from one to ten in words.", tokens=30, stop=("never said", word))))
    assert last.finish == "stop"
    assert cut == free[: free.index(word)]


def test_schema_of_anything_is_one_too(loaded: "LlamaModel") -> None:
    request = ChatRequest([Message("user", "Say hello.")], max_tokens=60, schema={}, seed=-1, temperature=0.5)
    text, last = whole(loaded.write(request))
    assert last.finish == "length" or isinstance(json.loads(text), str | int | float | dict | list | bool | None)
    assert text[0] in '"[{tfn-0123456789'


def test_chance_is_that_of_the_seed(loaded: "LlamaModel") -> None:
    def said(seed: int) -> str:
        return whole(loaded.write(asked("Tell a story.", tokens=24, temperature=1.5, seed=seed)))[0]

    said(0)  # afterwards the prompt is known, and read the same way each time
    assert said(1) == said(1)
    assert len({said(seed) for seed in range(4)}) > 1


_PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "tags": {"type": "array", "maxItems": 2}},
    "required": ["name"],
    "additionalProperties": False,
}
_TREE = {
    "$ref": "#/$defs/node",
    "$defs": {"node": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}},
}


def allows(model: "LlamaModel", schema: dict[str, object], text: str) -> bool:
    """Return whether llama.cpp lets *text*, and then an end, pass under the grammar of *schema*."""
    from appliance.inference.engines.llama_cpp_model import Constraint  # noqa: PLC0415 - it loads the library

    ids = [*model.tokens(text), model.end]
    every = np.zeros(max(ids) + 1, dtype=np.float32)
    with Constraint(model.vocabulary, grammar(schema)) as constraint:
        for token in ids:
            if not len(constraint.allowed(np.array([token], dtype=np.int32), every)):
                return False
            constraint.accept(token)
    return True


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"enum": ['a"b\\c', "naïve ☃\n", 1.5, None]}, ['"a\\"b\\\\c"', '"naïve ☃\\n"', "1.5", "null"], ['"a"', "1"]),
        (
            _PERSON,
            ['{"name":"A"}', '{"name":"A","age":-3,"tags":[1,{}]}', '{"name":"","tags":[]}'],
            ["{}", '{"age":3}', '{"name":"A","tags":[1,2,3]}', '{"name":"A","more":1}', '{ "name":"A"}', '{"name":"A",}'],
        ),
        (
            {"type": "object"},
            ["{}", '{"a":[1,2.5e-3,true,null,{"b":"\\u00e9"}]}'],
            ["[]", "{a:1}", '{"a":01}', '{"a":"\n"}'],
        ),
        ({"properties": {"a": {"const": 1}}}, ["{}", '{"a":1}', '{"a":1,"b":2}', '{"b":2}'], ['{"a":2}', '{"a":1,"a":2}']),
        (
            {"properties": {"ab": {"const": 1}, "ac": {"const": 1}, 'q"': {"const": 1}}},
            ['{"a":2}', '{"abc":2}', '{"":2,"b":2}', '{"ab":1,"ad":[]}', '{"q\\"":1}', '{"q":2}'],
            ['{"ab":2}', '{"ac":2}', '{"q\\"":2}', '{"x":2,"ab":2}'],
        ),
        ({"type": "object", "required": ["z"]}, ['{"z":[]}', '{"z":1,"y":2}'], ["{}"]),
        ({"type": "array", "items": {"type": "boolean"}, "minItems": 2}, ["[true,false]"], ["[true]", "[]", "[1,2]"]),
        ({"type": "array", "maxItems": 0}, ["[]"], ["[1]"]),
        ({"type": "string", "minLength": 2, "maxLength": 3}, ['"ab"', '"äöü"', '"\\n\\""'], ['"a"', '"abcd"', '"\\ud800x"']),
        ({"type": ["integer", "null"]}, ["-12", "null", "0"], ["1.5", "00", '""']),
        ({"oneOf": [{"type": "number"}, {"enum": ["none"]}]}, ["-1.25e+10", '"none"'], ['"nine"']),
        (_TREE, ["{}", '{"children":[{"children":[]},{}]}'], ['{"children":[1]}']),
    ],
    ids=lambda value: str(value)[:24] if isinstance(value, dict) else "",
)
def test_grammar_holds_exactly_the_texts_of_its_schema(
    loaded: "LlamaModel", schema: dict[str, object], right: list[str], wrong: list[str]
) -> None:
    assert [text for text in right if not allows(loaded, schema, text)] == []
    assert [text for text in wrong if allows(loaded, schema, text)] == []
