"""How values move through Python: one claim, a few lines of code, and what they call."""

from textwrap import dedent

import pytest

from tests.support.graphs import calls, edges, solved

TWO = "def f(): pass\ndef g(): pass\n"

CASES = {
    "the last value of a name counts": ("a = f\na = g\na()", "m -> m.g"),
    "after a branch both values count": ("a = f\nif x:\n    a = g\na()", "m -> m.f, m -> m.g"),
    "a branch that ends the function brings nothing": (
        "def h():\n    a = f\n    if x:\n        a = g\n        return\n    a()\n",
        "m.h -> m.f",
    ),
    "a loop carries what it wrote to its next turn": (
        "a = f\nfor _ in x:\n    a()\n    a = g\n",
        "m -> m.f, m -> m.g",
    ),
    "what a loop wrote before it broke off counts after it": (
        "a = None\nfor _ in x:\n    if _:\n        a = f\n        break\na()",
        "m -> m.f",
    ),
    "a handler sees what the body had written so far": (
        "a = f\ntry:\n    a = g\n    a = None\nexcept E:\n    a()\n",
        "m -> m.f",
    ),
    "what came before a failed import counts as well": (
        "try:\n    from fast import f as a\nexcept ImportError:\n    a = g\na()",
        "m -> m.g",
    ),
    "an item by its key": ('d = {"a": f, "b": g}\nd["b"]()', "m -> m.g"),
    "an item that was put in later": ('d = {"a": f}\nd["a"] = g\nd["a"]()', "m -> m.g"),
    "an item by a key that cannot be told": ('d = {"a": f, "b": g}\nd[x]()', "m -> m.f, m -> m.g"),
    "an item by a key that comes as an argument": (
        'd = {"a": f, "b": g}\ndef h(k):\n    d[k]()\nh("a")',
        "m -> m.h, m.h -> m.f",
    ),
    "dict.get": ('d = {"a": f}\nd.get("a", g)()', "m -> m.f, m -> m.g"),
    "what was appended": ("l = []\nl.append(f)\nfor each in l:\n    each()", "m -> m.f"),
    "a tuple taken apart": ("a, (b, *c) = f, (g, f)\nb()", "m -> m.g"),
    "a list comprehension": ("[each() for each in [f, g] if each]", "m -> m.f, m -> m.g"),
    "an argument by name": ("def h(a, *, b):\n    b()\nh(f, b=g)", "m -> m.h, m.h -> m.g"),
    "a default": ("def h(a=f):\n    a()\nh()", "m -> m.h, m.h -> m.f"),
    "a closure": ("def h():\n    a = f\n    def i():\n        a()\n    i()", "m.h -> m.h.i, m.h.i -> m.f"),
    "a lambda": ("h = lambda a: a()\nh(g)", "m -> m.<lambda1>, m.<lambda1> -> m.g"),
    "global": ("a = f\ndef h():\n    global a\n    a = g\ndef i():\n    a()", "m.i -> m.f, m.i -> m.g"),
    "nonlocal": (
        "def h():\n    a = f\n    def i():\n        nonlocal a\n        a = g\n    def j():\n        a()\n",
        "m.h.j -> m.f, m.h.j -> m.g",
    ),
    "a function that hands its argument on is told apart by call": (
        "def h(a):\n    return a\ndef i(a):\n    return h(a)\ni(f)\ni(g)()",
        "m -> m.i, m -> m.g, m.i -> m.h",
    ),
    "a generator": (
        "def h():\n    yield f\n    yield from [g]\nfor each in h():\n    each()",
        "m -> m.h, m -> m.f, m -> m.g",
    ),
    "map calls what it is given": ("list(map(f, [1]))", "m -> m.f"),
    "partial": ("from functools import partial\npartial(f, 1)()", "m -> m.f"),
    "a dynamic name that is written down": ("class C:\n    def a(self): pass\ngetattr(C(), 'a')()", "m -> m.C, m -> m.C.a"),
    "isinstance narrows": (
        "class C:\n    def a(self): pass\ndef h(x):\n    if isinstance(x, C):\n        x.a()",
        "m.h -> m.C.a",
    ),
    "an annotation says what a parameter is": (
        """
class C:
    def a(self): pass
def h(x: "C | None", y: list[C]):
    x.a()
    for each in y:
        each.b()
""",
        "m.h -> m.C.a",
    ),
    "an annotation of what comes back": (
        "class C:\n    def a(self): pass\ndef h(x) -> C:\n    return x.y\nh(1).a()",
        "m -> m.h, m -> m.C.a",
    ),
    "an attribute of the class": ("class C:\n    hook = staticmethod(f)\nC.other = g\nC.other()", "m -> m.g"),
    "an attribute that __init__ is given": (
        """
class C:
    def __init__(self, hook):
        self.hook = hook
    def run(self):
        self.hook()
C(f).run()
""",
        "m -> m.C.__init__, m -> m.C.run, m.C.run -> m.f",
    ),
    "an attribute after a method that sets it": (
        """
class C:
    def a(self):
        self.x = None
        self.b()
        self.x()
    def b(self):
        self.x = f
""",
        "m.C.a -> m.C.b, m.C.a -> m.f",
    ),
    "C3 order": (
        """
class A:
    def a(self): pass
class B(A): pass
class C(A):
    def a(self): pass
class D(B, C): pass
D().a()
""",
        "m -> m.D, m -> m.C.a",
    ),
    "super in the order of the instance's class": (
        """
class A:
    def a(self): pass
class B(A):
    def a(self): super().a()
class C(A):
    def a(self): pass
class D(B, C): pass
D().a()
""",
        "m -> m.D, m -> m.B.a, m.B.a -> m.A.a, m.B.a -> m.C.a",
    ),
    "a class that is its own base": ("class A(A): pass\nA().a()", "m -> m.A"),
    "a caught exception": (
        "class E(Exception):\n    def why(self): pass\ntry:\n    pass\nexcept (E, ValueError) as e:\n    e.why()",
        "m -> m.E.why",
    ),
    "a raised class is made": ("class E(Exception):\n    def __init__(self): pass\nraise E", "m -> m.E.__init__"),
    "an instance that is called": ("class C:\n    def __call__(self): pass\nC()()", "m -> m.C, m -> m.C.__call__"),
    "a property of a base": (
        "class A:\n    @property\n    def a(self): return f\nclass B(A): pass\nB().a()",
        "m -> m.B, m -> m.A.a, m -> m.f",
    ),
    "a setter leaves the property what it is": (
        "class A:\n    @property\n    def a(self): return f\n    @a.setter\n    def a(self, x): pass\nA().a()",
        "m -> m.A, m -> m.A.a, m -> m.f",
    ),
    "a walrus": ("if (a := f):\n    a()", "m -> m.f"),
    "await": ("async def h():\n    return g\nasync def i():\n    (await h())()", "m.i -> m.h, m.i -> m.g"),
    "a match": ("a = f\nmatch x:\n    case 1:\n        a = g\na()", "m -> m.f, m -> m.g"),
    "a context manager made of a generator": (
        "from contextlib import contextmanager\n@contextmanager\ndef h():\n    yield f\nwith h() as each:\n    each()",
        "m -> m.h, m -> m.f",
    ),
    "a dynamic name of which the start is written down": (
        """
class C:
    def do_a(self): pass
    def do_b(self): pass
    def undone(self): pass
    def other(self): pass
    def run(self, x):
        name = f"do_{x}"
        getattr(self, name.lower(), self.undone)()
""",
        "m.C.run -> m.C.do_a, m.C.run -> m.C.do_b, m.C.run -> m.C.undone",
    ),
    "a dynamic name that is put together": (
        """
class C:
    def on_a(self): pass
    def a(self): pass
    def r(self, x):
        getattr(self, "on_" + x)()
        getattr(self, "on_%s" % x)()
        getattr(self, "on_{}".format(x))()
""",
        "m.C.r -> m.C.on_a",
    ),
    "a key of which the start is known is any key": ('d = {"a_": f, "b": g}\nd["a_" + x]()', "m -> m.f, m -> m.g"),
    "enumerate and zip": (
        "for i, a in enumerate([f]):\n    a()\nfor a, b in zip([1], [g]):\n    a()\n    b()",
        "m -> m.f, m -> m.g",
    ),
    "filter and itertools.chain": (
        "import itertools\nfor a in filter(None, [f]):\n    a()\nfor a in itertools.chain([1], [g]):\n    a()",
        "m -> m.f, m -> m.g",
    ),
    "an enumerate of one's own": (
        "def enumerate(x): return [(1, g)]\nfor a, b in enumerate([f]):\n    b()",
        "m -> m.enumerate, m -> m.g",
    ),
    "a dictionary made of names": ("dict(a=f, b=g)['b']()", "m -> m.g"),
    "a list of what an instance yields": (
        "class C:\n    def __iter__(self):\n        return iter([f])\nfor a in list(C()):\n    a()",
        "m -> m.C, m -> m.C.__iter__, m -> m.f",
    ),
    "a method that a base asks for and classes below have": (
        """
class Base:
    def run(self):
        self.a()
        self.b()
        self.c()
        self.d()
        self.e()
    def a(self):
        "Other classes do."
        raise NotImplementedError
    def b(self):
        return f
    def d(self): return
    def e(self): passed()
    def __len__(self): pass
class One(Base):
    def a(self): pass
    def b(self): pass
class Two(Base):
    def a(self): pass
    def c(self): pass
    def d(self): pass
    def e(self): pass
""",
        ", ".join(
            f"m.Base.run -> m.{each}"
            for each in ("Base.a", "Base.b", "Base.d", "Base.e", "One.a", "Two.a", "Two.c", "Two.d")
        ),
    ),
    "a constructor of a class below is not the base's": (
        "class A: pass\nclass B(A):\n    def __init__(self): pass\nA()",
        "m -> m.A",
    ),
    "a command that is chosen by arguments": (
        """
import argparse
def main():
    parser = argparse.ArgumentParser()
    parser.set_defaults(run=f)
    sub = parser.add_subparsers().add_parser("x")
    sub.set_defaults(run=g)
    args = parser.parse_args()
    args.run()
    args.other()
""",
        "m.main -> m.f, m.main -> m.g",
    ),
    "a base outside before one that has the method": (
        """
from threading import Thread
class A:
    def __init__(self): pass
    def work(self): pass
class B(Thread, A):
    def run(self):
        self.work()
        self.start()
B()
""",
        "m -> m.B, m.B.run -> m.A.work",
    ),
    "a class that reads a builtin before it has a method of that name": (
        "class C:\n    a = str(1)\n    def dict(self): pass\n    def str(self): pass\n    b = dict(1)",
        "m.C -> m.C.dict",
    ),
    "a class that reads a name around it before it has that name": (
        "class C:\n    a = f()\n    def f(self): pass\n    b = f(1)",
        "m.C -> m.f, m.C -> m.C.f",
    ),
    "a class that reads a name of its own that nothing around has": (
        "class C:\n    def h(self) -> D: return D\n    def i(self, d: D): d.j()\n    class D:\n        def j(self): pass",
        "m.C.i -> m.C.D.j",
    ),
    "a class within a class reads nothing of that": (
        "class C:\n    def f(self): pass\n    class D:\n        a = f()\n        def f(self): pass",
        "m.C.D -> m.f",
    ),
    "__class__": ("class C:\n    def copy(self): return self.__class__()", "m.C.copy -> m.C"),
    "what stands outside stays outside": ("import close\nclass C:\n    def close(self): pass\nclose.open().close()", ""),
    "a builtin is no method of that name": ("class C:\n    def append(self): pass\n[].append(1)\n''.append()", ""),
}


