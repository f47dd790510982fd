"""Whether two texts of a file say the same to whoever makes a graph, and which line of the one is which of the other."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from appliance.codeintel.build.places import standing
from appliance.codeintel.facts import Mentions, Reference, Symbol
from appliance.codeintel.flow import Flow, FlowScope, Op, Read, Site, Term

_SYMBOLS: Final = msgspec.msgpack.Decoder(tuple[Symbol, ...])
_REFERENCES: Final = msgspec.msgpack.Decoder(tuple[Reference, ...])
_SAID: Final = "says something else"
_LINES: Final = "has other things in one line"
Text = tuple[Flow, Mentions]
Lines = Iterator[tuple[int, int]]
T = TypeVar("T", FlowScope, Site, Read, Reference, msgspec.Struct)


class Unlike(Exception):
    """What was made into a graph has changed in more than its lines; the words say where."""


def lines_of(old: Text, new: Text, *, test: bool) -> tuple[int, dict[int, int]]:
    """Return how many symbols each of two texts has, and by the lines of *old* those of *new*; raise `Unlike`.

    Only lines that an edge can have are there: *test* says whether the file has one as a test.
    """
    (before, said), (after, says) = old, new
    _same(_but_lines(before), _but_lines(after))
    _same(_terms(before), _terms(after))
    symbols = _SYMBOLS.decode(said.symbols), _SYMBOLS.decode(says.symbols)
    _same(*([(each.name, each.qualname, each.kind, each.parent) for each in found] for found in symbols))
    _same(*(standing(flow.scopes, found) for flow, found in zip((before, after), symbols, strict=True)))
    lines: dict[int, int] = {1: 1} if test else {}
    back = dict(lines)
    references = _REFERENCES.decode(said.references), _REFERENCES.decode(says.references)
    for was, now in chain(
        _moved(before.scopes, after.scopes), _moved(list(before.sites), list(after.sites)),
        _moved(list(before.reads), list(after.reads)), _moved(said.imports, says.imports), _moved(*references),
        zip((row[-1] for row in before.uses), (row[-1] for row in after.uses), strict=True),
    ):  # fmt: skip
        if lines.setdefault(was, now) != now or back.setdefault(now, was) != was:
            raise Unlike(_LINES)
    return len(symbols[0]), lines


def _but_lines(flow: Flow) -> list[object]:
    uses = [row[:-1] for row in flow.uses]
    return [len(flow.terms), len(flow.sites), len(flow.reads), flow.stores, flow.stars, flow.cut, flow.unit, uses]


def _terms(flow: Flow) -> list[Term]:
    terms = [flow.terms[number] for number in range(len(flow.terms))]
    return [replace(term, b=0) if term.op == Op.MAKE else term for term in terms]  # there it says where it is made


def _moved(old: Sequence[T], new: Sequence[T]) -> Lines:
    """Yield the lines of two things each; raise `Unlike` if they differ in more."""
    _same(len(old), len(new))
    for was, now in zip(old, new, strict=True):
        _same(replace(was, line=0), replace(now, line=0))
        yield was.line, now.line  # type: ignore[attr-defined]  # all of them have one


def _same(one: object, other: object) -> None:
    if one != other:
        raise Unlike(_SAID)
