"""One step through the graph, for packs."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.codeintel.citations import Texts
from appliance.codeintel.query.context import DEFAULT, Pack, Weights, pack
from appliance.codeintel.query.gather import Gathered
from appliance.codeintel.query.querylang import plain
from tests.support.indexed import Indexed
from tests.support.repos import make_repo

_QUESTION = "How is the invoice of an order settled?"
_FILES: dict[str, str | bytes] = {
    "settling.py": "from ledger import post\n\n\ndef settle_invoice(order):\n"
    '    """Settle the invoice of an order: how an order with an invoice is settled."""\n    return post(order)\n',
    "ledger.py": "def post(order):\n    entry = {'of': order}\n    return entry\n",
    **{
        f"shop{n}.py": f'def list_{n}(order):\n    """Return number {n} of an order."""\n    return order, {n}\n'
        for n in range(6)
    },
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    root: Path = tmp_path_factory.mktemp("around")
    (root / "data").mkdir()
    indexed = Indexed(root / "data")
    indexed.graph(indexed.add(make_repo(root, _FILES)))
    yield indexed
    indexed.close()


def _gathered(shop: Indexed) -> Gathered:
    return asyncio.run(shop.searcher().gather(plain(_QUESTION), scope=shop.scope))


def _packed(shop: Indexed, gathered: Gathered, weights: Weights = DEFAULT) -> Pack:
    (part,) = gathered.parts
    return pack(gathered, texts=Texts({part.repo.id: shop.generations.source(part.repo.id)}), weights=weights)


def test_what_the_best_candidate_calls_comes_sooner_and_says_why(shop: Indexed) -> None:
    gathered = _gathered(shop)
    packed, apart = (_packed(shop, gathered, replace(DEFAULT, called=weight)) for weight in (1.5, 0))
    assert apart.places[0].path == "settling.py"
    before, after = ([place.path for place in each.places].index("ledger.py") for each in (apart, packed))
    assert after < before
    (block,) = (block for block in packed.blocks if "ledger.py" in block.heading)
    assert "called by settle_invoice, 100% sure" in block.heading


def test_without_a_graph_a_pack_goes_by_words_and_meaning_alone(shop: Indexed) -> None:
    gathered = _gathered(shop)
    (part,) = gathered.parts
    bare = replace(gathered, parts=(replace(part, generation=part.generation.with_graph(None)),))
    plainly = _packed(shop, bare)
    assert [place.path for place in plainly.places] == [
        place.path for place in _packed(shop, gathered, replace(DEFAULT, called=0)).places
    ]
    assert not any("called by" in block.heading for block in plainly.blocks)
