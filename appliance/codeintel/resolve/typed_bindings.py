"""Which definition a name stands for where units have several files and types several parts."""

from collections.abc import Callable, Iterator
from typing import Final

from appliance.codeintel.resolve.bindings import Bindings, Target
from appliance.codeintel.resolve.cells import Values
from appliance.codeintel.resolve.evaluate import Evaluator
from appliance.codeintel.resolve.typed import TypedEvaluator
from appliance.codeintel.resolve.values import Class, External, Instance, Module, Package, Value

_MOST: Final = 4  # definitions that one name can stand for; more say nothing of any


class TypedBindings(Bindings):
    """Looks names up in units and types as evaluation does."""

    def __init__(self, values: TypedEvaluator, defined: Callable[[int, str], bool]) -> None:
        super().__init__(values, defined)
        self._typed = values

    def _named(self, scope: int, name: str) -> Iterator[Target]:
        one = self._typed.scope(scope)
        outer = self._typed.first_scope[self._typed.scope_file[scope]] + one.parent
        if one.kind == "class" and name not in one.names:
            found = [target for each in self._typed.whole(scope) for target in self._of(Instance(each), name)]
            yield from found or (self.named(outer, name) if one.parent >= 0 else ())
        elif one.kind in {"function", "lambda"} and name not in one.names:  # around a type that stands in it
            yield from self.named(outer, name)
        elif one.kind == "module" and name not in one.names:
            yield from self._of(Package(self._typed.unit_of(scope)), name) or self._brought(scope, name)
        else:
            yield from list(super()._named(scope, name)) or self._meant(scope, name)

    def _brought(self, scope: int, name: str) -> list[int]:
        """Return the types that *name* is in what is brought into the module *scope*, or in what is around it."""
        return _types(self._typed.name(scope, name, builtins=False))

    def _meant(self, scope: int, name: str) -> list[int]:
        """Return the types that *name* of *scope* is another name of."""
        return _types(self._typed.of(self._typed.scope_file[scope], self._typed.scope(scope).names[name]))

    def _of(self, holder: Value, name: str) -> tuple[Target, ...]:
        match holder:
            case Package():
                scopes = self._typed.declaring(holder, name)
                found = dict.fromkeys(target for scope in scopes for target in self.named(scope, name))
                return tuple(found)[:_MOST] or self._called(holder, name)[:_MOST]
            case Class(scope) | Instance(scope):
                return self._member(self._typed.classes.order(scope), name) or self._called(holder, name)[:_MOST]
            case Module(file):
                return self._of(Package(self._typed.units.of[file]), name)
            case External():
                return ()
            case _:
                return super()._of(holder, name)


def _types(values: Values) -> list[int]:
    return sorted(each.scope for each in values if isinstance(each, Class))[:_MOST]


def bindings_of(values: Evaluator, defined: Callable[[int, str], bool]) -> Bindings:
    """Return how names are looked up in the language of *values*."""
    return TypedBindings(values, defined) if isinstance(values, TypedEvaluator) else Bindings(values, defined)
