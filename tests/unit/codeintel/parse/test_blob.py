"""What one pass finds in a blob."""

import time

import pytest

from appliance.codeintel.facts import BlobTask, texts
from appliance.codeintel.parse.blob import facts_by_lines
from appliance.codeintel.parse.tokens import tokenize
from appliance.ids import BlobId
from tests.support.facts import calls, names, parsed


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        (
            "a.py",
            "def f():\n    helper.run(1).then(go)\n    Other()\n",
            {("helper", "run", "f"), ("helper.run(1)", "then", "f"), ("", "Other", "f")},
        ),
        (
            "a.js",
            "function f() { this.svc.run(); go(); new Q(); }\n",
            {("this.svc", "run", "f"), ("", "go", "f"), ("", "Q", "f")},
        ),
        ("a.tsx", "const A = () => <Page><ui.Btn/></Page>;\n", {("", "Page", "A"), ("ui", "Btn", "A")}),
        ("a.go", "package p\nfunc f() { fmt.Println(1); go2() }\n", {("fmt", "Println", "f"), ("", "go2", "f")}),
        ("a.rs", "fn f() { a.run(); b::c::<T>(1); m!(); }\n", {("a", "run", "f"), ("b", "c", "f"), ("", "m", "f")}),
        (
            "A.java",
            "class F { void f() { a.run(1); go(); new W<T>(); if (b::c) {} } }\n",
            {("a", "run", "F.f"), ("", "go", "F.f"), ("", "W", "F.f"), ("b", "c", "F.f")},
        ),
        ("a.c", "int f(void) { helper(1); p->run(2); return 0; }\n", {("", "helper", "f"), ("p", "run", "f")}),
        (
            "a.cc",
            "void f() { std::move(x); p->run(); make<int>(1); }\n",
            {("std", "move", "f"), ("p", "run", "f"), ("", "make", "f")},
        ),
        (
            "a.cs",
            "class F { void G() { a.Run(1); Go<int>(); b?.C(); new Q(); } }\n",
            {("a", "Run", "F.G"), ("", "Go", "F.G"), ("", "C", "F.G"), ("", "Q", "F.G")},
        ),
        ("a.rb", "def f\n  helper.run(1)\n  go 2\nend\n", {("helper", "run", "f"), ("", "go", "f")}),
        (
            "a.php",
            "<?php function f() { $this->run(1); Foo::st(); go(); new Q(); }\n",
            {("$this", "run", "f"), ("Foo", "st", "f"), ("", "go", "f"), ("", "Q", "f")},
        ),
        ("a.sh", "f() { run 1; }\n", {("", "run", "f")}),
        ("a.kt", "fun f() { helper.run(1); go() }\n", {("helper", "run", "f"), ("", "go", "f")}),
        ("a.scala", "object O { def f() = { helper.run(1); go() } }\n", {("helper", "run", "O.f"), ("", "go", "O.f")}),
        ("a.swift", "func f() { helper.run(1); go() }\n", {("helper", "run", "f"), ("", "go", "f")}),
        ("a.lua", "function f() m.bar(1); self:go() end\n", {("m", "bar", "f"), ("self", "go", "f")}),
    ],
)
def test_calls_are_found_with_receiver_and_enclosing_definition(
    path: str, source: str, expected: set[tuple[str, str, str]]
) -> None:
    assert calls(parsed(path, source)) == expected


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("a.py", "class A(B, m.C[int]): pass\n", {"B", "C"}),
        ("a.js", "class A extends m.B {}\n", {"B"}),
        ("a.ts", "interface A extends B, C<T> {}\nclass D extends E<T> implements F {}\n", {"B", "C", "E", "F"}),
        ("a.go", "package p\ntype A struct { B; *m.C }\n", {"B", "C"}),
        ("a.rs", "struct A;\nimpl B for A {}\nimpl C<T> for A {}\n", {"B", "C"}),
        ("A.java", "class A extends B implements C<T>, D {}\n", {"B", "C", "D"}),
        ("a.cc", "class A : public B, private n::C, D<T> {};\n", {"B", "C", "D"}),
        ("a.cs", "class A : B, IC<int> {}\n", {"B", "IC"}),
        ("a.rb", "class A < B::C; end\n", {"C"}),
        ("a.php", "<?php class A extends B implements C { use T; }\n", {"B", "C", "T"}),
        ("a.kt", "class A : B(), C<Int>\n", {"B", "C"}),
        ("a.scala", "class A extends B with C[Int]\n", {"B", "C"}),
        ("a.swift", "class A: B, C {}\n", {"B", "C"}),
    ],
)
def test_what_a_type_inherits_from_is_found(path: str, source: str, expected: set[str]) -> None:
    found = [use for use in parsed(path, source).references if use.kind == "inherit"]
    assert {use.name for use in found} == expected
    assert all(use.enclosing >= 0 for use in found)


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        (
            "a.py",
            "import a.b as c, d\nfrom .x import (y as z,  # why\n    w)\n",
            {("a.b", (), "c"), ("d", (), ""), (".x", ("w",), ""), (".x", ("y",), "z")},
        ),
        (
            "a.js",
            'import d, {a as b, c} from "m";\nimport * as ns from "n";\nimport "side";\nexport * from "r";\n',
            {
                ("m", ("default",), "d"),
                ("m", ("a",), "b"),
                ("m", ("c",), ""),
                ("n", (), "ns"),
                ("side", (), ""),
                ("r", ("*",), ""),
            },
        ),
        (
            "a.cjs",
            'const fs = require("fs");\nconst {x, y: z} = require("q");\nrequire("side");\n',
            {("fs", (), "fs"), ("q", ("x",), ""), ("q", ("y",), "z"), ("side", (), "")},
        ),
        ("a.ts", 'import type { A } from "a";\n', {("a", ("A",), "")}),
        *(
            (
                name,
                'import f = require("fs");\nconst {x, y: z} = require("q");\nrequire("side");\nimport local = A.B;\n',
                {("fs", (), "f"), ("q", ("x",), ""), ("q", ("y",), "z"), ("side", (), "")},
            )
            for name in ("a.ts", "a.tsx", "a.cts")
        ),
        ("a.go", 'package p\nimport (\n "fmt"\n al "a/b"\n)\n', {("fmt", (), ""), ("a/b", (), "al")}),
        (
            "a.rs",
            "use a::b::{c, d as e, f::{self, g}};\nmod sub;\nuse h::*;\n",
            {
                ("a::b", ("c",), ""),
                ("a::b", ("d",), "e"),
                ("a::b::f", ("self",), ""),
                ("a::b::f", ("g",), ""),
                ("sub", (), ""),
                ("h", ("*",), ""),
            },
        ),
        ("A.java", "import a.b.C;\nimport static x.Y.*;\n", {("a.b", ("C",), ""), ("x.Y", ("*",), "")}),
        ("a.c", '#include <a/b.h>\n#include "c.h"\n', {("a/b.h", (), ""), ("c.h", (), "")}),
        ("a.cc", "using namespace std;\nusing a::b;\n", {("std", ("*",), ""), ("a", ("b",), "")}),
        ("a.cs", "using System;\nusing X = A.B;\n", {("System", (), ""), ("A.B", (), "X")}),
        ("a.rb", "require 'x'\nrequire_relative 'y'\n", {("x", (), ""), ("y", (), "")}),
        (
            "a.php",
            '<?php\nuse X\\Y as Z;\nuse X\\{Q, W as V};\nrequire_once "a.php";\n',
            {("X", ("Y",), "Z"), ("X", ("Q",), ""), ("X", ("W",), "V"), ("a.php", (), "")},
        ),
        ("a.kt", "import x.y.Z as Q\nimport k.*\n", {("x.y", ("Z",), "Q"), ("k", ("*",), "")}),
        ("a.scala", "import a.b.{C, D => E}\nimport x._\n", {("a.b", ("C",), ""), ("a.b", ("D",), "E"), ("x", ("_",), "")}),
        ("a.swift", "import Foundation\n", {("Foundation", (), "")}),
        ("a.lua", 'local m = require("x.y")\n', {("x.y", (), "m")}),
    ],
)
def test_imports_are_read_as_written(path: str, source: str, expected: set[tuple[str, tuple[str, ...], str]]) -> None:
    assert {(each.module, each.names, each.alias) for each in parsed(path, source).imports} == expected


