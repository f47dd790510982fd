"""What the paths of a repository say of a file by what stands beside it: an older version, something internal, a header."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from appliance.codeintel.source.base import FileFlags

_OUTDATED: Final = frozenset({"legacy", "deprecated", "compat", "obsolete", "old"})
_INTERNAL: Final = frozenset({"internal", "internals", "private"})
_VERSION: Final = re.compile(r"v(\d{1,3})")
_HEADERS: Final = frozenset({"h", "hh", "hpp", "hxx"})
_SOURCES: Final = ("c", "cc", "cpp", "cxx", "m", "mm")
_NAMESAKES: Final = 3  # files of a version that stand without it too, at least, and one in so many of them


class Standing:
    """Judges the files at *paths*, when it is first asked: nobody pays for it who does not rank."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._outdated: dict[str, str] | None = None
        self._all: frozenset[str] = frozenset()
        self._folders: dict[str, tuple[int, tuple[str, ...]]] = {}  # as `_folder` tells them
        self._names: dict[int, int] = {}  # of files, as `_name` does

    def flags(self, files: Iterable[int], *, asked: frozenset[str]) -> npt.NDArray[np.uint8]:
        """Return for each of *files* its `FileFlags` of this kind.

        An older version is none to who asks for it: one of the lower-case words *asked* begins with its folder's name.
        """
        if self._outdated is None:
            self._all = frozenset(self._paths)
            self._outdated = _outdated(self._paths)
        return np.array([self._folder(self._paths[file], asked) | self._name(file) for file in files], dtype=np.uint8)

    def _folder(self, path: str, asked: frozenset[str]) -> int:
        folder = path.rpartition("/")[0]
        if folder not in self._folders:
            self._folders[folder] = self._told(folder, self._outdated or {})
        always, versions = self._folders[folder]
        old = any(not any(word.startswith(version) for word in asked) for version in versions)
        return always | FileFlags.LEGACY if old else always

    def _told(self, folder: str, outdated: Mapping[str, str]) -> tuple[int, tuple[str, ...]]:
        """Return the flags of all that is in *folder*, and the older versions that it is in."""
        parts = folder.split("/")
        internal = any(part.lower() in _INTERNAL or _hidden(part) for part in parts)
        around = ("/".join(parts[:number]) for number in range(1, len(parts) + 1))
        versions = tuple(outdated[each] for each in around if each in outdated)
        return int(FileFlags.INTERNAL if internal else FileFlags.NONE), versions

    def _name(self, file: int) -> int:
        if file not in self._names:
            stem, _, ending = self._paths[file].rpartition(".")
            header = ending in _HEADERS and any(f"{stem}.{source}" in self._all for source in _SOURCES)
            hidden = _hidden(self._paths[file].rpartition("/")[2])
            flag = FileFlags.HEADER if header else FileFlags.INTERNAL if hidden else FileFlags.NONE
            self._names[file] = int(flag)
        return self._names[file]


def _hidden(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _outdated(paths: Sequence[str]) -> dict[str, str]:
    """Return the folders that hold an older version, each with its name in lower case.

    One that says so; `v1` beside `v2`; and `v1` in a folder where files of the same names stand without a version.
    """
    found: dict[str, str] = {}
    files: defaultdict[str, set[str]] = defaultdict(set)
    versions: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for path in paths:
        folder, _, name = path.rpartition("/")
        files[folder].add(name)
    for folder in files:
        parts = folder.split("/")
        for number, part in enumerate(parts, start=1):
            if part.lower() in _OUTDATED:
                found["/".join(parts[:number])] = part.lower()
            elif match := _VERSION.fullmatch(part):
                versions["/".join(parts[: number - 1])]["/".join(parts[:number])] = int(match[1])
    for around, folders in versions.items():
        newest = max(folders.values())
        for folder, version in folders.items():
            inside = files.get(folder, set())
            beside = len(inside & files.get(around, set()))
            if version < newest or (beside >= _NAMESAKES and beside * _NAMESAKES >= len(inside)):
                found[folder] = f"v{version}"
    return found
