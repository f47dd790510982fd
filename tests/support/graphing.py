"""A small repository of several languages, and what makes its graph and asks it."""

from appliance.codeintel.query.draft import Code, StructureAnswer
from appliance.codeintel.query.structure import answer
from appliance.codeintel.questions import classify
from appliance.codeintel.registry import Repo
from appliance.codeintel.store.generations import Generations
from appliance.codeintel.store.graph import GraphInfo
from tests.support.indexing import IndexBench, silent

PRICES = """
import json

class Price:
    def __init__(self, net):
        self.net = net

    def total(self):
        return gross(self.net)

    def text(self):
        return json.dumps(self.total())

def gross(net):
    return net

def gross(net):
    return net * 2
"""
CART = """
from shop.prices import Price, gross

def add(price, other):
    gross(1); gross(2)
    price.total()
    other.vanish()
    return Price(3)

last = add(Price(1), None)
"""
TEST = """
from shop.cart import add
from shop.prices import gross

def test_add():
    add(gross(1), 2)
"""
CODE: dict[str, bytes | str | None] = {
    "shop/prices.py": PRICES.lstrip(),
    "shop/cart.py": CART.lstrip(),
    "tests/test_cart.py": TEST.lstrip(),
    "web/cart.ts": "import { gross } from './prices'\n\nexport function show(net: number) {\n  return gross(net)\n}\n",
    "web/prices.ts": "export function gross(net: number) {\n  return net * 2\n}\n",
    "cmd/main.lua": "-- Starts.\n\nfunction Start() Start() end\n",
    "broken.py": "def half(:\n    gross(\n\ndef whole():\n    pass\n",
}


class Graphs:
    """A bench that makes graphs and asks them."""

    def __init__(self, bench: IndexBench) -> None:
        self.bench = bench
        self.builder = bench.builder()
        self.generations = Generations(bench.registry, paths=bench.paths, clock=bench.clock)

    def build(self, repo: Repo) -> GraphInfo:
        return self.builder.build(repo.id, progress=silent, check=lambda: None)

    def ask(self, repo: Repo, question: str) -> StructureAnswer:
        query = classify(question)
        assert query is not None
        found = answer(query, code=[Code(self.generations.published(repo.id), repo.name)])
        assert found is not None
        return found

    def said(self, repo: Repo, question: str) -> list[str]:
        return [sentence.text for sentence in self.ask(repo, question).sentences]
