"""What calls give in C and C++, what their containers hold, and what the members of their types are."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from appliance.codeintel.flow import RECEIVER, Op, Site, Term
from appliance.codeintel.resolve.calls import Arguments
from appliance.codeintel.resolve.cells import NOTHING, Values
from appliance.codeintel.resolve.containers import ANY
from appliance.codeintel.resolve.members import Members
from appliance.codeintel.resolve.typed_calls import TypedCalls, TypedContainers
from appliance.codeintel.resolve.values import (
    Class,
    Constant,
    Container,
    External,
    Function,
    Instance,
    Method,
    Package,
    Value,
)

if TYPE_CHECKING:
    from appliance.codeintel.resolve.typed import TypedEvaluator

PROTOTYPE: Final = "prototype"  # the mark of a function of which no more is known than how it is called
INTERNAL: Final = "internal"  # the mark of what its file alone sees, and those that include that
VIRTUAL: Final = "virtual"  # the mark of a method that types which inherit it may override
_CALLED: Final = {"list": "container", "pointer": "smart_ptr"}
FIELD: Final = "field:"  # stands before the place of a field among those of its type


class CMembers(Members):
    """Looks members up in types; one that is only declared in its type is what defines it elsewhere."""

    def __init__(self, evaluator: "TypedEvaluator") -> None:
        super().__init__(evaluator)
        self._virtual: dict[tuple[int, str], bool] = {}

    def own(self, scope: int, name: str, holder: Value) -> Values:
        """Return what *name* is on the type *scope* itself, or what was put there."""
        found = super().own(scope, name, holder)
        defined = {self._takes(each) for each in found if isinstance(each, Function) and not self._is_prototype(each)}
        return frozenset(each for each in found if not self._is_prototype(each) or self._takes(each) not in defined)

    def of_namespaces(self) -> dict[int, tuple[str, ...]]:
        """Return the scopes that add functions to namespaces, with the names of these."""
        adding = ((scope, self._added_to(scope)) for scope in self._whole if not self._whole[scope])
        return {scope: units for scope, units in adding if units}

    def _added_to(self, scope: int) -> tuple[str, ...]:
        added = self._typed.of(self._typed.scope_file[scope], self._typed.scope(scope).bases[0])
        return tuple(each.name for each in added if isinstance(each, Package))

    def member(self, scope: int, name: str, *, bound_to: Value | None) -> Values:
        """Return what *name* is on the type *scope*, or on *bound_to*, an instance of it, of whatever type that is made."""
        found = super().member(scope, name, bound_to=bound_to)
        if bound_to is None or not self.is_virtual(scope, name):
            return found
        return found | self._behind(scope, name, bound_to)

    def is_virtual(self, scope: int, name: str) -> bool:
        """Return whether *name* of the type *scope*, or of what it inherits from, may be overridden."""
        known = self._virtual.get((scope, name))
        if known is None:
            bases = [each for each in self.order(scope) if isinstance(each, int)]
            held = self._typed.union(super(CMembers, self).own(each, name, Class(each)) for each in bases)
            marks = (self._typed.scope(each.scope).marks for each in held if isinstance(each, Function))
            known = self._virtual[scope, name] = any(VIRTUAL in each for each in marks)
        return known

    def definitions(self, scope: int, declared: int) -> Values:
        """Return the methods of the type *scope* that define the one that is *declared* there."""
        own = self._typed.scope(declared)
        key = next((name for name, term in self._typed.scope(scope).names.items() if self._is_of(scope, term, declared)), "")
        found = self.own(scope, key, Class(scope)) if key else NOTHING
        return frozenset(each for each in found if self._takes(each) == self._takes(Function(declared)) and own.name)

    def _is_of(self, scope: int, term: int, function: int) -> bool:
        return Function(function) in self._typed.of(self._typed.scope_file[scope], term)

    def _is_prototype(self, value: Value) -> bool:
        return isinstance(value, Function) and PROTOTYPE in self._typed.scope(value.scope).marks

    def _takes(self, value: Value) -> int:
        """Return how many arguments *value* takes: a static method says only in its type that it is called on nothing."""
        params = self._typed.scope(value.scope).params if isinstance(value, Function) else ()
        return len(params) - (bool(params) and params[0].name == RECEIVER)

    def has(self, scope: int, name: str) -> bool:
        """Return whether the type *scope*, or what it inherits from, has a member *name*."""
        return any(name in self._names(each) for each in self.order(scope) if isinstance(each, int))

    def field(self, scope: int, place: int) -> str:
        """Return the name of the field at *place* of the type *scope*, "" if it has none there."""
        names = [name for name, term in self._typed.scope(scope).names.items() if not self._is_type(scope, name, term)]
        return names[place] if place < len(names) else ""

    def _is_type(self, scope: int, name: str, term: int) -> bool:
        del scope, term
        return " " in name


class CContainers(TypedContainers):
    """Looks into arrays and containers, through pointers that are types, and into the fields of types by their order."""

    takes: ClassVar[frozenset[str]] = frozenset({
        "at", "back", "front", "top", "get", "value", "load", "lock", "value_or", "operator[]", "data", "release",
    })  # fmt: skip
    places: ClassVar[frozenset[str]] = frozenset({
        "begin", "end", "cbegin", "cend", "rbegin", "rend", "find", "lower_bound", "upper_bound", "insert", "emplace",
        "erase",
    })  # fmt: skip
    puts: ClassVar[frozenset[str]] = frozenset({
        "push_back", "push_front", "push", "insert", "emplace_back", "emplace", "assign", "reset", "store", "fill",
        "insert_or_assign", "try_emplace",
    })  # fmt: skip

    def item(self, value: Value, keys: set[str]) -> Values:
        """Return what stands in *value* at *keys*: a pointer to something is what it points to."""
        if not isinstance(value, Instance):
            return super().item(value, keys)
        places = [int(key.removeprefix(FIELD)) for key in keys if key.startswith(FIELD)]
        if not places:
            return self._called(value, "operator[]") or frozenset((value,))
        members = self._typed.classes
        names = [members.field(value.scope, place) for place in places] if isinstance(members, CMembers) else []
        return self._typed.union(self._typed.attribute(value, name) for name in names if name)

    def iterated(self, value: Value) -> Values:
        """Return what an iteration over *value* yields."""
        return self.entered_all(self._called(value, "begin")) if isinstance(value, Instance) else super().iterated(value)

    def listed(self, value: Value) -> Iterator[tuple[int, Values]]:
        """Yield what a macro lists that stands where fields are filled, each with its place."""
        if isinstance(value, Container) and value.kind == "fields":
            file, term = self._made(value)
            for key, held in zip(term.items[::2], term.items[1::2], strict=True):
                place = self._typed.flows[file].terms[key].text.removeprefix(FIELD)
                yield int(place), self._typed.of(file, held)

    def entered(self, value: Value) -> Values:
        """Return what *value*, a pointer or something that is used like one, points to."""
        match value:
            case Container(kind="pointer" | "list"):
                return self.item(value, {ANY})
            case Instance():
                found = self._called(value, "operator->") or self._called(value, "operator*")
                return found or frozenset((value,))
            case _:
                return frozenset((value,))

    def entered_all(self, values: Values) -> Values:
        """Return what any of *values* points to."""
        return self._typed.union(self.entered(each) for each in values)

    def method(self, method: Method, arguments: Sequence[tuple[str, Values]]) -> Values:
        """Return what a method of a container gives; a place in one is what stands there."""
        of = method.of
        if method.name in self.places and isinstance(of, Container):
            return frozenset((Container(of.term, "pair"),)) if of.kind == "map" else self.item(of, {ANY})
        return super().method(method, arguments)


class CCalls(TypedCalls):
    """Works out what calls give."""

    follows: ClassVar[frozenset[str]] = frozenset({
        "std.move", "std.forward", "std.ref", "std.cref", "std.addressof", "std.as_const", "std.exchange", "move", "forward",
        "std.bind", "std.mem_fn", "std.next", "std.prev", "std.begin", "std.end",
    })  # fmt: skip

    def _builtin(self, path: str, arguments: Arguments, scope: int) -> Values | None:  # noqa: ARG002 - others need it
        """Return what the function *path* of the library gives, None if it is none that is followed."""
        return (arguments[0][1] if arguments else NOTHING) if path in self.follows else None

    def chosen(self, file: int, site: Site) -> Values:
        """Return what a site calls: an object that can be called is its operator, and operators are told by their types."""
        term = self._typed.flows[file].terms[site.function]
        found = self._typed.union(self._callable(each, term) for each in super().chosen(file, site))
        if site.kind != "implied" or not term.text.startswith("operator"):
            return found
        known = [each for each in found if isinstance(each, Function)]
        if term.op == Op.ATTR:
            return frozenset(known)
        given = [self._typed.of(file, term) for _, term in site.arguments]
        return frozenset(each for each in known if self._typed.owner(each.scope) is None and self._fits(each, given))

    def _fitting(self, functions: Values, file: int, site: Site) -> Values:
        """Return those of *functions* that take what a site gives: of overloads those that are known to take its types."""
        found = super()._fitting(functions, file, site)
        several = [each for each in found if isinstance(each, Function)]
        if len(several) < 2 or len({self._typed.scope(each.scope).name for each in several}) > 1:
            return found
        given = [self._typed.of(file, term) for _, term in site.arguments]
        told = {each for each in several if self._fits(each, given)}
        return frozenset(told) | {each for each in found if not isinstance(each, Function)} if told else found

    def name_of(self, method: Method) -> str:
        """Return the name of *method* as of something outside: which container of a kind it is of is not kept."""
        kind = method.of.kind if isinstance(method.of, Container) else ""
        return f"std.{_CALLED.get(kind, kind)}.{method.name}"

    def _callable(self, value: Value, term: Term) -> Values:
        """Return what is called where *term* is *value*: what cannot be called only has the name of something outside."""
        if isinstance(value, Container):  # a second name of one
            return frozenset((External(f"std.{_CALLED.get(value.kind, value.kind)}"),))
        if not isinstance(value, Instance | Constant):
            return frozenset((value,))
        operator = NOTHING if isinstance(value, Constant) else self._typed.attribute(value, "operator()")
        return operator or (frozenset((External(term.text),)) if term.op == Op.READ and "@" not in term.text else NOTHING)

    def _fits(self, value: Function, given: Sequence[Values]) -> bool:
        """Return whether *value* takes what is *given*: one of the types that it takes is there, and no other."""
        params, file = self.taken(value), self._typed.scope_file[value.scope]
        told = False
        for param, values in zip(params, given, strict=False):
            wanted = {each.scope for each in self._typed.of(file, param.type) if isinstance(each, Instance)}
            held = [each.scope for each in values if isinstance(each, Instance)]
            if wanted and held:
                told = True
                if not any(wanted & set(self._typed.classes.order(each)) for each in held):
                    return False
        return told

    def onward(self, file: int, site: Site, called: Values) -> Iterator[tuple[Function, Arguments]]:
        """Yield the functions that are handed to what lies outside, which may call them; a macro hardly does."""
        kept = (each for each in called if not isinstance(each, External) or not each.path.rpartition(".")[2].isupper())
        yield from super().onward(file, site, frozenset(kept))

    def result(self, value: Value) -> Values:
        """Return what a call of *value* gives, whatever it is called with."""
        if isinstance(value, Instance):
            return self.called(self._typed.attribute(value, "operator()"))
        return super().result(value)
