"""Conditions of a compiler that stand inside of definitions."""

import pytest

from appliance.codeintel.parse.conditions import first_branches
from appliance.codeintel.parse.grammars import Captures, grammar
from appliance.codeintel.parse.torn import torn_pieces

_TORN = b"""
public partial class Reader
#if ASYNC
    : IAsyncDisposable
#endif
{
#if FAST
    public int Read(int most)
#else
    public int Read()
#endif
    {
        return Next();
    }
    int Next() { return 1; }
}
"""


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        (b"a\n#if X\nb\n#else\nc\n#endif\nd\n", b"a\n     \nb\n     \n \n      \nd\n"),
        (
            b"#if X\r\n#if Y\r\na\r\n#elif Z\r\nb\r\n#endif\r\n#else\r\nc\r\n#endif",
            b"     \r\n     \r\na\r\n       \r\n \r\n      \r\n     \r\n \r\n      ",
        ),
        (b"#endif\n#else\na\n  #  if X", b"      \n     \na\n         "),
        (b"#region x\n#define IF\na # if\n", b"#region x\n#define IF\na # if\n"),
    ],
)
def test_all_branches_but_the_first_become_blanks_of_the_same_length(source: bytes, kept: bytes) -> None:
    assert first_branches(source) == kept
    assert len(kept) == len(source)


def test_a_class_that_conditions_tear_apart_is_whole() -> None:
    tree = grammar("csharp").tree(_TORN)
    assert torn_pieces(grammar("csharp").parser.parse(_TORN).root_node) > 0
    assert torn_pieces(tree.root_node) == 0
    methods = [node.child_by_field_name("name") for node in _captures(_TORN)["d.method"]]
    assert [node.text for node in methods if node is not None] == [b"Read", b"Next"]


def test_what_conditions_do_not_tear_apart_is_read_in_all_branches() -> None:
    source = b"class A {\n#if X\nvoid B() {}\n#else\nvoid C() {}\n#endif\n}\n"
    assert len(_captures(source)["d.method"]) == len("BC")


def test_what_is_torn_without_them_stays_as_it_was() -> None:
    source = b"class A {\n#if X\nvoid B( {}\n#endif\n"
    assert grammar("csharp").tree(source).root_node.has_error


def _captures(source: bytes) -> Captures:
    return grammar("csharp").captures(grammar("csharp").root(source))
