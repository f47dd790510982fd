"""Rounds over call sites and stores where types are declared: what is learnt is which functions are handed around."""

from collections.abc import Iterator, Sequence

from appliance.codeintel.flow import RECEIVER, UNKNOWN, Flow, Site
from appliance.codeintel.resolve.calls import Arguments, bound
from appliance.codeintel.resolve.cells import NOTHING, Values
from appliance.codeintel.resolve.containers import ANY
from appliance.codeintel.resolve.evaluate import Evaluator
from appliance.codeintel.resolve.modules import Finder
from appliance.codeintel.resolve.solve import Solver
from appliance.codeintel.resolve.typed import TypedEvaluator
from appliance.codeintel.resolve.values import Class, Container, Function, Instance, Package, Value


class TypedSolver(Solver):
    """Solves the flows of one repository in languages with declared types."""

    def __init__(self, flows: Sequence[Flow], modules: Finder, evaluator: type[Evaluator] = TypedEvaluator) -> None:
        super().__init__(flows, modules, evaluator)
        if not isinstance(self.values, TypedEvaluator):
            raise TypeError(evaluator)
        self._typed = self.values

    def _called(self, file: int, site: Site) -> Iterator[Value]:
        for value in self._typed.calls.chosen(file, site):
            if isinstance(value, Class):
                yield from self._typed.calls.constructors(value, site)
            else:
                yield from self._beneath(value)

    def _beneath(self, value: Value) -> Iterator[Value]:
        """Yield *value*, or the functions that it is of a named type of."""
        beneath = [each for each in self._typed.underlying(value) if isinstance(each, Function)]
        yield from beneath or (value,)

    def _pass(self, scope: int, self_: Value | None, arguments: Arguments) -> None:
        params, file = self._typed.scope(scope).params, self._typed.scope_file[scope]
        for place, values in bound(Function(scope, self_), arguments, params).items() if params else ():
            param = params[place]
            if param.name == RECEIVER and place == 0:
                continue
            declared = self._typed.of(file, param.type) if param.type else NOTHING
            self._learn(("param", scope, place), values, declared, is_declared=param.type != UNKNOWN)
        if params and params[-1].star:
            taken = len(params) - 1 - (params[0].name == RECEIVER)
            rest = arguments[taken:]
            single = self._typed.union(values for name, values in rest if not name)
            whole = self._typed.union(values for name, values in rest if name)
            held = self._typed.of(file, params[-1].type)
            self._typed.calls.fill(held, single)
            self._typed.calls.refill(held, whole)

    def _learn(self, cell: tuple[str, int, int | str], values: Values, declared: Values, *, is_declared: bool) -> None:
        """Let *cell* hold *values*; if there is a type that says what it holds, those alone that say more."""
        kept = frozenset(each for each in values if self._typed.keeps(each)) if is_declared else values
        if kept:
            self._typed.cells.add(cell, kept)
        if is_declared:
            self._typed.calls.refill(declared, values)

    def _store(self, file: int, base: int, name: str, key: int, values: Values) -> None:
        for value in self._typed.of(file, base):
            match value:
                case Instance(scope) | Class(scope) if name:
                    holder = self._typed.classes.declaring(scope, name)
                    declared = self._typed.classes.own(holder, name, Instance(holder))
                    self._learn(("attribute", holder, name), values, declared, is_declared=bool(declared))
                case Package() if name:
                    self._store_in(value, name, values)
                case Instance():
                    self._typed.calls.fill(self._typed.underlying(value), values)
                case Container(term) if not name and not self._typed.containers.item(value, {ANY}):
                    for each in self._typed.containers.keys(self._typed.of(file, key)) if key else {ANY}:
                        self._typed.calls.put(term, each, values)
                case Container() if not name:
                    self._typed.calls.fill(frozenset((value,)), values)
                case _:
                    pass

    def _store_in(self, unit: Package, name: str, values: Values) -> None:
        for scope in self._typed.declaring(unit, name):
            one, file = self._typed.scope(scope), self._typed.scope_file[scope]
            declared = self._typed.of(file, one.names[name])
            self._learn(("static", scope, name), values, declared, is_declared=bool(declared))
