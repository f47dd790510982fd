from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from appliance.codeintel.store import frequencies
from tests.support.postings import postings_of

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


@pytest.mark.parametrize("count", [3, 19, 20, 255, 600])
@pytest.mark.parametrize("most", [100, 100_000])
def test_what_words_weigh_is_what_counting_by_hand_gives(tmp_path: Path, count: int, most: int) -> None:
    draw = np.random.default_rng(count)
    documents = [" ".join(draw.choice(_WORDS, size)) for size in draw.integers(0, 6, count)]
    vocabulary, _, table = frequencies.weighted(postings_of(tmp_path, documents, most=most))
    words, rows = _by_hand(documents)
    assert vocabulary == words
    assert np.allclose(table.toarray(), rows, atol=1e-6)


def test_of_too_many_words_the_most_frequent_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frequencies, "_MOST_WORDS", 2)
    documents = ["b z", "b z", "b a", "a d", "d x", "y c", "c"]
    assert frequencies.weighted(postings_of(tmp_path, documents))[0] == ["a", "b"]
