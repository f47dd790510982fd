"""What the terms of Java, C# and Kotlin can be: any method can be overridden, and functions stand for interfaces.

A property is the member of its name, with what it holds, and beside it the functions `flow.GETTER` and `flow.SETTER` of
that name. In Java and Kotlin the name of a method ends with parentheses, for a field may have the same. The mark "implicit"
is that of functions that are there though nobody wrote them, "extension" that of those that are called on what is their
first parameter.
"""

from typing import ClassVar, Final

from appliance.codeintel.flow import AS_FUNCTION, GETTER, KIND, ON, RESULT, SETTER, TAKEN
from appliance.codeintel.resolve.cells import NOTHING, Values
from appliance.codeintel.resolve.typed import TypedEvaluator
from appliance.codeintel.resolve.values import Class, Constant, External, Function, Instance, Package, Value

_CALL: Final = "()"


class Objects(TypedEvaluator):
    """Evaluates languages of classes."""

    virtual: ClassVar[bool] = True
    overloads: ClassVar[bool] = True
    itself: ClassVar[bool] = True
    keeps_else: ClassVar[bool] = False
    of_all: ClassVar[frozenset[str]] = frozenset()  # methods that functions have beside the one that they are

    def attribute(self, value: Value, name: str) -> Values:
        """Return what *name* of *value* can be."""
        if name == AS_FUNCTION:
            return frozenset((value,)) if isinstance(value, Function) else NOTHING
        if name == KIND:
            return frozenset((Class(value.scope),)) if isinstance(value, Instance) else NOTHING
        if name == RESULT:
            return self.calls.result(value) if isinstance(value, Function) else NOTHING
        if name.startswith(TAKEN):
            return self._taken_by(value, int(name[len(TAKEN) :]))
        if isinstance(value, Function) and (name in self.of_all or name.startswith((GETTER, SETTER))):
            return NOTHING
        found = super().attribute(value, name)
        if isinstance(value, Package) and not found and not self.declaring(value, name):
            return frozenset((External(f"{value.name}.{name}"),))  # others have parts of it too
        return found

    def _named(self, scope: int, name: str, *, builtins: bool) -> Values:
        """Return what *name* alone is in *scope*: what a type has, what stands around it, or what its bases may have."""
        one = self.scope(scope)
        outer = self.first_scope[self.scope_file[scope]] + one.parent
        if one.kind in {"function", "lambda"} and name not in one.names:  # around a class that stands in it
            return self.name(outer, name, builtins=builtins)
        if one.kind != "class":
            return super()._named(scope, name, builtins=builtins)
        found = self.union(self._alone(each, name) for each in self.classes.whole(scope))
        inside = frozenset(each for each in found if not isinstance(each, External))
        return (
            inside
            or self.name(outer, name, builtins=False)
            or self._perhaps(found, name)
            or self.name(outer, name, builtins=builtins)
        )

    def _alone(self, scope: int, name: str) -> Values:
        """Return what *name* alone is of what the type *scope* has."""
        return self.attribute(Instance(scope), name)

    def _perhaps(self, found: Values, name: str) -> Values:
        """Return what was *found* as *name* in a base that lies outside, if it can be meant."""
        return found if name.endswith(_CALL) else NOTHING

    def _brought(self, scope: int, name: str) -> Values:
        return frozenset(each for each in super()._brought(scope, name) if not isinstance(each, External))

    def getters(self, value: Value, name: str) -> Values:
        """Return the functions that are called when *name* of *value*, a property, is read or, as the name says, set."""
        found = self.attribute(value, name if name.startswith(SETTER) else f"{GETTER}{name}")
        return frozenset(each for each in found if isinstance(each, Function))

    def _taken_by(self, value: Value, place: int) -> Values:
        """Return what the function that *value* is, or stands for, takes at *place*."""
        function = value.scope if isinstance(value, Function) else self._meant(value)
        if function is None:
            return NOTHING
        params, file = self.scope(function).params, self.scope_file[function]
        at = place + (self.owner(function) is not None)
        return self.of(file, params[at].type) if at < len(params) else NOTHING

    def _meant(self, value: Value) -> int | None:
        """Return the one method without a body of the interface that *value* is an instance of, None if there is none."""
        if not isinstance(value, Instance) or "interface" not in self.scope(value.scope).marks:
            return None
        for each in self.classes.order(value.scope):
            if isinstance(each, int):
                for number in self._methods(each):
                    return number
        return None

    def _methods(self, scope: int) -> list[int]:
        """Return the methods without a body of the type *scope*."""
        found = self.union(
            self.of(self.scope_file[scope], term)
            for name, term in self.scope(scope).names.items()
            if name.endswith(self.called)
        )
        return sorted(
            each.scope for each in found if isinstance(each, Function) and "abstract" in self.scope(each.scope).marks
        )

    called: ClassVar[str] = ""  # what the names of methods end with

    def can_be_function(self, declared: Values) -> bool:
        """Return whether what is *declared* so can be a function: an interface, something outside, or anything at all."""
        return not declared or any(
            isinstance(each, External | Function)
            or each == Constant("object")
            or (isinstance(each, Instance) and "interface" in self.scope(each.scope).marks)
            for each in declared
        )

    def meet(self, functions: Values, declared: Values) -> None:
        """Learn what *functions* are called with, now that they are known to be what is *declared*."""
        for function in functions:
            if isinstance(function, Function) and self.scope(function.scope).kind == "lambda":
                for place, param in enumerate(self.scope(function.scope).params):
                    if not param.type:
                        self._meet(function, place, declared, on=param.name == ON)

    def _underneath(self, declared: Values) -> Values:
        """Return what is *declared*, with what is meant by types that are others under a name of their own."""
        return declared | self.union(self.underlying(each) for each in declared)

    def _meet(self, function: Function, place: int, declared: Values, *, on: bool) -> None:
        for each in self._underneath(declared):
            received = isinstance(each, Function) and "received" in self.scope(each.scope).marks
            if each != function and (received or not on):
                values = self._taken_by(each, 0 if on else place + received)
                if values:
                    self.cells.add(self.param_key(function.scope, place), values)
