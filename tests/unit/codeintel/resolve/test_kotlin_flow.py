"""What is followed in Kotlin: one way through the code each."""

from textwrap import dedent

import pytest

from appliance.codeintel.resolve.families import JVM
from tests.support.graphs import calls, edges, solved


def _calls(source: str, **more: str) -> set[str]:
    files = {"a.kt": source, **{name.replace("_", "."): text for name, text in more.items()}}
    return calls({path: dedent(text) for path, text in files.items()}, JVM)


_TYPES = """
    interface Shape { fun draw() }
    class Square : Shape {
        override fun draw() {}
        fun side() {}
    }
    class Circle : Shape {
        override fun draw() {}
        fun round() {}
    }
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if (x is Square) x.side() else y()", {"Square.side"}),
        ("if (x is Square && x.side() == y()) return", {"Square.side"}),
        ("when (x) { is Square -> x.side(); is Circle -> x.round() }", {"Square.side", "Circle.round"}),
        ("when { x is Circle -> x.round() }", {"Circle.round"}),
        ("when (val z = x) { is Square -> z.side() }", {"Square.side"}),
        ("(x as Square).side()", {"Square.side"}),
        ("(x as? Circle)?.round()", {"Circle.round"}),
    ],
)
def test_what_was_asked_for_its_type_is_of_it(body: str, expected: set[str]) -> None:
    found = _calls(f"fun run(x: Any) {{ {body} }}\n" + _TYPES)
    assert {each.partition(" -> a.")[2] for each in found if each.startswith("a.run ->")} == expected


@pytest.mark.parametrize(
    "body",
    [
        "s.apply { side() }",
        "s.apply { this.side() }",
        "s.run { side() }",
        "with(s) { side() }",
        "s.let { it.side() }",
        "s.let { t -> t.side() }",
        "s.also { it.draw() }.side()",
        "s.let { t -> t }.side()",
        "s.takeIf { it.ok }?.side()",
        "build { side() }",
        "lazily.side()",
        "listOf(s).first().side()",
        "mapOf(1 to s).values.first().side()",
        "for ((_, t) in mapOf(1 to s)) t.side()",
        "val (one, _) = s to 1; one.side()",
        "val t = if (b) s else null; t?.side()",
        "val t = nothing ?: s; t.side()",
        "val t = try { s } finally { }; t.side()",
    ],
)
def test_the_way_to_a_receiver_is_followed(body: str) -> None:
    source = f"""
        val lazily by lazy {{ Square() }}
        fun build(block: Square.() -> Unit) {{ Square().block() }}
        fun run(s: Square, b: Boolean) {{
            {body}
        }}
    """
    assert any(each.startswith("a.run") and each.endswith("-> a.Square.side") for each in _calls(source + _TYPES))


def test_operators_are_calls_and_those_of_numbers_are_none() -> None:
    source = """
        class Money(val cents: Int) : Comparable<Money> {
            operator fun plus(other: Money) = Money(cents + other.cents)
            operator fun get(place: Int) = this
            operator fun contains(other: Money) = true
            operator fun not() = this
            operator fun invoke(x: Int) = this
            override fun compareTo(other: Money) = cents - other.cents
            infix fun with(other: Money) = this
        }
        fun run(a: Money, b: Money) {
            val sum = a + b
            sum[1].cents
            if (a < b || b in a) !a
            a with b
            a(1)
            1 + 2
        }
    """
    names = ["plus", "get", "contains", "not", "invoke", "compareTo", "with"]
    found = {each for each in _calls(source) if each.startswith("a.run ->")}
    assert found == {f"a.run -> a.Money.{name}" for name in names}


def test_properties_call_what_they_say_and_java_sees_them_as_methods() -> None:
    source = """
        package p
        class Box(private var n: Int) {
            val read: Int get() = count()
            var both: Int
                get() = n
                set(value) { changed() }
            val plain = 1
            fun count() = 1
            fun changed() {}
        }
        val Box.twice: Int get() = read * 2
        fun run(box: Box) { box.both = box.read + box.plain + box.twice }
    """
    java = "package p; class J { void run(Box box) { box.getRead(); box.setBoth(1); box.getPlain(); } }"
    found = _calls(source, J_java=java)
    assert {each for each in found if ".run ->" in each} == {
        "a.run -> a.Box.both",
        "a.run -> a.Box.read",
        "a.run -> a.twice",
        "J.J.run -> a.Box.read",
        "J.J.run -> a.Box.both",
    }


def test_names_come_from_the_package_from_imports_and_under_other_names() -> None:
    found = _calls(
        """
        package x
        import y.make as build
        import y.Tool as Hammer
        import z.*
        import y.Tool.Companion.of
        fun run() { near(); build(); Hammer().hit(); far(); of(); lib() }
        """,
        b_kt="package x\nfun near() {}",
        c_kt="package y\nfun make() {}\nclass Tool {\nfun hit() {}\ncompanion object {\nfun of() {}\n}\n}\nfun near() {}",
        d_kt="package z\nfun far() {}",
        e_kt="package w\nfun lib() {}\nfun make() {}",
    )
    assert found == {
        "a.run -> b.near",
        "a.run -> c.make",
        "a.run -> c.Tool",
        "a.run -> c.Tool.hit",
        "a.run -> d.far",
        "a.run -> c.Tool.Companion.of",
    }


def test_a_function_that_was_kept_is_called_where_it_is_invoked() -> None:
    source = """
        typealias Handler = (Int) -> Unit
        class Source {
            private val all = mutableListOf<Handler>()
            var one: (() -> Unit)? = null
            fun add(handler: Handler) { all += handler; all.add(handler) }
            fun fire() { all.forEach { it(1) }; one?.invoke() }
        }
        fun run(s: Source) { s.add(::heard); s.one = ::last; fun local() {}; local() }
        fun heard(x: Int) {}
        fun last() {}
    """
    assert _calls(source) == {
        "a.run -> a.Source.add",
        "a.run -> a.run.local",
        "a.Source.fire -> a.Source.fire.<anonymous1>",
        "a.Source.fire.<anonymous1> -> a.heard",
        "a.Source.fire -> a.last",
    }


@pytest.mark.parametrize(
    "source",
    [
        "open class A : B() { fun run() { run(); super.run() } }\nopen class B : A()",
        "class A { val own: A get() = own.own; operator fun get(x: A) = this[x[this]]; fun run() = own[own].own.run() }",
        "typealias A = B\ntypealias B = A\nfun run(x: A) { x.y.z() }",
        "fun A.run(): A = run().run { run() }\nclass A",
        "object A : A() { fun run() = A.run() }",
    ],
)
def test_types_that_are_their_own_bases_come_to_an_end(source: str) -> None:
    assert all(" -> " in each for each in _calls(source))


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 1500 + "x" + ")" * 1500,
        "x" + ".f()" * 3000,
        "x + " * 3000 + "x",
        "{ " * 300 + "x" + " }" * 300,
        "x ?: " * 2000 + "x",
    ],
)
def test_what_nests_deeply_is_followed_in_part(expression: str) -> None:
    source = f"class A(val x: A) {{ fun run() {{\n val y = {expression}\n done() }}\n fun done() {{}}\n fun f() = this }}"
    assert "a.A.run -> a.A.done" in _calls(source)


def test_types_that_nest_deeply_are_followed_in_part() -> None:
    deep = "class A {\nfun run() { B() }\n" + "class N {\n" * 400 + "}\n" * 400 + "}\nclass B"
    assert _calls(deep) == {"a.A.run -> a.B"}


def test_methods_of_java_are_properties_here() -> None:
    java = (
        "package p; class J { String getLabel() { return null; } void setLabel(String s) {} int getAt(int n) { return n; }}"
    )
    found = _calls("package p\nfun run(j: J) {\n j.label = j.label\n j.at\n}", J_java=java)
    assert found == {"a.run -> J.J.getLabel", "a.run -> J.J.setLabel"}


def test_an_extension_of_anything_is_found_on_anything() -> None:
    source = """
        class A
        fun <T> T.also2(): T = this
        fun Any?.show() {}
        fun run(a: A, text: String, list: List<A>) {
            a.also2()
            text.show()
            list.show()
        }
    """
    assert _calls(source) == {"a.run -> a.also2", "a.run -> a.show"}


def test_a_function_of_a_named_type_says_what_its_lambda_is_called_on() -> None:
    source = """
        typealias Declare = Module.() -> Unit
        class Module {
            fun single(make: () -> Any) {}
        }
        fun module(declare: Declare): Module = Module().apply(declare)
        val mine = module { single { A() } }
        class A
    """
    assert "a.<anonymous1> -> a.Module.single" in _calls(source)


@pytest.mark.parametrize(
    ("given", "line"), [("::A", 2), ("::B", 3), ("::C", 4), ("::f", 3), ("{ x, y -> x }", 4)]
)  # fmt: skip
def test_of_overloads_the_one_is_called_that_takes_such_a_function(given: str, line: int) -> None:
    source = f"""
