"""What kind of task a message is, told from its words: which juniors a mission needs, and how much work it is."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from appliance.codeintel import questions
from appliance.orchestrator.coordinators.task_examples import Example, Learnt, examples
from appliance.orchestrator.coordinators.task_signs import PATTERNS, TaskType
from appliance.orchestrator.coordinators.task_size import Complexity, complexity_of

MOST_KEYWORDS: Final = 8
_LONGEST: Final = 4000  # of a message, what is read
_FOLLOW_UP: Final = 8  # words; a message that short may lean on the one before it
_WEIGHT: Final = 1.5  # of a sign beside what was learnt
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
        self._learnt = Learnt(examples() if seen is None else seen)

    def analyze(self, message: str, *, history: Sequence[str] = ()) -> TaskAnalysis:
        """Return what *message* asks for. One that says too little by itself is read with the latest of *history*."""
        text = message[:_LONGEST].strip()
        task, confidence = self._type_of(text)
        before = next((each[:_LONGEST] for each in reversed(history) if each.strip()), "")
        keywords = keywords_of(text)
        if before and len(text.split()) <= _FOLLOW_UP and _LEANS.search(text):
            if task == "other" or confidence < _UNSURE:
                task, confidence = self._type_of(before)[0], _UNSURE
            keywords = tuple(dict.fromkeys((*keywords, *keywords_of(before))))[:MOST_KEYWORDS]
        return TaskAnalysis(task, complexity_of(text, task), keywords, confidence)

    def _type_of(self, text: str) -> tuple[TaskType, float]:
        """Return the type of task, and how far it stands out."""
        query = questions.classify(text)
        if query is not None:
            return _INTENTS[query.intent], _SURE
        said = _without_names(text)
        scores = {
            kind: learnt + _WEIGHT * sum(weight for weight, sign in PATTERNS[kind] if sign.search(said))
            for kind, learnt in self._learnt.likelihoods(said).items()
        }
        best = max(scores, key=lambda kind: scores[kind])
        share = 1 / sum(math.exp((score - scores[best]) / _COOLED) for score in scores.values())
        return best, round(min(share, _SURE), 2)


_LEANS: Final = re.compile(
    r"^(?:and|what about|how about|why|also|now|then|ok)\b|\b(?:it|that|this|these|those|there|them)\b", re.IGNORECASE
)


_MARKED: Final = re.compile(r"`([^`\n]{1,80})`|\"([^\"\n]{1,80})\"|'([\w./:$-]{2,80})'")
_NAME: Final = re.compile(r"[\w$@~][\w$.:/\\#~@-]*\w|\w")
_CODE: Final = re.compile(r"[a-z0-9][A-Z]|\w_\w|\w\.\w|[/\\:#$@]\w|^_\w|[A-Z]{2,}[a-z]|^[A-Z][A-Z0-9_]{2,}$|\d")


def _without_names(text: str) -> str:
    """Return *text* with another word for names like ``Store.verify``, whose own words say nothing of what is asked."""
    for name in names_in(text):
        if "." in name.strip(".") or f"`{name}" in text:
            text = text.replace(name, "Name")
    return text


def keywords_of(text: str) -> tuple[str, ...]:
    """Return the names of code in *text*, then the other words that say what it is about, as they are written."""
    plain = (word for word in _words(text) if len(word) > 2 and word.lower() not in _COMMON)
    return _distinct((*names_in(text), *plain))[:MOST_KEYWORDS]


def names_in(text: str) -> tuple[str, ...]:
    """Return what in *text* can hardly be but a name of code: it is quoted, called, asked for, or written like one."""
    quoted = [name.strip("()") for each in _MARKED.findall(text) for name in each if name and " " not in name]
    query = questions.classify(text[:_LONGEST])
    asked = [name for name in (query.name, query.other) if name] if query is not None else []
    written = [word for word in _words(text) if _CODE.search(word) or f"{word}(" in text]
    return _distinct((*quoted, *asked, *written))


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    seen: dict[str, str] = {}
    for word in words:
        seen.setdefault(word.lower(), word)
    return tuple(seen.values())


def _words(text: str) -> Iterator[str]:
    return (match[0].rstrip(".:") for match in _NAME.finditer(text))


_COMMON: Final = frozenset(
    """
    a about add after all already also am an and any anybody anyone anything are as at be because been before being
    between both but by call called callee callees caller callers calls can change changed changes changing code
    come could decide defined definition describe did do does doing done each else end ever every everything explain
    file files find first fix for from function functions get gets getting give given go goes going got had has have
    having he hello help her here hi how i idea if impact in into is isn it its just know last let like list locate
    look make many may me mean means method more most much must my need new no not now of ok on one only or other
    our out over overview path place places please project put really references repo repository review run same see
    set she should show so some still such summarise summarize tell test tests than thanks that the their them then
    there these they thing things this those through time to too under understand up us use used user uses using
    usages very want was way we were what when where which while who why will with within without work works would
    write wrote wrong you your
    """.split()  # noqa: SIM905 - a list of 200 words, a line each, is no help to a reader
)
