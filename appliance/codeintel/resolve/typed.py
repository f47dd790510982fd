"""What terms can be in languages whose parameters, fields, variables and results have declared types.

How a language joins:

- Its front end (`parse.flow`) walks a file with `parse.flow.typed.Typed`, which has scopes, blocks and calls, and fills
  the hooks `declared` (an instance of the type that is written down) and `visit` (a statement or expression, which
  `read` hands on). A type is a scope of the kind "class": its names are what stands in it, fields with an instance of
  their type; ``bases`` are the types that it inherits from, embeds or implements; its marks say "interface" or
  "abstract". Overloads are bound to one name one after the other, and a constructor to the name ``new()``. The first
  parameter of a method that is called on something is `flow.RECEIVER`.
- What adds to a type from outside of its body (a Go method, an ``impl``, ``A::f``, a part of a partial class, an
  extension) is a class scope of its own with the mark "extends", whose first base is that type and further ones are what
  it implements.
- Containers are `Op.MAKE` of a kind, with what they hold; pointers and references are what they point to. A type that is
  another one under a name of its own is a class that has that at `UNDERLYING`: a container, or the signature of a
  function.
- Functions of a type that is written down have the mark "signature": what they give is known, what is called is not.
  Parameters and fields that have a type learn nothing but functions; those without one (of a generic type) learn
  everything.
- `Flow.unit` is the package or namespace as the file says it. A namespace in a file is a scope of the kind "module"
  whose name is that of the unit in the one around it. A class of its own below `units.Units` makes full names of that
  and of paths and settings. All files of a unit see each other's names.
- What a file alone calls by a name (an import) goes to `Typed.imports`: `Op.IMPORT` with the full name of a unit, or
  `Op.FROM` with a name of it. What brings all its names is bound to ``*`` of the module scope, and what others can take
  from here is bound to the module's names.
- `Typed.named` and `Typed.attribute` note what is read, at the line of what `read` and `declared` stand on. Where fields and
  methods can share a name, as in Rust, the names of fields begin with a dot.
- `resolve.families` gets a `Family` with the languages, that class, an evaluator below `TypedEvaluator` and its `Words`,
  and `parse.flow.languages` the front end.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

from appliance.codeintel.flow import RECEIVER, UNKNOWN, Flow, Op, Site, Term
from appliance.codeintel.resolve import outside
from appliance.codeintel.resolve.cells import NOTHING, Cells, Values
from appliance.codeintel.resolve.evaluate import Evaluator, some
from appliance.codeintel.resolve.members import EXTENDS, Members
from appliance.codeintel.resolve.typed_calls import TypedCalls, TypedContainers
from appliance.codeintel.resolve.units import Units
from appliance.codeintel.resolve.values import (
    Class,
    Constant,
    Container,
    External,
    Function,
    Generator,
    Instance,
    Method,
    Module,
    Package,
    Results,
    Super,
    Value,
)  # fmt: skip

ALL: Final = "*"  # the name of what brings all its names into a module
UNDERLYING: Final = "="  # the name of what a type is made of that is another one under a new name


class TypedEvaluator(Evaluator):
    """Evaluates terms of languages with declared types. Each language says what it does otherwise."""

    calls_as: ClassVar[type[TypedCalls]] = TypedCalls
    containers_as: ClassVar[type[TypedContainers]] = TypedContainers
    members_as: ClassVar[type[Members]] = Members
    virtual: ClassVar[bool] = False  # whether a method of any type can be overridden by a type that inherits from it
    overloads: ClassVar[bool] = False  # whether methods of a name leave others in sight that are inherited
    structural: ClassVar[bool] = False  # whether whatever has the methods of an interface implements it
    sees_outer: ClassVar[bool] = False  # whether the names of a unit are known in the units in it
    makes: ClassVar[bool] = True  # whether a type that is called makes an instance, or only turns something into one
    itself: ClassVar[bool] = False  # whether a function is what any method of an interface means that it stands for

    def __init__(self, flows: Sequence[Flow], modules: Units) -> None:
        super().__init__(flows, modules)
        self.units = modules
        self.classes: Members = self.members_as(self)
        self.containers: TypedContainers = self.containers_as(self)
        self.calls: TypedCalls = self.calls_as(self)
        self._declaring: dict[tuple[str, str], list[int]] = defaultdict(list)  # module scopes by unit and name
        self._reaching: dict[str, list[int]] = defaultdict(list)  # module scopes by unit that bring names of others
        for file, inner in enumerate(modules.inner):
            for number, unit in inner.items():
                for name in flows[file].scopes[number].names:
                    to = self._reaching[unit] if name == ALL else self._declaring[unit, name]
                    to.append(self.first_scope[file] + number)
        by_place = [flow for flow in flows if any(not store.name and store.key for store in flow.stores)]
        self._stored |= {name for flow in by_place for scope in flow.scopes if scope.kind == "class" for name in scope.names}
        self.classes.prepare()
        # What was asked for before all of that was known may be less than there is.
        self.cells = Cells(self.most, terms=self.first_term[-1])

    def begin(self) -> None:
        """Learn nothing: which types stand below which is known from the start."""

    def unit_of(self, scope: int) -> str:
        """Return the full name of the unit that the module *scope* is a part of."""
        file = self.scope_file[scope]
        return self.units.inner[file][scope - self.first_scope[file]]

    def name(self, scope: int, name: str, *, builtins: bool = True) -> Values:
        """Return what *name* of *scope* holds, or else in the scopes and units around it."""
        return self.cells.recall(("name", scope, name, builtins), lambda: self._named(scope, name, builtins=builtins))

    def _named(self, scope: int, name: str, *, builtins: bool) -> Values:
        one, file = self.scope(scope), self.scope_file[scope]
        if one.kind in {"function", "lambda"}:
            return self.of(file, one.names.get(name, UNKNOWN)) | self.stored("static", scope, name)
        outer = self.first_scope[file] + one.parent
        if one.kind == "class":
            found = self.union(self._of_this(each, name) for each in self.classes.whole(scope))
            return found or self.name(outer, name, builtins=builtins)
        if name in one.names:
            return self._standing(scope, name)
        found = self._of_unit(Package(self.unit_of(scope)), name) or self._brought(scope, name)
        if found or (self.unit_of(scope), name) in self._declaring:
            return found
        if one.parent >= 0 and self.sees_outer:
            return self.name(outer, name, builtins=builtins)
        return self._elsewhere(scope, name) if builtins else NOTHING

    def _standing(self, scope: int, name: str) -> Values:
        """Return what *name* of the module *scope* holds; what it is declared as too, if anything assigns to the name."""
        file, term = self.scope_file[scope], self.scope(scope).names[name]
        found = self.of(file, term) | self.stored("static", scope, name)
        one = self.flows[file].terms[term]
        return found | self.of(file, one.b) if one.op == Op.ELSE and name in self._stored else found

    def _elsewhere(self, scope: int, name: str) -> Values:
        """Return what *name* means where nothing around binds it: a unit, or something outside."""
        unit = self.units.find(name, importer=self.scope_file[scope])
        return frozenset((unit if isinstance(unit, Package) else External(f"{self.words.builtins}.{name}"),))

    def _of_this(self, scope: int, name: str) -> Values:
        """Return what *name* alone is in the body of the type *scope*."""
        found = self.attribute(Instance(scope), name)
        return frozenset(each for each in found if not isinstance(each, External)) if self.sees_outer else found

    def _of_unit(self, unit: Package, name: str) -> Values:
        """Return what *name* of a unit is, seen from anywhere."""
        found: set[Value] = set()
        for scope in self.declaring(unit, name):
            found |= self._standing(scope, name)
        return frozenset(found) | some(self.modules.below(unit, name, importer=0))

    def _brought(self, scope: int, name: str) -> Values:
        """Return what *name* is in what the module *scope* brings all names of."""
        sources = self.of(self.scope_file[scope], self.scope(scope).names.get(ALL, UNKNOWN))
        return self.union(self.attribute(each, name) for each in sources if not isinstance(each, External))

    def is_named(self, file: int, term: int) -> bool:
        """Return whether *term* is a unit or a type."""
        return all(isinstance(each, Package | Class) for each in self.of(file, term))

    def whole(self, scope: int) -> tuple[int, ...]:
        """Return the types that the class *scope* is a part of: itself, or what it adds to."""
        return self.classes.whole(scope)

    def promised(self, scope: int) -> Iterable[tuple[int, int]]:
        """Return what has all methods of the interface *scope*, and these: each with what it implements."""
        return self.classes.alike(scope) if self.structural else ()

    def converts(self, file: int, site: Site) -> bool:
        """Return whether what looks like a call turns something into another type."""
        return not self.makes and any(isinstance(each, Class) for each in self.of(file, site.function))

    def declaring(self, unit: Package, name: str) -> Sequence[int]:
        """Return the module scopes of *unit* that bind *name*."""
        return self._declaring.get((unit.name, name), ())

    def attribute(self, value: Value, name: str) -> Values:
        """Return what *name* of *value* can be; a method is bound to what it is taken from."""
        match value:
            case Package(unit):
                return self.cells.recall(("of", unit, name), lambda: self._taken_from(value, name))
            case Module(file):
                return self.attribute(Package(self.units.of[file]), name)
            case Class(scope):
                return self.classes.member(scope, name, bound_to=None)
            case Instance(scope):
                return self.classes.member(scope, name, bound_to=value)
            case Super(after, self_):
                return self.classes.behind(after, self_, name)
            case External(path):
                return self.classes.added(path, name, value) or some(outside.member(path, name))
            case Constant(text):
                kind = f"{self.words.builtins}.{text.partition(':')[0]}"
                return self.classes.added(kind, name, value) or frozenset((External(f"{kind}.{name}"),))
            case _:
                return self._of_builtin(value, name)

    def _of_builtin(self, value: Value, name: str) -> Values:
        match value:
            case Container(kind=kind):
                return self.classes.added(kind, name, value) or frozenset((Method(value, name),))
            case Generator() | Results():
                return frozenset((Method(value, name),))
            case Function() if self.itself:
                return frozenset((value,))
            case _:
                return NOTHING

    def _taken_from(self, unit: Package, name: str) -> Values:
        return self._of_unit(unit, name) or self.union(
            self._brought(each, name) for each in self._reaching.get(unit.name, ())
        )

    def _taken(self, file: int, term: Term) -> Values:
        source = self.modules.find(term.text, importer=file)
        return self.attribute(source, term.name)

    def parameter(self, scope: int, place: int) -> Values:
        """Return what a parameter can be: an instance of its type, and what calls hand over."""
        param, file = self.scope(scope).params[place], self.scope_file[scope]
        if param.name == RECEIVER:
            owners = self.owners(scope)
            return frozenset(map(Instance, owners)) or self.of(file, param.type)
        return self.cells.read(self.param_key(scope, place)) | self.of(file, param.type) | self.of(file, param.default)

    def owners(self, scope: int) -> tuple[int, ...]:
        """Return the types that the function *scope* is a method of: several where what it adds to has several meanings."""
        one = self.scope(scope)
        if one.kind != "function" or not one.params or one.params[0].name != RECEIVER:
            return ()
        parent = self.first_scope[self.scope_file[scope]] + one.parent
        return self.classes.whole(parent) if self.scope(parent).kind == "class" else ()

    def owner(self, scope: int) -> int | None:
        """Return the type that the method *scope* belongs to, or None if it is none that is called on something.

        Of one that adds to what lies outside it is the scope that it stands in.
        """
        owners = self.owners(scope)
        if owners:
            return owners[0]
        one = self.scope(scope)
        parent = self.first_scope[self.scope_file[scope]] + max(one.parent, 0)
        takes = one.kind == "function" and bool(one.params) and one.params[0].name == RECEIVER
        return parent if takes and EXTENDS in self.scope(parent).marks else None

    def underlying(self, value: Value) -> Values:
        """Return what an instance of a type that is another one under a new name is underneath."""
        if not isinstance(value, Instance):
            return NOTHING
        return self.classes.own(value.scope, UNDERLYING, value)

    def keeps(self, value: Value) -> bool:
        """Return whether what has a declared type learns that it is *value*: a function, whose type says too little."""
        return isinstance(value, Function)

    def can_be_function(self, declared: Values) -> bool:  # noqa: ARG002 - for languages where functions are told from the rest
        """Return whether what is *declared* so can be a function."""
        return True

    def parts(self) -> Mapping[int, int]:
        """Return which class scopes are parts of which others: here none."""
        return {}

    def meet(self, functions: Values, declared: Values) -> None:
        """Learn what *functions* are called with, now that they are known to be what is *declared*: here nothing."""
