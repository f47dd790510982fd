"""What lists, dictionaries and their like hold, and what is got from things by ``[]``, ``for`` and ``with``."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from appliance.codeintel.flow import REST, Op, Term
from appliance.codeintel.resolve.cells import NOTHING, Values
from appliance.codeintel.resolve.values import (
    Class,
    Constant,
    Container,
    External,
    Generator,
    Instance,
    Method,
    Results,
    Value,
)  # fmt: skip

if TYPE_CHECKING:
    from appliance.codeintel.resolve.evaluate import Evaluator

ANY: Final = ""  # the key of an item that can be at any place
_TAKES: Final = frozenset({"get", "pop", "setdefault", "popitem", "popleft", "__getitem__"})
_ITSELF: Final = frozenset({"copy", "items", "keys", "__iter__"})


@dataclass(slots=True)
class _Shape:
    """How an object is made: the terms of what stands at each constant key, of the rest by key, and of what is spread."""

    at: dict[str, list[int]] = field(default_factory=dict)
    anywhere: list[tuple[int, int]] = field(default_factory=list)
    spread: list[int] = field(default_factory=list)


class Containers:
    """Looks into containers. Each is known by the place where it is made."""

    def __init__(self, evaluator: "Evaluator") -> None:
        self._values = evaluator
        self._shapes: dict[int, _Shape] = {}

    def keys(self, values: Values) -> set[str]:
        """Return the keys that *values* are, with `ANY` for one that cannot be told.

        One of which nothing is known may yet become known: it is no key until nothing more is learnt.
        """
        known = {each.text for each in values if isinstance(each, Constant) and ":" in each.text and each.text[-1] != REST}
        if not values and not self._values.cells.read("lenient"):
            return set()
        return known if known and len(known) == len(values) else {*known, ANY}

    def item(self, value: Value, keys: set[str]) -> Values:
        """Return what stands in *value* at *keys*."""
        match value:
            case Container(kind="pair") if "int:0" not in keys:
                return self._held(value, {ANY})
            case Container():
                return self._held(value, keys)
            case Instance():
                return self._called(value, "__getitem__")
            case Class() | External():
                return frozenset((value,))  # a generic type, or something out there that is no better known
            case _:
                return NOTHING

    def iterated(self, value: Value) -> Values:
        """Return what an iteration over *value* yields."""
        match value:
            case Container(kind="dict"):
                file, term = self._made(value)
                return self._values.union(self._values.of(file, key) for key in term.items[::2])
            case Container(term, "map" | "pairs"):
                return frozenset((Container(term, "pair"),))
            case Container():
                return self._held(value, {ANY})
            case Generator(scope):
                return self._values.of(self._values.scope_file[scope], self._values.scope(scope).yields)
            case Results(of):
                return self._values.calls.result(of)
            case Instance():
                makers = self._called(value, self._values.words.iterator)
                return self._values.union(
                    self._called(each, self._values.words.following) if isinstance(each, Instance) else self.iterated(each)
                    for each in makers
                )
            case External():
                return frozenset((value,))
            case _:
                return NOTHING

    def iterator(self, value: Value) -> Values:
        """Return what can be iterated over for *value*, of what is followed."""
        match value:
            case Container() | Generator() | Results():
                return frozenset((value,))
            case Instance():
                following = self._values.words.following
                return self._values.union(
                    frozenset(Results(found) for found in self._values.attribute(each, following))
                    if isinstance(each, Instance)
                    else self.iterator(each)
                    for each in self._called(value, self._values.words.iterator)
                )
            case _:
                return NOTHING

    def entered(self, value: Value) -> Values:
        """Return what ``with`` binds for *value*."""
        match value:
            case Instance():
                return self._called(value, "__enter__") or frozenset((value,))
            case Generator():
                return self.iterated(value)
            case _:
                return frozenset((value,))

    def method(self, method: Method, arguments: Sequence[tuple[str, Values]]) -> Values:
        """Return what a method of a container gives."""
        of = method.of
        if not isinstance(of, Container):
            return NOTHING
        if method.name in _TAKES:
            keys = self.keys(arguments[0][1]) if arguments and of.kind == "dict" else {ANY}
            more = arguments[1][1] if len(arguments) > 1 else NOTHING
            return self._held(of, keys) | more
        if method.name in _ITSELF:
            return frozenset((of,))
        return frozenset((Container(of.term, "list", of.start),)) if method.name == "values" else NOTHING

    def spread(self, value: Container) -> Values:
        """Return what was spread into an object when it was made: its keys without a value."""
        file = self._file(value)
        return self._values.union(self._values.of(file, key) for key in self._shape(value).spread)

    def member(self, value: Container, key: str) -> Values:
        """Return what stands in an object at *key*: of what was put there by just this key, else of what may be anywhere."""
        file = self._file(value)
        shape = self._shape(value)
        found = [self._values.of(file, held) for held in shape.at.get(key, ())]
        put = self._values.cells.read(("keys", value.term))
        if Constant(key) in put:
            found.append(self._values.cells.read(("item", value.term, key)))
        exact = self._values.union(found)
        if exact:
            return exact
        anywhere = [self._values.of(file, held) for at, held in shape.anywhere if {key, ANY} & self._keys_of(file, at)]
        if Constant(ANY) in put:
            anywhere.append(self._values.cells.read(("item", value.term, ANY)))
        return self._values.union(anywhere)

    def written(self, value: Container, key: str) -> list[tuple[int, int]]:
        """Return the file and the terms of what stood in an object at *key* where it was made."""
        file = self._file(value)
        return [(file, held) for held in self._shape(value).at.get(key, ())]

    def _keys_of(self, file: int, term: int) -> set[str]:
        return self.keys(self._values.of(file, term)) if term else {ANY}

    def _shape(self, value: Container) -> "_Shape":
        known = self._shapes.get(value.term)
        if known is None:
            file, term = self._made(value)
            known = self._shapes[value.term] = _Shape()
            for key, held in zip(term.items[::2], term.items[1::2], strict=True):
                at = self._values.flows[file].terms[key]
                if at.op == Op.CONST:
                    known.at.setdefault(at.text, []).append(held)
                elif held:
                    known.anywhere.append((key, held))
                elif key:
                    known.spread.append(key)
        return known

    def _called(self, value: Value, name: str) -> Values:
        return self._values.calls.called(self._values.attribute(value, name))

    def _file(self, value: Container) -> int:
        return bisect_right(self._values.first_term, value.term) - 1

    def _made(self, value: Container) -> tuple[int, Term]:
        file = self._file(value)
        return file, self._values.flows[file].terms[value.term - self._values.first_term[file]]

    def _held(self, value: Container, keys: set[str]) -> Values:
        file, term = self._made(value)
        if value.start:
            keys = {f"int:{int(key[4:]) + value.start}" if key[4:].isdigit() else ANY for key in keys}
        found: set[Value] = set()
        anywhere = ANY in keys
        for key, held in zip(term.items[::2], term.items[1::2], strict=True):
            there = keys if anywhere else self._keys_of(file, key)
            if ANY in there or keys & there:
                found |= self._values.of(file, held)
        for each in self._values.cells.read(("keys", value.term)):
            if isinstance(each, Constant) and (ANY in keys or each.text == ANY or each.text in keys):
                found |= self._values.cells.read(("item", value.term, each.text))
        return frozenset(found)