@pytest.mark.parametrize(
    ("path", "source", "doc", "signature"),
    [
        (
            "a.py",
            '@wraps(\n  a)\ndef f(a,\n      b) -> int:\n    """Say it.\n\n    More.\n    """\n',
            "Say it.",
            "def f(a, b) -> int",
        ),
        ("a.py", "# Why it is.\ndef f(): pass\n", "Why it is.", "def f()"),
        (
            "a.js",
            "/**\n * Say it\n * in two.\n *\n * @param a x\n */\nexport const f = async (a) => {\n};\n",
            "Say it in two.",
            "export const f = async (a)",
        ),
        ("a.go", "package p\n\n// F says it.\nfunc F(a int) error {\n}\n", "F says it.", "func F(a int) error"),
        ("a.rs", "/// Say it.\n#[inline]\npub fn f<T>(a: T) -> Vec<T> {\n}\n", "Say it.", "pub fn f<T>(a: T) -> Vec<T>"),
        ("A.java", "/** Say it. */\n@Ann\npublic class A<T> {\n}\n", "Say it.", "@Ann public class A<T>"),
        ("a.c", "/* Say it. */\nstatic int\nf(int a)\n{\n}\n", "Say it.", "static int f(int a)"),
        ("a.cs", "/// <summary>Say it.</summary>\npublic class A {\n}\n", "Say it.", "public class A"),
        ("a.rb", "# Say it.\ndef f(a)\nend\n", "Say it.", "def f(a)"),
        ("a.lua", "-- Say it.\nfunction f(a)\nend\n", "Say it.", "function f(a)"),
    ],
)
def test_a_symbol_has_its_head_and_the_first_paragraph_about_it(path: str, source: str, doc: str, signature: str) -> None:
    symbol = parsed(path, source).symbols[0]
    assert (symbol.doc, symbol.signature) == (doc, signature)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.c", "#define OTHER 1 /* of the other */\n#define MINE 2\n"),
        ("a.go", "package p\n\nvar x = 1 // of x\nfunc f() {}\n"),
        ("a.py", "x = 1  # of x\ndef f(): pass\n"),
        ("a.js", "// too far\n\nfunction f() {}\n"),
    ],
)
def test_a_comment_behind_other_code_or_farther_up_is_not_taken(path: str, source: str) -> None:
    assert parsed(path, source).symbols[-1].doc == ""


