"""Which file a JavaScript or TypeScript module is, seen from the file that imports it."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from appliance.codeintel.resolve.packages import Packages
from appliance.codeintel.resolve.values import External, Module, Package

_ENDINGS: Final = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".es6", ".d.ts", ".d.mts", ".d.cts")
_WRITTEN: Final = {  # what is imported by the name that it has once it is compiled
    ".js": (".ts", ".tsx", ".d.ts"),
    ".jsx": (".tsx", ".d.ts"),
    ".mjs": (".mts", ".d.mts"),
    ".cjs": (".cts", ".d.cts"),
}


class JavaScriptModules:
    """The modules of one repository, by their paths. What is imported by a bare name is outside, if no settings say more."""

    def __init__(self, paths: Sequence[str], settings: Mapping[str, bytes] | None = None) -> None:
        """Take the *paths* of the repository's files of this family; the number of a file is its place there.

        *settings* are the contents of its ``package.json`` and ``tsconfig.json`` files by their paths.
        """
        self._packages = Packages(settings or {})
        self.dotted = [_without_ending(path) for path in paths]
        self._files = {path: number for number, path in enumerate(paths)}
        self._known: dict[tuple[str, str], Module | External] = {}
        self._folders = [posixpath.dirname(path) for path in paths]

    def find(self, name: str, *, importer: int) -> Module | Package | External:
        """Return what the import of *name* gives in the file *importer*."""
        key = (self._folders[importer], name)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._found(name, self._folders[importer])
        return found

    def _found(self, name: str, folder: str) -> Module | External:
        relative = name.startswith(".")
        paths = (
            [posixpath.normpath(posixpath.join(folder, name))] if relative else self._packages.places(name, folder=folder)
        )
        for path in paths:
            found = next((self._files[each] for each in _places(path) if each in self._files), None)
            if found is not None:
                return Module(found)
        return External(name if relative else name.removeprefix("node:"))

    def below(self, parent: Module | Package, name: str, *, importer: int) -> None:
        """Return None: a folder's modules are no members of it."""


def _places(path: str) -> Iterator[str]:
    stem, ending = posixpath.splitext(path)
    yield path
    for written in _WRITTEN.get(ending, ()):
        yield stem + written
    for each in _ENDINGS:
        yield path + each
    for each in _ENDINGS:
        yield posixpath.normpath(f"{path}/index{each}")


def _without_ending(path: str) -> str:
    ending = max((each for each in _ENDINGS if path.endswith(each)), key=len, default="")
    return path.removesuffix(ending)
