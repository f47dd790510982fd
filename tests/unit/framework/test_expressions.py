"""Claims about the language of workflows: what it computes, what it refuses, and that nothing in it runs away."""

import math
import operator
import time
from collections.abc import Mapping
from contextlib import nullcontext

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from appliance.errors import InvalidInput, LimitExceeded
from appliance.framework.expressions import DEEPEST, LONGEST, parsed
from appliance.framework.workflow_values import template

STATE: Mapping[str, object] = {
    "score": 4,
    "text": "A TODO",
    "ok": True,
    "none": None,
    "found": [{"path": "a.py", "lines": [3, 5]}],
    "empty": [],
    "big": "x" * 60_000,
    "many": list(range(9_000)),
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('score > 3 and "todo" in lower(text)', True),
        ("score > 3 and not ok or score == 4", True),
        ("not (score > 3 and ok)", False),
        ("not not ok", True),
        ("1 + 2 * 3 - -4 // 3", 9),
        ("-2 * -(3 + 1)", 8),
        ("7 / 2", 3.5),
        ("-7 // 2", -4),
        ("7 % 3", 1),
        ("2.5e1", 25.0),
        ('"a" + "b" + text', "abA TODO"),
        (r"'it\'s' + \"\n\"".replace('\\"', '"'), "it's\n"),
        ("[1, [2]] + [3]", [1, [2], 3]),
        ("[]", []),
        ("found[0].path", "a.py"),
        ('found[-1]["lines"][1]', 5),
        ("text[0]", "A"),
        ('found[0].path if len(found) > 0 else "none"', "a.py"),
        ("1 if len(empty) > 0 else 2 if ok else 3", 2),
        ("none == null", True),
        ("true == 1", False),
        ("1 == 1.0", True),
        ('"1" == 1', False),
        ('"path" in found[0]', True),
        ("3 not in [1, 2]", True),
        ("true in [1]", False),
        ('"b" >= "a"', True),
        ('get(found[0], "no")', None),
        ('get(found[0], "no", 7)', 7),
        ("get(empty, 0, 1)", 1),
        ("max(1, 2.5, -3) + min([4, 5])", 6.5),
        ("sum([]) + sum([1, 2])", 3),
        ("round(2.6) + abs(-1)", 4),
        ('number("12") + number(" 1.5 ")', 13.5),
        ('text(12) + text(ok) + text(none) + text(["é"])', '12truenull["é"]'),
        ('join(split("a,b", ","), "-")', "a-b"),
        ('upper(trim(" a "))', "A"),
        ('starts_with(text, "A") and ends_with(text, "O")', True),
        ("keys(found[0])", ["path", "lines"]),
        ("len(text) + len(found[0]) + len(empty)", 8),
        ("ok or none.x == 1", True),
        ("false and 1 / 0 == 1", False),
    ],
)
def test_an_expression_has_its_value(text: str, value: object) -> None:
    found = parsed(text).value(STATE)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected a value"),
        ("1 +", "expected a value"),
        ("a b", "did not expect `b`"),
        ("(1", "expected `)`"),
        ("[1, 2", "expected `,`"),
        ("f(1)", "no function `f`"),
        ("len()", "`len` takes 1 argument"),
        ("get(1)", "`get` takes 2 to 3 arguments"),
        ("1 < 2 < 3", "do not chain"),
        ("a if b", "expected `else`"),
        ("a not b", "expected `in`"),
        ("a = 1", "cannot read `= 1`"),
        ("a; b", "cannot read `; b`"),
        ("lambda: 1", "cannot read `: 1`"),
        ("[x for x in y]", "expected `,`"),
        ("2 ** 9", "did not expect `*`"),
        ("a.1", "expected a name"),
        ('"open', 'cannot read `"open`'),
        ("and", "did not expect `and`"),
        ("a[1:2]", "cannot read `:2]`"),
        ("{1}", "cannot read `{1}`"),
        ("1}", "did not expect `}`"),
        ("f'{x}'", "did not expect `'{x}'`"),
        ("1e999", "infinite"),
        ("9" * 30, "larger than 10^18"),
        ('__import__("os")', "no function `__import__`"),
        ("len(1)(2)", "did not expect `(`"),
    ],
)
def test_what_is_no_expression_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parsed(text)
    assert said in str(caught.value)
    assert "wrong at character " in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("missing", "missing has no value yet"),
        ("text + 1", "not text and a number"),
        ("ok + 1", "not a flag and a number"),
        ("-text", "not text and a number"),
        ("text * 3", "not text and a number"),
        ("1 / 0", "divides by 0"),
        ("1 // 0", "divides by 0"),
        ("1 % 0", "divides by 0"),
        ("1e300 * 1e300", "infinite"),
        ("1000000000000 * 1000000000000", "larger than 10^18"),
        ("text < 1", "compares two numbers or two texts"),
        ("null < null", "compares two numbers or two texts"),
        ("text and ok", "`and` takes true or false, and got text"),
        ("not score", "`not` takes true or false, and got a number"),
        ("1 if score else 2", "`if` takes true or false"),
        ("found[3]", "no item 3 of 1"),
        ("found.path", "a list has nothing at text"),
        ("found[ok]", "a list has nothing at a flag"),
        ("found[0].nope", "the map has no 'nope'"),
        ("none.x", "null has nothing at text"),
        ("text.__class__", "text has nothing at text"),
        ('found["__class__"]', "a list has nothing at text"),
        ("1 in 2", "`in` looks into"),
        ('number("x")', "'x' is no number"),
        ('number("nan")', "infinite, or none"),
        ("max([])", "of an empty list"),
        ('sum(["a"])', "takes numbers alone"),
        ("lower(1)", "`lower` takes text"),
        ("join([1], text)", "`join` takes text"),
        ('split(text, "")', "not empty"),
        ("keys(text)", "`keys` takes a map"),
        ("len(1)", "`len` takes text"),
        ("big + big", "longer than 100,000 characters"),
        ("many + many", "more than 10,000 items"),
        ("join([big, big], text)", "longer than 100,000 characters"),
    ],
)
def test_what_has_no_value_is_an_error_that_says_why(text: str, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parsed(text).value(STATE)
    assert said in str(caught.value)


def test_only_true_and_false_are_flags() -> None:
    assert parsed("score == 4").flag(STATE) is True
    for text in ("score", "none", "text", "empty"):
        with pytest.raises(InvalidInput, match="should be true or false"):
            parsed(text).flag(STATE)


@pytest.mark.parametrize(
    "text",
    [
        "(" * (DEEPEST + 1) + "1" + ")" * (DEEPEST + 1),
        "[" * 500 + "]" * 500,
        "len(" * 400 + "1" + ")" * 400,
        "1 if ok else " * (DEEPEST + 1) + "1",
        "a[" * 300 + "0" + "]" * 300,
        "1 + " * LONGEST + "1",
        " " * (LONGEST + 1) + "1",
        "1" * 100_000,
        '"' + "a" * 100_000 + '"',
        "x" * 100_000,
        "not " * LONGEST + "ok",
    ],
)
def test_what_is_too_long_or_nests_too_deep_is_refused_at_once(text: str) -> None:
    before = time.process_time()
    with pytest.raises(LimitExceeded):
        parsed(text)
    assert time.process_time() - before < 1.0


@pytest.mark.parametrize(
    "text",
    [
        "-" * 1900 + "1",
        "not " * 400 + "ok",
        "found" + ".a" * 900,
        "1" + "+1" * 900,
        "ok" + " or ok" * 300,
        "1" + "-(1)" * 400,
    ],
)
def test_long_chains_need_no_deep_stack(text: str) -> None:
    with pytest.raises(InvalidInput, match="a list has nothing at text") if ".a" in text else nullcontext():
        parsed(text).value(STATE)


def test_work_on_large_values_is_counted_and_ends() -> None:
    text = " or ".join(["99999 in many"] * 50)
    with pytest.raises(LimitExceeded, match="more than 10,000 steps"):
        parsed(text).value(STATE)
    with pytest.raises(LimitExceeded, match="more than 10,000 steps"):
        parsed("+".join(["len(upper(big))"] * 50)).value(STATE)


def test_values_that_nest_without_end_end_the_expression() -> None:
    one: list[object] = []
    other: list[object] = []
    for each in (one, other):
        inner = each
        for _ in range(100_000):
            inner.append(inner := [])
    with pytest.raises(LimitExceeded, match="nest too deep"):
        parsed("a == b").value({"a": one, "b": other})


RING: list[object] = []
RING.append(RING)
NO_STEP_S: Mapping[str, object] = {
    "inf": math.inf,
    "nan": math.nan,
    "big": 10**5_000,
    "o": object(),
    "ring": RING,
    "b": b"x",
}


@pytest.mark.parametrize(
    "text",
    [
        "round(inf)",
        "round(nan)",
        "sum([big, 1.5])",
        "big + 1.5",
        "[1][big]",
        "text(big)",
        "text(o)",
        "text(ring)",
        "text(b)",
    ],
)
def test_values_that_no_step_makes_have_no_value_either(text: str) -> None:
    with pytest.raises(InvalidInput, match="has no value"):
        parsed(text).value(NO_STEP_S)


def test_a_text_that_would_be_too_long_is_not_written_first() -> None:
    """What holds one text many times over is small; as JSON it would fill the memory."""
    many = [["x" * 100_000] * 1_000] * 1_000
    for value in (parsed("text(many)"), template("it is ${many}")):
        with pytest.raises(InvalidInput, match="longer than"):
            value.value({"many": many})


LEAVES = st.one_of(
    st.integers(0, 99).map(str), st.sampled_from(["score", "1.5", "true", "null", '"a"', "text", "[1]", "ok"])
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%", "==", "<", "and", "or", "in"]), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        inner.map(lambda each: f"(not {each})"),
        inner.map(lambda each: f"-{each}"),
        st.tuples(inner, inner, inner).map(lambda parts: f"({parts[0]} if {parts[1]} else {parts[2]})"),
    ),
    max_leaves=8,
)


