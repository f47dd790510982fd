"""Questions to the graph of a small repository, as every door asks them."""

import asyncio
import time
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from appliance.codeintel.citations import Texts
from appliance.codeintel.query.calls import with_inner
from appliance.codeintel.query.draft import Code, Found
from appliance.codeintel.query.graphs import GraphReader
from appliance.codeintel.query.impact import WORTH, impact
from appliance.codeintel.query.search import Searcher
from appliance.codeintel.query.structure import answer
from appliance.codeintel.questions import classify
from appliance.codeintel.registry import Repo
from appliance.codeintel.results import Pointed, Scope
from appliance.codeintel.store.graph import CallGraph
from appliance.codeintel.store.kinds import KIND_NUMBERS
from appliance.errors import InvalidInput, NotFound
from tests.support.indexing import IndexBench, QuickBench
from tests.support.repos import commit, make_repo

PRICES = """\
RATE = 2

class Base:
    def total(self):
        return RATE

class Price(Base):
    def __init__(self, net):
        self.net = net

    @property
    def gross(self):
        return self.net * RATE

    def total(self):
        return self.gross
"""
CART = """\
from shop.prices import Price as Cost, RATE

def add(items):
    return [make(item) for item in items]

def make(item):
    return Cost(item).total()

def lonely(RATE):
    return RATE

def rate():
    return RATE
"""
TEST = """\
from shop.cart import add

def test_add():
    assert add([1])
"""
ENGINE = """\
pub fn turn() {}

mod tests {
    use super::*;

    #[test]
    fn turns() { turn(); }
}
"""
FILES = {
    "shop/__init__.py": "",
    "shop/prices.py": PRICES,
    "shop/cart.py": CART,
    "tests/test_cart.py": TEST,
    "engine/lib.rs": ENGINE,
}
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Asking:
    bench: IndexBench
    repo: Repo
    reader: GraphReader

    @property
    def scope(self) -> Scope:
        return Scope(self.repo.project)

    def at(self, path: str, line: int, column: int = 0, word: str = "") -> Pointed:
        return Pointed(self.repo.id, path, line, column, word)

    def meant(self, path: str, line: int, word: str) -> list[str]:
        return [
            each.symbol for each in run(self.reader.definition(self.at(path, line, word=word), scope=self.scope)).definitions
        ]


def run(question: Coroutine[object, object, _T]) -> _T:
    return asyncio.run(question)


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    place = tmp_path_factory.mktemp("asking")
    bench = QuickBench(place / "data")
    source = make_repo(place, {**FILES, "shop/prices.py": "RATE = 1\n", "shop/cart.py": "RATE = 1\n"})
    things = {"shop/prices.py": PRICES, "shop/cart.py": CART, "README.md": "# Shop\n"}
    commit(source, things, "Price things", when=1_700_000_100)
    commit(source, {"shop/prices.py": PRICES.replace("RATE = 2", "RATE = 3")}, "Raise the rate", when=1_700_000_200)
    repo = bench.add(source)
    bench.index(repo)
    bench.graph(repo)
    yield Asking(bench, repo, GraphReader(bench.generations, Searcher(bench.generations, None, bench.clock), bench.clock))
    bench.close()


@pytest.mark.parametrize(
    ("path", "line", "word", "meant"),
    [
        ("shop/cart.py", 1, "Price", ["Price"]),
        ("shop/cart.py", 7, "Cost", ["Price"]),
        ("shop/cart.py", 7, "total", ["Price.total"]),
        ("shop/cart.py", 4, "make", ["make"]),
        ("shop/cart.py", 13, "RATE", ["RATE"]),
        ("shop/prices.py", 16, "gross", ["Price.gross"]),
        ("shop/prices.py", 12, "gross", ["Price.gross"]),
        ("shop/prices.py", 7, "Base", ["Base"]),
    ],
)
def test_a_name_means_what_it_means_where_it_stands(
    asking: Asking, path: str, line: int, word: str, meant: list[str]
) -> None:
    """An alias, a method of a value, a property, a constant of another file, a definition itself."""
    assert asking.meant(path, line, word)[: len(meant)] == meant


def test_a_column_is_as_good_as_a_word(asking: Asking) -> None:
    found = run(asking.reader.definition(asking.at("shop/cart.py", 7, column=13), scope=asking.scope))
    assert (found.name, [each.symbol for each in found.definitions]) == ("Cost", ["Price", "Price.__init__"])


