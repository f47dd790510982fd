"""What is learnt while the call sites are read, and what was worked out from it: anew only where something changed."""

from array import array
from collections.abc import Callable, Hashable
from typing import Final

from appliance.codeintel.resolve.values import External, Value

Values = frozenset[Value]
NOTHING: Final[Values] = frozenset()
MOST: Final = 48  # things that something can be; more tell nobody anything
_DEEPEST: Final = 60  # things that are worked out from one another at a time; the next round goes on from there
_STALE: Final = 1  # the states of what is remembered: what it was worked out from has changed
_FIXED: Final = 2  # and nothing can change it
_FEW: Final = 50_000  # things that are not worth a look at which of them are still held
_GROWN: Final = 1.2  # how many more there are before that is looked at anew


class Cells:
    """Sets of values that only grow, and a memory of what was worked out from them.

    Each remembers who has read it. When one grows, its readers, and theirs in turn, no longer hold; what does not hold is
    worked out again when it is next asked for, and a task that has read it is due in the next round.

    Every key has a number, and all that is known of it stands at that place of a few columns: there are millions of them.
    Most hold one thing: that stands there by itself, for a set of one takes as much as fifty numbers.
    """

    def __init__(self, most: int = MOST, *, terms: int = 0) -> None:
        """Make sets that hold at most so many values each. The numbers below *terms* are keys that stand for themselves."""
        self._most = most
        self.round = 0
        self._terms = terms
        self._numbers: dict[Hashable, int] = {}  # of all other keys
        self._held: list[Values | Value | None] = [None] * terms
        self._state = bytearray(terms)
        self._last = array("i", bytes(4 * terms))  # where in the two columns below the last one stands that has read it
        self._readers = array("i", [0])
        self._before = array("i", [0])  # where the one stands that had read the same before; of a free place, another one
        self._free = 0
        self._active: dict[int, bool] = {}  # what is being worked out, and whether it has read something stale
        self._reader: int | None = None  # a task t is -1 - t here
        self._has_read = False  # whether that has read anything that can change
        self._put_off: dict[int, Callable[[], Values]] = {}
        self._due: set[int] = set()
        self._one: dict[Values, Values] = {}  # of all sets that are equal
        self._parts: dict[Value, Value] = {}  # what is held, each once in its turn
        self._kept = _FEW

    def read(self, key: Hashable) -> Values:
        """Return what the cell *key* holds."""
        number = self._number(key)
        self._note(number)
        return self._now(number)

    def add(self, key: Hashable, values: Values) -> None:
        """Put *values* into the cell *key*."""
        number = self._number(key)
        held = self._now(number)
        if len(held) < self._most and not values <= held:
            self._keep(number, self._bounded(held | values if held else values))
            self._outdate(number)

    def known(self, number: int) -> Values | None:
        """Return what is remembered for the key of this *number* if it still holds, else None."""
        found = self._held[number]
        if found is None:
            return None
        state = self._state[number]
        if state != _FIXED:
            if state or number in self._active:
                return None
            reader = self._reader
            if reader is not None:  # as `_note` does it: nothing is asked as often as this
                self._has_read = True
                last = self._last[number]
                if self._readers[last] != reader or not last:
                    self._last[number] = self._place(reader, last)
        return found if isinstance(found, frozenset) else frozenset((found,))

    def fix(self, term: int, values: Values) -> Values:
        """Let *term* be just these *values* for ever, and return them."""
        self._state[term] = _FIXED
        self._keep(term, values)
        return values

    def recall(self, key: Hashable, work_out: Callable[[], Values], *, grows: bool = True) -> Values:
        """Return what *work_out* gave for *key* if that still holds, else what it gives now, and gave before if it *grows*.

        Where something depends on itself, it is what it was before.
        """
        number = self._number(key)
        found = self.known(number)
        return self.renew(number, work_out, grows=grows) if found is None else found

    def renew(self, number: int, work_out: Callable[[], Values], *, grows: bool = True) -> Values:
        """Do what `recall` does for the key of this *number*, of which nothing is known that still holds."""
        before = self._now(number)
        if number in self._active or len(self._active) > _DEEPEST:
            self._note(number)
            if number not in self._active:
                self._put_off[number] = work_out
            return before
        values = self._worked_out(number, work_out, before, grows=grows)
        if self._state[number] != _FIXED:
            self._note(number)
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
        for number, work_out in put_off.items():
            if self.known(number) is None:
                self.renew(number, work_out)
        due, self._due = self._due, set()
        if len(self._parts) > _GROWN * self._kept:
            self._forget()
        return due

    def _number(self, key: Hashable) -> int:
        if isinstance(key, int) and key < self._terms:
            return key
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._held)
            self._held.append(None)
            self._state.append(0)
            self._last.append(0)
        return number

    def _worked_out(self, number: int, work_out: Callable[[], Values], before: Values, *, grows: bool) -> Values:
        outer, self._reader = self._reader, number
        had_read, self._has_read = self._has_read, False
        self._active[number] = False
        self._state[number] = 0
        try:
            values = work_out()
        finally:
            self._reader = outer
            has_read, self._has_read = self._has_read, had_read
            has_read_stale = self._active.pop(number)
        if grows and before:
            values = before if len(before) >= self._most else self._bounded(values | before)
        elif grows:
            values = self._bounded(values)
        self._keep(number, values)
        if values != before:
            self._outdate(number)  # whoever has read it meanwhile, because it depends on itself
        if (grows and len(values) >= self._most) or not (has_read or has_read_stale):
            self._state[number] = _FIXED  # it is full, or has read nothing that can change
        elif has_read_stale:
            self._state[number] = _STALE
        return values

    def _note(self, number: int) -> None:
        reader = self._reader
        if reader is None:
            return
        self._has_read = True
        last = self._last[number]
        if self._readers[last] != reader or not last:
            self._last[number] = self._place(reader, last)
        if self._state[number] == _STALE:
            if reader < 0:
                self._due.add(-1 - reader)
            else:
                self._active[reader] = True

    def _place(self, reader: int, before: int) -> int:
        """Return where *reader* stands now, with what stands *before* it."""
        place = self._free
        if not place:
            self._readers.append(reader)
            self._before.append(before)
            return len(self._readers) - 1
        self._free = self._before[place]
        self._readers[place] = reader
        self._before[place] = before
        return place

    def _outdate(self, number: int) -> None:
        """Let nothing hold any more that was worked out from what has this *number*."""
        readers, before = self._readers, self._before
        waiting = [number]
        while waiting:
            at = waiting.pop()
            place, self._last[at] = self._last[at], 0
            while place:
                reader, following = readers[place], before[place]
                before[place], self._free = self._free, place
                place = following
                if reader < 0:
                    self._due.add(-1 - reader)
                elif reader in self._active:
                    self._active[reader] = True
                elif not self._state[reader]:
                    self._state[reader] = _STALE
                    waiting.append(reader)

    def _now(self, number: int) -> Values:
        """Return what stands at *number*."""
        held = self._held[number]
        return NOTHING if held is None else held if isinstance(held, frozenset) else frozenset((held,))

    def _keep(self, number: int, values: Values) -> None:
        """Let *values* stand at *number*."""
        part = self._parts.setdefault
        if len(values) == 1:
            (value,) = values
            self._held[number] = part(value, value)
            return
        one = self._one.get(values)
        if one is None:
            one = frozenset({part(value, value): None for value in values})
            self._one[one] = one
        self._held[number] = one

    def finish(self) -> None:
        """Take it that hardly more is learnt: it is no longer looked for what is equal."""
        self._one, self._parts = {}, {}

    def _forget(self) -> None:
        """Forget the sets that nothing holds any more."""
        self._one, self._parts = {}, {}  # before their successors are made
        self._one = {held: held for held in self._held if isinstance(held, frozenset)}
        self._parts = {held: held for held in self._held if held is not None and not isinstance(held, frozenset)}
        self._parts.update((value, value) for values in self._one for value in values if value not in self._parts)
        self._kept = len(self._parts)

    def _bounded(self, values: Values) -> Values:
        if len(values) <= self._most:
            return values
        return frozenset(sorted(values, key=lambda value: (isinstance(value, External), repr(value)))[: self._most])
