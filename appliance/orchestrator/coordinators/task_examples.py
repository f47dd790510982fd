"""What kind of task a message is, learnt from labelled examples: naive Bayes over its words and pairs of words."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final, get_args

from appliance.orchestrator.coordinators.task_signs import TaskType

_WORD: Final = re.compile(r"[a-z']+|\?|[^\sa-z?]+")
_FLOOR: Final = 0.3  # how often a word counts as seen that was not


@dataclass(frozen=True, slots=True)
class Example:
    """A message as a developer wrote it, and what it asks for."""

    task_type: str
    complexity: str
    message: str


def examples() -> tuple[Example, ...]:
    """Return the examples that come with the appliance, one a line: type, complexity and message, parted by tabs."""
    text = files(__package__).joinpath("examples.tsv").read_text(encoding="utf-8")
    return tuple(Example(*line.split("\t")) for line in text.splitlines())


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
        known = [self._having[feature] for feature in _features(message) if feature in self._having]
        return {
            kind: math.log(count / self._types.total())
            + sum(math.log((having[kind] + _FLOOR) / (count + 2 * _FLOOR)) for having in known)
            for kind in get_args(TaskType)
            if (count := self._types[kind])
        }


def _features(message: str) -> set[str]:
    """Return the words and pairs of words of *message*; all names and signs count as one word."""
    words = [word if word[0] in "?'" or word[0].isalpha() else "#" for word in _WORD.findall(message.lower())]
    return {*words, *(f"{one} {two}" for one, two in zip(["^", *words], words, strict=False))}
