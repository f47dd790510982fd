from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest

from appliance.codeintel.store.frequencies import Frequencies

_WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "é"]


def _by_hand(documents: list[str]) -> tuple[list[str], npt.NDArray[np.float64]]:
    holding = Counter(word for text in documents for word in set(text.split()))
    count = len(documents)
    words = sorted(word for word, n in holding.items() if n >= 2 and (n <= count / 2 or count < 20))
    rows = np.zeros((count, len(words)))
    for row, text in zip(rows, documents, strict=True):
        for place, word in enumerate(words):
            if times := text.split().count(word):
                row[place] = (1 + np.log(times)) * (np.log((1 + count) / (1 + holding[word])) + 1)
    return words, rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


@pytest.mark.parametrize("count", [3, 19, 20, 255, 256, 600])
def test_counting_many_documents_at_once_gives_what_counting_each_by_hand_does(count: int) -> None:
    draw = np.random.default_rng(count)
    documents = [" ".join(draw.choice(_WORDS, size)) for size in draw.integers(0, 6, count)]
    counted = Frequencies(documents)
    vocabulary, idf = counted.vocabulary()
    words, rows = _by_hand(documents)
    assert vocabulary == words
    assert np.allclose(counted.weighted(vocabulary, idf).toarray(), rows, atol=1e-6)


def test_of_too_many_words_those_of_one_document_are_forgotten() -> None:
    documents = [f"common only{n}" for n in range(1_000)] + ["only7 rare", "rare"]
    vocabulary, _ = Frequencies(documents, most=100).vocabulary()
    assert vocabulary == ["rare"]  # "common" stands in more than half
