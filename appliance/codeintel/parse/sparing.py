"""Which added languages are parsed no more, for a while, because their grammars end the processes that parse."""

import os
from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from appliance.codeintel.parse.added import Languages
from appliance.codeintel.parse.frames import Work
from appliance.codeintel.parse.languages import language_of

MOST_DEATHS: Final = 12
"""Processes that may die of the files of one added language before its other files are spared."""


class Sparing:
    """Counts the processes that died of files in *languages*. Each costs a start, and a bad grammar has thousands of files.

    Grammars that are built in are not counted: there a file is to blame.
    """

    def __init__(self, languages: Languages) -> None:
        self._names = languages.names
        self._deaths: Counter[str] = Counter()

    def note(self, works: Iterable[Work]) -> None:
        """Count each of *works* that a process has just died of."""
        self._deaths.update(filter(None, (self._language(work) for work in works if work.deaths)))

    def spared(self, work: Work) -> Work:
        """Return *work*, to be done by lines with the problem "parse-grammar" where its language is given up."""
        if not self._names or work.problem or work.flow or self._deaths[self._language(work)] < MOST_DEATHS:
            return work
        return msgspec.structs.replace(work, problem="parse-grammar")

    def _language(self, work: Work) -> str:
        """Return which added language *work* is in, "" for another."""
        language = language_of(os.fsdecode(work.path), added=self._names) if self._names else ""
        return language if language in self._names.values() else ""
