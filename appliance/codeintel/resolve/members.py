"""Members of types that are declared: their own, inherited ones, and those of whatever stands behind an interface."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from appliance.codeintel.flow import Op
from appliance.codeintel.resolve.cells import NOTHING, Values
from appliance.codeintel.resolve.classes import Classes
from appliance.codeintel.resolve.typed_calls import EXTENSION
from appliance.codeintel.resolve.values import Class, Container, External, Function, Instance, Order, Value

if TYPE_CHECKING:
    from appliance.codeintel.resolve.typed import TypedEvaluator

EXTENDS: Final = "extends"  # the mark of a class scope that adds to the type that its first base names
OPEN: Final = frozenset({"interface", "abstract"})
_LONGEST: Final = 200  # classes in one order
_MOST_BEHIND: Final = 24  # methods behind that of an interface; more say nothing of any


class Members(Classes):
    """Looks members up in types and what they inherit from, the nearest first; and finds what implements a type."""

    def __init__(self, evaluator: "TypedEvaluator") -> None:
        super().__init__(evaluator)
        self._typed = evaluator
        self._parts: dict[int, list[int]] = defaultdict(list)  # scopes that add to a type
        self._whole: dict[int, tuple[int, ...]] = {}  # the types that a scope adds to
        self._outside: dict[str, list[int]] = defaultdict(list)  # scopes that add to types that lie outside
        self._below: dict[int, list[int]] = defaultdict(list)
        self._binding: dict[tuple[int, str], list[int]] | None = None
        self._having: dict[str, list[int]] = defaultdict(list)  # types by the methods that they have of their own

    def prepare(self) -> None:
        """Find out which scopes add to which types, and what inherits from what, before anything is solved."""
        scopes = [number for number in range(len(self._typed.scope_file)) if self._typed.scope(number).kind == "class"]
        for part, whole in self._typed.parts().items():
            self._whole[part] = (whole,)
            self._parts[whole].append(part)
        adding = [number for number in scopes if EXTENDS in self._typed.scope(number).marks]
        for number in sorted(adding, key=self._has_types, reverse=True):
            self._extend(number)
        for number in scopes:
            if not self._whole.get(number):  # also what something outside implements
                for base in self._bases(number):
                    if isinstance(base, int):
                        self._below[base].append(number)
            if number not in self._whole:
                for name in self._names(number):
                    self._having[name].append(number)
        self._binding = self._bindings()

    def _has_types(self, number: int) -> bool:
        """Return whether *number* adds a type, which others can add to in their turn."""
        file, names = self._typed.scope_file[number], self._typed.scope(number).names
        terms = self._typed.flows[file].terms
        return any(term and terms[term].op == Op.DEF and self._is_class(file, terms[term].a) for term in names.values())

    def _is_class(self, file: int, scope: int) -> bool:
        return self._typed.flows[file].scopes[scope].kind == "class"

    def _extend(self, number: int) -> None:
        added = self._typed.of(self._typed.scope_file[number], self._typed.scope(number).bases[0])
        self._whole[number] = tuple(sorted(each.scope for each in added if isinstance(each, Class | Instance)))
        for each in self._whole[number]:
            self._parts[each].append(number)
        for value in added:
            if isinstance(value, External | Container):
                self._outside[value.path if isinstance(value, External) else value.kind].append(number)

    def whole(self, scope: int) -> tuple[int, ...]:
        """Return the types that the class *scope* is a part of: itself, or what it adds to."""
        return self._whole.get(scope, (scope,))

    def _names(self, scope: int) -> Iterator[str]:
        for part in (scope, *self._parts.get(scope, ())):
            yield from self._typed.scope(part).names

    def _bases(self, scope: int) -> Iterator[int | External]:
        """Yield what a type names as its bases, in any of its parts."""
        for part in (scope, *self._parts.get(scope, ())):
            one, file = self._typed.scope(part), self._typed.scope_file[part]
            for term in one.bases[EXTENDS in one.marks :]:
                for value in sorted(self._typed.of(file, term), key=repr):
                    if isinstance(value, Class | Instance):
                        yield value.scope
                    elif isinstance(value, External):
                        yield value

    def _linear(self, scope: int) -> Values:
        """Return a type and all that it inherits from, level by level."""
        order: dict[int | External, None] = dict.fromkeys(self.whole(scope) or (scope,))
        waiting: list[int | External] = list(order)
        for at in waiting:
            if isinstance(at, int) and len(order) < _LONGEST:
                found = [base for base in self._bases(at) if base not in order]
                order.update(dict.fromkeys(found))
                waiting += found
        return frozenset((Order(tuple(order)[:_LONGEST]),))

    def member(self, scope: int, name: str, *, bound_to: Value | None) -> Values:
        """Return what *name* is on the type *scope*, or on *bound_to*, an instance of it."""
        holder = bound_to or Class(scope)
        if name == self._typed.words.constructor:
            return self.own(scope, name, holder)
        found = self._found(scope, name, holder)
        return self._typed.union([found, *(self._behind(each, name, holder) for each in self._open(scope, found))])

    def own(self, scope: int, name: str, holder: Value) -> Values:
        """Return what *name* is on the type *scope* itself, or what was put there."""
        found: set[Value] = set()
        for part in self._with(scope, name):
            one, file = self._typed.scope(part), self._typed.scope_file[part]
            if name in one.names:
                values = self._typed.of(file, one.names[name])
                found |= self._extended(values, holder) if EXTENDS in one.marks else values
        found |= self._typed.stored("attribute", scope, name) | self._typed.stored("static", scope, name)
        return frozenset(self._seen(each, holder) for each in found)

    def _with(self, scope: int, name: str) -> Sequence[int]:
        """Return the parts of the type *scope* that bind *name*."""
        if self._binding is None:  # what the parts of each are is not known yet
            return (scope, *self._parts.get(scope, ()))
        return self._binding.get((scope, name), ())

    def _bindings(self) -> dict[tuple[int, str], list[int]]:
        found: dict[tuple[int, str], list[int]] = defaultdict(list)
        for number in range(len(self._typed.scope_file)):
            one = self._typed.scope(number)
            if one.kind == "class":
                for whole in {number, *self.whole(number)}:
                    for name in one.names:
                        found[whole, name].append(number)
        return found

    def declaring(self, scope: int, name: str) -> int:
        """Return the type, of *scope* and what it inherits from, that declares *name*; *scope* if none does."""
        inner = [each for each in self.order(scope) if isinstance(each, int)]
        return next((each for each in inner if name in self._names(each)), scope)

    def behind(self, after: int, self_: Value, name: str) -> Values:
        """Return what ``super`` finds as *name* in a method of type *after*."""
        own = self.whole(after)
        return self._inherited([each for each in self.order(after) if each not in own], name, self_)

    def added(self, kind: str, name: str, holder: Value) -> Values:
        """Return what scopes of the repository add as *name* to *kind*, a type that lies outside."""
        found = self._typed.union(
            self._typed.of(self._typed.scope_file[part], self._typed.scope(part).names[name])
            for part in self._outside.get(kind, ())
            if name in self._typed.scope(part).names
        )
        return frozenset(self._seen(each, holder) for each in self._extended(found, holder))

    def _extended(self, found: Values, holder: Value) -> Values:
        """Return what was *found* in a scope that adds to a type: what takes that as its first argument is bound to it."""
        if isinstance(holder, Class):
            return found
        return frozenset(
            Function(each.scope, holder)
            if isinstance(each, Function) and EXTENSION in self._typed.scope(each.scope).marks
            else each
            for each in found
        )

    def _found(self, scope: int, name: str, holder: Value) -> Values:
        """Return what *name* is on *holder*: the type *scope*, or an instance of it."""
        if holder not in (Class(scope), Instance(scope)):
            return self._inherited(self.order(scope), name, holder)
        key = ("member", scope, name, isinstance(holder, Instance))
        return self._typed.cells.recall(key, lambda: self._inherited(self.order(scope), name, holder))

    def _inherited(self, order: "tuple[int | External, ...] | list[int | External]", name: str, holder: Value) -> Values:
        found: set[Value] = set()
        for base in order:
            if isinstance(base, int) and not (found and self._hides(found)):
                known = [each.scope for each in _methods(frozenset(found))]
                own = self.own(base, name, holder)
                found |= {each for each in own if not isinstance(each, Function) or not self._overridden(each.scope, known)}
        if found:
            return frozenset(found)
        outer = next((base for base in order if isinstance(base, External)), None)
        return self._typed.attribute(outer, name) if outer is not None else NOTHING

    def _hides(self, found: Collection[Value]) -> bool:
        """Return whether what was *found* leaves nothing of that name in sight that a type inherits."""
        return not self._typed.overloads or not all(isinstance(each, Function) for each in found)

    def _overridden(self, scope: int, known: Sequence[int]) -> bool:
        return any(self._take_alike(each, scope) for each in known)

    def _open(self, scope: int, found: Values) -> set[int]:
        """Return the types behind which another method than those *found* on *scope* can be meant."""
        if OPEN & set(self._typed.scope(scope).marks) or (self._typed.virtual and self._called_on(found)):
            return {scope}
        if not self._typed.structural:
            return set()
        owners = (self._typed.owner(each.scope) for each in _methods(found))
        return {each for each in owners if each is not None and "interface" in self._typed.scope(each).marks}

    def _behind(self, scope: int, name: str, holder: Value) -> Values:
        """Return the methods *name* of everything that is a *scope*."""
        found: set[Value] = set()
        known = self.order(scope)
        having = 0
        for each in self.below(scope):
            made = Instance(each) if isinstance(holder, Instance) else Class(each)
            there = self._found(each, name, made)
            promised = isinstance(made, Class) and not self._typed.virtual  # by a trait, functions without an instance too
            methods = _methods(there) if promised else self._called_on(there)
            own = [method for method in methods if self._typed.owner(method.scope) not in known]
            found.update(own)
            having += bool(own)
            if having > _MOST_BEHIND:
                return NOTHING
        return frozenset(found)

    def _called_on(self, found: Values) -> list[Function]:
        """Return the methods among what was *found* that are called on something: no others can be overridden."""
        return [each for each in _methods(found) if self._typed.owner(each.scope) is not None]

    def below(self, scope: int) -> tuple[int, ...]:
        """Return all types that are known to be a *scope*: what inherits from it, and what has all of its methods."""
        held = self._typed.cells.recall(("below", scope), lambda: self._all_below(scope), grows=False)
        return tuple(each for found in held if isinstance(found, Order) for each in found.classes if isinstance(each, int))

    def _all_below(self, scope: int) -> Values:
        found: dict[int, None] = {}
        waiting = [scope]
        while waiting and len(found) < _LONGEST:
            at = waiting.pop()
            further = [*self._below.get(at, ()), *(self._alike(at) if self._typed.structural else ())]
            new = [each for each in further if each not in found and each != scope]
            found.update(dict.fromkeys(new))
            waiting += new
        return frozenset((Order(tuple(found)),))

    def alike(self, scope: int) -> Iterator[tuple[int, int]]:
        """Yield the types that have all the methods of the interface *scope*, and these: each with what it implements."""
        types = self._alike(scope)
        wanted = self._methods(scope) if types else {}
        for each in types:
            yield each, scope
            for name, method in wanted.items():
                held = (self._method(base, name) for base in self.order(each) if isinstance(base, int))
                own = next((found for found in held if found is not None), None)
                if own is not None and own != method:
                    yield own, method

    def _alike(self, scope: int) -> list[int]:
        """Return the types that have all the methods of the interface *scope*, and take and give the same."""
        if "interface" not in self._typed.scope(scope).marks:
            return []
        wanted = self._methods(scope)
        if not wanted:
            return []
        rarest = min(wanted, key=lambda name: len(self._having[name]))
        able = dict.fromkeys(each for at in self._having[rarest] for each in (at, *self._embedding(at)))
        return [each for each in able if each != scope and self._fits(each, wanted)]

    def _methods(self, scope: int) -> dict[str, int]:
        """Return the methods of the interface *scope* and of what it is made of."""
        found: dict[str, int] = {}
        for each in self.order(scope):
            for name in self._names(each) if isinstance(each, int) else ():
                method = self._method(each, name) if isinstance(each, int) else None
                if method is not None:
                    found.setdefault(name, method)
        return found

    def _embedding(self, scope: int) -> list[int]:
        found: dict[int, None] = {}
        waiting = [scope]
        while waiting and len(found) < _LONGEST:
            new = [each for each in self._below.get(waiting.pop(), ()) if each not in found]
            found.update(dict.fromkeys(new))
            waiting += new
        return list(found)

    def _fits(self, scope: int, wanted: dict[str, int]) -> bool:
        if "interface" in self._typed.scope(scope).marks:
            return False
        for name, method in wanted.items():
            for base in self.order(scope):
                own = self._method(base, name) if isinstance(base, int) else None
                if own is not None:
                    break
            else:
                return False
            if not self._same(own, method):
                return False
        return True

    def _method(self, scope: int, name: str) -> int | None:
        return next((each.scope for each in _methods(self.own(scope, name, Instance(scope)))), None)

    def _same(self, one: int, other: int) -> bool:
        """Return whether two methods take and give as many things, and of the same types as far as these are known."""
        first, second = self._typed.scope(one), self._typed.scope(other)
        if ("gives" in first.marks) != ("gives" in second.marks) or not self._take_alike(one, other):
            return False
        files = self._typed.scope_file[one], self._typed.scope_file[other]
        return self._agree(self._typed.of(files[0], first.type), self._typed.of(files[1], second.type))

    def _take_alike(self, one: int, other: int) -> bool:
        """Return whether two methods take as many things, and of the same types as far as these are known."""
        first, second = self._typed.scope(one).params, self._typed.scope(other).params
        if len(first) != len(second):
            return False
        files = self._typed.scope_file[one], self._typed.scope_file[other]
        pairs = [(a.type, b.type) for a, b in zip(first[1:], second[1:], strict=True)]
        return all(self._agree(self._typed.of(files[0], a), self._typed.of(files[1], b)) for a, b in pairs)

    def _agree(self, one: Values, other: Values) -> bool:
        """Return whether something can be of both of two types, as far as these are known."""
        first, second = ({_form(each) for each in values} for values in (one, other))
        if first and second and not first & second:
            return False
        pairs = [(a, b) for a in one for b in other if isinstance(a, Container) and isinstance(b, Container)]
        return all(self._hold_alike(a, b) for a, b in pairs if a.kind == b.kind == "tuple")

    def _hold_alike(self, one: Container, other: Container) -> bool:
        item = self._typed.containers.item
        return all(self._agree(item(one, {key}), item(other, {key})) for key in ("int:0", "int:1", "int:2"))

    def _seen(self, value: Value, holder: Value) -> Value:
        """Return *value*, found on a type, as it is seen through *holder*: a method is bound to an instance."""
        if (
            not isinstance(value, Function)
            or value.self_ is not None
            or not isinstance(holder, Instance | External | Container)
        ):
            return value
        return Function(value.scope, holder) if self._typed.owner(value.scope) is not None else value


def _methods(values: Values) -> list[Function]:
    return [each for each in values if isinstance(each, Function)]


def _form(value: Value) -> Value | str:
    """Return *value* without the place where its type is written down."""
    return value.kind if isinstance(value, Container) else "function" if isinstance(value, Function) else value
