"""What is followed in C#: one way through the code each."""

from textwrap import dedent

import pytest

from appliance.codeintel.resolve.edges import Edges, Unresolved
from appliance.codeintel.resolve.families import CSHARP
from tests.support.graphs import calls, solved


def _calls(source: str, **more: str) -> set[str]:
    files = {"a.cs": source, **{f"{name}.cs": text for name, text in more.items()}}
    return calls({path: dedent(text) for path, text in files.items()}, CSHARP)


def test_parts_of_a_class_see_each_other_and_inherit_what_any_of_them_does() -> None:
    found = _calls(
        "namespace N { partial class A { void Run() { Other(); Base(); new A().Other(); } } }",
        b="namespace N; public partial class A : B { private void Other() { Run(); } }",
        c="namespace N { class B { protected void Base() {} } }",
        d="namespace M { partial class A { void Other() {} } }",
    )
    assert found == {
        "a.N.A.Run -> b.N.A.Other",
        "a.N.A.Run -> c.N.B.Base",
        "a.N.A.Run -> a.N.A",
        "b.N.A.Other -> a.N.A.Run",
    }


def test_a_namespace_is_seen_from_those_in_it_and_where_it_is_used() -> None:
    found = _calls(
        "namespace N.M { class A { void Run() { new Near(); new Up(); new Far(); new Hidden(); N.M.Near.Go(); } } }",
        b="namespace N.M { class Near { public static void Go() {} } }",
        c="namespace N { class Up {} }",
        d="global using Q; namespace Q { class Far {} } namespace P { class Hidden {} }",
    )
    assert found == {
        "a.N.M.A.Run -> b.N.M.Near",
        "a.N.M.A.Run -> c.N.Up",
        "a.N.M.A.Run -> d.Q.Far",
        "a.N.M.A.Run -> b.N.M.Near.Go",
    }


def test_an_extension_is_called_on_what_it_is_for_and_a_member_of_that_name_comes_first() -> None:
    source = """
        using System.Collections.Generic;
        interface IShape {}
        class Square : IShape { public void Draw() {} }
        static class Extensions {
            public static void Draw(this IShape shape) {}
            public static void Fill(this IShape shape, int times = 1) { shape.Draw(); }
            public static void Each(this IEnumerable<Square> shapes) {}
            public static void Say(this string text) {}
        }
        class A {
            void Run(Square square, List<Square> all, IShape shape, string text) {
                square.Draw(); square.Fill(); all.Each(); shape.Draw(); "x".Say(); text.Say(); Extensions.Fill(square, 2);
            }
        }
    """
    assert {each for each in _calls(source) if "A.Run" in each} == {
        "a.A.Run -> a.Square.Draw",
        "a.A.Run -> a.Extensions.Draw",
        "a.A.Run -> a.Extensions.Fill",
        "a.A.Run -> a.Extensions.Each",
        "a.A.Run -> a.Extensions.Say",
    }


def test_properties_and_indexers_are_called_where_they_are_read_and_set() -> None:
    source = """
        class Box {
            private int n;
            public int Read => Count();
            public int Set { get => n; set { Changed(); } }
            public int Plain { get; set; }
            public Box this[int place] { get { return At(place); } }
            int Count() => 1; void Changed() {} Box At(int place) => this;
        }
        class A {
            void Run(Box box) { var x = box.Read; box.Set = 1; box.Plain = 2; box[1].Plain = 3; var y = box?[2]; }
            Box Own { get { return Own; } }
        }
    """
    assert {each for each in _calls(source) if "a.A." in each} == {
        "a.A.Run -> a.Box.Read",
        "a.A.Run -> a.Box.Set",
        "a.A.Run -> a.Box.this[]",
        "a.A.Own -> a.A.Own",
    }


def test_delegates_events_and_local_functions_are_called_where_they_are_invoked() -> None:
    source = """
        using System;
        delegate void Hook(int x);
        class Source {
            public event Action<int> Changed;
            public Hook Hook = delegate { };
            public void Fire() { Changed?.Invoke(1); Hook(2); }
        }
        class A {
            void Run(Source source) {
                source.Changed += OnChanged;
                source.Hook = new Hook(OnHook);
                Later();
                void Later() { source.Fire(); }
            }
            void OnChanged(int x) {}
            void OnHook(int x) {}
        }
    """
    assert _calls(source) == {
        "a.Source.Fire -> a.A.OnChanged",
        "a.Source.Fire -> a.A.OnHook",
        "a.Source.Fire -> a.Source.<anonymous1>",
        "a.A.Run -> a.A.Run.Later",
        "a.A.Run.Later -> a.Source.Fire",
    }


