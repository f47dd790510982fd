"""What calls give in languages with declared types, and what their containers hold."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from appliance.codeintel.flow import LAST, RECEIVER, UNKNOWN, Param, Site
from appliance.codeintel.resolve.calls import Arguments, Calls
from appliance.codeintel.resolve.cells import NOTHING, Values
from appliance.codeintel.resolve.containers import ANY, Containers
from appliance.codeintel.resolve.values import (
    Class,
    Container,
    External,
    Function,
    Instance,
    Method,
    Results,
    Value,
)  # fmt: skip

if TYPE_CHECKING:
    from appliance.codeintel.resolve.typed import TypedEvaluator

EXTENSION: Final = "extension"  # the mark of a function whose first parameter is what it is called on from elsewhere
_PLACED: Final = frozenset({"", LAST})  # the names of arguments that are known by their place
SIGNATURE: Final = "signature"


class TypedContainers(Containers):
    """Looks into containers, and into types that are containers under a name of their own."""

    takes: ClassVar[frozenset[str]] = frozenset()  # methods that give what is held
    gives_itself: ClassVar[frozenset[str]] = frozenset()  # methods that give something that holds the same
    puts: ClassVar[frozenset[str]] = frozenset()  # methods whose last argument is put in

    def __init__(self, evaluator: "TypedEvaluator") -> None:
        super().__init__(evaluator)
        self._typed = evaluator

    def item(self, value: Value, keys: set[str]) -> Values:
        """Return what stands in *value* at *keys*."""
        match value:
            case Instance():
                return self._typed.union(
                    self.item(each, keys) for each in self._typed.underlying(value) if not isinstance(each, Instance)
                )
            case External() | Results():
                return self.iterated(value)
            case Function():
                return frozenset((value,))  # of a generic one, with types in the brackets
            case _:
                return super().item(value, keys)

    def iterated(self, value: Value) -> Values:
        """Return what an iteration over *value* yields."""
        return self.item(value, {ANY}) if isinstance(value, Instance) else super().iterated(value)

    def method(self, method: Method, arguments: Sequence[tuple[str, Values]]) -> Values:  # noqa: ARG002 - others need them
        """Return what a method of a container gives."""
        if method.name in self.gives_itself:
            return frozenset((method.of,))
        return self.item(method.of, {ANY}) if method.name in self.takes else NOTHING


class TypedCalls(Calls):
    """Works out what calls give: what the function declares, and functions that it gives all the same."""

    follows: ClassVar[frozenset[str]] = frozenset()
    maps: ClassVar[frozenset[str]] = frozenset()  # methods of containers that give what a function makes of what is held

    def __init__(self, evaluator: "TypedEvaluator") -> None:
        super().__init__(evaluator)
        self._typed = evaluator

    def given(self, file: int, number: int) -> Values:
        """Return what the call at a site of *file* gives."""
        site = self._typed.flows[file].sites[number]
        functions = self.chosen(file, site)
        if not any(self._reads_arguments(each) for each in functions):
            return self.called(functions)
        arguments = [(name, self._typed.of(file, term)) for name, term in site.arguments]
        scope = self._typed.first_scope[file] + site.scope
        return self._typed.union(self._from(each, arguments, scope) for each in functions)

    def chosen(self, file: int, site: Site) -> Values:
        """Return what a site calls: of several functions of one name, those that take as many arguments."""
        return self._fitting(self._typed.of(file, site.function), file, site)

    def constructors(self, made: Class, file: int, site: Site) -> Iterator[Value]:
        """Yield the constructors of *made* that a site calls, or the type itself where it has none."""
        name = self._typed.words.constructor
        found = self._fitting(self._typed.classes.own(made.scope, name, Instance(made.scope)), file, site)
        yield from found or ((made,) if self._typed.makes else ())

    def _fitting(self, functions: Values, file: int, site: Site) -> Values:  # noqa: ARG002 - others need the file
        counted = [each for each in functions if isinstance(each, Function) and self._takes(each, site)]
        several = sum(isinstance(each, Function) for each in functions) > 1
        if not several or not counted:
            return functions
        return frozenset(counted) | {each for each in functions if not isinstance(each, Function)}

    def taken(self, function: Function) -> Sequence[Param]:
        """Return the parameters of *function* that a call has arguments for: all but the one for what it is called on."""
        one = self._typed.scope(function.scope)
        extends = function.self_ is not None and EXTENSION in one.marks
        return one.params[1:] if one.params and (extends or one.params[0].name == RECEIVER) else one.params

    def _takes(self, function: Function, site: Site) -> bool:
        one = self._typed.scope(function.scope)
        if SIGNATURE in one.marks or any(name not in _PLACED for name, _ in site.arguments):
            return True
        params = self.taken(function)
        least = sum(not param.star and not param.default for param in params)
        return least <= len(site.arguments) and (len(site.arguments) <= len(params) or any(param.star for param in params))

    def _reads_arguments(self, function: Value) -> bool:
        match function:
            case Function(scope):
                return self._typed.scope(scope).type == UNKNOWN
            case Class(scope):
                return bool(self._typed.underlying(Instance(scope)))
            case External(path):
                return path in self.follows
            case _:
                return True

    def _from(self, function: Value, arguments: Arguments, scope: int) -> Values:
        found = super()._from(function, arguments, scope)
        if isinstance(function, Class):  # the function that is turned into one of a type with a name
            found |= {each for _, values in arguments for each in values if isinstance(each, Function)}
        return found

    def _filled(self, scope: int, held: Callable[[int], Values]) -> Values:
        one, file = self._typed.scope(scope), self._typed.scope_file[scope]
        if one.type == UNKNOWN:
            return super()._filled(scope, held)
        declared = self._typed.of(file, one.type)
        if one.result == UNKNOWN:
            return declared
        kinds = (Function, Container) if any(isinstance(each, Container) for each in declared) else (Function,)
        return declared | {each for each in self._summary(scope) if isinstance(each, kinds)}

    def result(self, value: Value) -> Values:
        """Return what a call of *value* gives, whatever it is called with."""
        if isinstance(value, Instance):
            return self.called(frozenset(each for each in self._typed.underlying(value) if isinstance(each, Function)))
        return super().result(value)

    def onward(self, file: int, site: Site, called: Values) -> Iterator[tuple[Function, Arguments]]:
        """Yield the functions that are handed to what lies outside or to a container, which may call them."""
        if not any(isinstance(each, External | Method) for each in called):
            return
        functions = self.functions(file, site)
        for value in called if functions else ():
            match value:
                case Method(of, name) if name not in self._typed.containers.puts:
                    given = self.handed(of)
                    yield from ((function, given) for function in functions)
                case External(path) if self.calls_back(path):
                    yield from ((function, []) for function in functions)
                case _:
                    pass

    def calls_back(self, path: str) -> bool:
        """Return whether what lies outside at *path* may call functions that it is given: all but the language's own."""
        return not path.startswith(f"{self._typed.words.builtins}.")

    def handed(self, of: Value) -> Arguments:
        """Return what a method of *of*, a container, hands to the functions that it calls."""
        return [("", self._typed.containers.item(of, {ANY}))]

    def learn(self, value: Value, arguments: Arguments) -> None:
        """Learn what a call of a method of a container puts into it."""
        match value:
            case Method(Container(term), name) if name in self._typed.containers.puts and arguments:
                self.put(term, ANY, arguments[-1][1])
            case _:
                pass

    def turn(self, declared: Values, functions: Values) -> None:
        """Learn that *functions* are of a named type, if that is what was *declared*."""
        for each in declared if functions else ():
            if isinstance(each, Instance) and self._typed.underlying(each):
                self._typed.cells.add(("functions", each.scope), functions)

    def refill(self, containers: Values, others: Values) -> None:
        """Let *containers* hold the functions that *others* hold."""
        if any(isinstance(each, Container | Instance) for each in containers):
            held = (each for each in others if isinstance(each, Container))
            self.fill(containers, self._typed.union(self._typed.containers.item(each, {ANY}) for each in held))

    def fill(self, containers: Values, values: Values) -> None:
        """Let *containers* hold the functions among *values*."""
        kept = frozenset(each for each in values if self._typed.keeps(each))
        if not kept:
            return
        beneath = self._typed.union(self._typed.underlying(each) for each in containers)
        for container in containers | beneath:
            if isinstance(container, Container):
                self.turn(self._typed.containers.item(container, {ANY}), kept)
                self.put(container.term, ANY, kept)

    def _method(self, method: Method, arguments: Arguments) -> Values:
        if method.name in self.maps:
            made = [each for _, values in arguments for each in values if isinstance(each, Function | Class)]
            return frozenset(map(Results, made))
        return self._typed.containers.method(method, arguments)

    def name_of(self, method: Method) -> str:
        """Return the name of *method* as of something outside."""
        of = method.of
        kind = of.kind if isinstance(of, Container) else "derived" if isinstance(of, Instance) else "iterator"
        return f"{self._typed.words.builtins}.{kind}.{method.name}"
