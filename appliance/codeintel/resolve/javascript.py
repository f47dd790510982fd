"""What JavaScript's terms can be, where that is another thing than in Python."""

from appliance.codeintel.flow import RECEIVER, UNKNOWN, Term
from appliance.codeintel.resolve import outside
from appliance.codeintel.resolve.cells import NOTHING, Values
from appliance.codeintel.resolve.evaluate import Evaluator, some
from appliance.codeintel.resolve.javascript_calls import JavaScriptCalls, JavaScriptContainers, unbound
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
    Super,
    Value,
)  # fmt: skip
from appliance.codeintel.resolve.words import JAVASCRIPT

_WHOLE = "="  # what `require` takes: all that a module gives
_OF_FUNCTIONS = frozenset({"call", "apply", "bind"})
_HAVE_MEMBERS = Container | Instance | Class | Function | Module | External
_LONGEST = 48  # things behind one
_KINDS = {"str": "String", "int": "Number", "number": "Number"}


class JavaScript(Evaluator):
    """Evaluates JavaScript: functions have members and make instances, objects have methods, modules export."""

    words = JAVASCRIPT
    calls_as = JavaScriptCalls
    containers_as = JavaScriptContainers

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
                found = [self._bound(each, value) for each in self._found(value, name)]
                return self.union(self.calls.result(each) if self._is_getter(each) else frozenset((each,)) for each in found)

    def getters(self, value: Value, name: str) -> Values:
        """Return the functions that are called when *name* of *value* is read: of an instance, a class or an object."""
        if not isinstance(value, Container | Class):
            return super().getters(value, name)
        return frozenset(each for each in self._found(value, name) if self._is_getter(each))

    def _is_getter(self, value: Value) -> bool:
        return isinstance(value, Function) and "property" in self.scope(value.scope).marks

    def _found(self, value: Value, name: str) -> Values:
        """Return what *name* is on *value* itself, else on what stands behind it."""
        found = self._own(value, name)
        if found or isinstance(value, Super):
            return found
        behind = self._chain(unbound(value))
        if behind:
            found = self.union(self._loose(each, name) for each in behind if not isinstance(each, External))
            found = found or self.union(self.attribute(each, name) for each in behind if isinstance(each, External))
        if not found and isinstance(value, Function) and name in _OF_FUNCTIONS:
            return frozenset((Method(value, name),))
        return found

    def _own(self, value: Value, name: str) -> Values:
        match value:
            case Function(scope) | Class(scope) if name == "prototype":
                return frozenset((Instance(scope),))
            case Function(scope):
                return self.stored("property", scope, name)
            case Class(scope):
                found = self.classes.member(scope, name, bound_to=None)
                return frozenset(each for each in found if self._is_static(each))
            case Instance(scope) if name == "constructor":
                return frozenset((Class(scope) if self.scope(scope).kind == "class" else Function(scope),))
            case Instance(scope):
                found = self.classes.member(scope, name, bound_to=value)
                return frozenset(each for each in found if not self._is_static(each, default=False))
            case Container():
                return self.containers.member(value, f"str:{name}")
            case _:
                return super().attribute(value, name)

    def _loose(self, value: Value, name: str) -> Values:
        """Return what *name* is on *value* as it is seen from what *value* stands behind: not bound to it."""
        found = self.attribute(value, name) if isinstance(value, Module) else self._own(value, name)
        return frozenset(
            Function(each.scope) if isinstance(each, Function) and each.self_ == value else each for each in found
        )

    def _chain(self, value: Value) -> Values:
        """Return everything that stands behind *value*: what was spread or mixed into it, prototypes and theirs."""
        return self.cells.recall(("chain", value), lambda: self._reached(value))

    def _reached(self, value: Value) -> Values:
        seen, waiting = {value}, [value]
        while waiting and len(seen) < _LONGEST:
            for each in self._next(waiting.pop()):
                further = unbound(each)
                if further not in seen and isinstance(further, _HAVE_MEMBERS):
                    seen.add(further)
                    waiting.append(further)
        return frozenset(seen - {value})

    def _next(self, value: Value) -> Values:
        mixed = self.cells.read(("behind", value))
        match value:
            case Container(kind="dict"):
                return mixed | self.containers.spread(value)
            case Instance(scope) if self.scope(scope).kind == "class":
                bases = self.union(self.of(self.scope_file[scope], base) for base in self.scope(scope).bases)
                return mixed | {Instance(each.scope) for each in bases if isinstance(each, Function)}
            case Instance(scope):
                return mixed | self.stored("property", scope, "prototype") | self.stored("attribute", scope, "__proto__")
            case _:
                return mixed

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
            found = NOTHING if name == _WHOLE else self.union(self.attribute(each, name) for each in whole)
            return found or whole if name in {_WHOLE, "default"} else found
        if name in {_WHOLE, "default"}:
            return frozenset((value,)) if name == _WHOLE else NOTHING
        return self.name(scope, key, builtins=False)

    def exported(self, file: int, name: str) -> tuple[int, str]:
        """Return the scope, and the name in it, where the module *file* keeps what others take from it as *name*."""
        scope = self.first_scope[file]
        names = self.scope(scope).names
        whole = name == "default" and "export default" not in names and "export =" in names
        return scope, "export =" if whole else f"export {name}"

    def _taken(self, file: int, term: Term) -> Values:
        source = self.modules.find(term.text, importer=file)
        if isinstance(source, External) and term.name in {_WHOLE, "default"}:
            return frozenset((source,))
        return self.attribute(source, term.name)

    def instance(self, value: Value) -> Values:
        """Return an instance of the type *value*, or of what the function *value* makes."""
        return frozenset((Instance(value.scope),)) if isinstance(value, Function) else super().instance(value)
