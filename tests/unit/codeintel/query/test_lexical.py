from pathlib import Path

import numpy as np
import pytest

from appliance.codeintel.parse.tokens import tokenize
from appliance.codeintel.store.lexical import LexicalDoc, LexicalIndex, build_lexical
from appliance.errors import Cancelled, StoreCorrupt


def _doc(chunk: int, text: str, *, file: int | None = None, names: str = "", path: str = "a.py") -> LexicalDoc:
    number = chunk if file is None else file
    return LexicalDoc(chunk, number, tokenize(text), tokenize(names), tokenize(path), "", "")


def _index(folder: Path, *docs: LexicalDoc) -> LexicalIndex:
    build_lexical(folder, docs, check=lambda: None)
    return LexicalIndex.open(folder)


def test_a_chunk_that_defines_the_word_beats_one_that_uses_it(tmp_path: Path) -> None:
    index = _index(
        tmp_path, _doc(0, "call retry here"), _doc(1, "call retry here", names="retry"), _doc(2, "something else there")
    )
    ids, scores = index.chunks(["retri"], 10)
    assert ids.tolist() == [1, 0]
    assert scores[0] > scores[1] > 0


def test_a_word_of_the_path_counts(tmp_path: Path) -> None:
    index = _index(tmp_path, _doc(0, "x y"), _doc(1, "x y", path="net/socket.py"))
    assert index.chunks(["socket"], 10)[0].tolist() == [1]


def test_a_file_is_found_by_words_of_different_chunks(tmp_path: Path) -> None:
    index = _index(
        tmp_path, _doc(0, "alpha", file=0), _doc(1, "beta", file=0), _doc(2, "alpha", file=1), _doc(3, "x", file=1)
    )
    assert index.files(["alpha", "beta"], 10)[0].tolist() == [0, 1]


def test_asked_scores_are_those_of_the_search(tmp_path: Path) -> None:
    index = _index(tmp_path, *(_doc(n, f"alpha {'beta ' * n} w{n}") for n in range(30)))
    ids, scores = index.chunks(["alpha", "beta"], 30)
    assert np.allclose(index.chunk_scores(["alpha", "beta"], ids), scores)


def test_a_chunk_without_any_of_the_words_scores_nothing(tmp_path: Path) -> None:
    index = _index(tmp_path, _doc(0, "alpha"), _doc(1, "beta"))
    assert index.chunk_scores(["alpha"], np.array([1, 0])).tolist()[0] == 0


def test_a_phrase_must_stand_as_it_is(tmp_path: Path) -> None:
    index = _index(tmp_path, _doc(0, "read the only file"), _doc(1, "a read only file"))
    assert index.chunks(["read", "onli"], 10, phrases=[["read", "onli"]])[0].tolist() == [1]


@pytest.mark.parametrize("width", [5, 4500])
def test_only_chunks_within_the_filter_come_back(tmp_path: Path, width: int) -> None:
    """Narrow filters go into the query, wide ones sift its results: both must give the best of what is allowed."""
    index = _index(tmp_path, *(_doc(n, f"alpha {'x ' * (n % 7)}") for n in range(5000)))
    within = np.arange(5000 - width, 5000)
    ids, _ = index.chunks(["alpha"], 50, within=within)
    assert len(ids) == min(width, 50)
    assert set(ids.tolist()) <= set(within.tolist())


def test_unknown_words_find_nothing(tmp_path: Path) -> None:
    assert len(_index(tmp_path, _doc(0, "alpha")).chunks(["omega"], 10)[0]) == 0


def test_an_index_of_nothing_finds_nothing(tmp_path: Path) -> None:
    assert len(_index(tmp_path).chunks(["alpha"], 10)[0]) == 0


def test_a_rare_word_weighs_more_than_a_common_one(tmp_path: Path) -> None:
    index = _index(tmp_path, *(_doc(n, f"common {'seldom' if n == 0 else ''}") for n in range(20)))
    rare, common, unknown = index.rarity(["seldom", "common", "unknown"])
    assert rare > common > unknown == 0


def test_a_build_that_is_cancelled_stops(tmp_path: Path) -> None:
    def check() -> None:
        raise Cancelled("stop")

    with pytest.raises(Cancelled):
        build_lexical(tmp_path, [_doc(0, "alpha")], check=check)


def test_a_folder_that_is_no_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreCorrupt, match="Index the repository again"):
        LexicalIndex.open(tmp_path)
