"""Classes: the order in which Python looks through them, and what it finds there."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from appliance.codeintel.flow import UNKNOWN
from appliance.codeintel.resolve import outside
from appliance.codeintel.resolve.cells import NOTHING, Values
from appliance.codeintel.resolve.values import Class, External, Function, Instance, Order, Value

if TYPE_CHECKING:
    from appliance.codeintel.resolve.evaluate import Evaluator

_LONGEST: Final = 200  # classes in one order
_MOST_BELOW: Final = 24  # classes below one that stand for it
_OPEN: Final = frozenset({"abstract", "abstractmethod", "abstractproperty"})
EMPTY: Final = frozenset({"builtins.object", "typing.Generic", "abc.ABC", "typing.Protocol"})  # bases without members
PROPERTIES: Final = frozenset({"property", "cached_property", "abstractproperty"})


class Classes:
    """Looks attributes up in classes and their bases, in Python's order (C3)."""

    def __init__(self, evaluator: "Evaluator") -> None:
        self._values = evaluator
        self._under: dict[int, list[int]] = defaultdict(list)

    def order(self, scope: int) -> tuple[int | External, ...]:
        """Return class *scope* and all its bases in the order in which Python asks them; external ones are names."""
        held = self._values.cells.recall(("order", scope), lambda: self._linear(scope), grows=False)
        return next((each.classes for each in held if isinstance(each, Order)), (scope,))  # (scope,): it is its own base

    def _linear(self, scope: int) -> Values:
        file = self._values.scope_file[scope]
        bases: list[int | External] = []
        for term in self._values.scope(scope).bases:
            for value in sorted(self._values.of(file, term), key=repr):
                if isinstance(value, Class):
                    bases.append(value.scope)
                elif isinstance(value, External):
                    bases.append(value)
        ways: list[list[int | External]] = [list(self.order(base)) if isinstance(base, int) else [base] for base in bases]
        return frozenset((Order((scope, *_merged([*ways, list(bases)]))[:_LONGEST]),))

    def member(self, scope: int, name: str, *, bound_to: Value | None) -> Values:
        """Return what *name* is on class *scope*, or on *bound_to*, an instance of it."""
        order = self.order(scope)
        found = self._first(order, name, bound_to or Class(scope))
        if bound_to is not None and self._values.holds(name):
            found = found.union(*(self._values.stored("attribute", base, name) for base in order if isinstance(base, int)))
        if not name.startswith("__") and all(map(self._is_open, found)):
            found |= self._lower(scope, name, of_instance=bound_to is not None)
        return found

    def prepare(self) -> None:
        """Learn which classes stand below which, as far as that can be told before anything is called."""
        self._under.clear()
        for number in range(len(self._values.scope_file)):
            if self._values.scope(number).kind == "class":
                for base in self.order(number)[1:]:
                    if isinstance(base, int):
                        self._under[base].append(number)

    def _is_open(self, value: Value) -> bool:
        """Return whether *value* is a method that classes below are meant to replace."""
        return isinstance(value, Function) and not _OPEN.isdisjoint(self._values.scope(value.scope).marks)

    def _lower(self, scope: int, name: str, *, of_instance: bool) -> Values:
        """Return what *name* is on classes below *scope*: what a base asks for and does not have, they have."""
        kinds = self._under.get(scope, ())
        if not 0 < len(kinds) <= _MOST_BELOW:
            return NOTHING
        key = ("below", scope, name, of_instance)
        return self._values.cells.recall(key, lambda: self._of_all(kinds, name, of_instance=of_instance))

    def _of_all(self, kinds: Sequence[int], name: str, *, of_instance: bool) -> Values:
        kept = self._values.union(self._values.stored("attribute", each, name) for each in kinds) if of_instance else NOTHING
        return kept.union(
            *(self._first(self.order(each), name, Instance(each) if of_instance else Class(each)) for each in kinds)
        )

    def behind(self, after: int, self_: Value, name: str) -> Values:
        """Return what ``super()`` finds as *name* in a method of class *after* called on *self_*."""
        if not isinstance(self_, Instance | Class):
            return NOTHING
        order = self.order(self_.scope)
        if after not in order:
            order = self.order(after)
        return self._first(order[order.index(after) + 1 :], name, self_)

    def getters(self, value: Value, name: str) -> Values:
        """Return the functions that are called when *name* of *value* is read, where it is a property."""
        if not isinstance(value, Instance):
            return NOTHING
        found = self._first(self.order(value.scope), name, value, read=False)
        marked = (each for each in found if isinstance(each, Function))
        return frozenset(each for each in marked if not PROPERTIES.isdisjoint(self._values.scope(each.scope).marks))

    def _first(self, order: Sequence[int | External], name: str, holder: Value, *, read: bool = True) -> Values:
        """Return what the first class of *order* that has *name* holds there.

        What stands outside is taken to have what no class behind it has; it has every name that Python calls by itself.
        """
        outer = None
        for base in order:
            if isinstance(base, External):
                outer = outer or (base if base.path not in EMPTY else None)
                if outer is not None and name.startswith("__"):
                    break
                continue
            one = self._values.scope(base)
            held = one.names.get(name, UNKNOWN) if one.kind == "class" else UNKNOWN  # what functions make has no class
            stored = self._values.stored("static", base, name)
            if held or stored:
                values = self._values.of(self._values.scope_file[base], held)
                values = values | stored if stored else values
                return self._values.union([self._bound(value, holder, read=read) for value in values])
        there = None if outer is None else outside.member(outer.path, name)
        return NOTHING if there is None else frozenset((there,))

    def _bound(self, value: Value, holder: Value, *, read: bool) -> Values:
        """Return *value*, found on a class, as it is seen through *holder*; with *read* a property's value."""
        if not isinstance(value, Function) or value.self_ is not None:
            return frozenset((value,))
        marks = self._values.scope(value.scope).marks
        if "staticmethod" in marks:
            return frozenset((value,))
        if "classmethod" in marks:
            return (
                frozenset((Function(value.scope, Class(holder.scope)),)) if isinstance(holder, Instance | Class) else NOTHING
            )
        if isinstance(holder, Class):
            return frozenset((value,))
        if not PROPERTIES.isdisjoint(marks):
            return (
                self._values.calls.result(Function(value.scope, holder))
                if read
                else frozenset((Function(value.scope, holder),))
            )
        return frozenset((Function(value.scope, holder),))


def _merged(ways: list[list[int | External]]) -> list[int | External]:
    """Merge the orders of the bases as C3 does; where that fails, by first appearance."""
    merged: list[int | External] = []
    ways = [way for way in ways if way]
    while ways:
        behind = {each for way in ways for each in way[1:]}
        head = next((way[0] for way in ways if way[0] not in behind), ways[0][0])
        merged.append(head)
        ways = [rest for way in ways if (rest := [each for each in way if each != head])]
    return merged
