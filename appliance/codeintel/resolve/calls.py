"""What calls give: results of functions, instances of classes, and what a few builtins make of their arguments."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from appliance.codeintel.flow import LAST, RECEIVER, REST, UNKNOWN, Op, Param, Site
from appliance.codeintel.resolve import outside
from appliance.codeintel.resolve.cells import NOTHING, Values
from appliance.codeintel.resolve.containers import ANY
from appliance.codeintel.resolve.values import (
    Class,
    Constant,
    Container,
    External,
    Function,
    Generator,
    Instance,
    Method,
    Passed,
    Results,
    Super,
    Value,
)  # fmt: skip

if TYPE_CHECKING:
    from appliance.codeintel.resolve.evaluate import Evaluator

Arguments = Sequence[tuple[str, Values]]
_SAME: Final = frozenset({
    "builtins.iter", "builtins.list", "builtins.tuple", "builtins.set", "builtins.reversed", "builtins.sorted",
    "builtins.frozenset", "builtins.dict",
})  # fmt: skip
_CALLS_BACK: Final = frozenset({"map", "filter", "sorted", "min", "max"})
_FIRST: Final = frozenset({"functools.partial", "copy.copy", "copy.deepcopy", "asyncio.create_task"})
_FOLLOWED: Final = frozenset({
    "builtins.super", "builtins.map", "builtins.next", "builtins.getattr", "builtins.type", "typing.cast",
})  # fmt: skip


class Calls:
    """Works out what calls give."""

    follows: ClassVar[frozenset[str]] = (
        _FOLLOWED | _SAME | _FIRST
    )  # functions outside that make something of their arguments

    def __init__(self, evaluator: "Evaluator") -> None:
        self._values = evaluator

    def called(self, values: Values) -> Values:
        """Return what calls of *values* give, whatever they are called with."""
        return self._values.union([self.result(value) for value in values])

    def given(self, file: int, number: int) -> Values:
        """Return what the call at a site of *file* gives."""
        site = self._values.flows[file].sites[number]
        functions = self._values.of(file, site.function)
        if site.kind != "decorator" and not any(self._reads_arguments(each) for each in functions):
            return self.called(functions)
        arguments = [(name, self._values.of(file, term)) for name, term in site.arguments]
        if site.kind == "decorator":
            return self._decorated(functions, arguments)
        scope = self._values.first_scope[file] + site.scope
        return self._values.union([self._from(each, arguments, scope) for each in functions])

    def _reads_arguments(self, function: Value) -> bool:
        """Return whether what a call of *function* gives may hang on its arguments."""
        return function.path in self.follows if isinstance(function, External) else not isinstance(function, Class)

    def _from(self, function: Value, arguments: Arguments, scope: int) -> Values:
        match function:
            case External(path):
                found = self._builtin(path, arguments, scope)
                return self.result(function) if found is None else found
            case Method():
                return self._method(function, arguments)
            case Function():
                return self._returned(function, arguments)
            case _:
                return self.result(function)

    def _method(self, method: Method, arguments: Arguments) -> Values:
        return self._values.containers.method(method, arguments)

    def onward(self, file: int, site: Site, called: Values) -> Iterator[tuple[Function, Arguments]]:
        """Yield what the builtin functions among *called* call in their turn, and with what."""
        for value in called:
            if isinstance(value, External) and value.path.removeprefix("builtins.") in _CALLS_BACK:
                yield from ((each, ()) for each in self.functions(file, site))
            if isinstance(value, External) and value.path in _SAME:
                over = [self._values.of(file, term) for _, term in site.arguments[:1]]
                yield from ((each, ()) for each in self._iterators(self._values.union(over)))

    def _iterators(self, over: Values) -> list[Function]:
        """Return the functions that give iterators over instances among *over*."""
        found = [self._values.attribute(each, self._values.words.iterator) for each in over if isinstance(each, Instance)]
        return [each for values in found for each in values if isinstance(each, Function)]

    def functions(self, file: int, site: Site) -> list[Function]:
        """Return the functions that are handed over at *site*."""
        return [each for _, term in site.arguments for each in self._values.of(file, term) if isinstance(each, Function)]

    def name_of(self, method: Method) -> str:
        """Return the name of *method* as of something outside, "" if it has none."""
        return f"{self._values.words.builtins}.{method.of.kind}.{method.name}" if isinstance(method.of, Container) else ""

    def learn(self, value: Value, arguments: Arguments) -> None:
        """Learn what a call of the builtin *value* puts where."""
        match value:
            case Method(Container(term), "append" | "add" | "appendleft" | "insert") if arguments:
                self.put(term, ANY, arguments[-1][1])
            case Method(Container(term), "setdefault") if len(arguments) > 1:
                self.put(term, ANY, arguments[1][1])
            case External(path) if path.endswith(".set_defaults"):  # of the arguments of the command line
                for name, values in arguments:
                    self._values.cells.add(("argument", name), values)
            case _:
                pass

    def put(self, container: int, key: str, values: Values) -> None:
        """Let *container* hold *values* at *key*."""
        self._values.cells.add(("keys", container), frozenset((Constant(key),)))
        self._values.cells.add(("item", container, key), values)

    def _decorated(self, functions: Values, arguments: Arguments) -> Values:
        """Return what decorators make of a definition. One that cannot be followed hands it on, as nearly all do."""
        found = self._values.union(
            self._returned(each, arguments) if isinstance(each, Function) else self.result(each)
            for each in functions
            if not isinstance(each, External)
        )
        given = arguments[0][1]
        if any(isinstance(each, Class) for each in found & given):
            return given  # with one that can also be called with options, what that gives is another way through it
        return frozenset(each for each in found if isinstance(each, Function | Class | Instance)) or given

    def result(self, value: Value) -> Values:
        """Return what a call of *value* gives, whatever it is called with."""
        match value:
            case Function(scope):
                return self._filled(scope, lambda place: self._values.parameter(scope, place))
            case Class(scope):
                return frozenset((Instance(scope),))
            case Instance():
                made = self._values.attribute(value, "__call__")
                return self.called(frozenset(each for each in made if isinstance(each, Function)))
            case External(path):
                found = outside.result(path)
                return NOTHING if found is None else frozenset((found,))
            case _:
                return NOTHING

    def _returned(self, function: Function, arguments: Arguments) -> Values:
        """Return what *function* gives for just these *arguments*, where it hands one of them on."""
        return self._filled(function.scope, partial(self._held, function, arguments))

    def _held(self, function: Function, arguments: Arguments, place: int) -> Values:
        """Return what the parameter at *place* of *function* holds when that is called with just these *arguments*."""
        file, params = self._values.scope_file[function.scope], self._values.scope(function.scope).params
        return bound(function, arguments, params).get(place) or self._values.of(file, params[place].default)

    def _filled(self, scope: int, held: Callable[[int], Values]) -> Values:
        one, file = self._values.scope(scope), self._values.scope_file[scope]
        if one.generator:
            return frozenset((Generator(scope),))
        found = self._summary(scope)
        passed = [each for each in found if isinstance(each, Passed)]
        if passed:
            found = found.difference(passed).union(*(self._passed(each, held) for each in passed))
        return found if _telling(found) else found | self._values.of(file, one.type)

    def _passed(self, passed: Passed, held: Callable[[int], Values]) -> Values:
        values = held(passed.place)
        return self._values.union(self._made(each) for each in values) if passed.made else values

    def _made(self, value: Value) -> Values:
        return frozenset((Passed(value.place, made=True),)) if isinstance(value, Passed) else self._values.instance(value)

    def _summary(self, scope: int) -> Values:
        """Return what the function *scope* gives, with `Passed` for what it is given itself."""
        file, one = self._values.scope_file[scope], self._values.scope(scope)
        return self._values.cells.recall(("result", scope), lambda: self._split(file, one.result, scope, frozenset()))

    def _split(self, file: int, term: int, scope: int, within: frozenset[int]) -> Values:
        if term == UNKNOWN or term in within:
            return NOTHING
        one = self._values.flows[file].terms[term]
        match one.op:
            case Op.JOIN:
                return self._values.union(self._split(file, each, scope, within | {term}) for each in one.items)
            case Op.PARAM if self._values.first_scope[file] + one.a == scope:
                return frozenset((Passed(one.b),))
            case Op.CALL:
                return self._split_call(file, one.a, scope, within | {term})
            case Op.INSTANCE:
                return self._values.union(self._made(each) for each in self._split(file, one.a, scope, within | {term}))
            case _:
                return self._values.of(file, term)

    def _split_call(self, file: int, number: int, scope: int, within: frozenset[int]) -> Values:
        site = self._values.flows[file].sites[number]
        functions = self._values.of(file, site.function)
        if site.kind == "decorator" or not all(isinstance(each, Function) for each in functions):
            return self.given(file, number)
        arguments = [(name, self._split(file, each, scope, within)) for name, each in site.arguments]
        return self._values.union(self._returned(each, arguments) for each in functions if isinstance(each, Function))

    def _builtin(self, path: str, arguments: Arguments, scope: int) -> Values | None:
        """Return what the builtin function *path* gives, None if it is none that is followed."""
        first = arguments[0][1] if arguments else NOTHING
        if path in _SAME:
            return self._values.union(self._values.containers.iterator(each) for each in first)
        if path in _FIRST:
            return first
        match path:
            case "builtins.super":
                return self._super(scope)
            case "builtins.map":
                return frozenset(
                    Results(each) for _, values in arguments for each in values if isinstance(each, Function | Class)
                )
            case "builtins.next":
                return self._values.union(self._values.containers.iterated(each) for each in first)
            case "builtins.getattr" if len(arguments) > 1:
                names = [
                    each.text[4:] for each in arguments[1][1] if isinstance(each, Constant) and each.text.startswith("str:")
                ]
                found = [
                    self._values.attribute(each, at) for each in first for name in names for at in self._spelt(each, name)
                ]
                return self._values.union([*found, *(default for _, default in arguments[2:3])])
            case "builtins.type" if len(arguments) == 1:
                return frozenset(Class(each.scope) for each in first if isinstance(each, Instance))
            case "typing.cast":
                return self._values.union(self._values.instance(each) for each in first) or arguments[-1][1]
            case _:
                return None

    def _spelt(self, value: Value, name: str) -> Sequence[str]:
        """Return the names that *value* has and that *name*, of which perhaps only the start is known, can be."""
        return self._values.beginning(value, name.removesuffix(REST)) if name.endswith(REST) else (name,)

    def _super(self, scope: int) -> Values:
        at = scope
        while (one := self._values.scope(at)).kind != "module":
            owner = self._values.owner(at)
            if owner is not None:
                selves = self._values.parameter(at, 0) if one.params else NOTHING
                return frozenset(Super(owner, each) for each in selves if isinstance(each, Instance | Class))
            at = self._values.first_scope[self._values.scope_file[at]] + one.parent
        return NOTHING


def bound(function: Function, arguments: Arguments, params: Sequence[Param]) -> dict[int, Values]:
    """Return which of *params* holds which argument when *function* is called with *arguments*."""
    named = any(name for name, _ in arguments)
    places = {param.name: place for place, param in enumerate(params) if not param.star} if named else {}
    held: dict[int, Values] = {}
    place = 0
    if function.self_ is not None or (params and params[0].name == RECEIVER):
        held[0], place = NOTHING if function.self_ is None else frozenset((function.self_,)), 1
    for name, values in arguments:
        if name in {"*", "**"}:
            break
        at = len(params) - 1 if name == LAST else places.get(name, -1) if name else place
        place += not name
        if 0 <= at < len(params) and not params[at].star:
            held[at] = values
    return held


def _telling(values: Values) -> bool:
    return any(not isinstance(each, Constant) for each in values)
