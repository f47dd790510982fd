"""What of an answer may be seen: whatever it is made of, and however it comes, no mark of its prompt and no call."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.contracts.chat import Message
from appliance.orchestrator.fence import fenced, marks
from appliance.orchestrator.runners.strainer import Strainer, strained

_INNER = fenced("def main(): ...", label="code").text
_PROMPT = fenced(f"1 of 1 results:\n{_INNER}\n" + "x" * 90, label="result of Search", most=120).text
_MARKS = marks(_PROMPT)
_NUMBERS = sorted(set(_MARKS.values()))
_TAGS = ("<tool_call>", "</tool_call>", "<tools>", "</tool_response>")
_CALL = '<tool_call>\n{"name": "search", "arguments": {}}\n</tool_call>'
MESSAGES = (Message("system", "Answer."), Message("user", _PROMPT))
_SCRAPS = st.sampled_from(
    [*_MARKS, *_NUMBERS, *_TAGS, _CALL, "data ", "Data ", "[end ", "[data ", "(", "`", "]", ": code]", "\n", " ", "main",
     "{", "{ ", "İ", '"', "<function=", *(part for number in _NUMBERS for part in (number[:4], number[4:], number.upper()))]
)  # fmt: skip
ANSWERS = st.lists(_SCRAPS, max_size=14).map("".join)


def _said(pieces: list[str]) -> tuple[str, bool]:
    strainer = Strainer(MESSAGES)
    return "".join([*map(strainer.passed, pieces), strainer.rest()]), strainer.called


@given(ANSWERS, st.lists(st.integers(0, 200), max_size=8))
def test_however_an_answer_is_cut_into_pieces_nothing_of_its_prompt_s_marks_is_seen(answer: str, cuts: list[int]) -> None:
    """A mark that comes in two tokens is a mark, and so is one that stands around another."""
    at = sorted({0, len(answer), *(cut for cut in cuts if cut < len(answer))})
    pieces = [answer[begin:end] for begin, end in pairwise(at)]
    seen, called = _said(pieces)
    assert (seen, called) == _said([answer])
    assert not any(token in seen.lower() for token in (*_NUMBERS, *_TAGS))


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        ("Data {0} and data {0}5 say so.", "Data and 5 say so."),
        ("It is `main` (see data {0}).", "It is `main` (see data)."),
        ("{1}\nIt is main.\n{2}", "\nIt is main.\n"),
        ("As [data {0}] shows, it is main.", "As shows, it is main."),
        (f"I look it up. {_CALL} It is main.", "I look it up.  It is main."),
        ("It is main, of data 12345678.", "It is main, of data 12345678."),
        ('{{"port": 80}} is what it reads.', '{{"port": 80}} is what it reads.'),
    ],
)
def test_what_a_reader_would_miss_stays(answer: str, seen: str) -> None:
    opening, closing = (next(mark for mark in _MARKS if mark.startswith(word)) for word in ("[data", "[end"))
    answer = answer.replace("{0}", _NUMBERS[0]).replace("{1}", opening).replace("{2}", closing)
    assert strained(answer.replace("{{", "{").replace("}}", "}"), MESSAGES) == seen.replace("{{", "{").replace("}}", "}")


@pytest.mark.parametrize(
    "call", [_CALL, _CALL[:30], '{"tool":"search","arguments":{}}', '```json\n{"name":"a","arguments":{}}\n```']
)
def test_an_answer_that_is_a_call_leaves_nothing_to_be_seen(call: str) -> None:
    assert _said([*call]) == ("", True)


@pytest.mark.parametrize(
    "answer",
    [
        "It writes `<tool_call>` and looks for it in line 3.",
        "```jinja\n<tool_call>\n{{ call | tojson }}\n</tool_call>\n``` wraps it.",
        "The tags are <tools>, </tools> and <tool_call>",
        "`</tool_call>` closes <TOOL_CALL>{name}",
    ],
)
def test_an_answer_about_code_with_tags_of_calls_loses_nothing_but_the_look_of_them(answer: str) -> None:
    """What stood behind such a tag was taken for a call, to the end of the answer, and nobody was told what was missing."""
    seen, called = _said([*answer])
    assert (seen.replace("‹", "<").replace("›", ">"), called) == (answer, False)  # noqa: RUF001 - see `_SIGNS`


@pytest.mark.parametrize("begun", ['<tool_call>{"na', "<tool_call>\n{ ", "<tool_call>\n<function=search>\n<parameter=q>x"])
def test_a_call_that_was_begun_is_none_of_the_answer(begun: str) -> None:
    assert _said([*f"It is main. {begun}"]) == ("It is main. ", True)


def test_a_result_is_told_without_marks_of_its_own() -> None:
    assert re.findall("[0-9a-f]{8}", strained(_PROMPT)) == []
