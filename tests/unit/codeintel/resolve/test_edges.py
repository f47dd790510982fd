import pytest

from appliance.codeintel.resolve.edges import Edge, Edges, Unresolved
from tests.support.graphs import dotted, solved

CODE = """
class A:
    def go(self):
        self.rest()
        self.label
    def rest(self): pass
    def append(self): pass
    @property
    def label(self): pass
class B:
    def go(self): pass
def f(a: A, x, k):
    A().rest()
    a.go()
    x.rest()
    x.go()
    x.append()
    x.gone()
    {"a": f, "b": g}[k]()
    for each in A.Many(): pass
    map(f, [])
def g(): pass
"""


def found(line: int) -> list[Edge | Unresolved]:
    solver = solved({"m.py": CODE})
    return [each for each in Edges(solver).of(0) if each.line == line]


@pytest.mark.parametrize(
    ("line", "how", "confidence"),
    [
        (4, "self", 0.95),
        (5, "protocol", 0.8),
        (14, "type", 0.9),
        (15, "candidate", 0.4),
        (16, "candidate", 0.2),
        (19, "value", 0.7),
        (21, "value", 0.8),
    ],
)
def test_a_call_says_how_it_is_known_and_how_surely(line: int, how: str, confidence: float) -> None:
    edges = [each for each in found(line) if isinstance(each, Edge) and not each.external]
    assert edges
    assert {(edge.how, edge.confidence) for edge in edges} == {(how, confidence)}


@pytest.mark.parametrize(("line", "name"), [(17, "append"), (18, "gone")])
def test_a_call_of_which_nothing_is_known_is_kept_as_such(line: int, name: str) -> None:
    """A name that builtin types have as well makes no candidate."""
    assert [each.name for each in found(line) if isinstance(each, Unresolved)] == [name]


def test_a_call_by_name_is_certain() -> None:
    solver = solved({"m.py": CODE})
    edges = [each for each in Edges(solver).of(0) if isinstance(each, Edge) and each.line == 13]
    assert {(dotted(solver, each.target or 0), each.how) for each in edges} == {("m.A", "name"), ("m.A.rest", "type")}


def test_what_is_read_of_several_classes_that_share_a_property_is_one_call() -> None:
    code = (
        "class A:\n    @property\n    def a(self): pass\nclass B(A): pass\nclass C(A): pass\nfor x in [B(), C()]:\n    x.a\n"
    )
    found = [each for each in Edges(solved({"m.py": code})).of(0) if each.line == 7]
    assert [(each.kind, each.how) for each in found if isinstance(each, Edge)] == [("get", "protocol")]
