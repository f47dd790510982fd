"""The words of one blob: how each is spelt in search tokens, once, and in which order they stand."""

import itertools
from array import array
from collections import defaultdict

from appliance.codeintel.parse.tokens import by_word


class Words:
    """Gathers the words of one blob, chunk after chunk."""

    def __init__(self) -> None:
        self._numbers = defaultdict[str, int](itertools.count().__next__)
        self._sequence = array("I")

    def add(self, text: str) -> int:
        """Take in the words of the next chunk and return how many they are."""
        before = len(self._sequence)
        self._sequence.extend(map(self._numbers.__getitem__, by_word(text)))
        return len(self._sequence) - before

    def table(self) -> tuple[str, ...]:
        """Return each word as its search tokens, joined by blanks: "" for one that has none."""
        return tuple(self._numbers)

    def sequence(self) -> bytes:
        """Return the places in the table of all words in their order, as `facts.numbers` reads them."""
        return (array("H", self._sequence) if len(self._numbers) <= 1 << 16 else self._sequence).tobytes()