def test_what_cannot_be_told_is_said_to_be_a_guess(asking: Asking) -> None:
    """A parameter that is called as a constant is: nothing of the graph says that it is that constant."""
    found = run(asking.reader.definition(asking.at("shop/cart.py", 10, word="RATE"), scope=asking.scope))
    assert [(each.how, each.confidence) for each in found.definitions] == [("candidate", 0.4)]
    assert found.warnings == ("What `RATE` is at shop/cart.py:10 could not be told: these definitions have that name.",)


def test_uses_of_every_kind_are_listed_and_counted(asking: Asking) -> None:
    found = run(asking.reader.references("prices.RATE", scope=asking.scope, limit=2))
    assert found.kinds == {"references": 3, "imports": 1}
    assert (found.total, found.truncated, len(found.references)) == (4, True, 2)
    rest = run(asking.reader.references("prices.RATE", scope=asking.scope, limit=2, offset=2))
    assert not rest.truncated
    lines = [(each.span.path, each.span.start_line, each.inside) for each in (*found.references, *rest.references)]
    assert sorted(lines) == [
        ("shop/cart.py", 1, ""),
        ("shop/cart.py", 13, "rate"),
        ("shop/prices.py", 5, "Base.total"),
        ("shop/prices.py", 13, "Price.gross"),
    ]


def test_a_way_has_each_step_with_its_line(asking: Asking) -> None:
    found = run(asking.reader.path("add", "Price.gross", scope=asking.scope))
    assert [(hop.source, hop.target, hop.span.start_line) for hop in found.hops] == [
        ("add", "make", 4),
        ("make", "Price.total", 7),
        ("Price.total", "Price.gross", 16),
    ]
    assert 0.4 < found.confidence < 1
    assert found.hops[1].text.strip() == "return Cost(item).total()"


def test_where_there_is_no_way_that_is_said(asking: Asking) -> None:
    found = run(asking.reader.path("Price.gross", "add", scope=asking.scope))
    assert (found.hops, found.confidence) == ((), 0.0)
    assert found.warnings == ("No way from `Price.gross` to `add` could be followed; there is one back.",)


def test_an_answer_says_that_the_work_tree_has_other_lines(asking: Asking) -> None:
    """The last commits were never checked out: whoever looks at the files sees what no answer speaks of."""
    deadline = time.monotonic() + 20
    while (dirty := run(asking.reader.calls("make", "callers", scope=asking.scope)).freshness[0].dirty) is None:
        assert time.monotonic() < deadline
    assert dirty


def test_an_outline_has_every_definition_with_its_depth(asking: Asking) -> None:
    found = run(asking.reader.outline(asking.repo.id, "shop/prices.py", scope=asking.scope))
    assert [(each.symbol, each.depth) for each in found.entries] == [
        ("RATE", 0),
        ("Base", 0),
        ("Base.total", 1),
        ("Price", 0),
        ("Price.__init__", 1),
        ("Price.gross", 1),
        ("Price.total", 1),
    ]
    assert (found.language, found.file.end_line, found.total, found.truncated) == ("python", 16, 7, False)


def test_a_map_names_what_is_leant_on_and_stays_within_its_budget(asking: Asking) -> None:
    whole = run(asking.reader.repomap(scope=asking.scope))
    assert whole.files[0].file.path == "shop/prices.py"
    assert whole.tokens <= whole.budget == 1000
    small = run(asking.reader.repomap(scope=asking.scope, tokens=100, focus=("shop/cart.py",)))
    assert small.tokens <= 100
    assert small.files[0].file.path == "shop/cart.py"
    assert (small.total, small.truncated) == (6, True)


def test_the_pack_for_a_question_stays_within_its_budget(asking: Asking) -> None:
    found = run(asking.reader.context("how is the total of a price made", scope=asking.scope, tokens=120))
    assert found.tokens <= found.budget == 120
    assert any("def total" in each.text for each in found.evidence)
    assert found.truncated == (found.total > len(found.evidence))


def test_history_says_who_changed_the_lines_and_when(asking: Asking) -> None:
    found = run(asking.reader.history("prices.RATE", scope=asking.scope))
    assert [each.summary for each in found.changes] == ["Raise the rate", "Price things", "first"]
    assert (found.changes[0].author, found.changes[0].date[:10]) == ("Test", "2023-11-14")
    assert run(asking.reader.history("Base", scope=asking.scope)).changes[0].summary == "Price things"