@pytest.mark.parametrize("claim", CASES)
def test_values_are_followed(claim: str) -> None:
    code, expected = CASES[claim]
    assert sorted(calls({"m.py": TWO + code})) == sorted(filter(None, expected.split(", ")))


def test_names_of_what_stands_outside_come_with_their_module() -> None:
    code = """
        import os.path as p, json
        from subprocess import run as start
        p.join("a"); json.JSONEncoder().encode(1); start(["x"]); "a".upper(); len([])
        """
    found = {line.partition(" -> ")[2] for line in calls({"m.py": dedent(code)}, outside=True)}
    assert found == {
        "os.path.join", "json.JSONEncoder", "json.JSONEncoder.encode", "subprocess.run",
        "builtins.str.upper", "builtins.len",
    }  # fmt: skip


def test_what_is_nested_too_deeply_is_said_and_the_rest_is_followed() -> None:
    solver = solved({"m.py": f"{TWO}a = {'(' * 500}f{')' * 500}\ng()\n"})
    assert solver.values.flows[0].cut
    assert [edge.line for edge in edges(solver)] == [4]


@pytest.mark.parametrize(
    "code",
    [
        "x = 1 + " * 5000 + "1",
        "a" + ".b()" * 900,
        "".join(f"{'    ' * depth}if a:\n" for depth in range(90)) + "    " * 90 + "f()",
        "".join(f"{' ' * depth}def f{depth}():\n" for depth in range(200)) + " " * 200 + "pass",
        "for a in b:\n    a = a.c(a)\n" * 200,
        "def f(a):\n    return f(f(a))\nf(f)",
        "a = [a, a]\n" * 300 + "a[0][0][0]()",
        "def f(:\n  return\nclass\nimport\nfrom . import\nraise\nwith\nx = \n@\ndef g(): f(",
        "import " + "a." * 3000 + "b",
        "class A(*B, **C):\n    x: 'A[' = y\n    def f(self, /, *, a: B.C[D] = 1, **k) -> -1: return [*a, *b][::c]",
        "x = [" + "f, " * 20000 + "]\nx[3]()",
        "class A: pass\nA.__call__ = A()\nA.__iter__ = A()\nA()()\nfor a in A(): a()",
        "\x00\xff\n" * 10,
    ],
)
def test_hostile_code_is_read_to_its_end(code: str) -> None:
    edges(solved({"m.py": code}))


def test_modules_that_import_everything_of_one_another_are_asked_once() -> None:
    files = {
        f"m{n}.py": f"from m{(n + 1) % 60} import *\nfrom m{(n + 7) % 60} import *\nhere{n} = 1\nfar()\n" for n in range(60)
    }
    found = calls({**files, "m9.py": files["m9.py"] + "def far(): pass\n"})
    assert found == {f"m{n} -> m9.far" for n in range(60)}
