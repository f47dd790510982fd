import asyncio

import pytest

from appliance.codeintel.citations import Place, Texts
from appliance.codeintel.query.context import CARD_PLACES, Block, Pack, pack, shown, smaller, tokens_of
from appliance.codeintel.query.querylang import plain
from tests.support.shop import STORE, Shop

QUESTION = "Where is a model's digest verified?"


def packed(shop: Shop, question: str = QUESTION, *, name: str = "shop", budget: int = 800, most: int = CARD_PLACES) -> Pack:
    gathered = asyncio.run(shop.searcher().gather(plain(question), scope=shop.only(name)))
    texts = Texts({part.repo.id: shop.generations.source(part.repo.id) for part in gathered.parts})
    return pack(gathered, texts=texts, budget_tokens=budget, most=most)


def lines_of(place: Place) -> set[tuple[str, int]]:
    return {(place.path, line) for line in range(place.start_line, place.end_line + 1)}


def test_the_answering_lines_come_first(shop: Shop) -> None:
    best = packed(shop).places[0]
    first = STORE.split("\n").index("    def verify(self, name):") + 1
    assert best.path == "shop/store.py"
    assert best.start_line <= first
    assert best.end_line >= first + 6


@pytest.mark.parametrize("budget", [60, 120, 300, 800, 1600])
def test_the_blocks_keep_to_the_budget(shop: Shop, budget: int) -> None:
    chosen = packed(shop, budget=budget)
    assert chosen.blocks
    assert sum(tokens_of(block.text) + tokens_of(block.heading) for block in chosen.blocks) <= budget


def test_what_does_not_fit_the_model_is_still_on_the_card(shop: Shop) -> None:
    small, large = packed(shop, budget=60), packed(shop, budget=5000)
    assert len(small.blocks) < len(large.blocks)
    assert len(small.places) > len(small.blocks)


def test_a_block_has_the_number_of_its_place_and_its_text(shop: Shop) -> None:
    chosen = packed(shop)
    for block in chosen.blocks:
        place = chosen.places[block.n - 1]
        assert block.heading.startswith(f"{place.path}:{place.start_line}-{place.end_line}")


def test_no_line_is_shown_twice(shop: Shop) -> None:
    places = packed(shop, "digest model verify path catalogue engine role restart").places
    seen: set[tuple[str, int]] = set()
    for place in places:
        assert not seen & lines_of(place)
        seen |= lines_of(place)


def test_the_card_has_at_most_so_many_places(shop: Shop) -> None:
    assert len(packed(shop, "how is a buffer flushed", name="corners", budget=5000).places) == CARD_PLACES


def test_the_same_text_is_shown_once(shop: Shop) -> None:
    texts = [block.text for block in packed(shop, name="corners", budget=5000).blocks]
    assert len(texts) == len(set(texts)) > 1


def test_a_short_function_is_shown_whole(shop: Shop) -> None:
    """The answer may stand in its last line, and the words of the question in its first."""
    places = packed(shop, "write_journal step_3", name="corners", budget=5000).places
    shown_lines = set().union(*map(lines_of, places))
    assert {("short/journal.py", line) for line in range(15, 53)} <= shown_lines


def test_a_long_function_is_not_widened(shop: Shop) -> None:
    places = packed(shop, "sum_ledger entry", name="corners", budget=300, most=1).places
    assert places[0].path == "long/ledger.py"
    assert places[0].end_line - places[0].start_line < 120


def test_tests_stand_behind_the_code_that_they_test(shop: Shop) -> None:
    paths = [place.path for place in packed(shop).places]
    assert "tests/test_store.py" not in paths[:1]


def test_a_single_huge_chunk_is_cut_to_the_budget(shop: Shop) -> None:
    chosen = packed(shop, "planet row table", name="corners", budget=200)
    assert chosen.places[0].path == "wide/table.py"
    assert chosen.blocks[0].n == 1
    assert tokens_of(chosen.blocks[0].text) <= 200


def test_lines_are_shown_dedented_and_without_blank_ones() -> None:
    assert shown(["        if a:", "", "            b()  ", "   "]) == "if a:\n    b()"


def blocks(*sizes: int) -> tuple[Block, ...]:
    return tuple(Block(n, f"f.py:{n}-{n}", "\n".join(["x" * 9] * size)) for n, size in enumerate(sizes, start=1))


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [((10, 10, 10, 10), [1, 2]), ((30, 5, 5), [1]), ((5, 5, 30), [1, 2]), ((10,), [1])],
)
def test_a_smaller_pack_keeps_the_best_blocks_up_to_half(sizes: tuple[int, ...], kept: list[int]) -> None:
    whole = blocks(*sizes)
    less = smaller(whole)
    assert [block.n for block in less] == kept
    assert sum(len(block.text) for block in less) <= sum(len(block.text) for block in whole) / 2 + 1


def test_a_place_too_large_for_the_model_keeps_its_number_and_smaller_ones_after_it_are_read(shop: Shop) -> None:
    chosen = packed(shop, "write_journal step buffer flush", name="corners", budget=330)
    read = [block.n for block in chosen.blocks]
    assert read == sorted(read)
    assert set(read) < set(range(1, len(chosen.places) + 1))
