import asyncio
from collections.abc import Mapping

import pytest

from appliance.codeintel.citations import Place, Texts
from appliance.codeintel.query.context import CARD_PLACES, Block, Pack, pack, shown, smaller, tokens_of
from appliance.codeintel.query.querylang import plain
from tests.support.shop import STORE, Shop

QUESTION = "Where is a model's digest verified?"


def packed(shop: Shop, question: str = QUESTION, *, budget: int = 800, most: int = CARD_PLACES) -> Pack:
    gathered = asyncio.run(shop.searcher().gather(plain(question), scope=shop.scope))
    texts = Texts({part.repo.id: shop.generations.source(part.repo.id) for part in gathered.parts})
    return pack(gathered, texts=texts, budget_tokens=budget, most=most)


def lines_of(place: Place) -> set[tuple[str, int]]:
    return {(place.path, line) for line in range(place.start_line, place.end_line + 1)}


def function(name: str, lines: int, word: str) -> str:
    return f"def {name}():\n" + "".join(f"    {word}_{n} = {n}\n" for n in range(lines - 1)) + "\n\n"


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


def test_the_card_has_at_most_so_many_places(own_shop: Shop) -> None:
    own_shop.add("many", {f"m{n}.py": function(f"flush_{n}", 6, f"buffer{n}") for n in range(30)})
    assert len(packed(own_shop, "how is a buffer flushed", budget=5000).places) == CARD_PLACES


def test_the_same_text_is_shown_once(own_shop: Shop) -> None:
    own_shop.add("copies", {f"copy{n}/store.py": STORE for n in range(5)} | {"other.py": function("other", 5, "digest")})
    gathered = packed(own_shop, budget=5000)
    texts = [block.text for block in gathered.blocks]
    assert len(texts) == len(set(texts))


def test_a_short_function_is_shown_whole(own_shop: Shop) -> None:
    """The answer may stand in its last line, and the words of the question in its first."""
    body = function("first", 12, "alpha") + function("flush_journal", 38, "step") + function("last", 12, "omega")
    own_shop.add("short", {"journal.py": body})
    shown_lines = set().union(*map(lines_of, packed(own_shop, "flush_journal step_3", budget=5000).places))
    assert {("journal.py", line) for line in range(15, 53)} <= shown_lines


def test_a_long_function_is_not_widened(own_shop: Shop) -> None:
    own_shop.add("long", {"journal.py": function("flush_journal", 400, "step")})
    places = packed(own_shop, "flush_journal", budget=300, most=1).places
    assert places[0].end_line - places[0].start_line < 120


def test_tests_stand_behind_the_code_that_they_test(shop: Shop) -> None:
    paths = [place.path for place in packed(shop).places]
    assert "tests/test_store.py" not in paths[:1]


def test_a_single_huge_chunk_is_cut_to_the_budget(own_shop: Shop) -> None:
    own_shop.add(
        "wide", {"wide.py": "journal = [\n" + "".join(f'    "journal entry {"x" * 90} {n}",\n' for n in range(60)) + "]\n"}
    )
    chosen = packed(own_shop, "journal entry", budget=200)
    assert chosen.blocks
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


def test_numbers_survive_a_gap_in_the_blocks(own_shop: Shop) -> None:
    """A place too large for the model keeps its number on the card; the smaller ones after it are read all the same."""
    files: Mapping[str, str] = {
        "a.py": function("flush_a", 6, "buffer"),
        "b.py": function("flush_buffer_buffer", 36, "buffer_flush_flush_flush_flush_flush"),
        "c.py": function("flush_c", 6, "buffer"),
    }
    own_shop.add("gap", files)
    chosen = packed(own_shop, "flush buffer", budget=220)
    assert [place.path for place in (chosen.places[block.n - 1] for block in chosen.blocks)]
    assert {block.n for block in chosen.blocks} <= set(range(1, len(chosen.places) + 1))
