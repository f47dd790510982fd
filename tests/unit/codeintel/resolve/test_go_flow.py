"""How values move through Go: one claim, a few lines of code, and what they call."""

import time

import pytest

from appliance.codeintel.resolve.families import GO
from tests.support.graphs import calls, edges, solved

TWO = "package m\nfunc f() {}\nfunc g() {}\ntype T struct{}\nfunc (T) a() {}\ntype U struct{}\nfunc (*U) a() {}\n"

CASES = {
    "a method by value and by pointer": ("func h(x T, y *U) { x.a(); y.a() }", "m.h -> m.T.a, m.h -> m.U.a"),
    "what is made": ("func h() { x := T{}; y := &U{}; new(U).a(); x.a(); y.a() }", "m.h -> m.T.a, m.h -> m.U.a"),
    "a variable hides another for a block": ("func h(x T) { { x := U{}; x.a() } }", "m.h -> m.U.a"),
    "a variable is itself again after a block": ("func h(x T) { if x := (U{}); true { } ; x.a() }", "m.h -> m.T.a"),
    "a variable hides a function": ("func h(f T) { f.a() }", "m.h -> m.T.a"),
    "the right of := sees the outer variable": (
        "func h(x *W) { { x := x.t; x.a() } }\ntype W struct { t T }",
        "m.h -> m.T.a",
    ),
    "a := that declares one of two": (
        "func h() { x, y := two(); z, y := two(); x.a(); y.a(); z.a() }\nfunc two() (T, U) { return T{}, U{} }",
        "m.h -> m.two, m.h -> m.T.a, m.h -> m.U.a",
    ),
    "named results": ("func h() (x T, err error) { x.a(); return }", "m.h -> m.T.a"),
    "var with a type": ("func h() { var x, y T; y.a(); _ = x }", "m.h -> m.T.a"),
    "a variable of the package": ("var x = T{}\nfunc h() { x.a() }", "m.h -> m.T.a"),
    "a variable of the package that nobody assigns to is what it was made as": (
        "type I interface { a() }\nvar x I = T{}\nvar y I\nfunc h() { x.a() }\nfunc i() { y.a() }",
        "m.h -> m.T.a, m.i -> m.I.a, m.i -> m.T.a, m.i -> m.U.a",
    ),
    "a variable of the package that somebody assigns to is what it was declared as": (
        "type I interface { a() }\nvar x I = T{}\nfunc i(v I) { x = v }\nfunc h() { x.a() }",
        "m.h -> m.I.a, m.h -> m.T.a, m.h -> m.U.a",
    ),
    "constants of a type that goes on": ("type K int\nfunc (K) a() {}\nconst (\n\tA K = iota\n\tB\n)\nfunc h() { B.a() }",
                                        "m.h -> m.K.a"),
    "slices, maps, channels and what is in them": (
        "func h(x []T, y map[string]*U, z chan T) { x[0].a(); y[``].a(); (<-z).a(); x[1:][0].a() }",
        "m.h -> m.T.a, m.h -> m.U.a",
    ),
    "loops over slices, maps and channels": (
        ("func h(x []T, y map[int]U, z chan T) { for _, v := range x { v.a() }\nfor _, v := range y { v.a() }\n"
        "for v := range z { v.a() } }"),
        "m.h -> m.T.a, m.h -> m.U.a",
    ),
    "the first variable of a loop over a slice is none of its items": ("func h(x []T) { for v := range x { v.a() } }", ""),
    "a map that may have it": ("func h(y map[int]U) { if v, ok := y[1]; ok { v.a() } }", "m.h -> m.U.a"),
    "a list that is written down": ("func h() { for _, v := range []T{{}, {}} { v.a() } }", "m.h -> m.T.a"),
    "functions in a map": ("var x = map[string]func(){`a`: f, `b`: g}\nfunc h() { x[`a`]() }", "m.h -> m.f, m.h -> m.g"),
    "functions put into a map": ("func h() { x := map[string]func(){}; x[`a`] = f; x[`b`]() }", "m.h -> m.f"),
    "append": ("func h() { var x []func(); x = append(x, f); for _, v := range x { v() } }", "m.h -> m.f"),
    "a function in a variable": ("func h() { x := f; x(); var y func(); y = g; y() }", "m.h -> m.f, m.h -> m.g"),
    "a function that is handed over": ("func h(x func()) { x() }\nfunc i() { h(f) }", "m.h -> m.f, m.i -> m.h"),
    "functions that are handed over, as many as one likes": (
        "func h(x ...func()) { x[0]() }\nfunc i() { h(f, g) }",
        "m.h -> m.f, m.h -> m.g, m.i -> m.h",
    ),
    "a function that comes back": ("func h() func() { return f }\nfunc i() { h()() }", "m.i -> m.h, m.i -> m.f"),
    "two things come back, one of them a function": (
        "func h() (T, func()) { return T{}, func() { g() } }\nfunc i() { t, x := h(); x(); t.a() }",
        "m.i -> m.h, m.i -> m.h.<anonymous>, m.h.<anonymous> -> m.g, m.i -> m.T.a",
    ),
    "a closure": ("func h() { x := T{}; func() { x.a() }() }", "m.h -> m.h.<anonymous>, m.h.<anonymous> -> m.T.a"),
    "a function that calls itself through its variable": (
        "func h() { var x func(); x = func() { x() } }",
        "m.h.<anonymous> -> m.h.<anonymous>",
    ),
    "a method as a value": ("func h(x T) { y := x.a; y() }", "m.h -> m.T.a"),
    "a method of a type as a function": ("func h(x T) { T.a(x); (*U).a(nil) }", "m.h -> m.T.a, m.h -> m.U.a"),
    "go and defer": ("func h(x T) { go f(); defer x.a() }", "m.h -> m.f, m.h -> m.T.a"),
    "select": ("func h(c chan T) { select { case v := <-c: v.a()\ncase c <- T{}: f() } }", "m.h -> m.T.a, m.h -> m.f"),
    "a chain of branches": (
        "func h(x any) { if y, ok := x.(T); ok { y.a() } else if z, ok := x.(*U); ok { z.a(); y.a() } else { f() } }",
        "m.h -> m.T.a, m.h -> m.U.a, m.h -> m.f",
    ),
    "a switch over types": (
        "func h(x any) { switch y := x.(type) { case T: y.a()\ncase *U, nil: y.a()\ndefault: y.a() } }",
        "m.h -> m.T.a, m.h -> m.U.a",
    ),
    "what is promoted": (
        "type W struct { T; n int }\ntype V struct { *W }\nfunc h(x V) { x.a(); x.T.a() }",
        "m.h -> m.T.a",
    ),
    "the nearest of what is promoted": (
        "type W struct { T }\ntype V struct { W; *U }\nfunc h(x V) { x.a() }",
        "m.h -> m.U.a",
    ),
    "a method of its own before a promoted one": (
        "type W struct { T }\nfunc (W) a() {}\nfunc h(x W) { x.a() }",
        "m.h -> m.W.a",
    ),
    "what is promoted from outside": (
        "import `sync`\ntype W struct { sync.Mutex }\nfunc (U) Lock() {}\nfunc h(x W) { x.Lock() }",
        "",
    ),
    "a field that is a function": (
        "type W struct { x func() T }\nfunc h(w W) { w.x().a() }\nfunc i() { h(W{x: func() T { f(); return T{} }}) }",
        "m.h -> m.T.a, m.h -> m.i.<anonymous>, m.i.<anonymous> -> m.f, m.i -> m.h",
    ),
    "a field that is assigned": ("type W struct { x func() }\nfunc (w *W) h() { w.x = f; w.x() }", "m.W.h -> m.f"),
    "a field of a struct that is written without names": (
        "type W struct { n int; x func() }\nfunc h() { w := W{1, f}; w.x() }",
        "m.h -> m.f",
    ),
    "an interface and what has its methods": (
        "type I interface { a() }\nfunc h(x I) { x.a() }",
        "m.h -> m.I.a, m.h -> m.T.a, m.h -> m.U.a",
    ),
    "what has one of two methods is none": (
        "type I interface { a(); b() }\nfunc (T) b() {}\nfunc h(x I) { x.a() }",
        "m.h -> m.I.a, m.h -> m.T.a",
    ),
    "what takes something else is none": (
        ("type I interface { b(T) U }\nfunc (T) b(x U) (u U) { return }\nfunc (U) b(x T) (u U) { return }\n"
        "func h(x I) { x.b(T{}) }"),
        "m.h -> m.I.b, m.h -> m.U.b",
    ),
    "what gives something else is none": (
        "type I interface { b() }\nfunc (T) b() error { return nil }\nfunc (U) b() {}\nfunc h(x I) { x.b() }",
        "m.h -> m.I.b, m.h -> m.U.b",
    ),
    "an interface made of others": (
        "type I interface { J; b() }\ntype J interface { a() }\nfunc (T) b() {}\nfunc h(x I) { x.a() }",
        "m.h -> m.J.a, m.h -> m.T.a",
    ),
    "an interface by what is promoted": (
        "type I interface { a(); b() }\ntype W struct { T }\nfunc (W) b() {}\nfunc h(x I) { x.a() }",
        "m.h -> m.I.a, m.h -> m.T.a",
    ),
    "an interface that is embedded": (
        "type I interface { a() }\ntype W struct { I }\nfunc h(x W) { x.a() }",
        "m.h -> m.I.a, m.h -> m.T.a, m.h -> m.U.a",
    ),
    "a type of functions and its method": (
        "type F func(T)\nfunc (x F) do() { x(T{}) }\nfunc h(t T) {}\nfunc i() { F(h).do() }",
        "m.i -> m.F.do, m.F.do -> m.h",
    ),
    "a type of lists": ("type L []T\nfunc (x L) do() { x[0].a(); for _, v := range x { v.a() } }", "m.L.do -> m.T.a"),
    "another name of a type": ("type V = T\nfunc h(x V) { x.a() }", "m.h -> m.T.a"),
    "a type made of another has none of its methods": ("type V T\nfunc (V) b() {}\nfunc h(x V) { x.b() }", "m.h -> m.V.b"),
    "a conversion is no call": ("type K int\nfunc h() { _ = K(1); _ = []byte(``) }", ""),
    "a type of a function": ("func h() { type V struct { T }; V{}.a() }", "m.h -> m.T.a"),
    "a struct without a name": ("func h(x struct{ t T }) { x.t.a() }", "m.h -> m.T.a"),
    "a generic function": (
        "func same[V any](x V) V { return x }\nfunc h() { same(T{}).a(); same[U](U{}).a() }",
        "m.h -> m.same, m.h -> m.T.a, m.h -> m.U.a",
    ),
    "what a parameter of a type is at least": (
        "type I interface { a() }\nfunc h[V I](x V) { x.a() }",
        "m.h -> m.I.a, m.h -> m.T.a, m.h -> m.U.a",
    ),
    "a generic type": (
        ("type B[V any] struct { items []V; next *B[V] }\nfunc (b *B[V]) put(x V) { b.next.put(x) }\n"
        "func h() { b := &B[T]{}; b.put(T{}) }"),
        "m.B.put -> m.B.put, m.h -> m.B.put",
    ),
    "a receiver without a name": ("func (T) b() { f() }\nfunc h() { T{}.b() }", "m.T.b -> m.f, m.h -> m.T.b"),
    "a label": ("func h() { L: for { f(); break L } }", "m.h -> m.f"),
    "an init is run by nobody": ("func init() { f() }\nfunc h() {}", "m.init -> m.f"),
}  # fmt: skip


