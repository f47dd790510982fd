"""Claims about files of workflows: what they may say, and that what is wrong is told with its line."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.errors import ApplianceError, HostUnfit, InvalidInput, LimitExceeded, NotFound
from appliance.framework import load_workflow, validate_workflow
from appliance.framework.workflow_file import DEEPEST, LARGEST, read

HEAD = "name: demo\nentry: a\n"
ONE = "nodes:\n  a: {kind: transform, set: {}}\n"


def refused(text: str, kind: type[ApplianceError] = InvalidInput) -> str:
    with pytest.raises(kind) as caught:
        validate_workflow(text)
    return str(caught.value)


def test_what_the_schema_refuses_hides_nothing_else() -> None:
    """An author mends all of it at once, and does not learn of the next fault by the next run."""
    said = refused(
        """\
name: demo
entry: first
colour: red
state: {n: {type: integer, default: many}, odd: sort}
nodes:
  a: {kind: transform, set: {m: 1}, next: gone}
  b: {kind: tool, tool: 7, next: lost}
  c: {kind: condition, branches: [{when: "n > ", next: away}, {when: n, next: end}], otherwise: off}
  d: {kind: parallel, branches: [a, b, e], more: 1}
"""
    )
    for each in (
        "line 2, entry: there is no node 'first'",
        "line 3, colour: there is no such key here",
        "line 4, state.n.default: the default is no integer",
        "line 4, state.odd.type: input should be",
        "line 6, nodes.a: it leads to 'gone'",
        "line 6, nodes.a.set.m: it writes 'm', which the state has not",
        "line 7, nodes.b.tool: input should be a valid string",
        "line 7, nodes.b: it leads to 'lost'",
        "line 8, nodes.c: it leads to 'away'",
        "line 8, nodes.c: it leads to 'off'",
        "line 8, nodes.c.branches.0.when: the expression",
        "line 9, nodes.d: it leads to 'e'",
        "line 9, nodes.d.more: there is no such key here",
    ):
        assert each in said, said


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "nodes: 5\nstate: [x]\n",
        HEAD + "nodes: [a]\nentry2: 1\n",
        "name: 5\nentry: [a]\nnodes: {a: 5, b: [c], c: {kind: parallel, branches: [[], {next: 5}, null, 7]}}\nstate: 5\n",
        "name: demo\nnodes: {a: {next: [x], branches: 5, otherwise: {}}}\n",
    ],
)
def test_parts_of_any_kind_are_refused_with_a_sentence(text: str) -> None:
    assert refused(text).startswith("The workflow is not valid: line")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + ONE + "colour: red\n", "line 5, colour: there is no such key here"),
        ("name: demo\n" + ONE, "line 1, entry: it is missing"),
        ("name: Demo Two\nentry: a\n" + ONE, "line 1, name: string should match pattern"),
        (HEAD + "nodes: {}\n", "line 3, nodes: dictionary should have at least 1 item"),
        (
            HEAD + "nodes:\n  a:\n    kind: tool\n    tool: read\n    argument: {}\n",
            "line 7, nodes.a.argument: there is no such key",
        ),
        (HEAD + "nodes:\n  a:\n    kind: hitl\n    ask: x\n", "line 4, nodes.a: input tag 'hitl'"),
        (HEAD + "nodes:\n  a: {}\n", "line 4, nodes.a: its `kind` is missing"),
        (HEAD + "nodes:\n  a:\n    kind: agent\n    agent: x\n", "nodes.a.task: it is missing"),
        (HEAD + "nodes:\n  a:\n    kind: agent\n    agent: x\n    task: [y]\n", "line 7, nodes.a.task: it should be text"),
        (
            HEAD + "nodes:\n  a:\n    kind: tool\n    tool: x\n    arguments: y\n",
            "line 7, nodes.a.arguments: it should be a mapping",
        ),
        (HEAD + "nodes:\n  a:\n    kind: tool\n    tool: 7\n", "line 6, nodes.a.tool: input should be a valid string"),
        (HEAD + "nodes:\n  A b: {kind: transform, set: {}}\n", "line 4, nodes.A b: string should match"),
        (
            HEAD + "nodes:\n  a:\n    kind: condition\n    branches: []\n",
            "line 6, nodes.a.branches: list should have at least 1",
        ),
        (
            HEAD + "nodes:\n  a:\n    kind: condition\n    branches:\n    - when: 1 +\n",
            "line 7, nodes.a.branches.0.when: the expression `1 +`",
        ),
        (
            HEAD + "nodes:\n  a:\n    kind: condition\n    branches:\n    - when: [x]\n",
            "line 7, nodes.a.branches.0.when: it should be an exp",
        ),
        (
            HEAD + "nodes:\n  a: {kind: transform, set: {x: '${1 +}'}}\n",
            "nodes.a.set: the expression `1 +}` is wrong at character 4",
        ),
        (HEAD + "limits: {steps: 0}\n" + ONE, "line 3, limits.steps: input should be greater than or equal to 1"),
        (HEAD + "limits: {timeout_s: soon}\n" + ONE, "line 3, limits.timeout_s: input should be a valid number"),
        (HEAD + "state: {x: words}\n" + ONE, "line 3, state.x.type: input should be 'text'"),
        (
            HEAD + "state:\n  x: {type: integer, default: many}\n" + ONE,
            "line 4, state.x.default: the default is no integer",
        ),
        (HEAD + "state:\n  x: {type: integer, default: true}\n" + ONE, "the default is no integer"),
        (
            HEAD + "state:\n  x: {type: text, merge: add}\n" + ONE,
            "line 4, state.x: `merge: add` is for keys of the type integer or number",
        ),
        (HEAD + "state: {if: text}\n" + ONE, "line 3, state.if: no expression could read a key of this name"),
        ("name: demo\nentry: b\n" + ONE, "line 2, entry: there is no node 'b'"),
        (
            HEAD + "nodes:\n  a: {kind: transform, set: {}, next: b}\n",
            "line 4, nodes.a: it leads to 'b', which is no node",
        ),
        (HEAD + "nodes:\n  a: {kind: parallel, branches: [b, c]}\n", "nodes.a: it leads to 'b'"),
        (HEAD + ONE + "  end: {kind: transform, set: {}}\n", "line 5, nodes.end: no node can be called 'end'"),
        (HEAD + ONE + "  b: {kind: transform, set: {}}\n", "line 5, nodes.b: the node 'b' cannot be reached"),
        (
            HEAD + "nodes:\n  a: {kind: transform, set: {}, next: a}\n",
            "line 4, nodes.a: from the node 'a' no way leads to END",
        ),
        (HEAD + "nodes:\n  a: {kind: transform, set: {x: 1}}\n", "nodes.a.set.x: it writes 'x', which the state has not"),
        (HEAD + "nodes:\n  a: {kind: agent, agent: x, task: y, output: z}\n", "nodes.a.output: it writes 'z'"),
        (
            HEAD + "nodes:\n  a: {kind: agent, agent: x, task: 'of ${y.z}'}\n",
            "nodes.a.task: it reads 'y', which the state has not",
        ),
        (
            HEAD + "nodes:\n  a:\n    kind: condition\n    branches:\n    - when: len(y) > 0\n",
            "nodes.a.branches: it reads 'y'",
        ),
        (
            HEAD + "nodes:\n  a:\n    kind: condition\n    branches:\n    - when: true\n    - when: true\n",
            "two branches have one condition",
        ),
        (HEAD + ONE + "  b: {kind: parallel, branches: [a, a]}\n", "a branch stands there twice"),
        ("- a\n", "A workflow is a mapping"),
        ("", "A workflow is a mapping"),
        ("just text", "A workflow is a mapping"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, said: str) -> None:
    assert said in refused(text)


def test_every_fault_is_told_at_once_in_the_order_of_the_lines() -> None:
    told = refused(HEAD + "state: {x: words}\nnodes:\n  a: {kind: tool, tol: x}\nmore: 1\n")
    places = [
        told.index(each) for each in ("line 3, state.x.type", "nodes.a.tool: it is missing", "nodes.a.tol:", "line 6, more")
    ]
    assert places == sorted(places)
    assert told.startswith("The workflow is not valid: line ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &x [1]\nb: *x\n", "Line 1: `&x`: anchors and aliases are not taken"),
        ("a: 1\nb: *x\n", "Line 2: `*x`: anchors"),
        ("a: !!python/object/apply:os.system ['id']\n", "Line 1: `tag:yaml.org,2002:python/object/apply:os.system`: tags"),
        ("a: !!int '3'\n", "tags are not taken"),
        ("a: !thing {}\n", "tags are not taken"),
        ("a: 1\na: 2\n", "Line 2: the key 'a' stands here twice"),
        ("a: 1\n---\nb: 2\n", "Line 2: a second document begins"),
        ("[1]: 2\n", "a key is no text"),
        ("{a: 1}: 2\n", "a key is no text"),
        ("a: [1, 2\nb: 3\n", "Line 2: this is no YAML"),
        ("a: 'open\n", "this is no YAML"),
        ("a:\n\t- 1\n", "this is no YAML"),
        ("a: \x00\n", "This is no YAML"),
        ("a: 1e999\n", "Line 1: `1e999` is too large a number"),
        ("%FOO\n---\na: 1\n%", "this is no YAML"),
    ],
)
def test_what_yaml_has_beyond_plain_values_is_refused(text: str, said: str) -> None:
    assert said in refused(text)


def test_plain_scalars_are_what_they_look_like() -> None:
    text = "on no yes 12:30 2026-01-02 0x1f 010 1_000 '1' \"true\" .5 -3 2.5e3 ~ null true 9e-1"
    found = read(f"[{', '.join(text.split())}]").value
    texts = ["on", "no", "yes", "12:30", "2026-01-02", "0x1f", "010", "1_000", "1", "true"]
    assert found == [*texts, 0.5, -3, 2500.0, None, None, True, 0.9]


BOMBS = {
    "aliases": "a: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(20)),
    "merge keys": "a: &a {x: 1}\nb: {<<: *a}\n",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_what_would_grow_when_it_is_read_is_refused_before_it_grows(bomb: str) -> None:
    assert "anchors and aliases are not taken" in refused(BOMBS[bomb])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a" * (LARGEST + 1), "larger than 256 kB"),
        ("[" * 100_000, "exceeded maximum nesting depth"),
        ("a: " + "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), f"nests more than {DEEPEST} deep"),
        ("a:\n" + "- 1\n" * 20_000, "more than 10,000 values"),
        ("".join(f"k{n}: 1\n" for n in range(20_000)), "more than 10,000 values"),
        (HEAD + "nodes:\n  a: {kind: condition, branches: [{when: '" + "(" * 40 + "'}]}\n", "nests more than 32 deep"),
    ],
)
def test_what_is_too_large_or_too_deep_is_refused_soon(text: str, said: str) -> None:
    before = time.process_time()
    with pytest.raises((LimitExceeded, InvalidInput)) as caught:
        validate_workflow(text)
    assert said in str(caught.value)
    assert time.process_time() - before < 5.0


def test_a_workflow_has_no_more_than_two_hundred_nodes() -> None:
    nodes = "".join(f"  n{n}: {{kind: transform, set: {{}}, next: n{n + 1}}}\n" for n in range(200))
    text = "name: demo\nentry: n0\nnodes:\n" + nodes + "  n200: {kind: transform, set: {}}\n"
    assert "nodes: dictionary should have at most 200 items" in refused(text)


@given(st.text(st.sampled_from("ab:-[]{}'\"\n  &*!|>?%#,0.${}"), max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        validate_workflow(text)
    except (InvalidInput, LimitExceeded):
        return


def test_a_file_is_read_as_utf8_within_its_bounds(tmp_path: Path) -> None:
    file = tmp_path / "demo.yaml"
    with pytest.raises(NotFound, match=r"demo\.yaml"):
        load_workflow(file)
    with pytest.raises(InvalidInput, match="is a folder"):
        load_workflow(tmp_path)
    with pytest.raises(HostUnfit, match="too long"):
        load_workflow(tmp_path / ("x" * 300))
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_workflow(Path("a\0b"))
    file.write_bytes(b"\xef\xbb\xbf" + (HEAD + ONE).encode())
    assert load_workflow(file).name == "demo"
    file.write_bytes(b"name: \xff\n")
    with pytest.raises(InvalidInput, match="no UTF-8"):
        load_workflow(file)
    file.write_bytes(b" " * (LARGEST + 1))
    with pytest.raises(LimitExceeded, match="256 kB"):
        load_workflow(file)
