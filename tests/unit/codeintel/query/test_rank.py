from collections.abc import Mapping

import numpy as np
import pytest

from appliance.codeintel.query.querylang import ParsedQuery, parse
from appliance.codeintel.query.rank import Weights, fuse, rank
from appliance.codeintel.query.signals import Floats, Signals, joined, stem_tokens
from appliance.codeintel.source.base import FileFlags

_PROSE = parse("how are retries counted here")
_SYMBOL = parse("Client")


def _signals(*rows: Mapping[str, float], used: tuple[str, ...] = ("lexical", "latent", "vector")) -> Signals:
    """One candidate a row; what a row does not say is the same for all."""

    def column(name: str, default: float) -> Floats:
        return np.array([row.get(name, default) for row in rows], dtype=np.float32)

    return Signals(
        ids=np.arange(len(rows)),
        files=np.array([row.get("file", n) for n, row in enumerate(rows)], dtype=np.int64),
        lexical=column("lexical", 1),
        file_lexical=column("file_lexical", 1),
        latent=column("latent", 0.1),
        dense=column("dense", 0.1),
        file_dense=column("file_dense", 0.2),
        defines=column("defines", 0),
        named=column("named", 0),
        stem=column("stem", 0),
        central=column("central", 0),
        flags=column("flags", 0).astype(np.uint8),
        used=used,  # type: ignore[arg-type]
    )


def _order(signals: Signals, query: ParsedQuery = _PROSE, **weights: float) -> list[int]:
    order: list[int] = rank(signals, query, weights=Weights(**weights)).order.tolist()
    return order


def test_scores_are_fused_by_their_distances_and_not_by_rank() -> None:
    """The second leads by a hair in words and is far behind in meaning; by ranks the two would tie."""
    signals = _signals({"lexical": 9.9, "dense": 0.9}, {"lexical": 10, "dense": 0.1}, {"lexical": 1, "dense": 0})
    assert _order(signals)[0] == 0


def test_meaning_weighs_more_for_prose_than_for_a_symbol() -> None:
    signals = _signals({"lexical": 10, "dense": 0.1}, {"lexical": 1, "dense": 0.9})
    prose, symbol = fuse(signals, _PROSE), fuse(signals, _SYMBOL)
    assert prose[1] - prose[0] > symbol[1] - symbol[0]


def test_a_chunk_without_a_vector_is_taken_at_its_words() -> None:
    signals = _signals({"lexical": 10, "dense": np.nan}, {"lexical": 5, "dense": 0.3}, {"lexical": 1, "dense": 0.1})
    assert _order(signals)[0] == 0


def test_nothing_is_undefined_when_no_chunk_has_a_vector() -> None:
    signals = _signals({"dense": np.nan, "file_dense": np.nan}, {"dense": np.nan, "file_dense": np.nan})
    assert not np.isnan(rank(signals, _PROSE).scores).any()


def test_words_alone_rank_when_there_are_no_vectors() -> None:
    signals = _signals({"lexical": 1, "dense": np.nan}, {"lexical": 10, "dense": np.nan}, used=("lexical", "latent"))
    assert _order(signals) == [1, 0]


def test_the_chunk_that_defines_the_symbol_comes_first() -> None:
    signals = _signals({"lexical": 10}, {"lexical": 6, "defines": 1})
    assert _order(signals, _SYMBOL)[0] == 1
    assert _order(signals, _SYMBOL, defines_symbol=0)[0] == 0


def test_of_several_definitions_of_a_name_that_on_which_more_leans_is_meant() -> None:
    """A thin layer often defines the names of what it is built on again."""
    signals = _signals(
        {"lexical": 10, "defines": 1, "central": 0.3}, {"lexical": 9, "defines": 0.9, "central": 1}, {"lexical": 1}
    )
    assert _order(signals, _SYMBOL) == [1, 0, 2]
    assert _order(signals, _SYMBOL, defines_central=0)[0] == 0


def test_the_one_definition_of_a_name_is_worth_the_same_wherever_it_stands() -> None:
    apart, central = (_signals({"lexical": 5, "defines": 1, "central": c}, {"lexical": 10}, {"lexical": 1}) for c in (0, 1))
    assert rank(apart, _SYMBOL).scores.tolist() == rank(central, _SYMBOL).scores.tolist()


def test_a_definition_called_by_the_words_of_the_question_is_lifted() -> None:
    signals = _signals({"lexical": 10}, {"lexical": 9, "named": 1}, {"lexical": 1})
    assert _order(signals)[0] == 1
    assert _order(signals, named=0)[0] == 0


