"""Which files a file of C or C++ includes, and which one is meant where several define a name."""

import posixpath
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from appliance.codeintel.flow import Flow
from appliance.codeintel.resolve.units import Units
from appliance.codeintel.resolve.values import External, Module, Package

_SYSTEM: Final = "<"
_MOST: Final = 3_000  # files that one is looked through for
_REMEMBERED: Final = 1_000  # files of which it is remembered what they see: of a kernel's it would be too much
_MOST_ALIKE: Final = 4  # files that end in one path and are as near; more say nothing of any
INLINE: Final = "inline"


class CUnits(Units):
    """The files of one repository: each stands in the one namespace without a name, and sees what it includes."""

    def __init__(self, paths: Sequence[str], flows: Sequence[Flow]) -> None:
        self.same: dict[str, str] = {}  # inline namespaces, by the one that they stand in
        super().__init__(paths, flows)
        self.dotted = list(paths)
        self._flows = flows
        self._folders = [posixpath.dirname(path) for path in paths]
        self._by_path = {path: number for number, path in enumerate(paths)}
        self._by_end: dict[str, list[int]] = defaultdict(list)
        for number, path in enumerate(paths):
            self._by_end[posixpath.basename(path)].append(number)
        self._seen: dict[int, frozenset[int]] = {}
        self._direct: dict[int, tuple[int, ...]] = {}

    def unit(self, file: int, flow: Flow) -> str:
        """Return the namespace that a file is a part of: the one without a name."""
        del file, flow
        return ""

    def find(self, name: str, *, importer: int) -> Module | Package | External:
        """Return the file or the namespace that *name* is in the file *importer*."""
        found = self._meant(name, importer)
        return Module(found[0]) if found else super().find(name, importer=importer)

    def seen(self, file: int) -> frozenset[int]:
        """Return *file*, the files that it includes, and they in turn."""
        known = self._seen.get(file)
        if known is None:
            reached = {file: None}
            waiting = [file]
            for at in waiting:
                further = [each for each in self._included(at) if each not in reached]
                reached.update(dict.fromkeys(further[: _MOST - len(reached)]))
                waiting += further if len(reached) < _MOST else ()
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            known = self._seen[file] = frozenset(reached)
        return known

    def _included(self, file: int) -> tuple[int, ...]:
        known = self._direct.get(file)
        if known is None:
            found = (each for star in self._flows[file].stars for each in self._meant(star, file))
            known = self._direct[file] = tuple(dict.fromkeys(found))
        return known

    def _meant(self, named: str, file: int) -> list[int]:
        """Return the files that an include can mean: beside the includer, else the nearest of those that end like it."""
        path = named.removeprefix(_SYSTEM)
        beside = self._by_path.get(posixpath.normpath(posixpath.join(self._folders[file], path)))
        if beside is not None and not named.startswith(_SYSTEM):
            return [beside]
        end = posixpath.normpath(path).lstrip("./")
        alike = [
            each
            for each in self._by_end.get(posixpath.basename(end), ())
            if self.paths[each] == end or self.paths[each].endswith(f"/{end}")
        ]
        if named.startswith(_SYSTEM) and "/" not in end:
            alike = [each for each in alike if self._is_public(each)]
        return self.nearest(file, alike)[:_MOST_ALIKE]

    def _is_public(self, file: int) -> bool:
        """Return whether *file* stands where a compiler may be told to look for what belongs to the system."""
        return posixpath.basename(self._folders[file]) in {"include", "inc", "public"}

    def nearest(self, file: int, others: Sequence[int]) -> list[int]:
        """Return those of *others* that share the most folders with *file*."""
        if len(others) < 2:
            return list(others)
        shared = [_shared(self._folders[file], self._folders[each]) for each in others]
        return [each for each, count in zip(others, shared, strict=True) if count == max(shared)]

    def below(self, parent: Module | Package, name: str, *, importer: int) -> Package | None:
        """Return the namespace *name* of *parent*, or None if it has none."""
        found = super().below(parent, name, importer=importer)
        return Package(self.same.get(found.name, found.name)) if found else None

    def folders(self, files: Sequence[int]) -> int:
        """Return in how many folders *files* stand."""
        return len({self._folders[each] for each in files})

    def share(self, file: int, other: int) -> bool:
        """Return whether two files stand in one folder below the top, or one of them stands there itself."""
        folders = self._folders[file], self._folders[other]
        return "" in folders or _shared(*folders) > 0

    def _inner(self, file: int, flow: Flow) -> dict[int, str]:
        """Return the full names of a file's namespaces, which are module scopes: one that is inline is what it stands in."""
        del file
        full: dict[int, str] = {}
        for number, scope in enumerate(flow.scopes):
            if scope.kind != "module":
                continue
            outer = full.get(scope.parent, "")
            full[number] = own = f"{outer}.{scope.name}" if outer and scope.name else scope.name or outer
            while own:
                self.known.add(own)
                own = own.rpartition(".")[0]
            if INLINE in scope.marks:
                self.same[full[number]] = full[number] = outer
        return full


def _shared(one: str, other: str) -> int:
    count = 0
    for a, b in zip(one.split("/"), other.split("/"), strict=False):
        if a != b:
            break
        count += 1
    return count
