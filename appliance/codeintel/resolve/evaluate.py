"""What terms can be, given what is known so far of parameters, attributes and items."""

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import ClassVar, Final

from appliance.codeintel.flow import UNKNOWN, Flow, FlowScope, Op, Site, Term
from appliance.codeintel.resolve import outside
from appliance.codeintel.resolve.calls import Calls
from appliance.codeintel.resolve.cells import MOST, NOTHING, Cells, Values
from appliance.codeintel.resolve.classes import Classes
from appliance.codeintel.resolve.containers import ANY, Containers
from appliance.codeintel.resolve.modules import Finder
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
from appliance.codeintel.resolve.words import PYTHON, Words

_ARGUMENTS: Final = "argparse.ArgumentParser.parse_args"  # what a call of that gives has the same name
_CLASS: Final = "__class__"
_ON_CLASS: Final = frozenset({"__new__", "__init_subclass__", "__class_getitem__"})


class Evaluator:
    """Evaluates the terms of all flows, as Python does. Terms and scopes are counted through all of them."""

    words: ClassVar[Words] = PYTHON
    keeps_else: ClassVar[bool] = True  # whether what stood in for something stays when that comes to be known
    calls_as: ClassVar[type[Calls]] = Calls
    containers_as: ClassVar[type[Containers]] = Containers
    most: ClassVar[int] = MOST  # things that something can be

    def __init__(self, flows: Sequence[Flow], modules: Finder) -> None:
        self.flows = flows
        self.modules = modules
        self.first_term = [0, *accumulate(len(flow.terms) for flow in flows)]
        self.first_scope = [0, *accumulate(len(flow.scopes) for flow in flows)]
        self.scope_file = [file for file, flow in enumerate(flows) for _ in flow.scopes]
        params = (len(scope.params) for flow in flows for scope in flow.scopes)
        self._first_param = array("i", accumulate(params, initial=self.first_term[-1]))  # counted on from the terms
        self.cells = Cells(self.most, terms=self._first_param[-1])
        self._bringers: dict[tuple[int, str], int | None] = {}
        self._stored = _stored(flows)
        self.classes = Classes(self)
        self.containers = self.containers_as(self)
        self.calls = self.calls_as(self)

    def begin(self) -> None:
        """Learn what holds before anything is learnt from calls."""
        self.classes.prepare()

    def scope(self, number: int) -> FlowScope:
        """Return a scope by its number among all."""
        file = self.scope_file[number]
        return self.flows[file].scopes[number - self.first_scope[file]]

    def of(self, file: int, term: int) -> Values:
        """Return what *term* of *file* can be, as far as is known."""
        if term == UNKNOWN:
            return NOTHING
        number = self.first_term[file] + term
        found = self.cells.known(number)
        if found is not None:
            return found
        one = self.flows[file].terms[term]
        if one.op in _PLAIN:
            return self.cells.fix(number, self._plain(file, one, number))
        return self.cells.renew(number, lambda: self._evaluate(file, one), grows=one.op != Op.ELSE or self.keeps_else)

    def param_key(self, scope: int, place: int) -> int:
        """Return the key of what calls hand over to a parameter."""
        return self._first_param[scope] + place

    def stored(self, kind: str, scope: int, name: str) -> Values:
        """Return what was stored as *name* on instances ("attribute") or on the class or module itself ("static")."""
        return self.cells.read((kind, scope, name)) if name in self._stored else NOTHING

    def holds(self, name: str) -> bool:
        """Return whether anything may be stored as *name*."""
        return name in self._stored

    def union(self, each: Iterable[Values]) -> Values:
        """Return everything in *each*."""
        sets = list(each)
        return sets[0] if len(sets) == 1 else NOTHING.union(*sets)

    def _plain(self, file: int, term: Term, number: int) -> Values:
        """Evaluate a term that is the same for ever."""
        match term.op:
            case Op.CONST:
                return frozenset((Constant(term.text),))
            case Op.BUILTIN:
                return frozenset((External(f"{self.words.builtins}.{term.text}"),))
            case Op.MAKE:
                return frozenset((Container(number, term.text),))
            case Op.IMPORT:
                return frozenset((self.modules.find(term.text, importer=file),))
            case _:
                scope = self.first_scope[file] + term.a
                return frozenset((Class(scope) if self.scope(scope).kind == "class" else Function(scope),))

    def _evaluate(self, file: int, term: Term) -> Values:
        first = self.first_scope[file]
        match term.op:
            case Op.READ:
                return self.name(first + term.a, term.text)
            case Op.PARAM:
                return self.parameter(first + term.a, term.b)
            case Op.ATTR:
                return self.union([self.attribute(value, term.text) for value in self.of(file, term.a)])
            case Op.CALL:
                return self.calls.given(file, term.a)
            case Op.JOIN:
                return self.union([self.of(file, item) for item in term.items])
            case Op.FROM:
                return self._taken(file, term)
            case Op.SUPER:
                selves = self.of(file, term.b)
                return frozenset(Super(first + term.a, each) for each in selves if isinstance(each, Instance | Class))
            case Op.ELSE:
                found = self.of(file, term.a)
                return found if any(not isinstance(each, External) for each in found) else self.of(file, term.b) or found
            case _:
                return self._derived(file, term)

    def _derived(self, file: int, term: Term) -> Values:
        values = self.of(file, term.a)
        match term.op:
            case Op.ITEM:
                keys = self.containers.keys(self.of(file, term.b)) if term.b else {ANY}
                return self.union(self.containers.item(value, keys) for value in values)
            case Op.NEXT:
                return self.union(self.containers.iterated(value) for value in values)
            case Op.ENTER:
                return self.union(self.containers.entered(value) for value in values)
            case Op.INSTANCE:
                return self.union(self.instance(value) for value in values)
            case Op.SLICE:
                return frozenset(
                    Container(value.term, value.kind, value.start + term.b) if isinstance(value, Container) else value
                    for value in values
                )
            case _:
                return NOTHING

    def _taken(self, file: int, term: Term) -> Values:
        source = self.modules.find(term.text, importer=file)
        if isinstance(source, External):
            return some(outside.member(source.path, term.name))
        found = self.attribute(source, term.name)
        if found or (isinstance(source, Module) and term.name in self.flows[source.file].scopes[0].names):
            return found
        return frozenset((External(f"{term.text}.{term.name}"),))

    def name(self, scope: int, name: str, *, builtins: bool = True) -> Values:
        """Return what *name* of *scope* holds; of a module also what its imports of everything bring.

        With *builtins* what nobody binds is a builtin.
        """
        file, one = self.scope_file[scope], self.scope(scope)
        found, kept = self.of(file, one.names.get(name, UNKNOWN)), self.stored("static", scope, name)
        if kept:
            found |= kept
        if found or one.kind != "module" or name in one.names:
            return found
        bringer = self.bringer(file, name)
        if bringer is not None:
            return self.name(self.first_scope[bringer], name)
        return frozenset((External(f"builtins.{name}"),)) if builtins else NOTHING

    def declaring(self, unit: Package, name: str) -> Sequence[int]:  # noqa: ARG002 - for languages that have units
        """Return the module scopes of *unit* that bind *name*."""
        return ()

    def exported(self, file: int, name: str) -> tuple[int, str]:
        """Return the scope, and the name in it, where the module *file* keeps what others take from it as *name*."""
        return self.first_scope[file], name

    def bringer(self, file: int, name: str) -> int | None:
        """Return the file that binds *name*, of those whose names *file* imports all of, and they in turn."""
        if name.startswith("_") or not self.flows[file].stars:
            return None
        if (file, name) not in self._bringers:
            asked, waiting = {file}, [file]
            found = None
            while waiting and found is None:
                at = waiting.pop()
                if at != file and name in self.flows[at].scopes[0].names:
                    found = at
                for star in reversed(self.flows[at].stars):
                    source = self.modules.find(star, importer=at)
                    if isinstance(source, Module) and source.file not in asked:
                        asked.add(source.file)
                        waiting.append(source.file)
            self._bringers[file, name] = found
        return self._bringers[file, name]

    def parameter(self, scope: int, place: int) -> Values:
        """Return what a parameter can be: its default, what calls hand over, an instance of its type."""
        file, one = self.scope_file[scope], self.scope(scope)
        param = one.params[place]
        if param.star:
            return NOTHING
        found = self.cells.read(self.param_key(scope, place))
        if param.default or param.type:
            found = found.union(self.of(file, param.default), self.of(file, param.type))
        if place == 0 and (owner := self.owner(scope)) is not None:
            on_class = "classmethod" in one.marks or one.name in _ON_CLASS
            found |= {Class(owner) if on_class else Instance(owner)}
        return found

    def owner(self, scope: int) -> int | None:
        """Return the class that the method *scope* stands in, or None if it is none or takes no instance."""
        one = self.scope(scope)
        if one.kind == "module" or "staticmethod" in one.marks:
            return None
        parent = self.first_scope[self.scope_file[scope]] + one.parent
        return parent if self.scope(parent).kind == "class" else None

    def is_named(self, file: int, term: int) -> bool:  # noqa: ARG002 - for languages where the term does not tell
        """Return whether what stands before a name is no value but a place where names are, such as a module."""
        return False

    def replaceable(self, scope: int, name: str) -> bool:  # noqa: ARG002 - for languages where a method says so
        """Return whether *name* of the class *scope* can replace that of a base, and does not only hide it."""
        return True

    def defined_by(self, scope: int) -> Values:  # noqa: ARG002 - for languages where something is declared elsewhere
        """Return the functions that define what *scope* only declares."""
        return NOTHING

    def property_name(self, scope: FlowScope) -> str:
        """Return by what name the property is read that *scope* is the function of."""
        return scope.name

    def converts(self, file: int, site: Site) -> bool:  # noqa: ARG002 - for languages where a type is called for it
        """Return whether what looks like a call turns something into another type."""
        return False

    def attribute(self, value: Value, name: str) -> Values:
        """Return what *name* of *value* can be."""
        match value:
            case Module(file):
                return self._of_module(value, file, name)
            case Package():
                return some(self.modules.below(value, name, importer=0))
            case Class(scope):
                return self.classes.member(scope, name, bound_to=None)
            case Instance(scope) if name == _CLASS:
                return frozenset((Class(scope),))
            case Instance(scope):
                return self.classes.member(scope, name, bound_to=value)
            case Super(after, self_):
                return self.classes.behind(after, self_, name)
            case External(path):
                kept = self.cells.read(("argument", name)) if path == _ARGUMENTS else NOTHING
                return kept or some(outside.member(path, name))
            case Constant(text):
                return some(outside.member(f"builtins.{text.partition(':')[0]}", name))
            case Container() | Generator() | Results():
                return frozenset((Method(value, name),))
            case _:
                return NOTHING

    def beginning(self, value: Value, start: str) -> list[str]:
        """Return the names that begin with *start* and that *value*, a module, a class or an instance, has."""
        match value:
            case Module(file):
                scopes: Sequence[int | External] = (self.first_scope[file],)
            case Class(scope) | Instance(scope):
                scopes = self.classes.order(scope)
            case _:
                scopes = ()
        names = (name for each in scopes if isinstance(each, int) for name in self.scope(each).names)
        return [name for name in dict.fromkeys(names) if name.startswith(start) and name.isidentifier()][: self.most]

    def promised(self, scope: int) -> Iterable[tuple[int, int]]:  # noqa: ARG002 - for languages where nobody says so
        """Return what implements the class *scope* without saying so, and its methods: each with what it implements."""
        return ()

    def whole(self, scope: int) -> tuple[int, ...]:
        """Return the classes that the class *scope* is a part of: here itself."""
        return (scope,)

    def getters(self, value: Value, name: str) -> Values:
        """Return the functions that are called when *name* of *value* is read, where it is a property."""
        return self.classes.getters(value, name)

    def _of_module(self, value: Module, file: int, name: str) -> Values:
        found = self.name(self.first_scope[file], name, builtins=False)
        return found or some(self.modules.below(value, name, importer=file))

    def instance(self, value: Value) -> Values:
        """Return an instance of the type *value*."""
        match value:
            case Class(scope):
                return frozenset((Instance(scope),))
            case External():
                return frozenset((value,))
            case _:
                return NOTHING


def _stored(flows: Sequence[Flow]) -> set[str]:
    """Return the names that anything may be stored as: by an assignment, or by the keyword of a call."""
    assigned = {store.name for flow in flows for store in flow.stores}
    return assigned | {name for flow in flows for name in flow.sites.texts}


def some(value: Value | None) -> Values:
    """Return the set of *value*, empty for None."""
    return NOTHING if value is None else frozenset((value,))


_PLAIN: Final = frozenset({Op.CONST, Op.BUILTIN, Op.MAKE, Op.IMPORT, Op.DEF})
