"""Which of several functions of one name is meant: the one whose parameters the arguments fit best."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from appliance.codeintel.flow import LAST, ON, RECEIVER, Site
from appliance.codeintel.resolve.calls import Arguments
from appliance.codeintel.resolve.cells import NOTHING, Values
from appliance.codeintel.resolve.containers import ANY
from appliance.codeintel.resolve.typed_calls import TypedCalls, TypedContainers
from appliance.codeintel.resolve.values import Class, Constant, Container, External, Function, Instance, Method, Value

_NOT, _PERHAPS, _WIDER, _SAME = range(4)
_NUMBERS: Final = ("byte", "short", "char", "int", "long", "float", "double", "decimal")
_MOST: Final = 99  # arguments
_OBJECT: Final = Constant("object")
_OF_ALL: Final = frozenset({"Object", "Any", "Comparable", "Serializable"})


class Tables(TypedContainers):
    """Looks into containers, and into tables also for what their keys are."""

    keys_of: ClassVar[frozenset[str]] = frozenset()  # methods of a table that give its keys, of a pair its key
    values_of: ClassVar[frozenset[str]] = frozenset()
    pairs_of: ClassVar[frozenset[str]] = frozenset()

    def item(self, value: Value, keys: set[str]) -> Values:
        """Return what stands in *value* at *keys*."""
        match value:
            case Container(kind="keys"):
                return self.keyed(value)
            case Container(kind="pair") if keys == {"int:0"}:
                return self.keyed(value)
            case _:
                return super().item(value, keys)

    def keyed(self, value: Value) -> Values:
        """Return what the keys of *value*, a table or a pair of one, can be."""
        if not isinstance(value, Container):
            return NOTHING
        file, term = self._made(value)
        return self._values.union(self._values.of(file, key) for key in term.items[::2] if key)

    def method(self, method: Method, arguments: Sequence[tuple[str, Values]]) -> Values:
        """Return what a method of a container gives."""
        of, name = method.of, method.name
        if not isinstance(of, Container) or of.kind not in {"map", "pair", "pairs"}:
            return super().method(method, arguments)
        if name in self.keys_of:
            return self.keyed(of) if of.kind == "pair" else frozenset((Container(of.term, "keys"),))
        if name in self.values_of:
            return frozenset((Container(of.term, "list"),))
        return frozenset((Container(of.term, "pairs"),)) if name in self.pairs_of else super().method(method, arguments)


class Overloads(TypedCalls):
    """Works out what calls give, and chooses between overloads by the types of what they take."""

    keepers: ClassVar[frozenset[str]] = frozenset()  # functions outside that call nothing that they are given
    texts: ClassVar[frozenset[str]] = frozenset()  # functions outside that give a text, alone or with their type's name
    text: ClassVar[str] = ""  # the type of that
    boxes: ClassVar[Mapping[str, frozenset[str]]] = {}  # what else a literal of a type can be taken as

    def onward(self, file: int, site: Site, called: Values) -> Iterator[tuple[Function, Arguments]]:
        """Yield the functions that are handed to what lies outside or to a container, which may call them."""
        puts = self._typed.containers.puts | self.keepers
        yield from super().onward(
            file, site, frozenset(e for e in called if not isinstance(e, Method) or e.name not in puts)
        )

    def result(self, value: Value) -> Values:
        """Return what a call of *value* gives, whatever it is called with."""
        if isinstance(value, External):
            parts = value.path.rsplit(".", 2)
            if parts[-1] in self.texts or ".".join(parts[-2:]) in self.texts:
                return frozenset((Constant(self.text),))
        return super().result(value)

    def calls_back(self, path: str) -> bool:
        """Return whether what lies outside at *path* may call functions that it is given."""
        return path.rpartition(".")[2] not in self.keepers

    def handed(self, of: Value) -> Arguments:
        """Return what a method of *of*, a container, hands to the functions that it calls: key and value, or items."""
        items = self._typed.containers.item(of, {ANY})
        mapped = isinstance(of, Container) and of.kind in {"map", "pairs"}
        return [("", self._keyed(of) if mapped else items), ("", items)]

    def _keyed(self, of: Value) -> Values:
        held = self._typed.containers
        return held.keyed(of) if isinstance(held, Tables) else NOTHING

    def _fitting(self, functions: Values, file: int, site: Site) -> Values:
        found = super()._fitting(functions, file, site)
        several = [each for each in found if isinstance(each, Function)]
        if len(several) < 2 or not site.arguments or any(name not in {"", LAST} for name, _ in site.arguments):
            return found
        given = [self._typed.of(file, term) for _, term in site.arguments]
        behind = site.arguments[-1][0] == LAST
        fits = {each: self._fit(each, given, behind=behind) for each in several}
        best: dict[int, int] = defaultdict(int)
        for each, fit in fits.items():
            best[self._among(each)] = max(best[self._among(each)], fit)
        known = all(given)
        chosen = {each for each, fit in fits.items() if fit and (not known or fit == best[self._among(each)])}
        return frozenset(chosen) | {each for each in found if not isinstance(each, Function)} if chosen else found

    def _among(self, function: Function) -> int:
        """Return the scope whose overloads *function* is one of: its type's or module's; a lambda has none beside it."""
        one = self._typed.scope(function.scope)
        if one.kind == "lambda":
            return function.scope
        parent = self._typed.first_scope[self._typed.scope_file[function.scope]] + one.parent
        return next(iter(self._typed.classes.whole(parent)), parent)

    def _fit(self, function: Function, given: "list[Values]", *, behind: bool) -> int:
        """Return how well a function takes what is *given*: 0 where it cannot. Its last parameter takes what is *behind*."""
        file, params = self._typed.scope_file[function.scope], self.taken(function)
        total = 1
        placed = [*params[: len(given) - 1], *params[-1:]] if behind else params
        for param, values in zip(placed, given, strict=False):
            declared = self._typed.of(file, param.type)
            if param.star or not declared or not values:
                total += _PERHAPS
                continue
            best = max(self._agree(value, each) for value in values for each in declared)
            if best == _NOT:
                return 0
            total += best
        return total

    def _agree(self, value: Value, declared: Value) -> int:
        """Return how well *value* is one of what is *declared*."""
        if value == declared:
            return _SAME
        if declared == _OBJECT or (isinstance(declared, External) and declared.path.rpartition(".")[2] in _OF_ALL):
            return _PERHAPS
        match value, declared:
            case Instance(scope), Instance(wanted):
                return _WIDER if wanted in self._typed.classes.order(scope) else _NOT
            case Instance(scope), External():
                order = self._typed.classes.order(scope)
                outer = [each for each in order if isinstance(each, External)]
                return _WIDER if declared in outer else _PERHAPS if outer else _NOT
            case (Instance(), Constant()):
                return _NOT
            case Constant(text), _:
                return self._literal(text.partition(":")[0], declared)
            case Function(), Instance(wanted):
                return _WIDER if "interface" in self._typed.scope(wanted).marks else _NOT
            case Container(), Container():
                return self._hold_alike(value, declared)
            case _:
                return self._loosely(value, declared)

    def _hold_alike(self, value: Container, declared: Container) -> int:
        """Return how well one container is another: numbers are no other numbers where they are held."""
        if value.kind != declared.kind:
            return _NOT
        held, wanted = (self._typed.containers.item(each, {ANY}) for each in (value, declared))
        if not held or not wanted:
            return _PERHAPS
        exact = held | wanted if all(isinstance(each, Constant) for each in held | wanted) else NOTHING
        if exact:
            return _SAME if held & wanted else _NOT
        return max(self._agree(one, other) for one in held for other in wanted)

    def _literal(self, kind: str, declared: Value) -> int:
        match declared:
            case Constant(text):
                wanted = text.partition(":")[0]
                if wanted == kind:
                    return _SAME
                numbers = kind in _NUMBERS and wanted in _NUMBERS
                return _WIDER if numbers and _NUMBERS.index(kind) < _NUMBERS.index(wanted) else _NOT
            case External(path):
                return _PERHAPS if path.rpartition(".")[2] in self.boxes.get(kind, ()) else _NOT
            case _:
                return _NOT

    def _loosely(self, value: Value, declared: Value) -> int:
        """Return how well something fits of which less is known."""
        match value, declared:
            case External(path), Instance() | Container() | Function():
                return _NOT if _is_type(path) else _PERHAPS
            case External(path), Constant(text):
                name = path.rpartition(".")[2]
                kinds = [kind for kind, boxes in self.boxes.items() if name in boxes]
                return _PERHAPS if not _is_type(path) or text.partition(":")[0] in kinds else _NOT
            case External(path), External(wanted):
                return _NOT if _is_type(path) and self._is_final(wanted) else _PERHAPS
            case Function() | Class(), Function(scope):
                takes = len(self._typed.scope(scope).params)
                return _WIDER if any(takes in counts for counts in self._counts(value)) else _NOT
            case Function() | Container() | Class(), Constant():
                return _NOT
            case (Container(), Instance() | Function()) | (Function(), Container()):
                return _NOT
            case Function() | Container(), External(wanted):
                return _NOT if self._is_final(wanted) else _PERHAPS
            case _:
                return _PERHAPS

    def _counts(self, value: Function | Class) -> Iterator[range]:
        """Yield how many things *value*, or a constructor of it, can be called with."""
        if isinstance(value, Class):
            name = self._typed.words.constructor
            made = [e for e in self._typed.classes.own(value.scope, name, Instance(value.scope)) if isinstance(e, Function)]
            yield from (range(len(self.taken(each)), len(self.taken(each)) + 1) for each in made)
            if not made:
                yield range(1)
            return
        params = self._typed.scope(value.scope).params
        params = params[1:] if params and params[0].name == RECEIVER and value.self_ is not None else params
        own = [each for each in params if each.name != ON]
        loose = len(own) < len(params) and [each.name for each in own] in ([], ["it"])  # nothing says how many it takes
        yield range(0 if loose else len(own), max(len(own), int(loose)) + 1 + _MOST * any(each.star for each in own))

    def _is_final(self, path: str) -> bool:
        """Return whether nothing outside can be a *path* that is not said to be one."""
        name = path.rpartition(".")[2]
        return name == "Class" or any(
            name in boxes and name not in {"Number", "CharSequence"} for boxes in self.boxes.values()
        )


def _is_type(path: str) -> bool:
    """Return whether something outside that is called *path* is of that type, and not what a call of it gives."""
    package, _, name = path.rpartition(".")
    return name[:1].isupper() and not any(part[:1].islower() for part in _behind_type(package))


def _behind_type(package: str) -> list[str]:
    parts = package.split(".")
    first = next((place for place, part in enumerate(parts) if part[:1].isupper()), len(parts))
    return parts[first:]