fun pick(make: () -> Any) {{}}
fun pick(make: (Int) -> Any) {{}}
fun pick(make: (Int, Int) -> Any) {{}}
class A
class B(n: Int)
class C(n: Int, m: Int)
fun f(n: Int) = n
fun run() {{ pick({given}) }}
"""
    solver = solved({"a.kt": source}, JVM)
    picked = [each for each in edges(solver) if each.target is not None and solver.values.scope(each.target).name == "pick"]
    assert {solver.values.scope(each.target or 0).line for each in picked} == {line}


def test_the_lambda_behind_a_call_is_its_last_argument() -> None:
    source = """
        fun later(times: Int = 1, name: String = "", block: () -> Unit) { block() }
        fun run() { later { heard() } }
        fun heard() {}
    """
    assert _calls(source) == {"a.run -> a.later", "a.later -> a.run.<anonymous1>", "a.run.<anonymous1> -> a.heard"}


def test_what_a_lambda_may_be_called_on_is_nothing_outside_once_it_is_known() -> None:
    source = """
        class Page { fun title() {} }
        fun page(block: Page.() -> Unit) { Page().block() }
        fun run() { page { title() } }
    """
    found = calls({"a.kt": dedent(source)}, JVM, outside=True)
    assert {each for each in found if "anonymous1> ->" in each} == {"a.run.<anonymous1> -> a.Page.title"}