def test_a_plain_folder_has_no_history(asking: Asking, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("def alone():\n    pass\n")
    bench = asking.bench
    folder = bench.add(tmp_path, name="folder")
    bench.index(folder)
    with pytest.raises(InvalidInput, match="it has no history"):
        run(asking.reader.history("alone", scope=Scope(folder.project, (folder.id,))))
    bench.registry.remove_repo(folder.id)


def test_an_unknown_name_is_an_error_with_the_names_that_are_near(asking: Asking) -> None:
    for question in (
        asking.reader.definition("Prize", scope=asking.scope),
        asking.reader.references("Prize", scope=asking.scope),
        asking.reader.path("Prize", "add", scope=asking.scope),
        asking.reader.repomap(scope=asking.scope, focus=("Prize",)),
        asking.reader.history("Prize", scope=asking.scope),
    ):
        with pytest.raises(NotFound, match="is named 'Prize'") as caught:
            run(question)
        assert caught.value.context["near"] == ("Price",)
    with pytest.raises(NotFound, match=r"Near are: shop/cart\.py\."):
        run(asking.reader.outline(asking.repo.id, "cart.py", scope=asking.scope))


def test_a_place_where_no_name_stands_is_refused(asking: Asking) -> None:
    for at in (asking.at("shop/cart.py", 99, 1), asking.at("shop/cart.py", 2, 1)):
        with pytest.raises(InvalidInput):
            run(asking.reader.definition(at, scope=asking.scope))
    with pytest.raises(NotFound):
        run(asking.reader.definition(asking.at("shop/gone.py", 1, 1), scope=asking.scope))


def test_questions_in_words_are_answered_in_sentences_that_cite_the_lines(asking: Asking) -> None:
    generation = asking.bench.generation(asking.repo)
    code = (Code(generation, "shop"),)
    texts = Texts({asking.repo.id: asking.bench.generations.source(asking.repo.id)})

    def said(question: str) -> list[str]:
        query = classify(question)
        found = answer(query, code=code, texts=texts) if query else None
        assert found is not None
        assert all(sentence.cites for sentence in found.sentences)
        return [sentence.text for sentence in found.sentences]

    assert said("who uses prices.RATE?") == [
        "`RATE` (constant, shop/prices.py:1) is used at 4 places (references 3, imports 1).",
        "The top level of shop/cart.py imports it at shop/cart.py:1 (100% sure).",
        "`rate` uses it at shop/cart.py:13 (100% sure).",
        "`Base.total` uses it at shop/prices.py:5 (100% sure).",
        "`Price.gross` uses it at shop/prices.py:13 (100% sure).",
    ]
    assert said("how does `add` reach Price.gross")[0].startswith("From `add` to `Price.gross` it is 3 steps (")
    assert said("path from Price.gross to `add`") == ["No way from `Price.gross` to `add` could be followed."]
    history = said("history of prices.RATE")
    assert history[0] == "`RATE` (constant, shop/prices.py:1) was changed last by these commits, the newest first."
    assert history[1].startswith("2023-11-14 Test: Raise the rate (")


def test_files_that_cannot_be_read_are_named_and_the_rest_is_answered(tmp_path: Path) -> None:
    """One file is in another encoding, one has no syntax that can be used: uses in all others are answered all the same."""
    bench = QuickBench(tmp_path / "data")
    files: dict[str, bytes | str | None] = {
        "a.py": "def shared():\n    pass\n",
        "wide.py": "from a import shared\nshared()  # \u00e9\n".encode("utf-16"),
        "latin.py": "from a import shared\nshared()  # \u00e9\n".encode("latin-1"),
        "deep.py": "x = " + "(" * 5000 + ")" * 5000 + "\n",
        "torn.py": "def good():\n    pass\n)(\n" * 3,
    }
    repo = bench.add(make_repo(tmp_path, files))
    bench.index(repo)
    bench.graph(repo)
    reader = GraphReader(bench.generations, Searcher(bench.generations, None, bench.clock), bench.clock)
    found = run(reader.references("shared", scope=Scope(repo.project)))
    assert {each.span.path for each in found.references} == {"wide.py", "latin.py"}
    assert found.kinds == {"call": 2, "imports": 2}
    assert found.warnings == (
        "repo: 1 file could not be followed, their syntax cannot be used: deep.py.",
        "latin.py: no proper UTF-8 or UTF-16, read as latin-1; letters beyond ASCII may be wrong.",
    )
    assert all(each.text for each in found.references)
    with pytest.raises(NotFound) as caught:
        run(reader.definition("lost", scope=Scope(repo.project)))
    assert "The syntax of 1 of the files could not be used" in caught.value.remedy, "it may well be defined there"
    assert "In 1 of the files there are places that are no syntax" in caught.value.remedy
    (said,) = run(reader.outline(repo.id, "torn.py", scope=Scope(repo.project))).warnings
    assert said == "torn.py: 8% of it is no syntax that could be read: what that defines may be missing."
    bench.close()


def test_a_page_says_that_it_is_one_and_all_pages_together_are_everything(asking: Asking) -> None:
    """A count has one meaning, and a walk from page to page returns each use once."""
    seen: list[tuple[str, int]] = []
    while True:
        page = run(asking.reader.references("Price", scope=asking.scope, limit=1, offset=len(seen)))
        seen += [(each.span.path, each.span.start_line) for each in page.references]
        assert (page.total, page.truncated) == (2, len(seen) < 2)
        if not page.truncated:
            break
    assert len(set(seen)) == len(seen) == 2


def _slowly(found: Found, graph: CallGraph) -> set[tuple[int, int, int, float]]:
    """Return source, line, steps and confidence of all that a change of *found* reaches, edge by edge."""
    sure: dict[int, float] = dict.fromkeys(with_inner(found), 1.0)
    frontier, reached = set(sure), set()
    for steps in range(1, 6):
        best: dict[int, tuple[float, int]] = {}
        for edge in graph.uses(sorted(frontier)):
            value = sure[edge.target] * edge.confidence * float(WORTH[KIND_NUMBERS[edge.kind]])
            if edge.source not in sure and value >= 0.05 and value > best.get(edge.source, (0.0, 0))[0]:
                best[edge.source] = (value, edge.line)
        sure |= {source: value for source, (value, _) in best.items()}
        reached |= {(source, line, steps, round(value, 2)) for source, (value, line) in best.items()}
        frontier = {source for source in best if source >= 0}
    return reached


def test_impact_page_by_page_is_what_following_every_edge_reaches(asking: Asking) -> None:
    """It goes by arrays, and only the page that is shown is looked up."""
    generation = asking.bench.generation(asking.repo)
    assert generation.graph is not None
    code, reached = Code(generation, "repo"), 0
    for row in [row for path in generation.files.by_path for row in generation.symbols.in_file(path)]:
        found = impact(Found(code, row), generation.graph)
        every = found.page(slice(None))
        assert [each for start in range(0, len(found), 2) for each in found.page(slice(start, start + 2))] == every
        assert found.tests == sum(each.test for each in every)
        told = [
            (each.symbol.id if each.symbol else -1 - each.file, each.line, each.steps, each.confidence) for each in every
        ]
        assert {each[:1] + each[2:] for each in told} == {
            each[:1] + each[2:] for each in _slowly(Found(code, row), generation.graph)
        }
        assert sorted(every, key=lambda each: (each.steps, each.test, -each.confidence, each.path, each.line)) == every
        reached += len(every)
    assert reached > 10


def test_a_test_of_rust_counts_as_one_though_its_file_is_none(asking: Asking) -> None:
    found = run(asking.reader.impact("turn", scope=asking.scope))
    assert [(each.symbol, each.test) for each in found.reached] == [("tests.turns", True)]
    assert found.tests == 1


def test_impact_goes_over_uses_of_every_kind_and_names_what_changed_together(asking: Asking) -> None:
    """A constant is called by nobody; what reads it, and what calls that, is reached all the same."""
    found = run(asking.reader.impact("prices.RATE", scope=asking.scope))
    assert [(each.symbol, each.steps, each.confidence, each.test) for each in found.reached] == [
        ("rate", 1, 0.8, False),
        ("Base.total", 1, 0.8, False),
        ("Price.gross", 1, 0.8, False),
        ("Price.total", 2, 0.64, False),
        ("make", 3, 0.58, False),
        ("add", 4, 0.58, False),
        ("test_add", 5, 0.58, True),
    ]
    assert [(each.path, each.times, each.commits) for each in found.together] == [("shop/cart.py", 2, 3)]
    assert found.unresolved == 0.0