@given(TREES)
@settings(max_examples=200, deadline=None)
def test_what_has_a_value_has_the_one_that_python_gives(text: str) -> None:
    try:
        found = parsed(text).value(STATE)
    except (InvalidInput, LimitExceeded):
        return
    names = {"true": True, "false": False, "null": None}
    expected = eval(text, {"__builtins__": {}}, {**STATE, **names})  # noqa: S307 - made of the pieces above
    if type(found) is type(expected):  # `1 == true` is the one thing that Python has otherwise
        assert found == expected or "==" in text or "in" in text


@given(st.text(st.sampled_from("ab1.\"'()[]{},+-*/%<>=! \n\\$_:;and or not in if else len")))
@example("a" * 3000)
@example("'\\")
@settings(max_examples=300, deadline=None)
def test_no_text_does_anything_but_have_a_value_or_be_refused(text: str) -> None:
    for make in (parsed, template):
        try:
            make(text).value({"a": 1, "b": [1, "x"]})
        except (InvalidInput, LimitExceeded):
            continue


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("plain $5 and {x}", "plain $5 and {x}"),
        ("${score}", 4),
        ("${found[0].lines}", [3, 5]),
        ("n=${score}, ok=${ok}, ${none}", "n=4, ok=true, null"),
        ("$${score} is ${score}", "${score} is 4"),
        ("$${", "${"),
        ('${"}" + text}', "}A TODO"),
        ({"a": ["${score}", {"b": "x${ok}"}], "c": 1.5}, {"a": [4, {"b": "xtrue"}], "c": 1.5}),
        (None, None),
    ],
)
def test_a_template_puts_values_where_expressions_stand(written: object, value: object) -> None:
    assert template(written).value(STATE) == value


@pytest.mark.parametrize("written", ["${", "a ${score", "${score", "${}", "${score}}${", {"a": ["${1 +}"]}])
def test_an_expression_in_a_text_must_be_whole(written: object) -> None:
    with pytest.raises(InvalidInput):
        template(written)


def test_a_template_is_bounded_and_knows_what_it_reads() -> None:
    assert template({"a": "${score} ${len(text)}", "b": ["${found[0].path}"]}).names == {"score", "text", "found"}
    with pytest.raises(InvalidInput, match="longer than"):
        template("${big}${big}").value(STATE)
    with pytest.raises(InvalidInput, match="more than 100 expressions"):
        template("${score}-" * 101)
    assert operator.length_hint(str(template("${score}" * 100).value(STATE))) == 100
