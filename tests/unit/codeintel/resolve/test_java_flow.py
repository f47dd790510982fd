"""What is followed in Java: one way through the code each."""

from collections.abc import Mapping
from textwrap import dedent

import pytest

from appliance.codeintel.resolve.edges import Edges, Unresolved
from appliance.codeintel.resolve.families import JVM
from tests.support.graphs import calls, edges, solved


def _calls(source: str, **more: str) -> set[str]:
    files = {"a.java": source, **{f"{name}.java": text for name, text in more.items()}}
    return calls({path: dedent(text) for path, text in files.items()}, JVM)


def _unresolved(files: Mapping[str, str]) -> list[str]:
    read = Edges(solved(files, JVM))
    return [each.name for each in read.of(0) if isinstance(each, Unresolved)]


_RUN = 3
_TYPES = """
    interface Shape { void draw(); }
    class Square implements Shape { public void draw() {} void side() {} }
    class Circle implements Shape { public void draw() {} void round() {} }
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("pick(new Square());", "square"),
        ("pick(new Circle());", "circle"),
        ('pick("x");', "text"),
        ("pick(1);", "number"),
        ("pick('x');", "number"),
        ("pick(x -> x.side());", "hook"),
        ("pick(List.class);", "kind"),
    ],
)
def test_of_overloads_the_one_is_called_that_the_argument_fits(body: str, expected: str) -> None:
    source = f"""
        class A {{
            void run() {{ {body} }}
            void pick(Square x) {{ square(); }}
            void pick(Circle x) {{ circle(); }}
            void pick(String x) {{ text(); }}
            void pick(int x) {{ number(); }}
            void pick(Hook x) {{ hook(); }}
            void pick(Class<?> x) {{ kind(); }}
            void square() {{}} void circle() {{}} void text() {{}} void number() {{}} void hook() {{}} void kind() {{}}
        }}
        interface Hook {{ void on(Square x); }}
    """
    text = dedent(source + _TYPES)
    solver = solved({"a.java": text}, JVM)
    found = [each for each in edges(solver) if each.line == _RUN and each.target is not None]
    picked = {text.splitlines()[solver.values.scope(each.target or 0).line - 1] for each in found}
    assert {each.split("{ ")[1].split("(")[0] for each in picked if "pick" in each and "run" not in each} == {expected}


def test_an_overload_that_is_inherited_stays_in_sight() -> None:
    source = """
        class Base { void put(String x, int n) {} void put(Shape x) {} }
        class Sub extends Base {
            void put(int x) {}
            void run(Square x) { put(x); put("x", 1); }
        }
    """
    assert {each for each in _calls(source + _TYPES) if ".run ->" in each} == {"a.Sub.run -> a.Base.put"}


def test_what_a_function_stands_for_says_what_it_takes() -> None:
    source = """
        import java.util.function.*;
        interface Hook { void on(Square x); default void twice(Square x) { on(x); } }
        class A {
            private final Hook field = x -> x.side();
            void run() {
                with(y -> y.side());
                Hook local = z -> { z.draw(); };
                ((Hook) w -> w.side()).on(null);
                each((c, d) -> c.round());
            }
            native void with(Hook hook);
            native void each(BiConsumer<Circle, Square> hook);
        }
    """
    found = {each for each in _calls(source + _TYPES) if "anonymous" in each.split(" -> ")[0]}
    assert found == {
        "a.A.<anonymous1> -> a.Square.side",
        "a.A.run.<anonymous1> -> a.Square.side",
        "a.A.run.<anonymous2> -> a.Square.draw",
        "a.A.run.<anonymous3> -> a.Square.side",
        "a.A.run.<anonymous4> -> a.Circle.round",
    }


def test_a_table_hands_over_its_keys_and_its_values() -> None:
    source = """
        import java.util.*;
        class A {
            void run(Map<Square, Circle> map, List<Map<String, Square>> deep) {
                map.forEach((k, v) -> { k.side(); v.round(); });
                for (Square each : map.keySet()) each.side();
                for (var each : map.values()) each.round();
                for (Map.Entry<Square, Circle> each : map.entrySet()) { each.getKey().side(); each.getValue().round(); }
                map.get(null).round();
                deep.get(0).get("x").side();
            }
        }
    """
    found = {each.removeprefix("a.A.run") for each in _calls(source + _TYPES)}
    lambdas = {".<anonymous1> -> a.Square.side", ".<anonymous1> -> a.Circle.round"}
    assert found == {" -> a.A.run.<anonymous1>", " -> a.Square.side", " -> a.Circle.round", *lambdas}


def test_what_is_only_kept_is_not_called() -> None:
    source = """
        import java.util.*;
        class A {
            private final List<Runnable> all = new ArrayList<>();
            void keep(Runnable one) { Objects.requireNonNull(one); all.add(one); }
            void run() { keep(this::work); for (Runnable each : all) each.run(); }
            void work() {}
        }
    """
    assert {each for each in _calls(source) if each.endswith(".work")} == {"a.A.run -> a.A.work"}


def test_methods_that_everything_has_lie_outside_and_are_no_function_that_is_held() -> None:
    source = """
        class A {
            void run(Object what) { what.getClass().getName(); this.hashCode(); getClass(); what.toString(); }
            void main() { run((Runnable) this::work); Kind.ONE.name(); Kind.valueOf("ONE").ordinal(); }
            void work() {}
            enum Kind { ONE }
        }
    """
    assert {each for each in _calls(source) if each.endswith(".work")} == set()
    assert _unresolved({"a.java": dedent(source)}) == []


def test_a_static_method_is_called_and_none_of_its_name_in_a_type_below() -> None:
    source = """
        class Base { static void make() {} static void run() { make(); Base.make(); } }
        class Sub extends Base { static void make() {} }
    """
    assert _calls(source) == {"a.Base.run -> a.Base.make"}


def test_a_type_with_the_name_of_one_outside_is_found_where_it_is_imported() -> None:
    found = _calls(
        "package x; import y.Logger; import z.Other; class A { void run(Logger l, Other o) { l.log(); o.log(); } }",
        b="package y; public class Logger { public void log() {} }",
        c="package w; public class Other { public void log() {} }",
    )
    assert found == {"a.A.run -> b.Logger.log"}


@pytest.mark.parametrize(
    "source",
    [
        "class A extends B { void run() { run(); other(); } } class B extends A { void other() { super.run(); } }",
        "class A extends A { A() { super(); } void run() { super.run(); this.none.none.none(); } }",
        "class A { A a = a.a.a; A run() { return run().run().run(); } void x() { run().x(); } }",
        "interface A extends B {} interface B extends C {} interface C extends A { void run(); }",
    ],
)
def test_types_that_are_their_own_bases_come_to_an_end(source: str) -> None:
    assert all(" -> " in each for each in _calls(source))


@pytest.mark.parametrize(
    "expression",
    ["(" * 3000 + "x" + ")" * 3000, "x" + ".f()" * 3000, "x + " * 3000 + "x", "a -> " * 500 + "x", "x ? x : " * 2000 + "x"],
)
def test_what_nests_deeply_is_followed_in_part(expression: str) -> None:
    source = (
        f"class A {{ A x; void run() {{ Object y = {expression}; done(); }} void done() {{}} A f() {{ return this; }} }}"
    )
    assert "a.A.run -> a.A.done" in _calls(source)


def test_types_that_nest_deeply_are_followed_in_part() -> None:
    source = "class A { void run() { new B(); } " + "class N { " * 400 + "}" * 400 + " } class B {}"
    assert _calls(source) == {"a.A.run -> a.B"}
    generic = "List<" * 400 + "A" + ">" * 400
    assert _calls(f"import java.util.*; class A {{ {generic} x; void run() {{ new B(); }} }} class B {{}}") == {
        "a.A.run -> a.B"
    }


@pytest.mark.parametrize(
    ("given", "line"), [("new int[0]", 2), ("new long[] {1}", 3), ('new String[] {"x"}', 4), ("new A[0]", 5)]
)
def test_of_overloads_for_arrays_the_one_for_what_they_hold_is_called(given: str, line: int) -> None:
    source = f"""class A {{
    void pick(int[] x) {{}}
    void pick(long[] x) {{}}
    void pick(String[] x) {{}}
    void pick(A[] x) {{}}
    void run() {{ pick({given}); }}
}}"""
    solver = solved({"a.java": source}, JVM)
    assert {solver.values.scope(each.target).line for each in edges(solver) if each.target is not None} == {line}