def test_lines_are_exact_and_decorators_belong_to_the_definition() -> None:
    found = parsed("a.py", b"\n\n@a\n@b(\n  1)\nclass C:\n\n    def m(self):\n        pass\n\n\nx = 1\n")
    lines = [(symbol.qualname, symbol.start_line, symbol.end_line, symbol.parent) for symbol in found.symbols]
    assert lines == [("C", 3, 9, -1), ("C.m", 8, 9, 0), ("x", 12, 12, -1)]


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("# ä\ndef größe(): pass\n".encode("latin-1"), "latin-1"),
        ("\ufeff# ä\ndef größe(): pass\n".encode("utf-16-le"), "utf-16"),
        ("\ufeff# ä\ndef größe(): pass\n".encode(), "utf-8"),
        ("# ä\r\ndef größe(): pass\r\n".encode(), "utf-8"),
    ],
)
def test_any_encoding_is_parsed_and_found_at_its_line(content: bytes, encoding: str) -> None:
    found = parsed("a.py", content)
    assert (found.encoding, found.lines) == (encoding, 2)
    assert [(symbol.name, symbol.start_line) for symbol in found.symbols] == [("größe", 2)]
    assert "größ" in texts(found.texts, found.words)[0]


def test_a_chunk_knows_what_it_defines_and_what_holds_it() -> None:
    methods = "\n".join(f"    def m{n}(self):\n" + "        work(here)\n" * 30 for n in range(3))
    found = parsed("a.py", f"import os\n\nclass C:\n{methods}".encode())
    chunks = [(chunk.symbol, chunk.defines) for chunk in found.chunks]
    assert names(found) == ["C", "C.m0", "C.m1", "C.m2"]
    assert chunks == [(-1, (0, 1)), (2, (2,)), (3, (3,))]


def test_tokens_of_a_chunk_are_those_of_its_lines() -> None:
    source = "def readAll(a):\n    return a.read_lines()\n"
    found = parsed("a.py", source)
    assert texts(found.texts, found.words) == [tokenize(source)]
    assert texts(found.names, found.words) == [tokenize("readAll")]


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("a.py", "a, B = 1, 2\n(c, d) = e\nclass C:\n    x, y = 1, 2\n", "a B c d C C.x C.y"),
        (
            "a.py",
            "try:\n    A = 1\nexcept E:\n    A = 2\nif x:\n    pass\nelse:\n    z = 1\n@w\ndef f():\n    inner = 1\n",
            "A A#2 z f",
        ),
        ("a.kt", "data class U(val name: String, private var age: Int = size, plain: Int)\n", "U U.name U.age"),
        ("A.java", "record R(int a, String... rest) { R { } void f(int b) { } }\n", "R R.a R.rest R.R R.f"),
        (
            "a.cs",
            "record P(int X, string Y);\nclass A { event System.Action Changed; void F(int q) { } }\n",
            "P P.X P.Y A A.Changed A.F",
        ),
        ("a.ts", "enum E { One, Two = 3 }\nnamespace N { export const y = 1 }\n", "E E.One E.Two N N.y"),
    ],
)
def test_what_stands_in_a_head_a_list_or_a_branch_is_defined_too(path: str, source: str, expected: str) -> None:
    assert [symbol.qualname for symbol in parsed(path, source).symbols] == expected.split()


