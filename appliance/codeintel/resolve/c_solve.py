"""Rounds over call sites and stores of C and C++."""

from appliance.codeintel.flow import UNKNOWN
from appliance.codeintel.resolve.c_calls import FIELD, CContainers, CMembers
from appliance.codeintel.resolve.cells import Values
from appliance.codeintel.resolve.typed_solve import TypedSolver
from appliance.codeintel.resolve.values import Class, Constant, Container, Instance


class CSolver(TypedSolver):
    """Solves the flows of one repository of C and C++: variables of files and namespaces, and fields by their order."""

    def _store(self, file: int, base: int, name: str, key: int, values: Values) -> None:
        place = next((each.text for each in self._typed.of(file, key) if isinstance(each, Constant)), "") if key else ""
        for value in self._typed.of(file, base):
            match value:
                case Class(scope) if self._typed.scope(scope).kind == "module":
                    declared = self._typed.of(
                        self._typed.scope_file[scope], self._typed.scope(scope).names.get(name, UNKNOWN)
                    )
                    self._learn(("static", scope, name), values, declared, is_declared=bool(declared))
                case Instance(scope) if place.startswith(FIELD):
                    self._fill_field(scope, int(place.removeprefix(FIELD)), values)
                case _:
                    self._store_one(file, value, name, key, values)

    def _fill_field(self, scope: int, place: int, values: Values) -> None:
        """Let the field at *place* of the type *scope* hold *values*; what a macro lists fills the fields from there on."""
        containers = self._typed.containers
        for value in values:
            for further, held in containers.listed(value) if isinstance(containers, CContainers) else ():
                self._fill_one(scope, place + further, held)
        self._fill_one(scope, place, frozenset(each for each in values if not isinstance(each, Container)))

    def _fill_one(self, scope: int, place: int, values: Values) -> None:
        members = self._typed.classes
        name = members.field(scope, place) if isinstance(members, CMembers) else ""
        if name:
            declared = members.own(scope, name, Instance(scope))
            self._learn(("attribute", scope, name), values, declared, is_declared=bool(declared))