def test_who_asks_for_a_name_means_the_file_of_that_name_more_than_a_mention() -> None:
    signals = _signals({"lexical": 10}, {"lexical": 4, "stem": 1}, {"lexical": 1})
    assert _order(signals, _SYMBOL)[0] == 1
    assert _order(signals, _PROSE)[0] == 0


@pytest.mark.parametrize("flag", [FileFlags.LEGACY, FileFlags.INTERNAL, FileFlags.HEADER])
def test_what_stands_beside_something_better_comes_after_it(flag: FileFlags) -> None:
    assert _order(_signals({"lexical": 10, "flags": flag}, {"lexical": 9.9}, {"lexical": 1}))[0] == 1


@pytest.mark.parametrize("flag", [FileFlags.INTERNAL, FileFlags.HEADER])
def test_who_asks_for_a_name_may_mean_one_that_is_internal(flag: FileFlags) -> None:
    assert _order(_signals({"lexical": 10, "flags": flag}, {"lexical": 9.9}, {"lexical": 1}), _SYMBOL)[0] == 0


def test_a_file_called_like_the_query_is_lifted() -> None:
    signals = _signals({"lexical": 10}, {"lexical": 9, "stem": 1}, {"lexical": 1})
    assert _order(signals)[0] == 1
    assert _order(signals, stem=0)[0] == 0


@pytest.mark.parametrize("used", [("lexical", "latent", "vector"), ("lexical", "latent")])
def test_a_question_is_answered_rather_by_what_the_rest_is_built_on(used: tuple[str, ...]) -> None:
    signals = _signals({"lexical": 10}, {"lexical": 9.9, "central": 1}, {"lexical": 1}, used=used)
    assert _order(signals)[0] == 1
    assert _order(signals, central=0, central_words=0)[0] == 0


def test_who_asks_for_a_name_gets_it_however_little_it_is_used() -> None:
    assert _order(_signals({"lexical": 10}, {"lexical": 9.9, "central": 1}, {"lexical": 1}), _SYMBOL)[0] == 0


@pytest.mark.parametrize("flag", [FileFlags.TEST, FileFlags.EXAMPLE, FileFlags.DOC, FileFlags.VENDORED, FileFlags.GENERATED])
@pytest.mark.parametrize("query", [_PROSE, _SYMBOL])
def test_what_is_not_the_code_that_people_work_on_is_lowered(flag: FileFlags, query: ParsedQuery) -> None:
    assert _order(_signals({"lexical": 10, "flags": flag}, {"lexical": 9.9}, {"lexical": 1}), query)[0] == 1


def test_a_file_with_several_good_chunks_beats_one_with_a_single_good_chunk() -> None:
    good = {"lexical": 9, "file": 1}
    signals = _signals({"lexical": 9.3, "file": 0}, {"lexical": 1, "file": 0}, good, good, good)
    assert _order(signals)[0] != 0
    assert _order(signals, coherence=0)[0] == 0


def test_further_chunks_of_one_file_make_room_for_other_files() -> None:
    signals = _signals({"lexical": 10, "file": 0}, {"lexical": 9, "file": 0}, {"lexical": 6, "file": 1}, {"lexical": 1})
    assert _order(signals, coherence=0)[:2] == [0, 2]
    assert _order(signals, coherence=0, saturation=1)[:2] == [0, 1]


def test_scores_come_in_falling_order() -> None:
    draw = np.random.default_rng(5)
    rows = [{"lexical": draw.random(), "dense": draw.random(), "file": int(draw.integers(6))} for _ in range(40)]
    scores = rank(_signals(*rows), _PROSE).scores
    assert (np.diff(scores) <= 0).all()


def test_no_candidates_rank_as_none() -> None:
    assert len(rank(_signals(), _PROSE).order) == 0


def test_candidates_of_two_repos_keep_their_files_apart() -> None:
    both = joined([_signals({"file": 0}), _signals({"file": 0}, used=("lexical",))], sizes=[3, 5])
    assert both.files.tolist() == [0, 3]
    assert both.used == ("lexical", "latent", "vector")


def test_a_file_is_called_by_its_name_without_endings() -> None:
    assert stem_tokens("src/http/client.test.ts") == ("client",)
    assert stem_tokens("src/http_client.py") == ("http", "client", "httpclient")


def test_a_name_that_every_package_has_says_nothing() -> None:
    assert stem_tokens("src/http/__init__.py") == stem_tokens("src/http/index.ts") == ()