def test_what_is_waited_for_or_may_be_missing_is_what_it_holds() -> None:
    source = """
        using System.Threading.Tasks;
        using System.Collections.Generic;
        struct Point { public void Go() {} }
        class A {
            Task<Point> Make() => null;
            async Task Run(Point? maybe, Dictionary<string, Point> all) {
                (await Make()).Go();
                Make().Result.Go();
                (await Make().ConfigureAwait(false)).Go();
                maybe.Value.Go();
                maybe?.Go();
                if (all.TryGetValue("x", out var found)) found.Go();
                foreach (var (name, point) in all) point.Go();
                foreach (var pair in all) pair.Value.Go();
            }
        }
    """
    files = {"a.cs": dedent(source)}
    assert calls(files, CSHARP) == {"a.A.Run -> a.Point.Go", "a.A.Run -> a.A.Make"}
    lines = source.splitlines()
    known = {each.line for each in Edges(solved(files, CSHARP)).of(0) if not isinstance(each, Unresolved) and each.target}
    assert {number for number, line in enumerate(lines, 1) if ".Go();" in line} <= known


def test_conditions_of_the_compiler_hide_nothing() -> None:
    source = """
        #if NET
        using Logger = Q.Fast;
        #else
        using Logger = Q.Slow;
        #endif
        #if NET
        namespace N {
            class A {
        #if DEBUG
                int field;
                void Debug() { Logger.Log(); field = 1; }
        #endif
                void Run() { Debug(); }
            }
        }
        #endif
        namespace Q { class Slow { public static void Log() {} } }
    """
    assert _calls(source) == {"a.N.A.Debug -> a.Q.Slow.Log", "a.N.A.Run -> a.N.A.Debug"}


@pytest.mark.parametrize(
    "source",
    [
        "class A : B { void Run() { Run(); base.Run(); } } class B : A { }",
        "partial class A : A { A() : base(1) {} A(int x) : this() {} }",
        "class A { A Own => Own.Own; A this[int x] => this[this[x]]; void Run() { Own[1].Own.Run(); } }",
        "using A = A; using B = A.B; class C : A, B { B x; void Run() { x.Run(); } }",
    ],
)
def test_types_that_are_their_own_bases_come_to_an_end(source: str) -> None:
    assert all(" -> " in each for each in _calls(source))


@pytest.mark.parametrize(
    "expression",
    ["(" * 3000 + "x" + ")" * 3000, "x" + ".F()" * 3000, "x + " * 3000 + "x", "a => " * 500 + "x", "x" + "?.F()" * 500],
)
def test_what_nests_deeply_is_followed_in_part(expression: str) -> None:
    source = (
        f"class A {{ A x; void Run() {{ object y = {expression}; Done(); }} void Done() {{}} A F() {{ return this; }} }}"
    )
    assert "a.A.Run -> a.A.Done" in _calls(source)


def test_namespaces_and_types_that_nest_deeply_are_followed_in_part() -> None:
    source = "class A { void Run() { new B(); } } class B {} namespace " + ".".join(["N"] * 400) + " { class C {} }"
    assert _calls(source) == {"a.A.Run -> a.B"}
    deep = "class A { void Run() { new B(); } " + "class N { " * 400 + "}" * 400 + " } class B {}"
    assert _calls(deep) == {"a.A.Run -> a.B"}


def test_what_is_made_without_its_name_is_of_the_type_that_it_is_for() -> None:
    source = """
        using System.Collections.Generic;
        class Box { public Box(int n) {} public Box() {} }
        class A {
            private Box field = new(1);
            Box Own { get; set; } = new();
            List<Box> many = [new(1)];
            void Run(A other) { Box local = new(); field = new(2); other.Own = new(3); Box[] more = { new(4) }; }
            Box Make() => new(5);
        }
    """
    assert _calls(source) == {"a.A -> a.Box.Box", "a.A.Run -> a.Box.Box", "a.A.Make -> a.Box.Box"}


def test_a_class_has_no_members_of_its_interfaces_by_their_bare_names() -> None:
    source = """
        using static Levels;
        enum Levels { Debug }
        interface ILog { void Debug() {} void Write(Levels level) {} }
        class Log : ILog { void Run(ILog log) { log.Write(Debug); } }
    """
    assert _calls(source) == {"a.Log.Run -> a.ILog.Write"}
