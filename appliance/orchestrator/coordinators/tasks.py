"""What kind of task a message is, told from its words: which juniors a mission needs, and how much work it is."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from appliance.orchestrator.coordinators.keywords import MOST_KEYWORDS, keywords_of
from appliance.orchestrator.coordinators.task_model import Complexity, TaskType, likelihoods

_LONGEST: Final = 4000  # of a message, what is read
_FOLLOW_UP: Final = 8  # words; a message that short may lean on the one before it
_UNSURE, _SURE = 0.5, 0.95
_LEANS: Final = re.compile(
    r"^(?:and|what about|how about|why|also|now|then|ok)\b|\b(?:it|that|this|these|those|there|them)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class TaskAnalysis:
    """What a message asks for. *keywords* are names of code first, then other words that say what it is about."""

    task_type: TaskType
    complexity: Complexity
    keywords: tuple[str, ...]
    confidence: float


class Analyzes(Protocol):
    """What tells tasks apart."""

    def analyze(self, message: str, *, history: Sequence[str] = ()) -> TaskAnalysis:
        """Return what *message* asks for; *history* holds what the user wrote before it, oldest first."""


class TaskAnalyzer:
    """Tells tasks apart by what a linear model learnt from examples; the same words always give the same answer."""

    def analyze(self, message: str, *, history: Sequence[str] = ()) -> TaskAnalysis:
        """Return what *message* asks for. One that says too little by itself is read with the latest of *history*."""
        text = message[:_LONGEST].strip()
        keywords = keywords_of(text)
        types, complexities = likelihoods(text)
        task = max(types, key=lambda each: types[each])
        confidence = min(types[task], _SURE)
        before = next((each[:_LONGEST].strip() for each in reversed(history) if each.strip()), "")
        if before and len(text.split()) <= _FOLLOW_UP and _LEANS.search(text):
            if task == "other" or confidence < _UNSURE:
                types, confidence = likelihoods(before)[0], _UNSURE
                task = max(types, key=lambda each: types[each])
            keywords = tuple(dict.fromkeys((*keywords, *keywords_of(before))))[:MOST_KEYWORDS]
        complexity = max(complexities, key=lambda each: complexities[each])
        return TaskAnalysis(task, complexity, keywords, round(confidence, 2))
