"""Patterns of paths as .gitignore has them. They may come from a repository: none costs more than its length allows."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property, lru_cache
from typing import Final

_ANY_FOLDERS: Final = "**"


@dataclass(frozen=True)
class Glob:
    """One pattern. Without a slash, but at its end, it fits a name in any folder; with one, a path from the root.

    ``*`` fits within a name, ``**`` as a whole part fits any number of folders. A slash at the end: folders alone.
    """

    pattern: str

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The parts between slashes, from the root."""
        parts = [part for part in self.pattern.split("/") if part]
        if "/" not in self.pattern.rstrip("/"):
            parts.insert(0, _ANY_FOLDERS)
        return tuple(part for n, part in enumerate(parts) if part != _ANY_FOLDERS or parts[n - 1 : n] != [_ANY_FOLDERS])

    def fits(self, path: str, *, folder: bool) -> bool:
        """Return whether *path*, a folder or a file, is what the pattern names itself: not that it lies in such a folder."""
        if self.pattern.endswith("/") and not folder:
            return False
        if len(self.parts) == 2 and self.parts[0] == _ANY_FOLDERS:
            return _matcher(self.parts[1]).match(path.rpartition("/")[2]) is not None
        return _fits(self.parts, path.split("/"))


class Globs:
    """Patterns, of which the last that fits decides; ``!`` before one takes back. What is in a folder goes with it."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._rules = [(Glob(pattern.removeprefix("!")), not pattern.startswith("!")) for pattern in patterns]
        self._folders: dict[str, bool] = {"": False}

    def __bool__(self) -> bool:
        return bool(self._rules)

    def fit(self, path: str) -> bool:
        """Return whether the file at *path* is meant."""
        folder = path.rpartition("/")[0]
        return self._folder(folder) or self._last(path, folder=False)

    def _folder(self, path: str) -> bool:
        known = self._folders.get(path)
        if known is None:
            known = self._folder(path.rpartition("/")[0]) or self._last(path, folder=True)
            self._folders[path] = known
        return known

    def _last(self, path: str, *, folder: bool) -> bool:
        return next((meant for glob, meant in reversed(self._rules) if glob.fits(path, folder=folder)), False)


def _fits(parts: tuple[str, ...], names: list[str]) -> bool:
    """Return whether *parts* fit all of *names*: by which of them can be used up after each name, so without going back."""
    at = _beyond({0}, parts)
    for name in names:
        after = set()
        for place in at:
            if place == len(parts):
                continue
            if parts[place] == _ANY_FOLDERS:
                after |= {place, place + 1} if place == len(parts) - 1 else {place}
            elif _matcher(parts[place]).match(name):
                after.add(place + 1)
        at = _beyond(after, parts)
        if not at:
            return False
    return len(parts) in at


def _beyond(places: set[int], parts: tuple[str, ...]) -> set[int]:
    """Return *places* and those behind a ``**`` at them, which may fit nothing; at the end it fits something."""
    return places | {place + 1 for place in places if place < len(parts) - 1 and parts[place] == _ANY_FOLDERS}


@lru_cache(maxsize=4096)
def _matcher(part: str) -> re.Pattern[str]:
    return re.compile(translate(part))
