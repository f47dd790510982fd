"""Which file a module is, and which one a Python module is, seen from the file that imports it."""

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Protocol

from appliance.codeintel.resolve.values import External, Module, Package

_INIT = "__init__.py"


class Finder(Protocol):
    """Which file the name of a module stands for. ``dotted`` is what each file is called as a module."""

    dotted: list[str]

    def find(self, name: str, *, importer: int) -> Module | Package | External:
        """Return what the import of *name* gives in the file *importer*."""

    def below(self, parent: Module | Package, name: str, *, importer: int) -> Module | Package | None:
        """Return the module *name* of the package *parent*, or None if it has none."""


class Modules:
    """The modules of one repository, by their dotted names below each folder that could be on the path."""

    def __init__(self, paths: Sequence[str]) -> None:
        """Take the *paths* of the repository's Python files; the number of a file is its place there."""
        folders = {str(PurePosixPath(path).parent) for path in paths if PurePosixPath(path).name == _INIT}
        self._root = [_root(path, folders) for path in paths]
        self.names = [_dotted(path, root) for path, root in zip(paths, self._root, strict=True)]
        self.dotted = [_dotted(path, ".") for path in paths]
        self._is_package = [PurePosixPath(path).name == _INIT for path in paths]
        self._known: dict[tuple[str, str], int] = {}
        self._packages: set[tuple[str, str]] = set()
        self._elsewhere: dict[str, list[int]] = defaultdict(list)
        for number, (path, root) in enumerate(zip(paths, self._root, strict=True)):
            self._known.setdefault((root, self.names[number]), number)  # x.py stands before x.pyi
            if "." in self.names[number] or self._is_package[number]:
                self._elsewhere[self.names[number]].append(number)
            for above in _and_above(root):
                name = _dotted(path, above)
                self._known.setdefault((above, name), number)
                while name := name.rpartition(".")[0]:
                    self._packages.add((above, name))

    def find(self, name: str, *, importer: int) -> Module | Package | External:
        """Return what the import of *name*, with leading dots if it is relative, gives in the file *importer*.

        A module is looked for below the importer's own folder of packages and the folders above it. Elsewhere only one in a
        package counts, and only if there is one of that name: a script that is called as a library is, is not that library.
        For the same reason only a name with a dot counts that is one from within the packages around the importer, where a
        script is run in a folder that is a package itself.
        """
        if name.startswith("."):
            name = self._absolute(name, importer)
        for root in _and_above(self._root[importer]):
            if (number := self._known.get((root, name))) is not None:
                return Module(number)
            if (root, name) in self._packages:
                return Package(name)
        if (number := next(self._beside(name, importer), None)) is not None:
            return Module(number)
        candidates = self._elsewhere.get(name, ())
        return Module(candidates[0]) if len(candidates) == 1 else External(name)

    def below(self, parent: Module | Package, name: str, *, importer: int) -> Module | Package | None:
        """Return the module *name* of the package *parent*, or None if it has none."""
        if isinstance(parent, Module):
            if not self._is_package[parent.file]:
                return None
            importer, within = parent.file, self.names[parent.file]
        else:
            within = parent.name
        found = self.find(f"{within}.{name}" if within else name, importer=importer)
        return None if isinstance(found, External) or found == parent else found

    def _beside(self, name: str, importer: int) -> Iterator[int]:
        """Yield the modules that are called *name*, which has a dot, from within a package around the file *importer*."""
        head, dot, _ = name.partition(".")
        within = self.names[importer] if dot and head not in sys.stdlib_module_names else ""
        while within := within.rpartition(".")[0]:
            number = self._known.get((self._root[importer], f"{within}.{name}"))
            if number is not None:
                yield number

    def _absolute(self, name: str, importer: int) -> str:
        bare = name.lstrip(".")
        up = len(name) - len(bare) - self._is_package[importer]
        parts = self.names[importer].split(".") if self.names[importer] else []
        parts = parts[: len(parts) - up] if up else parts
        return ".".join([*parts, bare] if bare else parts)


def _root(path: str, packages: set[str]) -> str:
    """Return the first folder above *path* that is no package."""
    folder = PurePosixPath(path).parent
    while str(folder) in packages and folder != folder.parent:
        folder = folder.parent
    return str(folder)


def _and_above(folder: str) -> list[str]:
    return [folder, *(str(above) for above in PurePosixPath(folder).parents)]


def _dotted(path: str, root: str) -> str:
    inside = PurePosixPath(path).relative_to(root) if root != "." else PurePosixPath(path)
    parts = [*inside.parts[:-1], inside.stem]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
