"""What kind of task a message is, told from its words: which juniors a mission needs, and how much work it is."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from appliance.codeintel import questions
from appliance.orchestrator.coordinators.keywords import MOST_KEYWORDS, keywords_of, names_in
from appliance.orchestrator.coordinators.task_examples import Example, Learnt, learnt
from appliance.orchestrator.coordinators.task_signs import PATTERNS, TaskType
from appliance.orchestrator.coordinators.task_size import Complexity, complexity_of

_LONGEST: Final = 4000  # of a message, what is read
_FOLLOW_UP: Final = 8  # words; a message that short may lean on the one before it
_WEIGHT: Final = 2.0  # of a sign beside what was learnt
_COOLED: Final = 4.0  # words are no independent witnesses, so that what they say together is taken for less
_UNSURE, _SURE = 0.5, 0.95
_INTENTS: Final[Mapping[questions.Intent, TaskType]] = {
    "where": "locate", "contents": "overview", "members": "explain", "signature": "explain", "callers": "callers",
    "references": "callers", "callees": "callees", "impact": "impact", "path": "path", "history": "history",
}  # fmt: skip


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
    """Tells tasks apart by signs and by what it learnt from *seen*; the same words always give the same answer."""

    def __init__(self, seen: Sequence[Example] | None = None) -> None:
        self._learnt = learnt() if seen is None else Learnt(seen)

    def analyze(self, message: str, *, history: Sequence[str] = ()) -> TaskAnalysis:
        """Return what *message* asks for. One that says too little by itself is read with the latest of *history*."""
        text = message[:_LONGEST].strip()
        keywords = keywords_of(text)
        text = _plainly(text)
        task, confidence = self._type_of(text)
        before = next((each[:_LONGEST] for each in reversed(history) if each.strip()), "")
        if before and len(text.split()) <= _FOLLOW_UP and _LEANS.search(text):
            if task == "other" or confidence < _UNSURE:
                task, confidence = self._type_of(_plainly(before))[0], _UNSURE
            keywords = tuple(dict.fromkeys((*keywords, *keywords_of(before))))[:MOST_KEYWORDS]
        return TaskAnalysis(task, complexity_of(text, task), keywords, confidence)

    def _type_of(self, text: str) -> tuple[TaskType, float]:
        """Return the type of task, and how far it stands out."""
        query = questions.classify(text)
        if query is not None:
            return _INTENTS[query.intent], _SURE
        said = _without_names(text)
        learnt = self._learnt.likelihoods(said)
        unlikely = min(learnt.values(), default=0.0)
        scores = {
            kind: learnt.get(kind, unlikely) + _WEIGHT * sum(weight for weight, sign in signs if sign.search(said))
            for kind, signs in PATTERNS.items()
        }
        best = max(scores, key=lambda kind: scores[kind])
        share = 1 / sum(math.exp((score - scores[best]) / _COOLED) for score in scores.values())
        return best, round(min(share, _SURE), 2)


_LEANS: Final = re.compile(
    r"^(?:and|what about|how about|why|also|now|then|ok)\b|\b(?:it|that|this|these|those|there|them)\b", re.IGNORECASE
)

_AS_TYPED: Final = tuple(
    (re.compile(typed, re.IGNORECASE), plain)
    for typed, plain in (
        (r"^(?:hi|hello|hey|dear|good (?:morning|evening)|guten tag|bonjour)\b[^,.!\n]{0,25}[,.!\n]\s*(?=\w.{12})", ""),
        (r"\b(what|where|who|how|that)s\b", r"\1's"),
        (r"\b(do|does|did|is|are|was|could|would|should|has|have)nt\b", r"\1n't"),
        (r"\bcant\b", "can't"),
        (r"\bim\b", "i'm"),
        (r"\bu\b", "you"),
        (r"\br\b", "are"),
        (r"\b(?:pls|plz)\b", "please"),
    )
)


def _plainly(text: str) -> str:
    """Return *text* without a greeting before what is asked, and with what is typed in haste as it is written."""
    for typed, plain in _AS_TYPED:
        text = typed.sub(plain, text)
    return text


def _without_names(text: str) -> str:
    """Return *text* with another word for names like ``Store.verify``, whose own words say nothing of what is asked."""
    for name in names_in(text):
        if "." in name.strip(".") or f"`{name}" in text:
            text = text.replace(name, "Name")
    return text
