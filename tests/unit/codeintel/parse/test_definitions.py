"""Which definitions one pass finds, language by language."""

import pytest

from tests.support.facts import parsed

DEFINITIONS = [
    (
        "a.py",
        """
        import os
        LIMIT = 3
        class Client(Base):
            timeout = 1
            def get(self): pass
            @property
            def get(self): pass
        if LIMIT:
            def under_if(): pass
        try:
            X = 1
            class UnderTry: pass
        finally:
            pass
        with a as b:
            async def under_with():
                def nested(): pass
        """,
        ["constant LIMIT", "class Client", "field Client.timeout", "method Client.get", "method Client.get#2",
         "function under_if", "constant X", "class UnderTry", "function under_with", "function under_with.nested"],
    ),
    (
        "a.js",
        """
        const TABLE = {a: 1};
        export default function () {}
        export class Foo extends Bar { x = () => 1; static z = 1; constructor() {} go() {} get v() {} }
        const arrow = async (a) => { function inner() {} };
        exports.one = function () {};
        module.exports.two = () => {};
        Foo.prototype.late = function () {};
        module.exports = { three: function () {}, four() {} };
        function* gen() {}
        """,
        ["constant TABLE", "function default", "class Foo", "method Foo.x", "field Foo.z", "constructor Foo.constructor",
         "method Foo.go", "method Foo.v", "function arrow", "function arrow.inner", "function one", "function two",
         "method Foo.late", "method three", "method four", "function gen"],
    ),
    (
        "a.ts",
        """
        export interface I<T> { p: Q; m(a: A): B }
        export type Alias = X | Y;
        enum E { A }
        namespace N { export function f() {} }
        export abstract class Foo { private x = 1; constructor(a: A) {} abstract go(): void; h = () => 1 }
        function over(a: string): void;
        function over(a: any) {}
        """,
        ["interface I", "property I.p", "method I.m", "type Alias", "enum E", "constant E.A", "namespace N", "function N.f",
         "class Foo", "field Foo.x", "constructor Foo.constructor", "method Foo.go", "method Foo.h",
         "function over", "function over#2"],
    ),
    ("a.tsx", "const App = () => <Page a={1}><Btn/></Page>;\n", ["function App"]),
    (
        "a.go",
        """
        package p
        type Foo struct { Bar; a, b int }
        type I interface { Do(p P) R }
        func (f *Foo) Go() {}
        func (g Gen[T]) Go() {}
        func Go() {}
        const ( First = iota; Second )
        var v, w = 1, 2
        """,
        ["struct Foo", "field Foo.a", "field Foo.b", "interface I", "method I.Do", "method Foo.Go", "method Gen.Go",
         "function Go", "constant First", "constant Second", "variable v", "variable w"],
    ),
    (
        "a.rs",
        """
        pub struct Foo<T> { a: T }
        impl<T: X> Tr for Foo<T> { fn go(&self) {} }
        impl Foo<u8> { const K: u8 = 1; fn go(&self) {} }
        enum E { A, B }
        trait Tr { fn go(&self); }
        macro_rules! mac { () => {} }
        mod inner { fn free() {} }
        """,
        ["struct Foo", "field Foo.a", "method Foo.go", "constant Foo.K", "method Foo.go#2", "enum E", "constant E.A",
         "constant E.B", "trait Tr", "method Tr.go", "macro mac", "module inner", "function inner.free"],
    ),
    (
        "A.java",
        """
        class Foo<T> extends Bar { int f, g; Foo() {} <R> R go() { return null; } class In {} }
        interface I { int K = 1; void m(); }
        enum E { A }
        record Rec(int a) {}
        """,
        ["class Foo", "field Foo.f", "field Foo.g", "constructor Foo.Foo", "method Foo.go", "class Foo.In", "interface I",
         "constant I.K", "method I.m", "enum E", "constant E.A", "class Rec", "field Rec.a"],
    ),
    (
        "a.c",
        """
        #define LIMIT 1
        #define MAX(a, b) ((a) > (b))
        int proto(int a);
        static struct foo *make(void) { return 0; }
        struct foo { int a; };
        typedef struct { int b; } bar_t;
        typedef int (*callback)(int);
        enum e { A, B };
        int (*table[])(void) = { 0 };
        """,
        ["macro LIMIT", "macro MAX", "function make", "struct foo", "type bar_t", "type callback", "enum e", "constant e.A",
         "constant e.B", "variable table"],
    ),
    ("a.h", "int proto(int a);\nchar *other(void);\nextern int data;\n", ["function proto", "function other"]),
    (
        "a.cc",
        """
        namespace n {
        template <class T> class Foo : public Bar {
          int f;
          ~Foo();
          virtual void go(P& p) const;
          bool operator==(const Foo& o) { return true; }
        };
        }
        void n::Foo::go(P& p) const {}
        """,
        ["namespace n", "class n.Foo", "field n.Foo.f", "method n.Foo.go", "method n.Foo.operator==", "method n.Foo.go#2"],
    ),
    (
        "a.cs",
        """
        namespace N.M {
          class Foo<T> : Bar { int f; public Foo() {} public R Go() { void Local() {} } public int P { get; set; } }
          enum E { A }
        }
        """,
        ["namespace N.M", "class N.M.Foo", "field N.M.Foo.f", "constructor N.M.Foo.Foo", "method N.M.Foo.Go",
         "function N.M.Foo.Go.Local", "property N.M.Foo.P", "enum N.M.E", "constant N.M.E.A"],
    ),
    (
        "a.rb",
        """
        module A
          class Foo < B::C
            K = 1
            def go; end
            def self.st; end
          end
        end
        """,
        ["module A", "class A.Foo", "constant A.Foo.K", "method A.Foo.go", "method A.Foo.st"],
    ),
    (
        "a.php",
        "<?php\nclass Foo extends Bar { const K = 1; public $p = 2; function go() {} }\nfunction top() {}\ntrait T {}\n",
        ["class Foo", "constant Foo.K", "property Foo.p", "method Foo.go", "function top", "trait T"],
    ),
    ("a.sh", "X=1\ngo() { run; }\nfunction other { go; }\n", ["constant X", "function go", "function other"]),
    (
        "a.kt",
        """
        class Foo(val a: Int) : Bar() {
          companion object {
            val X = 1
          }
          fun go() { }
        }
        interface I
        enum class E { A }
        object Single {}
        val top = 3
        """,
        ["class Foo", "property Foo.a", "class Foo.Companion", "property Foo.Companion.X", "method Foo.go", "interface I",
         "enum E", "constant E.A", "class Single", "variable top"],
    ),
    (
        "a.scala",
        "class Foo {\n val x = 1\n def go(): R = { run() }\n}\nobject Single { def m() = 1 }\ntrait T { def abs: Int }",
        ["class Foo", "property Foo.x", "method Foo.go", "class Single", "method Single.m", "trait T", "method T.abs"],
    ),
    (
        "a.swift",
        """
        class Foo: Bar { let x = 1; init(a: A) {}; func go() {} }
        struct S {}
        enum E { case a }
        extension Foo { func ext() {} }
        protocol P { func m() }
        """,
        ["class Foo", "property Foo.x", "constructor Foo.init", "method Foo.go", "struct S", "enum E", "constant E.a",
         "method Foo.ext", "interface P", "method P.m"],
    ),
    (
        "a.lua",
        "local M = {}\nfunction M.foo() end\nfunction M:bar() end\nlocal function loc() end\nM.z = function() end\n",
        ["constant M", "method M.foo", "method M.bar", "function loc", "method M.z"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("path", "source", "expected"), DEFINITIONS, ids=[row[0] for row in DEFINITIONS])
def test_every_definition_is_found_where_it_stands(path: str, source: str, expected: list[str]) -> None:
    found = parsed(path, source)
    assert [f"{symbol.kind} {symbol.qualname}" for symbol in found.symbols] == expected
    assert found.problem == ""


def test_a_dollar_is_part_of_a_name_in_javascript_alone() -> None:
    script = parsed("a.ts", "export const $make = () => 1; export interface $Type {} function end$() {}\n")
    assert [symbol.name for symbol in script.symbols] == ["$make", "$Type", "end$"]
    page = parsed("a.php", "<?php\nclass Foo { public $p = 2; }\n")
    assert [symbol.name for symbol in page.symbols] == ["Foo", "p"]


def test_a_name_that_ends_in_operator_is_whole() -> None:
    found = parsed("a.py", "def test_plus_operator(): pass\nclass Operator:\n    def operator(self): pass\n")
    assert [symbol.qualname for symbol in found.symbols] == ["test_plus_operator", "Operator", "Operator.operator"]
