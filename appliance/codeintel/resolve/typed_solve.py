"""Rounds over call sites and stores where types are declared: what is learnt is which functions are handed around."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Final

from appliance.codeintel.flow import RECEIVER, UNKNOWN, Flow, Site
from appliance.codeintel.resolve.calls import Arguments, bound
from appliance.codeintel.resolve.cells import NOTHING, Values
from appliance.codeintel.resolve.containers import ANY
from appliance.codeintel.resolve.evaluate import Evaluator
from appliance.codeintel.resolve.modules import Finder
from appliance.codeintel.resolve.solve import Solver
from appliance.codeintel.resolve.typed import TypedEvaluator
from appliance.codeintel.resolve.values import Class, Container, Function, Instance, Package, Value

_MOST_OF_TYPE: Final = 12  # functions of one named type


class TypedSolver(Solver):
    """Solves the flows of one repository in languages with declared types."""

    def __init__(self, flows: Sequence[Flow], modules: Finder, evaluator: type[Evaluator] = TypedEvaluator) -> None:
        super().__init__(flows, modules, evaluator)
        if not isinstance(self.values, TypedEvaluator):
            raise TypeError(evaluator)
        self._typed = self.values

    def _called(self, file: int, site: Site) -> Iterator[Value]:
        if site.kind == "iter":
            yield from self._looped(self._typed.of(file, site.function))
            return
        called = self._typed.calls.chosen(file, site)
        for value in called:
            if isinstance(value, Class):
                yield from self._typed.calls.constructors(value, file, site)
            elif isinstance(value, Instance) and len(called) == 1:
                yield from self._of_type(value.scope)
            else:
                yield value

    def _looped(self, over: Values) -> Iterator[Value]:
        """Yield what a loop *over* something calls: what gives the next thing, of that or of the iterator that it makes."""
        words = self._typed.words
        for value in (each for each in over if isinstance(each, Instance)):
            made = self._typed.attribute(value, words.iterator)
            yield from (each for each in made if isinstance(each, Function))
            for each in self._typed.calls.called(made) | {value}:
                if isinstance(each, Instance):
                    following = self._typed.attribute(each, words.following)
                    yield from (function for function in following if isinstance(function, Function))

    def _of_type(self, scope: int) -> Iterator[Value]:
        """Yield the functions that are known to be of the named type *scope*, if they are not too many to tell anything."""
        known = self._typed.cells.read(("functions", scope))
        if len(known) <= _MOST_OF_TYPE:
            yield from known

    def _hand_over(self, file: int, number: int) -> None:
        super()._hand_over(file, number)
        site = self._typed.flows[file].sites[number]
        named = [each.scope for each in self._typed.of(file, site.function) if isinstance(each, Class)]
        for scope in named if not self._typed.makes else ():
            given = self._typed.union(self._typed.of(file, term) for _, term in site.arguments)
            self._typed.calls.turn(
                frozenset((Instance(scope),)), frozenset(each for each in given if self._typed.keeps(each))
            )

    def _pass(self, scope: int, self_: Value | None, arguments: Arguments) -> None:
        params, file = self._typed.scope(scope).params, self._typed.scope_file[scope]
        for place, values in bound(Function(scope, self_), arguments, params).items() if params else ():
            param = params[place]
            if param.name == RECEIVER and place == 0:
                continue
            declared = self._typed.of(file, param.type) if param.type else NOTHING
            self._learn(self._typed.param_key(scope, place), values, declared, is_declared=param.type != UNKNOWN)
        if params and params[-1].star:
            taken = len(params) - 1 - (params[0].name == RECEIVER)
            rest = arguments[taken:]
            single = self._typed.union(values for name, values in rest if not name)
            whole = self._typed.union(values for name, values in rest if name)
            held = self._typed.of(file, params[-1].type)
            self._typed.calls.fill(held, single)
            self._typed.calls.refill(held, whole)

    def _learn(self, cell: Hashable, values: Values, declared: Values, *, is_declared: bool) -> None:
        """Let *cell* hold *values*; if there is a type that says what it holds, those alone that say more."""
        functional = not is_declared or self._typed.can_be_function(declared)
        kept = frozenset(e for e in values if functional and self._typed.keeps(e)) if is_declared else values
        if kept:
            self._typed.cells.add(cell, kept)
            self._typed.meet(kept, declared)
        if is_declared:
            self._typed.calls.turn(declared, kept)
            self._typed.calls.refill(declared, values)

    def _store(self, file: int, base: int, name: str, key: int, values: Values) -> None:
        for value in self._typed.of(file, base):
            self._store_one(file, value, name, key, values)

    def _store_one(self, file: int, value: Value, name: str, key: int, values: Values) -> None:
        match value:
            case Instance(scope) | Class(scope) if name:
                holder = self._typed.classes.declaring(scope, name)
                declared = self._typed.classes.own(holder, name, Instance(holder))
                self._learn(("attribute", holder, name), values, declared, is_declared=bool(declared))
            case Package() if name:
                self._store_in(value, name, values)
            case Instance(scope) if not self._typed.underlying(value):
                self._store_at(file, scope, key, values)
            case Instance():
                self._typed.calls.fill(self._typed.underlying(value), values)
            case Container(term) if not name and not self._typed.containers.item(value, {ANY}):
                for each in self._typed.containers.keys(self._typed.of(file, key)) if key else {ANY}:
                    self._typed.calls.put(term, each, values)
            case Container() if not name:
                self._typed.calls.fill(frozenset((value,)), values)
            case _:
                pass

    def _store_at(self, file: int, scope: int, key: int, values: Values) -> None:
        """Let the field of *scope* that stands at the place *key* hold *values*."""
        fields = list(self._typed.scope(scope).names)
        for text in self._typed.containers.keys(self._typed.of(file, key)) if key else ():
            if (place := text.removeprefix("int:")).isdigit() and int(place) < len(fields):
                name = fields[int(place)]
                declared = self._typed.classes.own(scope, name, Instance(scope))
                self._learn(("attribute", scope, name), values, declared, is_declared=bool(declared))

    def _store_in(self, unit: Package, name: str, values: Values) -> None:
        for scope in self._typed.declaring(unit, name):
            one, file = self._typed.scope(scope), self._typed.scope_file[scope]
            declared = self._typed.of(file, one.names[name])
            self._learn(("static", scope, name), values, declared, is_declared=bool(declared))
