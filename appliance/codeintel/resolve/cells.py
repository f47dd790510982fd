"""What is learnt while the call sites are read, and what was worked out from it: anew only where something changed."""

from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Final

from appliance.codeintel.resolve.values import External, Value

Values = frozenset[Value]
NOTHING: Final[Values] = frozenset()
MOST: Final = 48  # things that something can be; more tell nobody anything
_DEEPEST: Final = 60  # things that are worked out from one another at a time; the next round goes on from there


class Cells:
    """Sets of values that only grow, and a memory of what was worked out from them.

    Each remembers who has read it. When one grows, its readers, and theirs in turn, no longer hold; what does not hold is
    worked out again when it is next asked for, and a task that has read it is due in the next round.
    """

    def __init__(self, most: int = MOST) -> None:
        """Make sets that hold at most so many values each."""
        self._most = most
        self.round = 0
        self._held: dict[Hashable, Values] = {}
        self._readers: dict[Hashable, list[Hashable]] = defaultdict(list)
        self._stale: set[Hashable] = set()
        self._active: dict[Hashable, bool] = {}  # what is being worked out, and whether it has read something stale
        self._reader: Hashable | None = None  # a task t is -1 - t here
        self._put_off: dict[Hashable, Callable[[], Values]] = {}
        self._due: set[int] = set()
        self._one: dict[Values, Values] = {}  # of all that are equal: most hold one thing, and the same ones

    def read(self, key: Hashable) -> Values:
        """Return what the cell *key* holds."""
        self._note(key)
        return self._held.get(key, NOTHING)

    def add(self, key: Hashable, values: Values) -> None:
        """Put *values* into the cell *key*."""
        held = self._held.get(key, NOTHING)
        if len(held) < self._most and not values <= held:
            self._held[key] = self._shared(self._bounded(held | values))
            self._outdate(key)

    def known(self, key: Hashable) -> Values | None:
        """Return what is remembered for *key* if it still holds, else None."""
        found = self._held.get(key)
        if found is None or key in self._stale or key in self._active:
            return None
        self._note(key)
        return found

    def recall(self, key: Hashable, work_out: Callable[[], Values], *, grows: bool = True) -> Values:
        """Return what *work_out* gave for *key* if that still holds, else what it gives now, and gave before if it *grows*.

        Where something depends on itself, it is what it was before.
        """
        found = self.known(key)
        if found is not None:
            return found
        before = self._held.get(key, NOTHING)
        if key in self._active or len(self._active) > _DEEPEST:
            self._note(key)
            if key not in self._active:
                self._put_off[key] = work_out
            return before
        values = self._worked_out(key, work_out, before, grows=grows)
        self._note(key)
        return values

    def watch(self, task: int, work: Callable[[], None]) -> None:
        """Do *work*; *task* is due again once something that it read has grown."""
        self._reader = -1 - task
        work()
        self._reader = None

    def due(self) -> set[int]:
        """Begin the next round, and return the tasks that are due in it."""
        self.round += 1
        put_off, self._put_off = self._put_off, {}
        for key, work_out in put_off.items():
            self.recall(key, work_out)
        due, self._due = self._due, set()
        return due

    def _worked_out(self, key: Hashable, work_out: Callable[[], Values], before: Values, *, grows: bool) -> Values:
        outer, self._reader = self._reader, key
        self._active[key] = False
        self._stale.discard(key)
        try:
            values = work_out()
        finally:
            self._reader = outer
            has_read_stale = self._active.pop(key)
        if grows:
            values = before if len(before) >= self._most else self._bounded(values | before)
        self._held[key] = values = self._shared(values)
        if values != before:
            self._outdate(key)  # whoever has read it meanwhile, because it depends on itself
        if has_read_stale:
            self._stale.add(key)
        return values

    def _note(self, key: Hashable) -> None:
        reader = self._reader
        if reader is None:
            return
        readers = self._readers[key]
        if not readers or readers[-1] != reader:
            readers.append(reader)
        if key in self._stale:
            if isinstance(reader, int) and reader < 0:
                self._due.add(-1 - reader)
            else:
                self._active[reader] = True

    def _outdate(self, key: Hashable) -> None:
        """Let nothing hold any more that was worked out from *key*."""
        waiting = [key]
        while waiting:
            for reader in self._readers.pop(waiting.pop(), ()):
                if isinstance(reader, int) and reader < 0:
                    self._due.add(-1 - reader)
                elif reader in self._active:
                    self._active[reader] = True
                elif reader not in self._stale:
                    self._stale.add(reader)
                    waiting.append(reader)

    def _shared(self, values: Values) -> Values:
        return self._one.setdefault(values, values)

    def _bounded(self, values: Values) -> Values:
        if len(values) <= self._most:
            return values
        return frozenset(sorted(values, key=lambda value: (isinstance(value, External), repr(value)))[: self._most])
