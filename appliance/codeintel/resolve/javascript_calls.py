"""What JavaScript's calls give, and what its builtin functions call in their turn."""

from collections.abc import Iterator
from typing import ClassVar, Final

from appliance.codeintel.flow import Op, Site
from appliance.codeintel.resolve.calls import Arguments, Calls
from appliance.codeintel.resolve.cells import NOTHING, Values
from appliance.codeintel.resolve.containers import ANY, Containers
from appliance.codeintel.resolve.values import (
    Class,
    Container,
    External,
    Function,
    Generator,
    Instance,
    Method,
    Module,
    Results,
    Value,
)  # fmt: skip

_PROMISED: Final = frozenset({"then", "catch", "finally"})
_ON_EACH: Final = frozenset({
    "map", "forEach", "filter", "find", "findIndex", "findLast", "findLastIndex", "some", "every", "flatMap", "sort",
    "toSorted",
})  # fmt: skip
_FOLDS: Final = frozenset({"reduce", "reduceRight"})
_CALLS_BACK: Final = _PROMISED | _ON_EACH | _FOLDS | frozenset({
    "addEventListener", "addListener", "on", "once", "setTimeout", "setInterval", "setImmediate", "queueMicrotask",
    "nextTick", "requestAnimationFrame", "requestIdleCallback", "Promise", "replace", "from",
})  # fmt: skip
_TAKES: Final = frozenset({"get", "pop", "shift", "at", "find", "findLast"})
_ITSELF: Final = frozenset({
    "filter", "slice", "concat", "reverse", "sort", "splice", "flat", "values", "toSorted", "toReversed", "set", "add",
    "fill",
})  # fmt: skip
_KINDS: Final = {"list": "Array", "pair": "Array", "map": "Map", "pairs": "Map", "dict": "Object", "Function": "Function"}
_FIRST: Final = frozenset({
    "globals.Object.assign", "globals.Object.freeze", "globals.Object.seal",
    "globals.Object.defineProperty", "globals.Object.setPrototypeOf", "globals.Array.from", "globals.Promise.resolve",
    "globals.Promise.all", "globals.Promise.race", "globals.Promise.any", "globals.structuredClone", "merge-descriptors",
    "lodash.assign", "lodash.extend", "object-assign",
})  # fmt: skip
_WITHIN: Final = frozenset({"globals.Object.values", "globals.Object.entries"})


class JavaScriptContainers(Containers):
    """Looks into containers, and by a key into anything that has members."""

    def item(self, value: Value, keys: set[str]) -> Values:
        """Return what stands in *value* at *keys*."""
        if isinstance(value, Instance | Function | Class | Module):
            names = (key[4:] for key in keys if key.startswith("str:"))
            return self._values.union(self._values.attribute(value, name) for name in names)
        return super().item(value, keys)


