"""How values move through C++: one claim, a few lines of code, and what they call."""

import pytest

from appliance.codeintel.resolve.families import C
from tests.support.graphs import calls, dotted, edges, solved

TWO = "void f(void) {}\nvoid g(void) {}\n"

IN_CPP = {
    "a method": ("struct A { void a() { b(); } void b() {} }; void h(A &x) { x.a(); }", "A.a -> A.b, h -> A.a"),
    "a macro before the name of a type": (
        "class API A { public: A() {} static void a(); }; struct MY_API B final : A { void b() { a(); } }; void A::a() {}",
        "B.b -> A.a",
    ),
    "a method that is defined outside": (
        "struct A { void a(); }; void A::a() { f(); } void h(A *x) { x->a(); }",
        "A.a -> f, h -> A.a",
    ),
    "a method that is inherited": ("struct A { void a() {} }; struct B : A {}; void h(B x) { x.a(); }", "h -> A.a"),
    "a method that is overridden": (
        "struct A { virtual void a() {} }; struct B : A { void a() override {} }; void h(A &x) { x.a(); }",
        "h -> A.a, h -> B.a",
    ),
    "a method that hides another": (
        "struct A { void a() {} }; struct B : A { void a() {} }; void h(A &x) { x.a(); }",
        "h -> A.a",
    ),
    "a method of the base alone": (
        "struct A { virtual void a() {} }; struct B : A { void a() override { A::a(); } };",
        "B.a -> A.a",
    ),
    "an overload by its arguments": (
        "struct A { void a() { f(); } void a(int) { g(); } }; void h(A x) { x.a(1); }",
        "A.a -> f, A.a -> g, h -> A.a",
    ),
    "a constructor": (
        "struct A { A(int x) { f(); } }; void h() { new A(1); A a(1); auto b = A(2); A c{3}; }",
        "A.A -> f, h -> A.A",
    ),
    "a variable that looks like a function": (
        "struct A { A(int x) {} void a() {} }; int v; void h() { A x(v); x.a(); }",
        "h -> A.A, h -> A.a",
    ),
    "a base that is made": ("struct A { A(int) {} }; struct B : A { B() : A(1) {} };", "B.B -> A.A"),
    "a member that is made": ("struct A { A(int) {} }; struct B { A a; A *p; B(A *q) : a(1), p(q) {} };", "B.B -> A.A"),
    "a destructor": (
        "struct A { ~A() { f(); } }; void h(A *x) { delete x; } void i() { A a; }",
        "A.~A -> f, h -> A.~A, i -> A.~A",
    ),
    "a namespace": ("namespace n { void k() {} } void h() { n::k(); }", "h -> n.k"),
    "a namespace that is used": ("namespace n { void k() {} } using namespace n; void h() { k(); }", "h -> n.k"),
    "a namespace by another name": (
        "namespace n { namespace o { void k() {} } } namespace p = n::o; void h() { p::k(); }",
        "h -> n.o.k",
    ),
    "a function that is used": ("namespace n { void k() {} } using n::k; void h() { k(); }", "h -> n.k"),
    "the nearest namespace": ("namespace n { void f() {} void h() { f(); ::f(); } }", "n.h -> n.f, n.h -> f"),
    "auto": ("struct A { void a() {} }; A *k() { return 0; } void h() { auto x = k(); x->a(); }", "h -> k, h -> A.a"),
    "a second name of a type": ("struct A { void a() {} }; using B = A; typedef B *C; void h(C x) { x->a(); }", "h -> A.a"),
    "a smart pointer": (
        "struct A { void a() {} void get() {} }; void h(std::unique_ptr<A> x) { x->a(); x.get()->a(); (*x).a(); }",
        "h -> A.a",
    ),
    "a vector": (
        "struct A { void a() {} }; void h(std::vector<A> x) { x[0].a(); x.back().a(); for (auto &y : x) y.a(); }",
        "h -> A.a",
    ),
    "a map": (
        "struct A { void a() {} }; void h(std::map<int, A> x) { x[0].a(); for (auto [k, v] : x) v.a(); x.at(1).a(); }",
        "h -> A.a",
    ),
    "a lambda": ("void h() { auto a = [] { f(); }; a(); }", "h -> h.<anonymous1>, h.<anonymous1> -> f"),
    "a lambda that is handed on": (
        "void k(std::function<void()> a) { a(); } void h() { k([] { g(); }); }",
        "h -> k, k -> h.<anonymous1>, h.<anonymous1> -> g",
    ),
    "a lambda in a method": ("struct A { void a() { auto b = [this] { c(); }; } void c() {} };", "A.a.<anonymous1> -> A.c"),
    "an operator": ("struct A { A operator+(A x) { return x; } }; void h(A x) { x + x; 1 + 2; }", "h -> A.operator+"),
    "an operator that stands alone": (
        "struct A {}; bool operator==(A x, A y) { return 1; } void h(A x, int y) { x == x; y == y; }",
        "h -> operator==",
    ),
    "what can be called": ("struct A { void operator()() {} }; void h(A x) { x(); }", "h -> A.operator()"),
    "a template": ("template <class T> void k(T x) { f(); } void h() { k<int>(1); k(2); }", "h -> k, k -> f"),
    "a template of a type": (
        "template <class T> struct A { void a(); }; template <class T> void A<T>::a() { f(); }\nvoid h(A<int> x) { x.a(); }",
        "A.a -> f, h -> A.a",
    ),
    "a static method": (
        "struct A { static void a() { b(); } static void b(); }; void A::b() {} void h() { A::a(); }",
        "A.a -> A.b, h -> A.a",
    ),
    "a static member": (
        "typedef void (*fn)(); struct A { static fn a; }; fn A::a = f; void h() { A::a = g; A::a(); }",
        "h -> f, h -> g",
    ),
    "a pointer to a method": ("struct A { void a() {} }; void h(A x) { auto b = &A::a; (x.*b)(); }", "h -> A.a"),
    "an enum's name is no type's": ("enum class K { A }; struct A { A() {} }; void h(K x) { h(K::A); }", "h -> h"),
    "a friend": ("struct A { friend void k(A x) { f(); } }; void h(A x) { k(x); }", "h -> k, k -> f"),
    "a type in a function": (
        "void (*v)(); void h() { struct A { void a() { f(); v = g; } }; A x; x.a(); v(); }",
        "h.A.a -> f, h -> h.A.a, h -> g",
    ),
    "a namespace that goes on outside": (
        "namespace std { struct B {}; } void sort(int) {} struct A {}; void h(std::list<A> x) { std::sort(x); }",
        "",
    ),
    "a method of what stands outside": (
        "struct A { void size() {} }; void h(std::string x, Other y) { x.size(); y.size(); }",
        "",
    ),
}


@pytest.mark.parametrize("claim", IN_CPP)
def test_types_are_followed_through_cpp(claim: str) -> None:
    code, expected = IN_CPP[claim]
    found = sorted(line.replace("m.cpp.", "") for line in calls({"m.cpp": TWO + code}, C))
    assert found == sorted(filter(None, expected.split(", ")))


def test_an_overload_is_told_by_the_types_that_it_takes() -> None:
    code = "struct A {}; struct B {}; struct C : B {};\nvoid k(A &x) {}\nvoid k(B *x) {}\nvoid h(C x) { k(&x); }\n"
    code += "void i() { k(1); }"
    solver = solved({"m.cpp": code}, C)
    lines = {(dotted(solver, each.caller), solver.values.scope(each.target).line) for each in edges(solver) if each.target}
    assert lines == {("m.cpp.h", 3), ("m.cpp.i", 2), ("m.cpp.i", 3)}
