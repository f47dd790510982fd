"""How well what a chunk defines is called by the words of a question: *panic recovery middleware* and ``Recovery``."""

import functools

import numpy as np
import numpy.typing as npt

from appliance.codeintel.parse.tokens import tokenize
from appliance.codeintel.query.querylang import ParsedQuery
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.symbols import Head

_TYPES = frozenset({"class", "interface", "struct", "enum", "trait", "type"})
_CALLABLES = frozenset({"function", "method"})
_MOST = 12  # definitions looked at in one chunk; one with more is a table of constants
_MOST_NAMES = 50_000  # whose words are remembered
_SHORTEST = 4  # letters that two words must share to count as forms of one


def named(generation: Generation, query: ParsedQuery, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """Return for each of the chunks *ids* 0 to 1: the best of its definitions, by the share of its name that is asked for.

    Types at the top level count in full, functions and methods less, everything else least.
    """
    defined = generation.chunks_define_ids(ids, most=_MOST)
    heads = generation.symbols.heads(dict.fromkeys(each for some in defined for each in some))
    asked = _Asked(query.tokens)
    worth = {number: asked.worth(head) for number, head in heads.items()}
    return np.array([max((worth[each] for each in some), default=0.0) for some in defined], dtype=np.float32)


class _Asked(dict[str, bool]):
    """Which words of names the words of one query stand for, worked out once for each."""

    def __init__(self, tokens: tuple[str, ...]) -> None:
        super().__init__()
        self._exact = frozenset(tokens)
        self._stems = tuple(_stem(token) for token in tokens if len(token) >= _SHORTEST)
        self._starts = frozenset(token[:end] for token in tokens for end in range(_SHORTEST, len(token) + 1))

    def worth(self, head: Head) -> float:
        """Return what the name in *head* is worth; one matching word is worth less than two."""
        words = _words(head.name)
        met = sum(map(self.__getitem__, words))
        return met / len(words) * min(1.0, met / 2 + 0.25) * _weight(head) if met else 0.0

    def __missing__(self, word: str) -> bool:
        has = word in self._exact or (
            len(word) >= _SHORTEST and (word.startswith(self._stems) or _stem(word) in self._starts)
        )
        self[word] = has
        return has


def _stem(word: str) -> str:
    """Return what another form of *word* begins with too."""
    return word[: max(_SHORTEST, len(word) - 1)]


@functools.lru_cache(maxsize=_MOST_NAMES)
def _words(name: str) -> tuple[str, ...]:
    words = tuple(tokenize(name).split())
    return words[:-1] if len(words) > 1 else words  # the last one is the name as a whole


def _weight(head: Head) -> float:
    if head.kind in _TYPES and not head.inner:
        return 1.0
    return 0.6 if head.kind in _CALLABLES else 0.4
