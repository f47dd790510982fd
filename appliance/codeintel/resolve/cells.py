"""What is learnt while the call sites are read, and what was worked out from it: anew only where something changed."""

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

from appliance.codeintel.resolve.values import External, Value

Values = frozenset[Value]
NOTHING: Final[Values] = frozenset()
_MOST: Final = 48  # things that something can be; more tell nobody anything
_DEEPEST: Final = 60  # things that are worked out from one another at a time; the next round goes on from there


@dataclass(slots=True)
class _Entry:
    values: Values
    cells: frozenset[int]
    made: int  # the round
    checked: int


class Cells:
    """Sets of values that only grow, and a memory of what depends on which of them.

    Work goes in rounds. What is remembered may be a round behind the cells; whatever has read a cell that grew since is
    worked out again in the next round, and nothing else is.
    """

    def __init__(self) -> None:
        self.round = 0
        self._ids: dict[Hashable, int] = {}
        self._held: list[set[Value]] = []
        self._grown: list[int] = []  # the round in which each last grew
        self._memory: dict[Hashable, _Entry] = {}
        self._active: set[Hashable] = set()
        self._seen: set[int] = set()
        self._put_off: dict[Hashable, Callable[[], Values]] = {}
        self._later: dict[Hashable, Callable[[], Values]] = {}  # what was put off once
        self._late: dict[int, set[Hashable]] = defaultdict(set)
        self._watching: dict[int, set[int]] = defaultdict(set)
        self._stirred: set[int] = set()

    def read(self, key: Hashable) -> Values:
        """Return what the cell *key* holds."""
        cell = self._cell(key)
        self._seen.add(cell)
        return frozenset(self._held[cell])

    def add(self, key: Hashable, values: Values) -> None:
        """Put *values* into the cell *key*."""
        cell = self._cell(key)
        if not values <= self._held[cell]:
            self._held[cell] |= values
            self._grow(cell)

    def known(self, key: Hashable) -> Values | None:
        """Return what is remembered for *key* if it was found to hold in this round already, else None."""
        entry = self._memory.get(key)
        if entry is None or entry.checked != self.round:
            return None
        if entry.cells:
            self._seen |= entry.cells
        return entry.values

    def recall(self, key: Hashable, work_out: Callable[[], Values], *, grows: bool = True) -> Values:
        """Return what *work_out* gave for *key* if that still holds, else what it gives now, and gave before if it *grows*.

        Where something depends on itself, it is what it was in the round before.
        """
        entry = self._memory.get(key)
        if entry is not None and self._holds(entry):
            self._seen |= entry.cells
            return entry.values
        before = entry.values if entry else NOTHING
        if key in self._active or len(self._active) > _DEEPEST:
            self._seen.add(self._cell(("of", key)))
            if key not in self._active:
                self._put_off[key] = work_out
            return before
        outer, self._seen = self._seen, set()
        self._active.add(key)
        try:
            values = work_out()
            if grows:
                values = before if len(before) >= _MOST else _bounded(values | before)
        finally:
            self._active.discard(key)
            seen, self._seen = self._seen, outer
        self._seen |= seen
        self._memory[key] = _Entry(values, frozenset(seen), self.round, self.round)
        if values != before and (own := self._ids.get(("of", key))) is not None:
            self._grow(own)
        return values

    def watch(self, task: int, work: Callable[[], None]) -> None:
        """Do *work*; *task* is due again once a cell that it read has grown."""
        self._seen = set()
        work()
        for cell in self._seen:
            self._watching[cell].add(task)

    def due(self) -> set[int]:
        """Begin the next round, and return the tasks that are due in it."""
        stirred, self._stirred = self._stirred, set()
        put_off, self._put_off = self._put_off, {}
        self.round += 1
        self._later |= put_off
        for key in set(put_off).union(*(self._late[cell] for cell in stirred)):
            self._seen = set()
            self.recall(key, self._later[key])
            for cell in self._seen:
                self._late[cell].add(key)
        return set().union(*(self._watching[cell] for cell in stirred | self._stirred))

    def _cell(self, key: Hashable) -> int:
        cell = self._ids.get(key)
        if cell is None:
            cell = self._ids[key] = len(self._held)
            self._held.append(set())
            self._grown.append(-1)
        return cell

    def _grow(self, cell: int) -> None:
        self._grown[cell] = self.round
        self._stirred.add(cell)

    def _holds(self, entry: _Entry) -> bool:
        if entry.checked < self.round:
            if any(self._grown[cell] >= entry.made for cell in entry.cells):
                return False
            entry.checked = self.round
        return True


def _bounded(values: Values) -> Values:
    if len(values) <= _MOST:
        return values
    return frozenset(sorted(values, key=lambda value: (isinstance(value, External), repr(value)))[:_MOST])
