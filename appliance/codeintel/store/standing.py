"""What the paths of a repository say of a file by what stands beside it: an older version, something internal, a header."""

import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from appliance.codeintel.source.base import FileFlags

_OUTDATED: Final = frozenset({"legacy", "deprecated", "compat", "obsolete", "old"})
_INTERNAL: Final = frozenset({"internal", "internals", "private"})
_VERSION: Final = re.compile(r"v(\d{1,3})")
_HEADERS: Final = frozenset({"h", "hh", "hpp", "hxx"})
_SOURCES: Final = ("c", "cc", "cpp", "cxx", "m", "mm")
_LEGACY: Final = int(FileFlags.LEGACY)
_NAMESAKES: Final = 3  # files of a version that stand without it too, at least, and one in so many of them


class Standing:
    """Judges the files at *paths*, when it is first asked: nobody pays for it who does not rank."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._folders: dict[str, tuple[int, tuple[str, ...]]] = {}
        self._files: dict[int, tuple[int, tuple[str, ...]]] = {}

    def flags(self, files: Iterable[int], *, asked: frozenset[str]) -> npt.NDArray[np.uint8]:
        """Return for each of *files* its `FileFlags` of this kind.

        An older version is none to who asks for it: one of the lower-case words *asked* begins with its folder's name.
        """
        known = self._files
        told = [known[file] if file in known else self._of_file(file) for file in files]
        return np.array(
            [always | _old(versions, asked) if versions else always for always, versions in told], dtype=np.uint8
        )

    def _of_file(self, file: int) -> tuple[int, tuple[str, ...]]:
        """Return the flags that a file has whatever is asked, and the older versions that it is in."""
        path = self._paths[file]
        folder, _, name = path.rpartition("/")
        if folder not in self._folders:
            self._folders[folder] = self._of_folder(folder)
        always, versions = self._folders[folder]
        stem, _, ending = path.rpartition(".")
        if ending in _HEADERS and any(f"{stem}.{source}" in self._all for source in _SOURCES):
            always |= FileFlags.HEADER
        elif _hidden(name):
            always |= FileFlags.INTERNAL
        told = self._files[file] = (int(always), versions)
        return told

    def _of_folder(self, folder: str) -> tuple[int, tuple[str, ...]]:
        parts = folder.split("/")
        internal = any(part.lower() in _INTERNAL or _hidden(part) for part in parts)
        around = ("/".join(parts[:number]) for number in range(1, len(parts) + 1))
        versions = tuple(self._outdated[each] for each in around if each in self._outdated)
        return int(FileFlags.INTERNAL if internal else FileFlags.NONE), versions

    @functools.cached_property
    def _all(self) -> frozenset[str]:
        return frozenset(self._paths)

    @functools.cached_property
    def _outdated(self) -> dict[str, str]:
        return _outdated(self._paths)


def _old(versions: Sequence[str], asked: frozenset[str]) -> int:
    old = any(not any(word.startswith(version) for word in asked) for version in versions)
    return _LEGACY if old else 0


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
