"""What Go's terms can be, and which package each of its files is a part of."""

import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from appliance.codeintel.flow import Flow
from appliance.codeintel.resolve.calls import Arguments
from appliance.codeintel.resolve.cells import NOTHING, Values
from appliance.codeintel.resolve.typed import TypedEvaluator
from appliance.codeintel.resolve.typed_calls import TypedCalls, TypedContainers
from appliance.codeintel.resolve.units import Units
from appliance.codeintel.resolve.values import Container, External, Module, Package, Value
from appliance.codeintel.resolve.words import GO

_MODULE: Final = re.compile(r'^[ \t]*module[ \t]+"?([^\s"]+)"?', re.MULTILINE)
_TEST: Final = "_test"
_SILENT: Final = ("builtin.", "fmt.", "reflect.", "errors.", "log.")  # they look at functions at most
_APPEND: Final = "builtin.append"


class GoUnits(Units):
    """The packages of one repository: a folder each, by the path of the module that a ``go.mod`` above it names."""

    def __init__(self, paths: Sequence[str], flows: Sequence[Flow], settings: Mapping[str, bytes]) -> None:
        self._modules: dict[str, str] = {}
        for path, content in settings.items():
            named = _MODULE.search(content.decode("utf-8", "replace")) if posixpath.basename(path) == "go.mod" else None
            if named is not None:
                self._modules[posixpath.dirname(path)] = named[1]
        super().__init__(paths, flows)
        self._ends: dict[str, set[str]] = {}
        for unit in self.of:
            at = unit
            while at:
                self._ends.setdefault(at, set()).add(unit)
                at = at.partition("/")[2]

    def unit(self, file: int, flow: Flow) -> str:
        """Return the path by which the package of *file* is imported; tests of one from outside are one of their own."""
        folder = posixpath.dirname(self.paths[file])
        inside = self.paths[file].endswith(f"{_TEST}.go") and flow.unit.endswith(_TEST)
        return self._path(folder) + _TEST * inside

    def _path(self, folder: str) -> str:
        above = folder
        while above not in self._modules and above:
            above = posixpath.dirname(above)
        module = self._modules.get(above)
        if module is None:
            return folder or "."
        return posixpath.join(module, posixpath.relpath(folder or ".", above or ".")) if folder != above else module

    def find(self, name: str, *, importer: int) -> Module | Package | External:
        """Return the package *name*. Without a ``go.mod`` it is the only folder whose path the name ends with."""
        found = super().find(name, importer=importer)
        if isinstance(found, Package) or self._modules or "/" not in name:
            return found
        at = name
        while at:
            units = self._ends.get(at, ())
            if units:
                return Package(next(iter(units))) if len(units) == 1 else found
            at = at.partition("/")[2]
        return found

    def below(self, parent: Module | Package, name: str, *, importer: int) -> None:
        """Return None: a folder's packages are no members of it."""


class GoContainers(TypedContainers):
    """Looks into containers: a loop over a channel yields what it holds, and one over anything else its keys."""

    def iterated(self, value: Value) -> Values:
        """Return what the first variable of a ``range`` over *value* is."""
        if isinstance(value, Container) and value.kind != "chan":
            return NOTHING
        return super().iterated(value)


class GoCalls(TypedCalls):
    """Works out what Go's calls give: ``append`` gives what it adds to."""

    follows: ClassVar[frozenset[str]] = frozenset({_APPEND})

    def _builtin(self, path: str, arguments: Arguments, scope: int) -> Values | None:  # noqa: ARG002 - others need it
        """Return what the builtin function *path* gives, None if it is none that is followed."""
        return (arguments[0][1] if arguments else NOTHING) if path == _APPEND else None

    def calls_back(self, path: str) -> bool:
        """Return whether what lies outside at *path* may call functions that it is given."""
        return not path.startswith(_SILENT)

    def learn(self, value: Value, arguments: Arguments) -> None:
        """Learn what ``append`` adds."""
        if value == External(_APPEND) and len(arguments) > 1:
            single = self._typed.union(values for name, values in arguments[1:] if not name)
            whole = self._typed.union(values for name, values in arguments[1:] if name)
            self.fill(arguments[0][1], single)
            self.refill(arguments[0][1], whole)


class Go(TypedEvaluator):
    """Evaluates Go: what has the methods of an interface implements it, and types that are called turn things into them."""

    words = GO
    calls_as = GoCalls
    containers_as = GoContainers
    structural: ClassVar[bool] = True
    makes: ClassVar[bool] = False

    def _elsewhere(self, scope: int, name: str) -> Values:  # noqa: ARG002 - others look from there
        return frozenset((External(f"{self.words.builtins}.{name}"),))
