"""Rounds over all call sites and stores until nothing new is learnt."""

import math
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Final

from appliance.codeintel.flow import Flow, Site, SiteKind
from appliance.codeintel.resolve.calls import Arguments, bound
from appliance.codeintel.resolve.cells import Values
from appliance.codeintel.resolve.evaluate import Evaluator
from appliance.codeintel.resolve.modules import Finder
from appliance.codeintel.resolve.values import Class, Constant, Container, External, Function, Instance, Value

_MOST_ROUNDS: Final = 30


class Solver:
    """Solves the flows of one repository."""

    def __init__(self, flows: Sequence[Flow], modules: Finder, evaluator: type[Evaluator] = Evaluator) -> None:
        self.values = evaluator(flows, modules)
        self.flows = flows
        self.settled = False
        self._first_site = [0, *accumulate(len(flow.sites) for flow in flows)]  # tasks: all sites, and then all stores
        self._first_store = list(accumulate((len(flow.stores) for flow in flows), initial=self._first_site[-1]))

    @property
    def rounds(self) -> int:
        """How often something new was learnt."""
        return self.values.cells.round

    def solve(self, tell: Callable[[int, int], None] | None = None, *, seconds: float = math.inf) -> None:
        """Learn what parameters, attributes and items hold. *tell* hears of rounds done, and of how many there can be.

        After so many *seconds* nothing more is learnt. ``settled`` says afterwards whether there was nothing more to learn.
        """
        until, self.settled = time.monotonic() + seconds, True
        self.values.begin()
        self._work(range(self._first_store[-1]), tell, until)
        self.values.cells.add("lenient", frozenset((Constant("true"),)))
        self._work((), tell, until)
        self.values.cells.finish()

    def _work(self, tasks: Sequence[int], tell: Callable[[int, int], None] | None, until: float) -> None:
        cells, due = self.values.cells, tasks or sorted(self.values.cells.due())
        most = cells.round + _MOST_ROUNDS
        while due and cells.round < most:
            if tell is not None:
                tell(cells.round, 2 * _MOST_ROUNDS)
            for task in due:
                if time.monotonic() > until:
                    self.settled = False
                    return
                cells.watch(task, partial(self._do, task))
            due = sorted(cells.due())
        if due:
            self.settled = False

    def _do(self, task: int) -> None:
        if task < self._first_store[0]:
            file = bisect_right(self._first_site, task) - 1
            self._hand_over(file, task - self._first_site[file])
        else:
            file = bisect_right(self._first_store, task) - 1
            store = self.flows[file].stores[task - self._first_store[file]]
            self._store(file, store.base, store.name, store.key, self.values.of(file, store.value))

    def _store(self, file: int, base: int, name: str, key: int, values: Values) -> None:
        for value in self.values.of(file, base):
            match value:
                case Instance(scope) if name:
                    self.values.cells.add(("attribute", scope, name), values)
                case Class(scope) if name:
                    self.values.cells.add(("static", scope, name), values)
                case Function(scope) if name:
                    self.values.cells.add(("property", scope, name), values)
                case Container(term):
                    keys = {f"str:{name}"} if name else self.values.containers.keys(self.values.of(file, key))
                    for each in keys:
                        self.values.calls.put(term, each, values)
                case _:
                    pass

    def _hand_over(self, file: int, number: int) -> None:
        """Let the parameters of what a site calls hold its arguments."""
        site = self.flows[file].sites[number]
        called = [value for value in self._called(file, site) if self._takes(value)]
        for function, given in self.values.calls.onward(file, site, self.values.of(file, site.function)):
            self._pass(function.scope, function.self_, given)
        if not called:
            return
        arguments = [(name, self.values.of(file, term)) for name, term in site.arguments]
        for value in called:
            match value:
                case Function(scope, self_):
                    self._pass(scope, self_, arguments)
                case Class(scope):
                    self._construct(scope, arguments)
                case Instance():
                    for each in self.values.attribute(value, "__call__"):
                        if isinstance(each, Function):
                            self._pass(each.scope, each.self_, arguments)
                case _:
                    self.values.calls.learn(value, arguments)

    def _takes(self, value: Value) -> bool:
        """Return whether it matters what *value* is called with."""
        return not isinstance(value, External) or value.path in self.values.words.teaches

    def _construct(self, scope: int, arguments: Arguments) -> None:
        made = Instance(scope)
        for each in self.values.attribute(made, self.values.words.constructor):
            if isinstance(each, Function):
                self._pass(each.scope, each.self_, arguments)
                return
        for name, values in arguments:
            if name.isidentifier():
                self.values.cells.add(("attribute", scope, name), values)

    def _pass(self, scope: int, self_: Value | None, arguments: Arguments) -> None:
        params = self.values.scope(scope).params
        for place, values in bound(Function(scope, self_), arguments, params).items() if params else ():
            self.values.cells.add(self.values.param_key(scope, place), values)

    def functions(self, file: int, site: Site) -> Iterator[Value]:
        """Return what *site* calls, one by one."""
        return self._called(file, site)

    def handed(self, file: int, site: Site) -> Iterator[Value]:
        """Yield what the builtin functions that *site* calls call in their turn."""
        if site.kind == "call":
            yield from (each for each, _ in self.values.calls.onward(file, site, self.values.of(file, site.function)))

    def _called(self, file: int, site: Site) -> Iterator[Value]:
        called = self.values.of(file, site.function)
        if site.kind in {"iter", "with"}:
            yield from self._protocol(site.kind, called)
            return
        for value in called:
            if site.kind != "raise" or not isinstance(value, External):
                yield value

    def _protocol(self, kind: SiteKind, over: Values) -> Iterator[Value]:
        words = self.values.words
        names = (words.iterator,) if kind == "iter" else ("__enter__", "__exit__")
        for value in over:
            if isinstance(value, Instance):
                for name in names:
                    found = self.values.attribute(value, name)
                    yield from found
                    if kind == "iter":
                        for made in self.values.calls.called(found):
                            if isinstance(made, Instance):
                                yield from self.values.attribute(made, words.following)
