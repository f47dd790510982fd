"""What JavaScript's terms can be, where that is another thing than in Python."""

from collections.abc import Iterable

from appliance.codeintel.flow import RECEIVER, UNKNOWN, Term
from appliance.codeintel.resolve import outside
from appliance.codeintel.resolve.cells import NOTHING, Values
from appliance.codeintel.resolve.evaluate import Evaluator, some
from appliance.codeintel.resolve.javascript_calls import JavaScriptCalls, unbound
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
    Results,
    Value,
)  # fmt: skip
from appliance.codeintel.resolve.words import JAVASCRIPT

_WHOLE = "="  # what `require` takes: all that a module gives
_OF_FUNCTIONS = frozenset({"call", "apply", "bind"})
_KINDS = {"str": "String", "int": "Number", "number": "Number"}


class JavaScript(Evaluator):
    """Evaluates JavaScript: functions have members and make instances, objects have methods, modules export."""

    words = JAVASCRIPT
    calls_as = JavaScriptCalls

    def attribute(self, value: Value, name: str) -> Values:
        """Return what *name* of *value* can be; a function is bound to what it is taken from."""
        match value:
            case Module(file):
                return self._exported(value, file, name)
            case External(path):
                return some(outside.member(path, name))
            case Constant(text):
                kind = text.partition(":")[0]
                return frozenset((External(f"{self.words.builtins}.{_KINDS.get(kind, kind)}.{name}"),))
            case Generator() | Results() | Container(kind="list" | "map" | "pair" | "pairs"):
                return frozenset((Method(value, name),))
            case _:
                return frozenset(self._bound(each, value) for each in self._found(value, name))

    def _found(self, value: Value, name: str) -> Values:
        match value:
            case Function(scope):
                return self._of_function(Function(scope), name)
            case Class(scope):
                if name == "prototype":
                    return frozenset((Instance(scope),))
                found = self.classes.member(scope, name, bound_to=None) | self._behind(value, name)
                return frozenset(each for each in found if self._is_static(each))
            case Instance(scope):
                return self._of_instance(value, scope, name)
            case Container(term):
                return self._of_object(Container(term, "dict"), name)
            case _:
                return super().attribute(value, name)

    def _of_function(self, value: Function, name: str) -> Values:
        if name == "prototype":
            return frozenset((Instance(value.scope),))
        found = self.stored("property", value.scope, name) | self._behind(value, name)
        return frozenset((Method(value, name),)) if not found and name in _OF_FUNCTIONS else found

    def _of_instance(self, value: Instance, scope: int, name: str) -> Values:
        is_class = self.scope(scope).kind == "class"
        if name == "constructor":
            return frozenset((Class(scope) if is_class else Function(scope),))
        found = self.classes.member(scope, name, bound_to=value) | self._behind(value, name)
        if is_class:
            return frozenset(each for each in found if not self._is_static(each, default=False))
        above = self.stored("property", scope, "prototype") | self.stored("attribute", scope, "__proto__")
        return found | self._through(value, name, above - {value})

    def _of_object(self, value: Container, name: str) -> Values:
        found = self.containers.member(value, f"str:{name}") | self._behind(value, name)
        spread = self.union(self.containers.spread(value)) - {value}
        if spread:
            found |= self._through(value, name, spread)
        return found or self.union(self.attribute(each, name) for each in spread if isinstance(each, External))

    def _behind(self, value: Value, name: str) -> Values:
        """Return *name* of what was mixed into *value* or put behind it."""
        behind = self.cells.read(("behind", value)) - {value}
        return self._through(value, name, behind) if behind else NOTHING

    def _through(self, value: Value, name: str, others: Iterable[Value]) -> Values:
        held = frozenset(each for each in others if isinstance(each, Container | Instance | Class | Function | Module))
        if not held:
            return NOTHING
        found = self.cells.recall(
            ("through", value, name, held), lambda: self.union(self.attribute(each, name) for each in held)
        )
        return frozenset(
            Function(each.scope) if isinstance(each, Function) and each.self_ in held else each for each in found
        )

    def _is_static(self, value: Value, *, default: bool = True) -> bool:
        """Return whether a member belongs to its class itself; *default* for what can belong to either."""
        if not isinstance(value, Function) or self.owner(value.scope) is None:
            return default
        return "classmethod" in self.scope(value.scope).marks

    def _bound(self, value: Value, holder: Value) -> Value:
        if not isinstance(value, Function) or value.self_ is not None or isinstance(holder, Module):
            return value
        params = self.scope(value.scope).params
        takes = bool(params) and params[0].name == RECEIVER
        return Function(value.scope, unbound(holder)) if takes else value

    def _exported(self, value: Module, file: int, name: str) -> Values:
        """Return what *name* of a module is, seen from others."""
        scope = self.first_scope[file]
        names = self.scope(scope).names
        key = f"export {name}"
        if key in names:
            return self.of(file, names[key])
        if "export =" in names and names["export ="] != UNKNOWN:
            whole = self.of(file, names["export ="])
            return whole if name in {_WHOLE, "default"} else self.union(self.attribute(each, name) for each in whole)
        if name in {_WHOLE, "default"}:
            return frozenset((value,)) if name == _WHOLE else NOTHING
        return self.name(scope, key, seen=frozenset((-1,)))

    def _taken(self, file: int, term: Term) -> Values:
        source = self.modules.find(term.text, importer=file)
        if isinstance(source, External) and term.name in {_WHOLE, "default"}:
            return frozenset((source,))
        return self.attribute(source, term.name)

    def instance(self, value: Value) -> Values:
        """Return an instance of the type *value*, or of what the function *value* makes."""
        return frozenset((Instance(value.scope),)) if isinstance(value, Function) else super().instance(value)