@pytest.mark.parametrize("claim", CASES)
def test_values_are_followed(claim: str) -> None:
    code, expected = CASES[claim]
    head, tail = ("package m\n", TWO.removeprefix("package m\n")) if code.startswith("import") else (TWO, "")
    assert sorted(calls({"m.go": head + code + "\n" + tail}, GO)) == sorted(filter(None, expected.split(", ")))


def test_without_a_go_mod_a_package_is_the_only_folder_of_that_path() -> None:
    files = {
        "main.go": 'package main\nimport ("x.org/a/b"; "x.org/c")\nfunc h() { b.F(); c.F() }',
        "src/a/b/b.go": "package b\nfunc F() {}",
        "one/c/c.go": "package c\nfunc F() {}",
        "two/c/c.go": "package c\nfunc F() {}",
    }
    assert calls(files, GO, outside=True) == {"main.h -> src/a/b/b.F", "main.h -> x.org/c.F"}


def test_modules_of_one_repository_find_each_other() -> None:
    files = {
        "go.mod": "module x.org/a",
        "tools/go.mod": 'module "x.org/a/tools"',
        "lib/lib.go": "package lib\nfunc F() {}",
        "tools/main.go": 'package main\nimport "x.org/a/lib"\nfunc h() { lib.F() }',
        "tools/lib/lib.go": "package lib\nfunc F() {}",
        "main.go": 'package main\nimport "x.org/a/tools/lib"\nfunc h() { lib.F() }',
    }
    assert calls(files, GO) == {"tools/main.h -> lib/lib.F", "main.h -> tools/lib/lib.F"}


