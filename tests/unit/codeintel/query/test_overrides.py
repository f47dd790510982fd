"""What code calls where a test puts something of its own in the place of what it calls."""

import asyncio
from contextlib import closing
from pathlib import Path

from appliance.codeintel.query.graphs import GraphReader
from appliance.codeintel.query.search import Searcher
from appliance.codeintel.results import Scope
from tests.support.kinds import graphed

TAX = """
from typing import Protocol


class Tax(Protocol):
    def rate(self) -> int: ...


class Flat:
    def rate(self) -> int:
        return 1
"""
CART = """
from shop.tax import Flat, Tax


def add(tax: Tax):
    return tax.rate()


def flat():
    return add(Flat())
"""
TEST = """
from shop.cart import add


class Free:
    def rate(self) -> int:
        return 0


def test_free():
    assert add(Free()) == Free().rate()
"""
FILES = {"shop/tax.py": TAX, "shop/cart.py": CART, "tests/test_cart.py": TEST}


def test_what_a_test_puts_in_the_place_of_something_is_not_told_as_called_by_the_code(tmp_path: Path) -> None:
    """The graph follows whatever could be meant; told as a fact, the override of a test is a call that nobody makes."""
    bench, _ = graphed(tmp_path, FILES)
    with closing(bench):
        scope = Scope(bench.registry.repos()[0].project)
        reader = GraphReader(bench.generations, Searcher(bench.generations, None, bench.clock), bench.clock)

        def callees(name: str) -> list[str]:
            return [each.callee for each in asyncio.run(reader.calls(name, "callees", scope=scope)).calls if each.inside]

        assert callees("add") == ["Tax.rate", "Flat.rate"]
        assert "Free.rate" in callees("test_free")
