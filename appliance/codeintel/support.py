"""What links a sentence to the lines that it rests on, and what strikes it.

Measured on a 1.5B model, no word check tells right sentences from wrong ones: wrong ones turn conditions around in the
code's own words. So these rules only keep out what cannot come from the evidence at all, and the prose that passes is still
no more than a reading. The link, on the other hand, is better made by these counts than by the model (28 of 31 against 22).
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from appliance.codeintel.parse.tokens import query_tokens
from appliance.codeintel.results import Sentence, Struck
from appliance.codeintel.store.lexical import LexicalIndex

LEAST_SUPPORT = 0.3  # of a sentence's words, weighed by rarity, in one block
_POINTS_AN_IDENTIFIER = 2.0
_MOST_CITES = 3
_WORD = re.compile(r"\w+")
_DOTTED = r"[^\W\d]\w*(?:(?:\.|::|->|/)[^\W\d]\w*)*"
_QUOTED = re.compile(rf"`\s*({_DOTTED})[^`]*`")
_NAME = re.compile(_DOTTED + r"(?P<call>\(\)?)?")
_MARKED = re.compile(r"_\w|\w_|[a-z0-9][A-Z]|[A-Z]{2,}[a-z]{2,}|[A-Za-z]\d|\w(?:\.|::|->|/)\w")  # no prose looks like this
_WHOLE = re.compile(r"[.!?][)\]`\"']*\Z|[)`\"']\Z")  # of 53 sentences of a 1.5B the two without it had broken off
_COMMON = frozenset({"e.g", "i.e", "and/or", "true/false", "true", "false", "none", "null", "nil", "self", "this"})
# Words that ask or join and say nothing of what is asked.
_EMPTY = frozenset(
    query_tokens(
        "a about an and any are as at be been being but by can code could did do does for from get gets had has "
        "have how i if in into is it its made make makes many me much my of on one only or our s should so such t "
        "than that the their them then there these they this those to us use used uses using was way we were what "
        "when where whether which who whose why will with work works would you your"
    )
)


@dataclass(frozen=True, slots=True)
class Ground:
    """A block of evidence as sentences are held against it. ``n`` is the number of its citation."""

    n: int
    tokens: frozenset[str]
    words: frozenset[str]
    text: str  # casefolded

    @classmethod
    def of(cls, n: int, *texts: str) -> "Ground":
        """Make the ground of a block from its lines and whatever else it says: path and symbol."""
        text = "\n".join(texts)
        return cls(n, frozenset(query_tokens(text)), _words(text), text.casefold())


class Rarity:
    """How much a word says: its inverse document frequency in the repos asked about. A word they do not have says most."""

    def __init__(self, indexes: Sequence[LexicalIndex], *, chunks: int) -> None:
        self._indexes = indexes
        self._most = float(np.log1p(2.0 * max(1, chunks) + 1.0))
        self._known: dict[str, float] = {}

    def of(self, tokens: Collection[str]) -> dict[str, float]:
        """Return the weight of each of *tokens*; words without meaning of their own are left out."""
        wanted = [token for token in tokens if token not in _EMPTY]
        new = [token for token in wanted if token not in self._known]
        if new:
            found = [index.rarity(new) for index in self._indexes]
            best = np.max(found, axis=0) if found else np.zeros(len(new))
            self._known |= {token: float(value) or self._most for token, value in zip(new, best, strict=True)}
        return {token: self._known[token] for token in wanted}


Weigh = Callable[[Collection[str]], dict[str, float]]


def share(text: str, grounds: Iterable[Ground], *, weigh: Weigh) -> float:
    """Return the share of the words of *text*, weighed by rarity, that the best of *grounds* has: 0 to 1."""
    weights = weigh(frozenset(query_tokens(text)))
    total = sum(weights.values())
    if not total:
        return 0.0
    return max(
        (sum(value for token, value in weights.items() if token in ground.tokens) / total for ground in grounds), default=0.0
    )


def judge(sentence: str, *, question: str, grounds: Sequence[Ground], weigh: Weigh) -> Sentence | Struck:
    """Return *sentence* linked to the blocks that it rests on, or struck with the reason.

    It is struck when it breaks off before its end, when it names something that stands in no block and not in the
    question, or when no block has enough of its words.
    """
    if not _WHOLE.search(sentence):
        return Struck(sentence, "It breaks off before its end.")
    named = identifiers(sentence)
    known = _words(question).union(*(ground.words for ground in grounds))
    for name in named:
        if not _stands_in(name, known):
            return Struck(sentence, f"It names `{name}`, which stands nowhere in the evidence.")
    best = share(sentence, grounds, weigh=weigh)
    if best < LEAST_SUPPORT:
        return Struck(sentence, f"No cited lines support it: at most {best:.0%} of its words stand in one of them.")
    return Sentence(sentence, _cites(sentence, named, grounds, weigh), "model")


def identifiers(text: str) -> list[str]:
    """Return what *text* names in the way of code: quoted, called, or written as no plain word is."""
    found = [match[1] for match in _QUOTED.finditer(text)]
    for match in _NAME.finditer(text):
        name = match[0].removesuffix(match["call"] or "")
        if match["call"] or _MARKED.search(name):
            found.append(name)
    return [name for name in dict.fromkeys(found) if name.lower() not in _COMMON]


def _cites(sentence: str, named: Sequence[str], grounds: Sequence[Ground], weigh: Weigh) -> tuple[int, ...]:
    """Return the best block by rare words and 2 points a name, 4 if it is there as written; and others for what it lacks.

    The parts of a path may stand in many blocks, the path itself in the one that it leads to.
    """
    weights = weigh(frozenset(query_tokens(sentence)))

    def points(ground: Ground, names: Sequence[str]) -> float:
        words = sum(value for token, value in weights.items() if token in ground.tokens)
        having = [name for name in names if _stands_in(name, ground.words)]
        whole = sum(name.casefold() in ground.text for name in having)
        return words + _POINTS_AN_IDENTIFIER * (len(having) + whole)

    best = max(grounds, key=lambda ground: points(ground, named))
    chosen = [best]
    missing = [name for name in named if not _stands_in(name, best.words)]
    while missing and len(chosen) < _MOST_CITES:
        having = [ground for ground in grounds if any(_stands_in(name, ground.words) for name in missing)]
        if not having:
            break
        chosen.append(max(having, key=lambda ground: points(ground, missing)))
        missing = [name for name in missing if not _stands_in(name, chosen[-1].words)]
    return tuple(ground.n for ground in chosen)


def _stands_in(name: str, words: Collection[str]) -> bool:
    """Say whether every part of *name* is one of *words*, whatever the case; a plural of a name passes for the name."""
    parts = [part.casefold() for part in _WORD.findall(name)]
    return all(part in words or part.removesuffix("s") in words for part in parts)


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))
