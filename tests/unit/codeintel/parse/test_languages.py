"""Names and first lines tell the language."""

import pytest
from tree_sitter import Parser

from appliance.codeintel.parse.grammars import LANGUAGES, grammar
from appliance.codeintel.parse.languages import language_of


@pytest.mark.parametrize(
    ("path", "head", "language"),
    [
        ("a/b.py", b"", "python"),
        ("B.PY", b"", "python"),
        ("x.tsx", b"", "tsx"),
        ("x.d.ts", b"", "typescript"),
        ("a.h", b"int f(void);\n", "c"),
        ("a.h", b"namespace n {\nclass A {\n", "cpp"),
        ("a.h", b"#include <stdio.h>\n/* using it is a virtual class */\nstruct a { int b; };\n", "c"),
        ("a.h", b'#ifdef __cplusplus\nextern "C" {\n#endif\nconst int f(const char *x);\n', "c"),
        (
            "a.h",
            b"#if defined(__cplusplus)\n#include <atomic>\nusing std::x;\n#else\n#define _Atomic\n#endif\nint f();\n",
            "c",
        ),
        ("a.h", b"// words\n" * 1000 + b"struct A { int a() const { return 1; } };\n", "cpp"),
        ("a.h", b"#include <vector>\n", "cpp"),
        ("a.h", b"struct A : B { int c; };\n", "cpp"),
        ("a.h", b"struct A {\n  virtual int a() = 0;\n};\n", "cpp"),
        ("a.h", b"int f(std::string x);\n", "cpp"),
        ("a.def", b"/* A table */\nstruct a b[] = {\n", "c"),
        ("a.def", b"ENTRY(a, b)\nENTRY(c, d)\n", "c"),
        ("a.def", b"LIBRARY a\nEXPORTS\n  b\n", "text"),
        ("a.def", b"; a list\nEXPORTS\n  b\n", "text"),
        ("Rakefile", b"", "ruby"),
        ("run", b"#!/usr/bin/env python3\n", "python"),
        ("run", b"#!/usr/bin/env -S node --x\n", "javascript"),
        ("run", b"#!/bin/bash -e\n", "bash"),
        ("run", b"#! /usr/bin/perl\n", "text"),
        ("README.md", b"", "markdown"),
        ("a.yaml", b"", "text"),
        (".py", b"", "python"),
        ("py", b"", "text"),
        ("folder.py/plain", b"", "text"),
        ("", b"", "text"),
    ],
)
def test_the_language_is_found(path: str, head: bytes, language: str) -> None:
    assert language_of(path, head) == language


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_grammar_loads_and_its_query_fits(language: str) -> None:
    loaded = grammar(language)
    assert isinstance(loaded.parser, Parser)
    assert loaded.captures(loaded.root(b"")) == {}
