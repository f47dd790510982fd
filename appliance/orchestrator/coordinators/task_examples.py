"""What kind of task a message is, learnt from labelled examples: naive Bayes over its words and pairs of words."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final, get_args

from appliance.orchestrator.coordinators.task_signs import TaskType

_WORD: Final = re.compile(r"[a-z']+|\?|[^\sa-z?]+")
_COMMON: Final = 20  # messages; for how many the share of a word among all types speaks beside what one type showed
_SEEN: Final = 2  # times; a word seen less often says nothing


@dataclass(frozen=True, slots=True)
class Example:
    """A message as a developer wrote it, and what it asks for."""

    task_type: str
    complexity: str
    message: str


def examples() -> tuple[Example, ...]:
    """Return the examples that come with the appliance."""
    text = files(__package__).joinpath("examples.tsv").read_text(encoding="utf-8")
    return read(text)


def read(table: str) -> tuple[Example, ...]:
    r"""Return the examples of *table*: type, complexity and message, parted by tabs; ``\n`` in a message ends a line."""
    return tuple(Example(*line.replace("\\n", "\n").split("\t")) for line in table.splitlines())


class Learnt:
    """How likely each type of task is, by what was seen in *seen*."""

    def __init__(self, seen: Sequence[Example]) -> None:
        self._types = Counter(each.task_type for each in seen)
        self._having: defaultdict[str, Counter[str]] = defaultdict(Counter)  # by feature, how often with which type
        for each in seen:
            for feature in _features(each.message):
                self._having[feature][each.task_type] += 1

    def likelihoods(self, message: str) -> Mapping[TaskType, float]:
        """Return the logarithm of how likely *message* is of each type; a type that was never seen is not in it."""
        known = [having for each in _features(message) if (having := self._having.get(each, Counter())).total() >= _SEEN]
        total = self._types.total()
        return {
            kind: math.log(count / total)
            + sum(math.log((having[kind] + _COMMON * having.total() / total) / (count + _COMMON)) for having in known)
            for kind in get_args(TaskType)
            if (count := self._types[kind])
        }


@cache
def learnt() -> Learnt:
    """Return what the examples that come with the appliance teach; a process learns it once."""
    return Learnt(examples())


def _features(message: str) -> set[str]:
    """Return the words and pairs of words of *message*; all names and signs count as one word."""
    words = [word if word[0] in "?'" or word[0].isalpha() else "#" for word in _WORD.findall(message.lower())]
    return {*words, *(f"{one} {two}" for one, two in zip(["^", *words], words, strict=False))}
