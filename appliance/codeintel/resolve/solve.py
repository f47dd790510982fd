"""Rounds over all call sites and stores until nothing new is learnt."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from appliance.codeintel.flow import Flow, SiteKind
from appliance.codeintel.resolve.calls import Arguments, bound
from appliance.codeintel.resolve.cells import Values
from appliance.codeintel.resolve.containers import ANY
from appliance.codeintel.resolve.evaluate import Evaluator
from appliance.codeintel.resolve.modules import Modules
from appliance.codeintel.resolve.values import Class, Constant, Container, External, Function, Instance, Method, Value

_MOST_ROUNDS: Final = 30
_CALLS_BACK: Final = frozenset({"map", "filter", "sorted", "min", "max"})


class Solver:
    """Solves the flows of one repository."""

    def __init__(self, flows: Sequence[Flow], modules: Modules) -> None:
        self.values = Evaluator(flows, modules)
        self.flows = flows
        self._tasks = [(file, site) for file, flow in enumerate(flows) for site in range(len(flow.sites))]
        self.settled = False
        self._first_store = len(self._tasks)
        self._tasks += [(file, store) for file, flow in enumerate(flows) for store in range(len(flow.stores))]

    @property
    def rounds(self) -> int:
        """How often something new was learnt."""
        return self.values.cells.round

    def solve(self, tell: Callable[[int, int], None] | None = None) -> None:
        """Learn what parameters, attributes and items hold. *tell* hears of rounds done, and of how many there can be.

        ``settled`` says afterwards whether there was nothing more to learn.
        """
        self._work(range(len(self._tasks)), tell)
        self.values.cells.add("lenient", frozenset((Constant("true"),)))
        self._work((), tell)

    def _work(self, tasks: Iterable[int], tell: Callable[[int, int], None] | None) -> None:
        cells, due = self.values.cells, set(tasks) or self.values.cells.due()
        most = cells.round + _MOST_ROUNDS
        while due and cells.round < most:
            if tell is not None:
                tell(cells.round, 2 * _MOST_ROUNDS)
            for task in sorted(due):
                cells.watch(task, partial(self._do, task))
            due = cells.due()
        self.settled = not due

    def _do(self, task: int) -> None:
        file, number = self._tasks[task]
        if task < self._first_store:
            self._hand_over(file, number)
        else:
            store = self.flows[file].stores[number]
            self._store(file, store.base, store.name, store.key, self.values.of(file, store.value))

    def _store(self, file: int, base: int, name: str, key: int, values: Values) -> None:
        for value in self.values.of(file, base):
            match value:
                case Instance(scope) if name:
                    self.values.cells.add(("attribute", scope, name), values)
                case Class(scope) if name:
                    self.values.cells.add(("static", scope, name), values)
                case Container(term) if not name:
                    for each in self.values.containers.keys(self.values.of(file, key)):
                        self._put(term, each, values)
                case _:
                    pass

    def _put(self, container: int, key: str, values: Values) -> None:
        self.values.cells.add(("keys", container), frozenset((Constant(key),)))
        self.values.cells.add(("item", container, key), values)

    def _hand_over(self, file: int, number: int) -> None:
        """Let the parameters of what a site calls hold its arguments."""
        site = self.flows[file].sites[number]
        functions = [value for value in self.functions(file, number) if not isinstance(value, External)]
        if not functions:
            return
        arguments = [(name, self.values.of(file, term)) for name, term in site.arguments]
        for value in functions:
            match value:
                case Function(scope, self_):
                    self._pass(scope, self_, arguments)
                case Class(scope):
                    self._construct(scope, arguments)
                case Method(Container(term, _), "append" | "add" | "appendleft" | "insert") if arguments:
                    self._put(term, ANY, arguments[-1][1])
                case Method(Container(term, _), "setdefault") if len(arguments) > 1:
                    self._put(term, ANY, arguments[1][1])
                case Instance():
                    for each in self.values.attribute(value, "__call__"):
                        if isinstance(each, Function):
                            self._pass(each.scope, each.self_, arguments)
                case _:
                    pass

    def _construct(self, scope: int, arguments: Arguments) -> None:
        made = Instance(scope)
        for each in self.values.attribute(made, "__init__"):
            if isinstance(each, Function):
                self._pass(each.scope, each.self_, arguments)
                return
        for name, values in arguments:
            if name.isidentifier():
                self.values.cells.add(("attribute", scope, name), values)

    def _pass(self, scope: int, self_: Value | None, arguments: Arguments) -> None:
        params = self.values.scope(scope).params
        for place, values in bound(Function(scope, self_), arguments, params).items() if params else ():
            self.values.cells.add(("param", scope, place), values)

    def functions(self, file: int, number: int) -> Iterator[Value]:
        """Yield what a site calls, and what the builtin functions that it calls call in their turn."""
        site = self.flows[file].sites[number]
        called = self.values.of(file, site.function)
        if site.kind in {"iter", "with"}:
            yield from self._protocol(site.kind, called)
            return
        for value in called:
            if site.kind != "raise" or not isinstance(value, External):
                yield value
            if isinstance(value, External) and value.path.removeprefix("builtins.") in _CALLS_BACK:
                for _, term in site.arguments:
                    yield from (each for each in self.values.of(file, term) if isinstance(each, Function))

    def _protocol(self, kind: SiteKind, over: Values) -> Iterator[Value]:
        names = ("__iter__",) if kind == "iter" else ("__enter__", "__exit__")
        for value in over:
            if isinstance(value, Instance):
                for name in names:
                    found = self.values.attribute(value, name)
                    yield from found
                    if kind == "iter":
                        for made in self.values.calls.called(found):
                            if isinstance(made, Instance):
                                yield from self.values.attribute(made, "__next__")
