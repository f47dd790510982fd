"""Units: packages, namespaces and modules that several files can be parts of, and that files can have parts of."""

from collections.abc import Sequence
from typing import ClassVar

from appliance.codeintel.flow import Flow
from appliance.codeintel.resolve.values import External, Module, Package


class Units:
    """The units of one repository by their full names. A language says how a file's is called, and what imports mean.

    A module scope that stands in another one is the unit of that name in it.
    """

    between: ClassVar[str] = "."  # stands between the name of a unit and that of one in it

    def __init__(self, paths: Sequence[str], flows: Sequence[Flow]) -> None:
        """Take the *paths* and *flows* of the repository's files; the number of a file is its place there."""
        self.paths = paths
        self.dotted = [path.rpartition(".")[0] or path for path in paths]
        self.of = [self.unit(file, flow) for file, flow in enumerate(flows)]
        self.known = {""}
        self.inner = [self._inner(file, flow) for file, flow in enumerate(flows)]

    def unit(self, file: int, flow: Flow) -> str:
        """Return the full name of the unit that *file* is a part of: here what it says itself."""
        return flow.unit or self.dotted[file]

    def find(self, name: str, *, importer: int) -> Module | Package | External:
        """Return the unit that the import of *name* gives in the file *importer*: its own for ""."""
        full = name or self.of[importer]
        return Package(full) if full in self.known else External(name)

    def below(self, parent: Module | Package, name: str, *, importer: int) -> Package | None:
        """Return the unit *name* of the unit *parent*, or None if it has none."""
        within = self.of[importer] if isinstance(parent, Module) else parent.name
        full = f"{within}{self.between}{name}" if within else name
        return Package(full) if full in self.known else None

    def _inner(self, file: int, flow: Flow) -> dict[int, str]:
        """Return the full names of the units that are module scopes of *file*, and know them and what they stand in."""
        full: dict[int, str] = {}
        for number, scope in enumerate(flow.scopes):
            if scope.kind == "module":
                outer = full[scope.parent] if scope.parent >= 0 else self.of[file]
                own = outer if scope.parent < 0 else f"{outer}{self.between}{scope.name}" if outer else scope.name
                full[number] = own
                while own not in self.known:
                    self.known.add(own)
                    own = own.rpartition(self.between)[0]
        return full
