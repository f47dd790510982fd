"""Expressions over lines: what they need is never more than what they match, and what is wrong in them is found."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.codeintel.query.regex import compiled, exactly
from appliance.codeintel.store.trigrams import Need, TrigramBuilder, Trigrams
from appliance.errors import InvalidInput

_LETTERS = "abkS_. ("


def _may_have(need: Need, text: str) -> bool:
    builder = TrigramBuilder()
    builder.add(text.encode())
    held = {name: memoryview(array.tobytes()) for name, array in builder.arrays().items()}
    return bool(Trigrams(held, blocks=1).may_have(need)[0])


def _matching(pattern: str, text: str, *, any_case: bool = False) -> list[str]:
    block = text.encode()
    lines = compiled(pattern, any_case=any_case).lines(block)
    return [block[start:end].decode() for start, end in lines]


def _expressions() -> st.SearchStrategy[str]:
    atoms = st.one_of(
        st.text(_LETTERS, min_size=1, max_size=5).map(re.escape),
        st.sampled_from(["[ab]", "[^a]", ".", r"\w", r"\s", "^", "$", r"\b", r"\x61", "[a-c_]", "(?i:kS)", r"[.\(]"]),
    )
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=4).map("".join),
            st.lists(inner, min_size=2, max_size=3).map(lambda some: f"({'|'.join(some)})"),
            st.tuples(inner, st.sampled_from(["?", "*", "+", "{2}", "{1,2}", "{0,1}", "+?"])).map(
                lambda pair: f"(?:{pair[0]}){pair[1]}"
            ),
        ),
        max_leaves=8,
    )


@settings(max_examples=100, deadline=None)
@given(pattern=_expressions(), lines=st.lists(st.text(_LETTERS + "s\u017f\u212aé", max_size=14), min_size=1, max_size=12))
@pytest.mark.parametrize("any_case", [False, True])
def test_a_line_that_matches_is_found_and_is_never_ruled_out_by_its_trigrams(
    *, pattern: str, lines: list[str], any_case: bool
) -> None:
    """The index may let through too much, but what it rules out is never looked at again."""
    found = _matching(pattern, "".join(f"{line}\n" for line in lines), any_case=any_case)
    whole = compiled(pattern, any_case=any_case)
    one_by_one = [line for line in lines if whole.search(line.encode(), 0, len(line.encode())) is not None]
    assert found == one_by_one
    assert all(_may_have(whole.need, f"{line}\n") for line in one_by_one[:2])


@settings(max_examples=100, deadline=None)
@given(text=st.text(_LETTERS + "é", min_size=1, max_size=6), line=st.text(_LETTERS + "é", max_size=30))
def test_exact_text_is_found_where_python_finds_it(text: str, line: str) -> None:
    block = f"x\n{line}\ny\n".encode()
    found = [block[start:end].decode() for start, end in exactly(text, any_case=False).lines(block)]
    assert found == [each for each in ("x", line, "y") if text in each]


@pytest.mark.parametrize(
    ("text", "lines", "found"),
    [
        ("Self", "SELF\nself.x\nother\n", ["SELF", "self.x"]),
        ("self", "SELF\n\u017felf\nother \u00e9\n", ["SELF", "\u017felf"]),
        ("\u017felf", "SELF\nself\nother\n", ["SELF", "self"]),
        ("\u00c9t\u00e9", "\u00e9t\u00e9\nete\n", ["\u00e9t\u00e9"]),
    ],
)
def test_case_is_left_out_of_account_in_any_script(text: str, lines: str, found: list[str]) -> None:
    """What is plain ASCII is sought in another way, which knows no other letters."""
    block = lines.encode()
    assert [block[start:end].decode() for start, end in exactly(text, any_case=True).lines(block)] == found


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        (r"def \w+_init\(", [b"def ", b"_init("]),
        ("(foo|bar)baz", [b"barbaz", b"foobaz"]),
        ("colou?r", [b"color", b"colour"]),
        (r"\Qa+b\E", [b"a+b"]),
        ("a|b", []),
        ("x*", []),
        (r"[A-Z]\d+", []),
    ],
)
def test_what_an_expression_needs_is_read_off_it(pattern: str, literals: list[bytes]) -> None:
    """Were nothing read off, every search would look at all of the text."""

    def of(need: Need) -> list[bytes]:
        own = [need.literal] if need.literal else []
        return [*own, *(literal for each in (*need.every, *need.some) for literal in of(each))]

    assert of(compiled(pattern, any_case=False).need) == literals


@pytest.mark.parametrize(
    ("pattern", "position", "what"),
    [
        ("(abc", 0, r"missing \)"),
        ("ab(c(d)", 2, r"missing \)"),
        ("abc)", 3, r"unexpected \)"),
        ("a[bc", 1, r"missing \]"),
        ("*a", 0, "repetition"),
        ("ab**", 2, "repetition"),
        ("a{2,1}", 1, "repetition size"),
        ("x{2000}", 1, "repetition size"),
        ("é[z-a]", 2, "range"),
        (r"\\\q", 2, "escape"),
        ("foo(?=x)", 3, "operator"),
        (r"(a)\1", 3, "escape"),
        ("a\\", 1, "trailing"),
        ("a(?-m:b)", 1, "each line"),
        (r"a\C", 1, "each line"),
    ],
)
def test_a_bad_expression_is_refused_at_its_position(pattern: str, position: int, what: str) -> None:
    with pytest.raises(InvalidInput, match=what) as raised:
        compiled(pattern, any_case=False, at=7)
    assert raised.value.context["position"] == 7 + position


@pytest.mark.parametrize("pattern", [r"one\s+two", r"one[^x]two", "(?s)one.two", r"one\ntwo", r"one\W+two"])
def test_no_match_reaches_over_the_end_of_a_line(pattern: str) -> None:
    assert _matching(pattern, "one\ntwo\n") == []


@pytest.mark.parametrize("pattern", [r"\Aone", r"one\z", "^one$", "(?i)ONE"])
def test_the_edges_of_a_text_are_those_of_its_lines(pattern: str) -> None:
    """Where a text is cut into blocks must not show."""
    assert _matching(pattern, "zero\none\ntwo\n") == ["one"]


@pytest.mark.parametrize("pattern", [r"(\w*\s*)*zzz", "(x+x+)+y", "((a?){20}){20}q", r"(a|a|\w)*\d$", "(.*a){40}z"])
def test_an_expression_that_would_run_for_ever_elsewhere_ends_soon(pattern: str) -> None:
    start = time.process_time()
    assert _matching(pattern, ("a" * 60 + " b_c\n") * 500) == []
    assert time.process_time() - start < 5
