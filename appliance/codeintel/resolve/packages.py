"""What bare names stand for in a repository of JavaScript: its own packages, and the paths of a ``tsconfig.json``."""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_NOTES: Final = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_COMMAS: Final = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
_BUILT: Final = frozenset({"dist", "lib", "build", "out", "esm", "cjs"})  # folders that are made of ``src``
_MOST_LEAVES: Final = 64
_DEEPEST: Final = 8


@dataclass(frozen=True, slots=True)
class _Package:
    folder: str
    entries: Mapping[str, tuple[str, ...]]  # by what is imported of it, "." or "./x", perhaps with a star


class Packages:
    """The packages of one repository and the aliases of its folders, by their settings: path and content of each file."""

    def __init__(self, settings: Mapping[str, bytes]) -> None:
        self._packages: dict[str, _Package] = {}
        self._aliases: dict[str, list[tuple[str, str]]] = {}
        for path in sorted(settings, key=lambda each: (each.count("/"), each)):
            read = _read(settings[path])
            folder, name = posixpath.split(path)
            called = read.get("name")
            if name == "package.json" and isinstance(called, str) and "node_modules" not in path:
                self._packages.setdefault(called, _Package(folder, _entries(read)))
            elif name.endswith(".json") and name != "package.json":
                self._aliases.setdefault(folder, []).extend(_aliases(read, folder))

    def places(self, name: str, *, folder: str) -> Iterator[str]:
        """Yield the paths, with endings or without, that the bare *name* may stand for in a file of *folder*."""
        for above in _and_above(folder):
            for pattern, target in self._aliases.get(above, ()):
                if (star := _matched(pattern, name)) is not None:
                    yield posixpath.normpath(target.replace("*", star))
        parts = name.split("/")
        own = 2 if name.startswith("@") else 1
        package = self._packages.get("/".join(parts[:own]))
        if package is not None:
            yield from _within(package, "/".join([".", *parts[own:]]))


def is_settings(path: str) -> bool:
    """Return whether the file at *path* says what bare names stand for."""
    name = posixpath.basename(path)
    return name in {"package.json", "jsconfig.json", "go.mod", "Cargo.toml"} or (
        name.startswith("tsconfig") and name.endswith(".json")
    )


def _read(content: bytes) -> dict[str, object]:
    """Return the object that *content* is, with comments and spare commas or without; nothing if it is none."""
    try:
        text = _NOTES.sub(lambda match: match[1] or "", content.decode("utf-8-sig", "replace"))
        read = json.loads(_COMMAS.sub(lambda match: match[1] or "", text))
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _entries(package: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    exports = package.get("exports")
    named = exports if isinstance(exports, dict) and any(str(key).startswith(".") for key in exports) else {".": exports}
    entries = {str(key): tuple(_leaves(value)) for key, value in named.items()}
    mains = [package.get(field) for field in ("source", "module", "main", "types")]
    entries["."] = (*entries.get(".", ()), *(each for each in mains if isinstance(each, str)))
    return entries


def _leaves(value: object, depth: int = 0) -> list[str]:
    """Return the paths that stand in *value*, whatever the conditions under which they hold."""
    if isinstance(value, str):
        return [value]
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [leaf for each in inner for leaf in _leaves(each, depth + 1)][:_MOST_LEAVES] if depth < _DEEPEST else []


def _within(package: _Package, wanted: str) -> Iterator[str]:
    found = [
        leaf.replace("*", star)
        for pattern, leaves in package.entries.items()
        if (star := _matched(pattern, wanted)) is not None
        for leaf in leaves
    ]
    for leaf in [
        *found,
        *([] if wanted == "." else [wanted]),
        f"./src/{wanted[2:] or 'index'}",
        f"./{wanted[2:] or 'index'}",
    ]:
        inside = posixpath.normpath(leaf)
        yield posixpath.normpath(posixpath.join(package.folder, inside))
        head, _, rest = inside.partition("/")
        if head in _BUILT and rest:
            yield posixpath.normpath(posixpath.join(package.folder, "src", rest))


def _aliases(config: Mapping[str, object], folder: str) -> Iterator[tuple[str, str]]:
    options = config.get("compilerOptions")
    if not isinstance(options, dict):
        return
    base, paths = options.get("baseUrl"), options.get("paths")
    root = posixpath.join(folder, base) if isinstance(base, str) else folder
    for pattern, targets in paths.items() if isinstance(paths, dict) else ():
        for target in targets if isinstance(targets, list) else ():
            if isinstance(target, str):
                yield str(pattern), posixpath.join(root, target)
    if isinstance(base, str):
        yield "*", posixpath.join(root, "*")


def _matched(pattern: str, name: str) -> str | None:
    """Return what the star of *pattern* stands for in *name*, None if they do not match."""
    head, star, tail = pattern.partition("*")
    if not star:
        return "" if pattern == name else None
    long_enough = len(name) >= len(head) + len(tail)
    return name[len(head) : len(name) - len(tail)] if long_enough and name.startswith(head) and name.endswith(tail) else None


def _and_above(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""
