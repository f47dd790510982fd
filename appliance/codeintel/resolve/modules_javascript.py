"""Which file a JavaScript or TypeScript module is, seen from the file that imports it."""

import posixpath
from collections.abc import Iterator, Sequence
from typing import Final

from appliance.codeintel.resolve.values import External, Module, Package

_ENDINGS: Final = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".es6", ".d.ts", ".d.mts", ".d.cts")
_WRITTEN: Final = {  # what is imported by the name that it has once it is compiled
    ".js": (".ts", ".tsx", ".d.ts"),
    ".jsx": (".tsx", ".d.ts"),
    ".mjs": (".mts", ".d.mts"),
    ".cjs": (".cts", ".d.cts"),
}


class JavaScriptModules:
    """The modules of one repository, by their paths. What is imported by a bare name is outside."""

    def __init__(self, paths: Sequence[str]) -> None:
        """Take the *paths* of the repository's files of this family; the number of a file is its place there."""
        self.dotted = [_without_ending(path) for path in paths]
        self._files = {path: number for number, path in enumerate(paths)}
        self._folders = [posixpath.dirname(path) for path in paths]

    def find(self, name: str, *, importer: int) -> Module | Package | External:
        """Return what the import of *name* gives in the file *importer*."""
        if not name.startswith("."):
            return External(name.removeprefix("node:"))
        path = posixpath.normpath(posixpath.join(self._folders[importer], name))
        found = next((self._files[each] for each in _places(path) if each in self._files), None)
        return External(name) if found is None else Module(found)

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
