"""The words of one blob: how each is spelt in search tokens, once, and in which order they stand."""

from array import array
from collections import defaultdict
from itertools import count

from appliance.codeintel.facts import Spelt, kind_of
from appliance.codeintel.parse.tokens import by_word


class Words:
    """Gathers the words of one blob: those of its chunks' texts, and those of their names."""

    def __init__(self) -> None:
        self._numbers = defaultdict[str, int](count().__next__)
        self._texts, self._names = list[int](), list[int]()  # an array is slower to add to
        self._in_texts, self._in_names = list[int](), list[int]()

    def add(self, text: str, names: str) -> None:
        """Take in the next chunk."""
        for sequence, counts, added in ((self._texts, self._in_texts, text), (self._names, self._in_names, names)):
            before = len(sequence)
            sequence.extend(map(self._numbers.__getitem__, by_word(added)))
            counts.append(len(sequence) - before)

    def table(self) -> tuple[str, ...]:
        """Return each word as its search tokens, joined by blanks: "" for one that has none."""
        return tuple(self._numbers)

    def texts(self) -> Spelt:
        """Return the words of the texts."""
        return Spelt(array(kind_of(self._numbers), self._texts).tobytes(), tuple(self._in_texts))

    def names(self) -> Spelt:
        """Return the words of the names."""
        return Spelt(array(kind_of(self._numbers), self._names).tobytes(), tuple(self._in_names))
