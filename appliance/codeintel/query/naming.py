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
    defined = [generation.chunk_defines_ids(int(chunk))[:_MOST] for chunk in ids]
    heads = generation.symbols.heads(dict.fromkeys(each for some in defined for each in some))
    asked = _Asked(query.tokens)
    worth = {number: asked.worth(head) for number, head in heads.items()}
    return np.array([max((worth[each] for each in some), default=0.0) for some in defined], dtype=np.float32)


class _Asked:
    """The words of one query, and which words of names they stand for."""

    def __init__(self, tokens: tuple[str, ...]) -> None:
        self._exact = frozenset(tokens)
        self._stems = tuple({token[: max(_SHORTEST, len(token) - 1)] for token in tokens if len(token) >= _SHORTEST})
        self._known: dict[str, bool] = {}

    def worth(self, head: Head) -> float:
        """Return what the name in *head* is worth; one matching word is worth less than two."""
        words = _words(head.name)
        met = sum(map(self._has, words))
        if not met:
            return 0.0
        return met / len(words) * min(1.0, met / 2 + 0.25) * _weight(head)

    def _has(self, word: str) -> bool:
        known = self._known.get(word)
        if known is None:
            known = self._known[word] = word in self._exact or self._related(word)
        return known

    def _related(self, word: str) -> bool:
        if len(word) < _SHORTEST:
            return False
        stem = word[: max(_SHORTEST, len(word) - 1)]
        return any(word.startswith(other) for other in self._stems) or any(token.startswith(stem) for token in self._exact)


@functools.lru_cache(maxsize=_MOST_NAMES)
def _words(name: str) -> tuple[str, ...]:
    words = tuple(tokenize(name).split())
    return words[:-1] if len(words) > 1 else words  # the last one is the name as a whole


def _weight(head: Head) -> float:
    if head.kind in _TYPES and not head.inner:
        return 1.0
    return 0.6 if head.kind in _CALLABLES else 0.4
