"""Colour never changes what the code says."""

import html
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from appliance.codeintel.parse.grammars import LANGUAGES
from appliance.console.code import cited, excerpt, slimmed, window
from appliance.console.highlight import highlight

SAMPLE = ["def load(path):  # why", '    """<b>&amp;</b>"""', "    return 0x10 if path else None", ""]


def plain(rows: list[str]) -> list[str]:
    """Return the text that a browser would show."""
    return [html.unescape(re.sub(r"</?i[^>]*>", "", row)) for row in rows]


def test_tokens_have_their_classes() -> None:
    rows = highlight(SAMPLE, language="python")
    assert '<i class="k">def</i> <i class="f">load</i>(path):  <i class="c"># why</i>' in rows[0]
    assert '<i class="s">&#34;&#34;&#34;&lt;b&gt;&amp;amp;&lt;/b&gt;&#34;&#34;&#34;</i>' in rows[1]
    assert '<i class="n">0x10</i>' in rows[2]


def test_a_comment_over_several_lines_is_closed_on_each() -> None:
    assert highlight(["/* a", "b */ int x;"], language="c")[0] == '<i class="c">/* a</i>'


@pytest.mark.parametrize("language", [*LANGUAGES, "text", "markdown"])
def test_every_language_keeps_the_text(language: str) -> None:
    lines = ["#!/bin/sh <script>", 'class A { fun f() = "x${y}" }', "\t'it''s' /* & */", "", "end"]
    assert plain([str(row) for row in highlight(lines, language=language)]) == lines


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=40), min_size=1, max_size=12
    )
)
def test_any_text_at_all_is_kept(lines: list[str]) -> None:
    assert plain([str(row) for row in highlight(lines, language="python")]) == lines


def test_deep_nesting_costs_no_stack() -> None:
    deep = "(" * 50_000
    assert plain([str(row) for row in highlight([deep], language="python")]) == [deep]


@pytest.mark.parametrize(("language", "line"), [("java", "a<" * 240), ("csharp", "a<" * 240), ("bash", "a<b(" * 120)])
def test_a_file_made_to_be_dear_stays_plain_and_costs_little(language: str, line: str) -> None:
    lines = [line] * 400
    began = time.thread_time()
    rows = highlight(lines, language=language)
    assert time.thread_time() - began < 2  # without a limit minutes, and gigabytes
    assert plain([str(row) for row in rows]) == lines


def test_other_threads_run_while_a_dear_file_is_parsed() -> None:
    with ThreadPoolExecutor(1) as pool:
        ran = 0
        future = pool.submit(highlight, ["f(" * 240] * 400, language="kotlin")
        while not future.done():
            ran += 1
            time.sleep(0.001)
    assert ran > 1


def test_what_could_hide_or_reorder_text_is_written_as_an_escape() -> None:
    (line,) = excerpt("a\u202eb\x00c\td", language="text", start=1, limit=5).lines
    assert line.html == "a\\u202eb\\x00c\td"


def test_a_long_line_is_cut_and_says_so() -> None:
    (line,) = excerpt("x" * 10_000, language="text", start=1, limit=5).lines
    assert len(line.html) == 502
    assert line.html.endswith(" …")


def test_an_excerpt_says_how_many_lines_it_lacks() -> None:
    cut = excerpt("a\r\nb\nc\n", language="text", start=7, limit=2)
    assert [(line.number, str(line.html)) for line in cut.lines] == [(7, "a"), (8, "b")]
    assert cut.cut == "1 more line: open the file to see all."


def test_a_slimmed_excerpt_keeps_its_first_line_and_says_that_it_was_cut() -> None:
    whole = excerpt("x" * 400 + "\ny\nz", language="text", start=1, limit=9)
    slim = slimmed(whole, characters=100)
    assert [line.number for line in slim.lines] == [1]
    assert (slim.last, slim.cut) == (1, "More lines: open the file to see all.")
    assert slimmed(whole, characters=1000) == whole


def test_lines_are_coloured_by_what_stands_above_them() -> None:
    """A card that begins inside a string would else show all of it inside out."""
    shown = cited(b'x = """\nselect\n"""\ndef f(): ...\n', language="python", start=2, end=4, limit=3)
    assert str(shown.lines[0].html) == '<i class="s">select</i>'
    assert '<i class="f">f</i>' in str(shown.lines[2].html)


def test_a_window_marks_the_cited_lines() -> None:
    shown = window([Markup("a"), Markup("b"), Markup("c")], first=4, hot=range(5, 6))
    assert [line.number for line in shown.lines if line.hot] == [5]
