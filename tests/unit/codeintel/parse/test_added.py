"""Claims about languages that plugins add, parsed with a real grammar under another name."""

from contextlib import closing
from importlib import import_module
from pathlib import Path

import msgspec
import pytest

from appliance.codeintel.facts import BlobFacts, BlobTask, Reference, Symbol, unpack_facts
from appliance.codeintel.parse.added import BUILT_IN, AddedLanguage, Languages
from appliance.codeintel.parse.blob import facts
from appliance.codeintel.parse.frames import Work
from appliance.codeintel.parse.languages import language_of
from appliance.codeintel.parse.pool import ParserPool
from appliance.codeintel.parse.sparing import MOST_DEATHS, Sparing
from appliance.config import Index
from appliance.ids import BlobId

QUERY = """
((comment)* @doc . (function_declaration name: (_) @name body: (_)) @definition.function)
(assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (table_constructor))) @definition.class
(field name: (identifier) value: (function_definition)) @definition.function
(function_call name: (identifier) @name) @reference.call
"""
TOY = AddedLanguage("toy", ("toy", "t0y"), "tree_sitter_lua", QUERY)
SOURCE = b"""-- Far away.

-- Adds;
-- two numbers.
function M.add(a, b)
  return call(a)
end

Box = {
  open = function(self) return 1 end,
}
"""


def task(path: str, content: bytes = SOURCE) -> BlobTask:
    return BlobTask(BlobId(path.encode().hex().ljust(40, "0")), path, content)


def test_the_query_of_a_language_says_what_is_defined_how_it_is_called_and_what_speaks_of_it() -> None:
    found = facts(task("a/x.toy"), Languages.of([TOY]))
    assert (found.language, found.problem, found.lines) == ("toy", "", 11)
    assert list(found.symbols) == [
        Symbol("add", "M.add", "method", 5, 7, "function M.add(a, b)", "Adds; two numbers."),
        Symbol("Box", "Box", "class", 9, 11, "Box", ""),
        Symbol("open", "Box.open", "method", 10, 10, "open = function(self)", "", 1),
    ]
    assert list(found.references) == [Reference("call", 6, "call", 0)]
    assert [number for chunk in found.chunks for number in chunk.defines] == [0, 1, 2]


def test_the_queries_that_grammars_bring_are_taken_as_they_are() -> None:
    """Whoever adds a language has one at hand, and need not write any."""
    sources = {
        "tree_sitter_python": b"class A:\n    def f(self):\n        return g()\n",
        "tree_sitter_rust": b"/// Says.\nstruct A { x: i32 }\nimpl A { fn f(&self) { g() } }\n",
        "tree_sitter_lua": b"-- Says.\nlocal function A() return g() end\n",
    }
    found = {}
    for grammar, source in sources.items():
        query = (Path(import_module(grammar).__file__ or "").parent / "queries" / "tags.scm").read_text()
        language = AddedLanguage("own", ("own",), grammar, query)
        one = facts(task("x.own", source), Languages.of([language]))
        found[grammar] = [f"{symbol.kind} {symbol.qualname}" for symbol in one.symbols], [use.name for use in one.references]
    assert found == {
        "tree_sitter_python": (["class A", "method A.f"], ["g"]),
        "tree_sitter_rust": (["class A", "method f"], ["A", "g"]),
        "tree_sitter_lua": (["function A"], ["g"]),
    }


@pytest.mark.parametrize(
    ("path", "head", "language"),
    [
        ("a/b.toy", b"", "toy"),
        ("B.T0Y", b"", "toy"),
        (".toy", b"", "toy"),
        ("x.toy", b"#!/usr/bin/env python3\n", "toy"),
        ("toy", b"", "text"),
        ("x.toy.py", b"", "python"),
        ("gemfile", b"", "ruby"),
    ],
)
def test_an_ending_that_a_language_adds_is_its_own_and_no_other(path: str, head: bytes, language: str) -> None:
    assert language_of(path, head, added=Languages.of([TOY]).names) == language


def test_a_hint_changes_with_whatever_changes_what_is_found_and_with_nothing_else() -> None:
    changes = {"definitions": QUERY + "\n", "build": "2", "grammar": "tree_sitter_lua:language", "endings": ("toy",)}
    changed = [msgspec.structs.replace(TOY, **{name: value}) for name, value in changes.items()]
    tables = [Languages.of([each]) for each in (TOY, *changed)]
    assert len({table.hints["toy"] for table in tables}) == len({table.fingerprint for table in tables}) == len(tables)
    moved = Languages.of([msgspec.structs.replace(TOY, path="/elsewhere")])
    assert (moved.hints, moved.fingerprint) == (tables[0].hints, tables[0].fingerprint)
    assert BUILT_IN.fingerprint == ""


def test_a_grammar_that_crashes_costs_its_own_files_alone_and_one_that_is_gone_no_process(tmp_path: Path) -> None:
    """Both passed their trial, or nobody would have told of them; then somebody upgraded a package."""
    (tmp_path / "crashing_grammar.py").write_text("import os\ndef language():\n    os.abort()\n")
    bad = AddedLanguage("bad", ("bad",), "crashing_grammar", QUERY, str(tmp_path))
    gone = AddedLanguage("gone", ("gone",), "grammar_that_is_gone", QUERY)
    languages = Languages.of([TOY, bad, gone])
    tasks = [task("x.toy"), task("x.bad"), task("x.gone"), task("x.py", b"def f(): pass\n")]
    with closing(ParserPool(1, Index(workers=1), languages=languages)) as pool:
        found = {blob: unpack_facts(packed.facts, BlobFacts) for blob, packed in pool.map(tasks)}
    told = {
        each.path: (found[each.blob].language, found[each.blob].problem, len(found[each.blob].symbols)) for each in tasks
    }
    assert told == {
        "x.toy": ("toy", "", 3),
        "x.bad": ("bad", "parse-crash", 0),
        "x.gone": ("gone", "parse-grammar", 0),
        "x.py": ("python", "", 1),
    }


def works(count: int, suffix: str) -> list[Work]:
    return [Work.of(task(f"{number}.{suffix}"), flow=False) for number in range(count)]


def test_a_grammar_that_ends_every_process_is_given_up_and_no_other_is() -> None:
    """Each death costs the start of a process, and a repository has as many files as its author likes."""
    sparing = Sparing(Languages.of([TOY, msgspec.structs.replace(TOY, name="good", endings=("good",))]))
    deaths = 0
    for work in [*works(200, "toy"), *works(20, "py")]:
        at = sparing.spared(work)
        while not at.problem:
            at = sparing.spared(at.after_death("parse-crash"))
            deaths += work.path.endswith(b".toy")
            sparing.note([at])
    assert deaths == MOST_DEATHS
    assert {sparing.spared(work).problem for work in works(9, "toy")} == {"parse-grammar"}
    assert {sparing.spared(work).problem for work in (*works(9, "good"), *works(9, "py"))} == {""}
