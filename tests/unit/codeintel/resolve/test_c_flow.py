"""How values move through C, and how C and C++ find names: one claim, a few lines of code, and what they call."""

import time

import pytest

from appliance.codeintel.resolve.edges import Edge, Edges, Unresolved
from appliance.codeintel.resolve.families import C
from tests.support.graphs import calls, edges, solved

TWO = "void f(void) {}\nvoid g(void) {}\n"

IN_C = {
    "a function by its name": ("void h(void) { f(); }", "h -> f"),
    "a function in a variable": ("void h(void) { void (*a)(void) = f; a(); (*a)(); }", "h -> f"),
    "a function that is assigned later": ("void h(int x) { void (*a)(void); a = &f; if (x) a = g; a(); }", "h -> f, h -> g"),
    "a parameter that is called": ("void h(void (*a)(void)) { a(); } void i(void) { h(f); }", "h -> f, i -> h"),
    "a parameter that hides a function": ("void h(int (*f)(void)) { f(); }", ""),
    "a variable that hides a function ends with its block": ("void h(void) { { int (*f)(void); f(); } f(); }", "h -> f"),
    "a field": ("struct s { void (*a)(void); }; void h(struct s *x) { x->a = f; } void i(struct s x) { x.a(); }", "i -> f"),
    "a field of a field": (
        "struct s { struct { void (*a)(void); } b; }; void h(struct s *x) { x->b.a = f; x->b.a(); }",
        "h -> f",
    ),
    "a table": ("void (*t[])(void) = { f, g }; void h(int x) { t[x](); }", "h -> f, h -> g"),
    "a table that is filled later": ("void (*t[2])(void); void h(void) { t[0] = f; } void i(void) { t[1](); }", "i -> f"),
    "a table of structs by place": (
        "struct s { int n; void (*a)(void); } t[] = { { 1, f }, { 2, g } }; void h(struct s *x) { x->a(); }",
        "h -> f, h -> g",
    ),
    "a table of structs by name": (
        "typedef struct { int n; void (*a)(void); } s; static s t[2] = { [1] = { .a = f } }; void h(void) { t[1].a(); }",
        "h -> f",
    ),
    "a struct in a struct by place": (
        "struct a { int n; void (*b)(); }; struct s { int n; struct a c; } x = { 1, { 2, f } }; void h(void) { x.c.b(); }",
        "h -> f",
    ),
    "a struct that is written down where it is handed over": (
        "struct s { void (*a)(void); }; void h(struct s x) { x.a(); } void i(void) { h((struct s){ .a = f }); }",
        "h -> f, i -> h",
    ),
    "a union": ("struct s { union { void (*a)(void); int b; }; }; void h(struct s *x) { x->a = f; x->a(); }", "h -> f"),
    "a type of functions": ("typedef void fn(void); fn *k(void) { return f; } void h(void) { k()(); }", "h -> k, h -> f"),
    "a type of pointers to functions": (
        "typedef void (*fn)(void); void h(fn a) { a(); } void i(void) { h(f); }",
        "h -> f, i -> h",
    ),
    "a function that gives a function": (
        "void (*k(int x))(void) { return x ? f : g; } void h(void) { k(1)(); }",
        "h -> k, h -> f, h -> g",
    ),
    "a cast": ("typedef void (*fn)(void); void h(void *a) { ((fn)a)(); } void i(void) { h((void *)f); }", "h -> f, i -> h"),
    "what comes through void": (
        "struct s { void (*a)(); }; void h(void *p) { struct s *x = p; x->a(); } void i(struct s *x) { x->a = g; h(x); }",
        "h -> g, i -> h",
    ),
    "what the library calls": ("void h(void) { qsort(0, 1, 2, f); atexit(g); }", "h -> f, h -> g"),
    "a macro": ("#define M(x) f(x)\nvoid h(void) { M(1); }", "h -> M, M -> f"),
    "a macro with statements": (
        "#define M(x) do { if (x) f(); \\\n g(); } while (0)\nvoid h(void) { M(1); }",
        "h -> M, M -> f, M -> g",
    ),
    "a macro that is another name": ("#define M f\nvoid h(void) { M(); }", "h -> f"),
    "a macro that has the name of a function": ("#define f(x) (f)(x)\nvoid h(void) { f(1); (f)(); }", "h -> f, f -> f"),
    "a macro that is given a function": ("#define M(x) x()\nvoid h(void) { M(f); }", "h -> M, M -> f"),
    "a macro that makes a name": ("#define M(x) x##_g(); f()\nvoid h(void) { M(g); }", "h -> M, M -> f"),
    "every branch of the preprocessor": (
        "#ifdef A\nvoid k(void) { f(); }\n#else\nvoid k(void) { g(); }\n#endif\nvoid h(void) { k(); }",
        "h -> k, k -> f, k -> g",
    ),
    "a macro before a type": (
        "struct s { void (*a)(); }; API struct s *k(void) { return 0; } void h(struct s *x) { x->a = f; k()->a(); }",
        "h -> k, h -> f",
    ),
    "a macro before a name in parentheses": ("API int (k)(void *x) { f(); } void h(void) { k(); }", "h -> k, k -> f"),
    "a variable of functions that give a named type": ("num_t (*v)(void) = f; void h(void) { v(); }", "h -> f"),
    "a table whose entries a macro writes": (
        "#define E(n, a) { n, a }\nstruct s { int n; void (*a)(); } t[] = { E(1, f), E(2, g) }; void h(void) { t[1].a(); }",
        "m.c -> E, h -> f, h -> g",
    ),
    "fields that a macro writes": (
        "#define E(n, a) n, a\nstruct s { int m, n; void (*a)(); } t[] = { { 0, E(1, f) } }; void h(void) { t[1].a(); }",
        "m.c -> E, h -> f",
    ),
    "a macro that is another name of a type": (
        "struct s { void (*a)(); };\n#define S s\nstruct S t[] = { { f } }; void h(struct s *x) { x->a(); }",
        "h -> f",
    ),
    "what is not run": ("void h(void) { int n = sizeof(f()); }", ""),
    "a statement that is a value": ("void h(void) { int n = ({ f(); g(); 1; }); }", "h -> f, h -> g"),
    "old parameters": ("int h(a) void (*a)(void); { a(); return 1; } void i(void) { h(f); }", "h -> f, i -> h"),
    "a name of the library is nobody's": ("void h(void) { printf(1); } struct printf { int x; };", ""),
}