def test_markdown_has_its_headings_as_symbols() -> None:
    found = parsed("a.md", "# One\ntext\n## Two\n```\n# no\n```\nThree\n=====\n## Two\n")
    lines = [(symbol.qualname, symbol.start_line, symbol.end_line) for symbol in found.symbols]
    assert lines == [("One", 1, 6), ("One.Two", 3, 6), ("Three", 7, 9), ("Three.Two", 9, 9)]
    assert found.language == "markdown"


def test_other_text_is_cut_by_lines() -> None:
    found = parsed("a.yaml", "key: value\n" * 100)
    assert (found.language, found.lines, found.symbols) == ("text", 100, ())
    assert [(chunk.start_line, chunk.end_line) for chunk in found.chunks] == [(1, 40), (41, 80), (81, 100)]


def test_broken_source_still_gives_what_can_be_read() -> None:
    assert "good" in names(parsed("a.py", "def bad(a:\n    return a\n\ndef good():\n    pass\n"))


def test_kotlin_classes_on_a_line_each_are_all_found() -> None:
    """Its grammar asks for an end of the statement before each of these braces, and from the second on gives up."""
    source = (
        "package a\nopen class B { open fun go() {} }\nclass C(val b: B) : B() { override fun go() { b.go() } }\n"
        'sealed class E { object X : E()\n data class Y(val n: Int) : E() { fun z() = "${ n }" } }\nfun f() = B()\n'
    )
    found = parsed("a.kt", source)
    wanted = ["B", "B.go", "C", "C.b", "C.go", "E", "E.X", "E.Y", "E.Y.n", "E.Y.z", "f"]
    assert [symbol.qualname for symbol in found.symbols] == wanted
    assert found.symbols[3].signature == "val b: B"
    assert found.torn == 0


@pytest.mark.parametrize(
    ("path", "source", "least", "most"),
    [
        ("a.py", "def good():\n    pass\n", 0, 0),
        ("a.py", "def good():\n    pass\n\n" * 40 + "x = = 3\n", 1, 1),
        ("a.py", "def f():\n    pass\n)(\n" * 2, 5, 60),
        ("a.go", "package a\n" + "func } {{ ] 12 a (" * 20, 60, 100),
        ("a.kt", "class B { fun go() {} }\n", 0, 0),  # a sign is put in, and nothing passed over
        ("a.yaml", "}{][", 0, 0),
    ],
)
def test_how_much_of_a_file_is_no_syntax_is_recorded(path: str, source: str, least: int, most: int) -> None:
    assert least <= parsed(path, source).torn <= most


def test_a_file_without_a_line_has_no_chunk() -> None:
    assert parsed("a.py", b"").chunks == parsed("a.txt", b"\n \n").chunks == ()


def test_facts_by_lines_say_why() -> None:
    found = facts_by_lines(BlobTask(BlobId("0" * 40), "a.py", b"def f(): pass\n"), problem="parse-crash")
    assert (found.language, found.problem, found.symbols, len(found.chunks)) == ("python", "parse-crash", (), 1)


@pytest.mark.parametrize(("calls", "problem"), [(900, ""), (1100, "parse-nest")])
def test_a_tree_deeper_than_any_that_somebody_wrote_is_not_walked(calls: int, problem: str) -> None:
    """A call is two levels, and so are the file and its one statement. Of what a query finds time grows with the square."""
    found = parsed("a.js", b"f(\n" * calls + b")\n" * calls)
    assert (found.problem, len(found.references)) == (problem, 0 if problem else calls)
    assert {line for chunk in found.chunks for line in range(chunk.start_line, chunk.end_line + 1)} == {
        *range(1, 2 * calls + 1)
    }


@pytest.mark.parametrize(("pieces", "problem"), [(19_000, ""), (21_000, "parse-nest")])
def test_a_file_that_is_no_syntax_is_not_searched_for_definitions(pieces: int, problem: str) -> None:
    assert parsed("a.py", b"(\n" * pieces).problem == problem


def test_many_definitions_on_a_line_cost_as_much_as_on_many() -> None:
    """Each once copied and combed its whole line: together that grows with the square."""
    started = time.process_time()
    found = parsed("a.h", b"enum e {" + b"a," * 100_000 + b"};\n")
    assert len(found.symbols) == 100_001
    assert time.process_time() - started < 5.0


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.js", b"[" * 200_000 + b"]" * 200_000),
        ("a.c", b"void f(){" + b"if(a){" * 50_000 + b"}" * 50_001),
        ("a.js", b"function a(){" * 15_000 + b"}" * 15_000),
    ],
    ids=["brackets", "blocks", "functions"],
)
def test_a_deep_nest_is_walked_without_recursion(path: str, source: bytes) -> None:
    found = parsed(path, source)
    assert found.lines == 1
    assert all(len(symbol.qualname) < 700 for symbol in found.symbols)