class JavaScriptCalls(Calls):
    """Works out what calls give."""

    follows: ClassVar[frozenset[str]] = _FIRST | _WITHIN

    def given(self, file: int, number: int) -> Values:
        """Return what the call at a site of *file* gives; waiting for something gives it."""
        found = super().given(file, number)
        site = self._values.flows[file].sites[number]
        term = self._values.flows[file].terms[site.function]
        if found or term.op != Op.ATTR or term.text not in _PROMISED or self._values.of(file, site.function):
            return found
        results = self._values.union(
            self._returned(function, arguments) for function, arguments in self.onward(file, site, NOTHING)
        )
        return results or self._values.of(file, term.a)

    def result(self, value: Value) -> Values:
        """Return what a call of *value* gives, whatever it is called with; nobody can call an instance."""
        return NOTHING if isinstance(value, Instance) else super().result(value)

    def onward(self, file: int, site: Site, called: Values) -> Iterator[tuple[Function, Arguments]]:
        """Yield what the builtin functions among *called* call in their turn, and with what."""
        term = self._values.flows[file].terms[site.function]
        name = term.text if term.op == Op.ATTR else ""
        for value in called:
            match value:
                case Method(Function(), "call" | "apply"):
                    yield from self._directly(value, [(name, self._values.of(file, each)) for name, each in site.arguments])
                case Method(of, method) if method in _ON_EACH or method in _FOLDS:
                    items = self._items(of)
                    given = [("", items)] if method in _ON_EACH else [("", NOTHING), ("", items)]
                    yield from ((function, given) for function in self.functions(file, site))
                case External(path) if path.rpartition(".")[2] in _CALLS_BACK:
                    yield from ((function, []) for function in self.functions(file, site))
                case _:
                    pass
        if not called and name in _CALLS_BACK:
            yield from self._unknown(file, site, term.a, name)

    def _unknown(self, file: int, site: Site, base: int, name: str) -> Iterator[tuple[Function, Arguments]]:
        """Yield what is handed to a method of something of which nothing is known, or that is waited for."""
        values = self._values.of(file, base)
        promised = name in _PROMISED and bool(values)
        if promised or (not values and self._values.cells.read("lenient")):
            given = [("", values)] if name == "then" else []
            yield from ((function, given) for function in self.functions(file, site))

    def _directly(self, method: Method, arguments: Arguments) -> Iterator[tuple[Function, Arguments]]:
        """Yield what ``f.call(self, a)`` and ``f.apply(self, list)`` call."""
        if isinstance(method.of, Function):
            given = arguments[1:] if method.name == "call" else []
            for self_ in (arguments[0][1] if arguments else NOTHING) or (None,):
                yield Function(method.of.scope, self_), given

    def _items(self, value: Value) -> Values:
        if isinstance(value, Container) and value.kind == "map":
            return self._values.containers.item(value, {ANY})
        return self._values.containers.iterated(value)

    def _method(self, method: Method, arguments: Arguments) -> Values:
        of, name = method.of, method.name
        first = arguments[0][1] if arguments else NOTHING
        if isinstance(of, Function):
            if name == "bind":
                return frozenset(Function(of.scope, each) for each in first) or frozenset((Function(of.scope),))
            return self._values.union(self._returned(*each) for each in self._directly(method, arguments))
        if name in {"map", "flatMap"}:
            return frozenset(Results(each) for each in first if isinstance(each, Function))
        if name in _TAKES:
            keys = self._values.containers.keys(first) if name == "get" else {ANY}
            return self._values.containers.item(of, keys) if isinstance(of, Container) else self._items(of)
        if name in _FOLDS:
            return self._values.union(self.result(each) for each in first) | (
                arguments[1][1] if len(arguments) > 1 else NOTHING
            )
        if name == "next" and isinstance(of, Generator):
            return self._items(of)
        if name == "entries" and isinstance(of, Container):
            return frozenset((Container(of.term, "pairs"),))
        more = first if name == "concat" else NOTHING
        return (
            frozenset((Container(of.term, "list", of.start) if name == "values" else of,)) | more
            if (name in _ITSELF and isinstance(of, Container))
            else NOTHING
        )

    def name_of(self, method: Method) -> str:
        """Return the name of *method* as of something outside."""
        kind = method.of.kind if isinstance(method.of, Container) else type(method.of).__name__
        return f"{self._values.words.builtins}.{_KINDS.get(kind, 'Iterator')}.{method.name}"

    def _builtin(self, path: str, arguments: Arguments, scope: int) -> Values | None:  # noqa: ARG002 - Python's needs it
        """Return what the builtin function *path* gives, None if it is none that is followed."""
        first = arguments[0][1] if arguments else NOTHING
        if path in _FIRST:
            return first
        if path in _WITHIN:
            kind = "list" if path.endswith("values") else "pairs"
            return frozenset(Container(each.term, kind) for each in first if isinstance(each, Container))
        return None

    def learn(self, value: Value, arguments: Arguments) -> None:
        """Learn what a call of the builtin *value* puts where."""
        cells = self._values.cells
        match value:
            case Method(Container(term), "push" | "unshift" | "add"):
                for _, values in arguments:
                    self.put(term, ANY, values)
            case Method(Container(term), "set") if len(arguments) > 1:
                for key in self._values.containers.keys(arguments[0][1]):
                    self.put(term, key, arguments[1][1])
            case External(path) if len(arguments) > 1:
                behind = self._values.union(values for _, values in arguments[1:])
                turned = _made_by if path.endswith("inherits") else unbound
                for target in arguments[0][1]:
                    cells.add(("behind", turned(target)), frozenset(map(turned, behind)))
            case _:
                pass


def _made_by(value: Value) -> Value:
    """Return an instance of what the function or class *value* makes."""
    return Instance(value.scope) if isinstance(value, Function | Class) else value


def unbound(value: Value) -> Value:
    """Return *value* without what it is bound to itself."""
    match value:
        case Function(scope):
            return Function(scope)
        case Container(term, kind):
            return Container(term, kind)
        case _:
            return value