def _found(files: dict[str, str]) -> list[str]:
    return sorted(line.replace("m.c.", "") for line in calls(files, C))


@pytest.mark.parametrize("claim", IN_C)
def test_functions_are_followed_through_c(claim: str) -> None:
    code, expected = IN_C[claim]
    assert _found({"m.c": TWO + code}) == sorted(filter(None, expected.split(", ")))


LINKED = {
    "the file's own": ({"m.c": "static void k() {} void h() { k(); }", "n.c": "void k() {}"}, "m.c.h -> m.c.k"),
    "another file's, which is not its own alone": ({"m.c": "void h() { k(); }", "n.c": "void k() {}"}, "m.c.h -> n.c.k"),
    "not another file's own": ({"m.c": "void h() { k(); }", "n.c": "static void k() {}"}, ""),
    "what is included": (
        {"m.c": '#include "n.h"\nvoid h() { k(); }', "n.h": "static inline void k() {}", "o.c": "void k() {}"},
        "m.c.h -> n.h.k",
    ),
    "what is included by what is included": (
        {"m.c": '#include "n.h"\nvoid h() { k(); }', "n.h": '#include "o.h"', "o.h": "#define k() 1"},
        "m.c.h -> o.h.k",
    ),
    "an include from below a folder": (
        {"a/m.c": "#include <lib/n.h>\nvoid h() { k(); }", "x/include/lib/n.h": "inline void k() {}", "y.c": "void k() {}"},
        "a/m.c.h -> x/include/lib/n.h.k",
    ),
    "a header of the system is no file here": (
        {"m.c": "#include <stdio.h>\nvoid h() { k(); }", "compat/stdio.h": "static inline void k() {}"},
        "",
    ),
    "a definition beside, where two programs have one": (
        {"a/m.c": "void k(); void h() { k(); }", "a/n.c": "void k() {}", "b/n.c": "void k() {}"},
        "a/m.c.h -> a/n.c.k",
    ),
    "a definition that knows the header": (
        {
            "m.c": '#include "a/k.h"\nvoid h() { k(); }',
            "a/k.h": "void k();",
            "b/k.c": '#include "../a/k.h"\nvoid k() {}',
            "c/k.c": "void k() {}",
        },
        "m.c.h -> b/k.c.k",
    ),
    "a definition for each system": (
        {"m.c": '#include "n.h"\nvoid h() { k(); }', "n.h": "void k();"}
        | {f"sys{n}.c": '#include "n.h"\nvoid k() {}' for n in range(5)},
        ", ".join(f"m.c.h -> sys{n}.c.k" for n in range(5)),
    ),
    "too many programs that each have one": (
        {"m.c": "void h() { k(); }"} | {f"{n}/n.c": "void k() {}" for n in range(5)},
        "",
    ),
    "what stands in a namespace without a name": (
        {
            "m.cc": "void h() { k(); A x; x.a(); v(); } void l() {}",
            "n.cc": "void l(); namespace { void k() {} struct A { void a() {} }; void (*v)() = l; }",
        },
        "",
    ),
    "what is declared and not there": ({"m.c": '#include "n.h"\nvoid h() { k(); }', "n.h": "void k();"}, "m.c.h -> n.h.k"),
    "a variable of another file": (
        {"m.c": "extern void (*v)(); void h() { v(); }", "n.c": "void (*v)(); static void k() {} void i() { v = k; }"},
        "m.c.h -> n.c.k",
    ),
    "a variable that a nearer file declares too": (
        {
            "a/m.c": '#include "n.h"\nvoid h() { v(); w = k; }',
            "a/n.h": "extern void (*v)(), (*w)(); void k();",
            "a/o.c": "extern void (*v)(); void l() {}",
            "b/p.c": "void k() {} void (*v)() = k; void (*w)(); void i() { w(); }",
        },
        "a/m.c.h -> b/p.c.k, b/p.c.i -> b/p.c.k",
    ),
    "C from C++": ({"m.cpp": 'extern "C" { void k(); } void h() { k(); }', "n.c": "void k() {}"}, "m.cpp.h -> n.c.k"),
    "a method of a header": (
        {
            "m.cc": '#include "n.hpp"\nvoid A::a() { b(); }',
            "n.hpp": "class A { void a(); void b(); };",
            "o.cc": '#include "n.hpp"\nvoid A::b() { a(); }',
        },
        "m.cc.A.a -> o.cc.A.b, o.cc.A.b -> m.cc.A.a",
    ),
    "a namespace of several files": (
        {"m.cc": "namespace n { void h() { k(); } }", "n.cc": "namespace n { void k() {} } void k() {}"},
        "m.cc.n.h -> n.cc.n.k",
    ),
    "a function of a namespace that is defined outside of it": (
        {"m.cc": '#include "n.hpp"\nvoid n::h() { k(); }', "n.hpp": "namespace n { void h(); inline void k() {} }"},
        "m.cc.n.h -> n.hpp.n.k",
    ),
}


