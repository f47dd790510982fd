"""Which symbol of a generation each scope of its flows is, and each name in one."""

import sqlite3
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from appliance.codeintel.facts import Symbol
from appliance.codeintel.flow import Flow, FlowScope
from appliance.codeintel.resolve.bindings import EXPORT, Named, Target
from appliance.codeintel.resolve.values import Module
from appliance.codeintel.store.flows import Key

_Definition = tuple[int, int, int]  # first line, last line, id


@dataclass(frozen=True, slots=True)
class Part:
    """One file that is followed: its number in the generation, its flow, and by which key its blob is known."""

    number: int
    path: str
    key: Key
    flow: Flow
    first_symbol: int
    test: bool


class Places:
    """Symbols by scope and name; what has none stands in the next one around, or at the top level of its file."""

    def __init__(self, generation: sqlite3.Connection, parts: Sequence[Part]) -> None:
        self.of = array("i")
        self.own: list[bool] = []
        self._parts = parts
        self.tested: list[bool] = []  # whether each scope stands in a test
        self._numbers: dict[str, int] = {}  # of names
        self._keys, self._ids = array("q"), array("i")  # of symbols: by the one around, or -1 - file, and the name
        for part in parts:
            known, first = self._definitions(generation, part.number), len(self.tested)
            placed: list[int] = []
            for scope in part.flow.scopes:
                symbol = _symbol(known.get(scope.name, ()), scope.line)
                self.own.append(symbol is not None or scope.kind == "module")
                outer = part.test if scope.parent < 0 else self.tested[first + scope.parent]
                self.tested.append(outer or "test" in scope.marks)
                placed.append(-1 - part.number if scope.parent < 0 else placed[scope.parent] if symbol is None else symbol)
            self.of.extend(placed)
        order = np.argsort(np.frombuffer(self._keys, dtype=np.int64), kind="stable")
        self._keys = array("q", np.frombuffer(self._keys, dtype=np.int64)[order].tobytes())
        self._ids = array("i", np.frombuffer(self._ids, dtype=np.int32)[order].tobytes())

    def defined(self, scope: int, name: str) -> bool:
        """Return whether there is a symbol called *name* in *scope*."""
        return self._of_name(scope, name) is not None

    def target(self, target: Target) -> int | None:
        """Return the symbol, or -1 - file, that *target* is; None if there is none."""
        match target:
            case Module(file):
                return -1 - self._parts[file].number
            case Named(scope, name):
                return self._of_name(scope, name)
            case _:
                return self.of[target] if self.own[target] else None

    def in_test(self, target: Target) -> bool:
        """Return whether *target* stands in a test."""
        match target:
            case Module(file):
                return self._parts[file].test
            case Named(scope, _):
                return self.tested[scope]
            case _:
                return self.tested[target]

    def _of_name(self, scope: int, name: str) -> int | None:
        plain = name.removeprefix(EXPORT).removeprefix(".").partition("@")[0].removesuffix("()")
        name_number = self._numbers.get(plain)
        if name_number is None or not self.own[scope]:
            return None
        key = _key(self.of[scope], name_number)
        at = bisect_left(self._keys, key)
        return self._ids[at] if at < len(self._keys) and self._keys[at] == key else None

    def _definitions(self, generation: sqlite3.Connection, file: int) -> dict[str, list[_Definition]]:
        known: dict[str, list[_Definition]] = defaultdict(list)
        rows = generation.execute(
            "SELECT name, start_line, end_line, id, parent FROM symbols WHERE file = ? ORDER BY id", (file,)
        )
        for name, start, end, number, parent in rows:
            known[name].append((start, end, number))
            name_number = self._numbers.setdefault(sys.intern(name), len(self._numbers))
            self._keys.append(_key(parent if parent >= 0 else -1 - file, name_number))
            self._ids.append(number)
        return known


def standing(scopes: Iterable[FlowScope], symbols: Sequence[Symbol]) -> list[int | None]:
    """Return which of the *symbols* of its blob each of *scopes* is, by their places there."""
    known: dict[str, list[_Definition]] = defaultdict(list)
    for number, symbol in enumerate(symbols):
        known[symbol.name].append((symbol.start_line, symbol.end_line, number))
    return [_symbol(known.get(scope.name, ()), scope.line) for scope in scopes]


def _key(around: int, name: int) -> int:
    return (around << 32) + name


def _symbol(named: "Sequence[_Definition]", line: int) -> int | None:
    """Return the last of the definitions *named* that begins by *line* and holds it."""
    at = bisect_right(named, line, key=lambda each: each[0])
    return next((number for start, end, number in reversed(named[:at]) if start <= line <= end), None)
