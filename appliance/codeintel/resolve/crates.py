"""Which module of which crate each Rust file is."""

import posixpath
import tomllib
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from appliance.codeintel.flow import Flow
from appliance.codeintel.resolve.units import Units
from appliance.codeintel.resolve.values import External, Module, Package

_TARGETS: Final = ("bin", "test", "example", "bench")
_FOLDERS: Final = ("src/bin", "tests", "examples", "benches")
_ROOTS: Final = frozenset({"lib", "main", "mod"})
_LONGEST: Final = 200_000  # bytes of a Cargo.toml


class Crates(Units):
    """The modules of one repository, by crate: each is a folder with a root file that a ``Cargo.toml`` names or implies."""

    between: ClassVar[str] = "::"

    def __init__(self, paths: Sequence[str], flows: Sequence[Flow], settings: Mapping[str, bytes]) -> None:
        self._folders: dict[str, str] = {}  # crates by the folder of their root files
        self._crates: dict[str, str] = {}  # and by the names under which others know them
        self._renamed: dict[str, str] = {}
        self._roots: set[str] = set()  # paths of root files, without their ending
        for path in sorted(settings, key=lambda each: (each.count("/"), each)):
            if posixpath.basename(path) == "Cargo.toml":
                self._take(posixpath.dirname(path), _read(settings[path]))
        super().__init__(paths, flows)
        self._rooted = {unit for unit in self.of if self.between not in unit}

    def _take(self, folder: str, settings: Mapping[str, object]) -> None:
        package = settings.get("package")
        name = package.get("name") if isinstance(package, dict) else None
        if not isinstance(name, str):
            return
        lib = settings.get("lib")
        lib = lib if isinstance(lib, dict) else {}
        called = str(lib.get("name") or name).replace("-", "_")
        key = called if called not in self._folders.values() else f"{called}@{folder}"
        self._add(folder, str(lib.get("path") or "src/lib.rs"), key)
        self._crates.setdefault(called, key)
        for target in _TARGETS:
            listed = settings.get(target)
            for each in listed if isinstance(listed, list) else ():
                if isinstance(each, dict) and isinstance(each.get("path"), str):
                    self._add(folder, each["path"], f"{key}#{posixpath.dirname(each['path'])}")
        for at in _FOLDERS:
            self._folders.setdefault(_below(folder, at), f"{key}#{at}")
        self._rename(settings)

    def _add(self, folder: str, path: str, key: str) -> None:
        """Know the crate *key* with the root file *path* below *folder*."""
        full = _below(folder, path)
        self._roots.add(full.removesuffix(".rs"))
        self._folders.setdefault(posixpath.dirname(full), key)

    def _rename(self, settings: Mapping[str, object]) -> None:
        for table in ("dependencies", "dev-dependencies"):
            listed = settings.get(table)
            for alias, what in listed.items() if isinstance(listed, dict) else ():
                if isinstance(what, dict) and isinstance(what.get("package"), str):
                    self._renamed[alias.replace("-", "_")] = what["package"].replace("-", "_")

    def unit(self, file: int, flow: Flow) -> str:  # noqa: ARG002 - a file does not say what it is
        """Return the full name of the module that *file* is: its path below the folder of its crate."""
        stem = self.paths[file].removesuffix(".rs")
        folder = posixpath.dirname(stem)
        while folder not in self._folders and folder:
            folder = (posixpath.basename(folder) != "src" and posixpath.dirname(folder)) or ""
        crate = self._folders.get(folder)
        if crate is None:
            folder = _source_folder(stem)
            crate = self._folders[folder] = f"@{folder}"
        inside = posixpath.relpath(stem, folder or ".").split("/")
        is_root = inside[-1] in _ROOTS or stem in self._roots
        return self.between.join([crate, *inside[: -1 if is_root else None]])

    def crate(self, file: int) -> str:
        """Return the crate of *file*: of the folder of its root, or the file itself where that has no root in it."""
        crate, _, inside = self.of[file].partition(self.between)
        return crate if crate in self._rooted or self.between in inside else self.of[file]

    def find(self, name: str, *, importer: int) -> Module | Package | External:
        """Return what a path that begins with a crate, ``crate``, ``self`` or ``super`` names in the file *importer*."""
        head, *rest = name.split(self.between)
        at = self.of[importer]
        if head == "crate":
            at = self.crate(importer)
        elif head != "self":
            inner = f"{at}{self.between}{head}"
            known = inner if inner in self.known else self._crates.get(self._renamed.get(head, head))
            if known is None:
                return External(name)
            at = known
        for each in rest:
            at = at.rpartition(self.between)[0] if each == "super" else f"{at}{self.between}{each}"
        return Package(at) if at in self.known else External(name)

    def beside(self, name: str, *, importer: int) -> Package | None:
        """Return the module *name* that a root file of a crate has next to it, or that the root of the crate has."""
        for within in (self.of[importer].rpartition(self.between)[0], self.crate(importer)):
            if within and (found := self.below(Package(within), name, importer=importer)):
                return found
        return None


def _below(folder: str, path: str) -> str:
    joined = posixpath.normpath(posixpath.join(folder, path))
    return "" if joined == "." else joined


def _source_folder(stem: str) -> str:
    """Return the folder that the crate of a file has its root in, where no settings say so: the nearest called ``src``."""
    parts = stem.split("/")[:-1]
    while parts and parts[-1] != "src":
        parts.pop()
    return "/".join(parts)


def _read(content: bytes) -> dict[str, object]:
    try:
        return tomllib.loads(content[:_LONGEST].decode("utf-8", "replace"))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return {}