def test_which_of_too_many_is_meant_is_not_told_and_none_outside() -> None:
    solver = solved({"m.c": "void h() { k(); l(); }"} | {f"{n}/n.c": "void k() {}" for n in range(5)}, C)
    found = list(Edges(solver).of(solver.values.modules.dotted.index("m.c")))
    assert [each.name for each in found if isinstance(each, Unresolved)] == ["k"]
    assert [each.external for each in found if isinstance(each, Edge)] == ["l"]


@pytest.mark.parametrize("claim", LINKED)
def test_names_are_found_as_compiler_and_linker_do(claim: str) -> None:
    files, expected = LINKED[claim]
    assert sorted(calls(files, C)) == sorted(filter(None, expected.split(", ")))


HOSTILE = [
    "int x = 1" + " + 1" * 5000 + ";",
    "int x = " + "(" * 900 + "f" + ")" * 900 + ";",
    "void h() { " + "if (a) " * 300 + "f(); }",
    "void h() { " + "if (a) f(); else " * 900 + "g(); }",
    "void h() { " + "{" * 900 + "}" * 900 + " }",
    "void h() { a" + "->b()" * 900 + "; }",
    "void h() { a" + "[0]" * 900 + "(); }",
    "int x = " + "a ? b : " * 900 + "c;",
    "struct a { " * 400 + "int x; " + "} b; " * 400,
    "int x = " + "{ " * 900 + "f" + " }" * 900 + ";",
    "int " + "*" * 900 + "x;",
    "int " + "(" * 400 + "*x" + ")()" * 400 + ";",
    "void h(" * 300 + ")" * 300 + ";",
    "void (*t[])() = { " + "f, " * 20_000 + "}; void h() { t[1](); }",
    "struct s { int n; void (*a)(); } t[] = { " + "{ 1, f }, " * 5_000 + "}; void h() { t[1].a(); }",
    "".join(f"#define m{n}(x) m{n + 1}(x); m{n + 1}(x)\n" for n in range(300)) + "void h() { m0(f); }",
    "#define m(x) m(x)\n#define n o\n#define o n\nvoid h() { m(1); n(); o(); }",
    "#define m(x) " + "f(x); " * 4_000,
    '#include "m.c"\n#include "m.h"\nvoid h() { h(); }',
    "typedef a b; typedef b a; struct c { a d; }; void h(a x) { x.y(); }",
    "void h(void *p) { p = *p; h(h(h)); p->h = p; p->h->h(p); }",
    "#if A\n" * 300 + "f();\n" + "#endif\n" * 300,
    "struct s; int h(: { return ( case } else #define x( \n ,,, [[ => ::",
    "namespace a { " * 300 + "}" * 300,
    "namespace " + "a::" * 300 + "b { void h() {} }",
    "class a { " * 300 + "int x; " + "};" * 300,
    "struct a : b {}; struct b : a { void c() { d(); a::c(); } }; void h(a x) { x.c(); x.e(); }",
    "struct a : a { a() : a() {} ~a() { delete this; } a operator+(a x) { return x + x; } };",
    "template <class T> " * 200 + "void h() {}",
    "void h(" + "std::vector<" * 300 + "int" + ">" * 300 + " x) { x[0][0].y(); }",
    "void h() { " + "[] { " * 300 + "f(); " + "}(); " * 300 + " }",
    "using namespace a; namespace a { using namespace b; } namespace b { using namespace a; } void h() { k(); a::k(); }",
    "using a = b; using b = a; using c = c; namespace n = n; void h(a x, c y) { x.y(); n::k(); }",
    "void a::a::a::a::a() { a(); } class a::a { class a::a {}; };",
    "void h() { namespace a { struct s { void k() { x = l; (l)(); } }; } } struct t { namespace b { void m() { y = n; } } }",
    "auto [" + "a, " * 3_000 + "b] = c;",
    "\x00\xff\n" * 10,
    "",
]


@pytest.mark.parametrize("ending", ["c", "cpp"])
@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_code_is_read_to_its_end(number: int, ending: str) -> None:
    start = time.process_time()
    edges(solved({f"m.{ending}": HOSTILE[number], "m.h": '#include "m.c"\n#include "m.cpp"\n#include "m.h"'}, C))
    assert time.process_time() - start < 10
