"""Questions to the graph about what one file declares and another defines: the declaration stands for its definition."""

import asyncio
from collections.abc import Iterator

import pytest

from appliance.codeintel.query.graphs import GraphReader
from appliance.codeintel.query.search import Searcher
from appliance.codeintel.results import Direction, Pointed, Scope
from tests.support.indexing import IndexBench
from tests.support.kinds import graphed

FILES = {
    "include/shop.h": """\
#define TWICE(x) ((x) + (x))
int total(int net);
int elsewhere(int net);
class Price {
public:
    Price(int net);
    int gross() const;
private:
    int net_;
};
""",
    "src/price.cpp": """\
#include "../include/shop.h"
Price::Price(int net) : net_(total(net)) {}
int Price::gross() const { return TWICE(net_); }
int total(int net) { return net; }
""",
    "src/main.cpp": """\
#include "../include/shop.h"
int main() {
    Price price(elsewhere(1));
    return price.gross() + total(2);
}
""",
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexBench]:
    made, _ = graphed(tmp_path_factory.mktemp("declared"), FILES)
    yield made
    made.close()


def _calls(bench: IndexBench, subject: "str | tuple[str, int, int]", direction: Direction) -> tuple[list[str], list[str]]:
    """Return the lines of the definitions that *subject* means, and of its calls."""
    repo = bench.registry.repos()[0]
    reader = GraphReader(bench.generations, Searcher(bench.generations, None, bench.clock), bench.clock)
    about = subject if isinstance(subject, str) else Pointed(repo.id, *subject)
    found = asyncio.run(reader.calls(about, direction, scope=Scope(repo.project)))
    places = [f"{each.span.path}:{each.span.start_line}" for each in found.definitions]
    return places, [f"{each.caller} {each.span.start_line} {each.callee}" for each in found.calls]


def test_who_calls_what_a_header_declares_calls_its_definition(bench: IndexBench) -> None:
    expected = ["main 4 total", "Price.Price 2 total"]
    assert _calls(bench, "total", "callers") == (["src/price.cpp:4"], expected)
    assert _calls(bench, ("include/shop.h", 2, 5), "callers") == (["src/price.cpp:4"], expected)


def test_what_is_declared_and_defined_nowhere_is_asked_about_itself(bench: IndexBench) -> None:
    assert _calls(bench, "elsewhere", "callers") == (["include/shop.h:3"], ["main 3 elsewhere"])


def test_a_member_that_its_type_declares_is_its_definition(bench: IndexBench) -> None:
    assert _calls(bench, "Price.gross", "callers") == (["src/price.cpp:3"], ["main 4 Price.gross"])
    assert _calls(bench, "gross", "callees") == (["src/price.cpp:3"], ["Price.gross 3 TWICE"])


def test_who_makes_a_type_calls_its_constructor_wherever_that_is(bench: IndexBench) -> None:
    places, calls = _calls(bench, "include/shop.h.Price", "callers")
    assert (places, calls) == (["include/shop.h:4"], ["main 3 Price.Price"])
    assert _calls(bench, "include/shop.h.Price", "callees")[1] == ["Price.Price 2 total", "Price.gross 3 TWICE"]


def test_a_macro_is_called(bench: IndexBench) -> None:
    assert _calls(bench, "TWICE", "callers") == (["include/shop.h:1"], ["Price.gross 3 TWICE"])
