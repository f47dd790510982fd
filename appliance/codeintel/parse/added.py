"""Languages that plugins add: a table that is made once and never changes, handed to whoever lists files or parses them."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import msgspec


class AddedLanguage(msgspec.Struct, frozen=True, array_like=True):
    """A language by its endings. ``grammar`` is a module, or ``module:function`` where the function is not ``language``.

    Its modules are found in the folder ``path`` too, if that is not "". ``build`` tells the grammar from its other builds.
    """

    name: str
    endings: tuple[str, ...]  # without their dots, in small letters
    grammar: str
    definitions: str  # a query that captures definitions as ``@definition.KIND``, with their ``@name`` and ``@doc``
    path: str = ""
    build: str = ""

    @property
    def fingerprint(self) -> str:
        """What tells what it finds in a file from what is found under any other definition of it."""
        return _digest(msgspec.msgpack.encode(msgspec.structs.replace(self, path="")))


@dataclass(frozen=True, slots=True)
class Languages:
    """The languages beside those that are built in: ``added`` by name, ``names`` and ``hints`` by ending.

    A hint is the name with the fingerprint behind it. Facts of a blob are cached under it, so they are found anew where the
    language is another now, and only there. ``fingerprint`` is of all of them, "" where there are none.
    """

    added: Mapping[str, AddedLanguage]
    names: Mapping[str, str]
    hints: Mapping[str, str]
    fingerprint: str

    @classmethod
    def of(cls, added: Iterable[AddedLanguage]) -> "Languages":
        """Return the table of *added*, of which no two share a name or an ending."""
        by_name = {each.name: each for each in sorted(added, key=lambda each: each.name)}
        hints = {ending: f"{each.name}@{each.fingerprint}" for each in by_name.values() for ending in each.endings}
        return cls(
            MappingProxyType(by_name),
            MappingProxyType({ending: each.name for each in by_name.values() for ending in each.endings}),
            MappingProxyType(hints),
            _digest(repr(sorted(hints.items())).encode()) if hints else "",
        )


def _digest(told: bytes) -> str:
    return hashlib.sha256(told).hexdigest()[:16]


BUILT_IN: Final = Languages.of(())
"""No language beside those that are built in."""
