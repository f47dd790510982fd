"""Search tokens: what the lexical index, the latent space and queries all call a word.

An identifier gives its parts (``retryAfter``, ``retry_after`` and ``RETRY_AFTER`` all give *retry* and *after*, lightly
stemmed) and itself, lower-cased and without underscores (*retryafter*). Stopwords stay: *is*, *if* and *for* say something
in code. One pass of a regular expression and one dictionary look-up a word: this runs over every byte of a repository.
"""

import itertools
import re
from collections.abc import Callable, Iterator

_WORD = re.compile(r"\w+")
_APART = "".join(chr(code) if chr(code).isalnum() or chr(code) == "_" else " " for code in range(128))
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_OTHER_PART = re.compile(r"[^\W\d_]+|\d+")  # outside ASCII, capitals do not tell parts
_VOWEL = re.compile(r"[aeiouy]")
_LETTERS = re.compile(r"[A-Za-z]+")
_JOINING = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "by", "do", "does", "for", "from", "how", "in", "into", "is",
    "it", "its", "of", "on", "or", "that", "the", "this", "to", "use", "used", "using", "via", "what", "when",
    "where", "which", "with",
})  # fmt: skip
_SHORTEST_JOINED = 3
LONGEST_WORD = 80  # longer ones are hashes and encoded data
_LONGEST_PART = 32
_LONGEST_NUMBER = 5
_MOST_PARTS = 12
_MEMORY = 200_000  # identifiers remembered before the memory starts again
_WHOLE = frozenset({"this", "class", "process", "access", "address", "status", "https", "alias", "canvas", "bias", "basis"})


class _Memory(dict[str, str]):
    """What *told* says of a word, worked out once for each word."""

    def __init__(self, told: Callable[[str], str]) -> None:
        super().__init__()
        self._told = told

    def __missing__(self, word: str) -> str:
        if len(self) >= _MEMORY:
            self.clear()
        told = self[word] = self._told(word)
        return told


def by_word(text: str) -> Iterator[str]:
    """Yield the search tokens of each word of *text*, joined by single spaces: "" for a word that has none."""
    return map(_memory.__getitem__, words_of(text))


def words_of(text: str) -> list[str]:
    """Return the words of *text* as they are written."""
    return text.translate(_APART).split() if text.isascii() else _WORD.findall(text)  # the same words, sooner


def parts_of(word: str) -> list[str]:
    """Return the parts of a *word* as they are written: *get* and *Retries* of *getRetries*."""
    return (_PART if word.isascii() else _OTHER_PART).findall(word)


def tokenize(text: str) -> str:
    """Return the search tokens of *text*, in order, joined by single spaces."""
    return " ".join(filter(None, by_word(text)))


def query_tokens(text: str) -> list[str]:
    """Return the search tokens of a query, by the same rules."""
    return tokenize(text).split()


def compounds(text: str) -> list[str]:
    """Return what two neighbouring words of *text* are when written as one: *thread pool* is *threadpool* in code."""
    words = [word.lower() for word in _LETTERS.findall(text)]
    pairs = itertools.pairwise(words)
    joined = [one + two for one, two in pairs if not {one, two} & _JOINING and min(len(one), len(two)) >= _SHORTEST_JOINED]
    return [form for pair in joined for form in dict.fromkeys((pair, _singular(pair) if pair.endswith("s") else pair))]


def stem(word: str) -> str:
    """Return the lower-case *word* without a plural, ``-ing`` or ``-ed`` ending, and without a final ``e``.

    It need not be a word: *parse*, *parses*, *parsed* and *parsing* only have to come out alike.
    """
    if len(word) < 4 or word in _WHOLE:
        return word
    if word.endswith("s"):
        word = _singular(word)
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and _VOWEL.search(word[: -len(ending)]):
            word = word[: -len(ending)]
            if word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    elif word.endswith("y") and len(word) > 3 and word[-2] not in "aeiou":
        word = word[:-1] + "i"
    return word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith(("ss", "us", "is")):
        return word
    return word[:-1]


def _tokens_of(word: str) -> str:
    if len(word) > LONGEST_WORD:
        return ""
    if word[0].isdigit():
        return word.lower() if len(word) <= _LONGEST_NUMBER else ""
    parts = [part.lower() for part in parts_of(word)]
    kept = [
        _stems[part] for part in parts if len(part) <= _LONGEST_PART and not (len(part) > _LONGEST_NUMBER and part.isdigit())
    ]
    if len(parts) > 1 and len(kept) <= _MOST_PARTS:
        kept.append("".join(parts))
    return " ".join(kept[: _MOST_PARTS + 1])


_stems = _Memory(stem)
_memory = _Memory(_tokens_of)