def test_a_method_of_something_unknown_is_a_candidate_and_no_call() -> None:
    """Where three types or fewer have that name it may be one of them."""
    code = TWO + "func (T) only() {}\nfunc h[V any](x V) { x.only() }"
    assert calls({"m.go": code}, GO) == set()
    assert [edge.how for edge in edges(solved({"m.go": code}, GO))] == ["candidate"]


HOSTILE = {
    "embeds that go round": "type A struct { B }\ntype B struct { *A }\nfunc h(a A) { a.x(); a.B.A.B.x() }",
    "interfaces that go round": "type I interface { J; a() }\ntype J interface { I }\nfunc h(i I) { i.a() }",
    "names of types that go round": (
        "type A = B\ntype B = A\ntype C C\ntype D []D\nfunc h(a A, c C, d D) { a.x(); c.x(); d[0][0].x() }"
    ),
    "a function that gives itself": "func h() func() { return h() }\nfunc i[V any](x V) V { return i(i(x)) }",
    "a long chain of calls": "func h(t T) { t" + ".a()" * 4_000 + " }",
    "a deep nest of calls": "func h() { f(" + "g(" * 2_000 + ")" * 2_000 + ") }",
    "a deep nest of lists": "var x = " + "[]" * 900 + "T{" + "{" * 900 + "}" * 901,
    "a long chain of branches": "func h() { if f() {}" + " else if g() {}" * 2_000 + " }",
    "pointers to pointers": "type A " + "*" * 1_500 + "T\nfunc (x " + "*" * 1_500 + "T) b() { x.a() }\nvar v = " + "*" * 900
    + "T{}",
    "a long sum": "var x = f()" + " + g()" * 5_000,
    "thousands of methods of one name": "".join(f"type X{n} struct{{}}\nfunc (X{n}) b() {{}}\n" for n in range(3_000))
    + "type I interface { b() }\nfunc h(i I) { i.b() }",
    "a ladder of embeds": "".join(
        f"type X{n} struct {{ X{n + 1}; Y{n + 1} }}\ntype Y{n} struct {{ X{n + 1} }}\n" for n in range(400)
    )
    + "func h(x X0) { x.b() }",
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_made_to_be_slow_ends_soon(what: str) -> None:
    began = time.process_time()
    edges(solved({"m.go": TWO + HOSTILE[what]}, GO))
    assert time.process_time() - began < 8
