"""From a published generation to its graph, and what that says of calls."""

import asyncio
import gc
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.codeintel.build import grapher, graphing
from appliance.codeintel.build.graphing import GraphBuilder
from appliance.codeintel.build.settings import SETTINGS
from appliance.codeintel.query.graphs import GraphReader
from appliance.codeintel.query.search import Searcher
from appliance.codeintel.registry import Repo
from appliance.codeintel.results import Scope
from appliance.codeintel.store.code import CodeStore
from appliance.codeintel.store.graph import GRAPH_NAME, GRAPH_RECIPE
from appliance.config import Index
from appliance.errors import Cancelled, NotFound, StoreCorrupt
from tests.support.graphing import CODE, Graphs
from tests.support.indexing import IndexBench, go_on, silent
from tests.support.repos import commit, make_repo

MAIN = """
import { total } from '@shop/core'
import { help } from '~/help'
import { z } from 'zod'
export function main() {
  total()
  help()
  z()
}
"""


@pytest.fixture
def graphs(bench: IndexBench) -> Iterator[Graphs]:
    graphs = Graphs(bench)
    yield graphs
    graphs.generations.close()


@pytest.fixture
def repo(graphs: Graphs, tmp_path: Path) -> Repo:
    repo = graphs.bench.add(make_repo(tmp_path, CODE))
    graphs.bench.index(repo)
    return repo


def test_who_calls_is_answered_with_each_place_code_before_tests(graphs: Graphs, repo: Repo) -> None:
    info = graphs.build(repo)
    assert (info.files, info.skipped, info.settled, info.cut) == (6, 0, True, 0)
    found = graphs.ask(repo, "who calls Price.total?")
    assert [sentence.text for sentence in found.sentences] == [
        "`Price.total` (method, shop/prices.py:7) is called at 2 places by 2 callers.",
        "`add` calls it at shop/cart.py:5.",
        "`Price.text` calls it at shop/prices.py:11.",
    ]
    assert [(place.path, place.start_line) for place in found.places] == [
        ("shop/prices.py", 7), ("shop/cart.py", 5), ("shop/prices.py", 11),
    ]  # fmt: skip


def test_a_second_definition_of_a_name_has_its_own_callers(graphs: Graphs, repo: Repo) -> None:
    graphs.build(repo)
    said = graphs.said(repo, "who calls gross")
    assert "`gross` (function, shop/prices.py:13) is called by nothing that could be followed." in said
    assert "`gross` (function, shop/prices.py:16) is called at 3 places by 3 callers." in said
    assert "`test_add` calls it at tests/test_cart.py:5." in said


def test_calls_of_the_name_that_could_not_be_told_are_counted_beside_the_callers(graphs: Graphs, tmp_path: Path) -> None:
    code = "def close():\n    pass\n\ndef run(x):\n    close()\n    x.close()\n"
    repo = graphs.bench.add(make_repo(tmp_path, {"m.py": code}))
    graphs.bench.index(repo)
    graphs.build(repo)
    found = graphs.ask(repo, "who calls close")
    assert [sentence.text for sentence in found.sentences][1:] == ["`run` calls it at m.py:5."]
    assert found.warnings == ("1 call of something named `close` could not be told.",)


RUST = """
pub trait Total { fn total(&self) -> u32; }
pub struct Price(u32);
impl Total for Price { fn total(&self) -> u32 { gross(self.0) } }
fn gross(net: u32) -> u32 { net }
pub fn show(item: &dyn Total) -> String { format!("{}", item.total()) }

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn adds() { assert_eq!(gross(1), 1); }
}
"""
GO = """
package shop

import "example.com/shop/money"

type Cart struct{ prices []money.Price }

func (c *Cart) Total() (sum int) {
\tfor _, price := range c.prices {
\t\tsum += price.Total()
\t}
\treturn sum
}
"""
TYPED: dict[str, bytes | str | None] = {
    "Cargo.toml": '[package]\nname = "prices"\n',
    "src/lib.rs": RUST.lstrip(),
    "go.mod": "module example.com/shop\n",
    "cart.go": GO.lstrip(),
    "money/price.go": "package money\n\ntype Price struct{}\n\nfunc (p *Price) Total() int { return 1 }\n",
    "money/price_test.go": "package money\n\nfunc TestTotal() { (&Price{}).Total() }\n",
}


def test_typed_languages_are_followed_by_their_settings_and_their_tests_are_told_apart(
    graphs: Graphs, tmp_path: Path
) -> None:
    repo = graphs.bench.add(make_repo(tmp_path, TYPED))
    graphs.bench.index(repo)
    info = graphs.build(repo)
    assert (info.unresolved, info.kinds["tests"]) == (0, 3)  # two calls, and a file that is named for another
    assert graphs.said(repo, "who calls money.Price.Total")[1:] == [
        "`Cart.Total` calls it at cart.go:9.",
        "`TestTotal` calls it at money/price_test.go:3.",
    ]
    assert graphs.said(repo, "who calls lib.Price.total")[1:] == ["`show` calls it at src/lib.rs:5."]
    assert graphs.said(repo, "what breaks if I change gross?") == [
        "A change of `gross` (function, src/lib.rs:4) can reach 2 places in the code and 1 test, within 5 steps.",
        "`Price.total` calls it at src/lib.rs:3 (100% sure).",
        "`tests.adds` calls it at src/lib.rs:11 (100% sure).",
        "`show` is 2 steps away, through `Price.total` at src/lib.rs:5 (78% sure).",
    ]


KOTLIN = """
package shop

open class Item(n: Int) {
    val price: Int
        get() = 1
    fun ship() {}
}
"""
JAVA = """
package shop;

class Box extends Item {
  Box() { super(1); }
  int sum() { ship(); return getPrice(); }
}
"""
CLASSES: dict[str, bytes | str | None] = {
    "shop/Item.kt": KOTLIN.lstrip(),
    "shop/Box.java": JAVA.lstrip(),
    "shop/Box.cs": "class Item {\n  void Ship() {}\n  void Run() { Ship(); new Item(); }\n}\n",
}


def test_java_and_kotlin_call_one_another_and_csharp_calls_its_own(graphs: Graphs, tmp_path: Path) -> None:
    repo = graphs.bench.add(make_repo(tmp_path, CLASSES))
    graphs.bench.index(repo)
    graphs.build(repo)
    assert "`Box.sum` calls it at shop/Box.java:5." in graphs.said(repo, "who calls Item.ship")
    assert "`Box.sum` calls it at shop/Box.java:5." in graphs.said(repo, "who calls Item.price")
    assert "`Item.Run` calls it at shop/Box.cs:3." in graphs.said(repo, "who calls Item.Ship")
    assert {each for each in graphs.said(repo, "who calls Item") if " calls it at " in each} == {
        "`Box.Box` calls it at shop/Box.java:4.",
        "`Item.Run` calls it at shop/Box.cs:3.",
    }


def test_languages_are_not_mixed(graphs: Graphs, repo: Repo) -> None:
    graphs.build(repo)
    said = graphs.said(repo, "who calls web.prices.gross")
    assert said == [
        "`gross` (function, web/prices.ts:1) is called at 1 place by 1 caller.",
        "`show` calls it at web/cart.ts:4.",
    ]


def test_a_package_of_the_repository_is_found_by_its_name(graphs: Graphs, tmp_path: Path) -> None:
    """Also where folders have names that are no text; a package that is none of the repository's stays outside."""
    files: dict[str, bytes | str | None] = {
        "packages/core/package.json": '{"name": "@shop/core", "exports": {".": "./dist/index.js"}}',
        "packages/core/src/index.ts": "export function total() {}\n",
        os.fsdecode(b"packages/b\xfc/package.json"): '{"name": "bad"}',
        "packages/web/tsconfig.json": '{"compilerOptions": {"paths": {"~/*": ["./lib/*"]}} /* ours */}',
        "packages/web/lib/help.ts": "export const help = () => 1\n",
        "packages/web/main.ts": MAIN,
    }
    repo = graphs.bench.add(make_repo(tmp_path, files))
    graphs.bench.index(repo)
    graphs.build(repo)
    assert graphs.said(repo, "who calls total")[1:] == ["`main` calls it at packages/web/main.ts:6."]
    assert graphs.said(repo, "who calls help")[1:] == ["`main` calls it at packages/web/main.ts:7."]
    assert not list(graphs.bench.paths.root.rglob(SETTINGS))


def test_a_class_is_called_where_one_is_made_also_at_the_top_of_a_file(graphs: Graphs, repo: Repo) -> None:
    graphs.build(repo)
    assert graphs.said(repo, "who calls Price") == [
        "`Price` (class, shop/prices.py:3) is called at 2 places by 2 callers.",
        "`add` calls it at shop/cart.py:7.",
        "The top level of shop/cart.py calls it, at shop/cart.py:9.",
    ]


def test_what_is_called_is_answered_with_what_lies_outside_and_what_is_not_known(graphs: Graphs, repo: Repo) -> None:
    graphs.build(repo)
    found = graphs.ask(repo, "what does add call?")
    assert [sentence.text for sentence in found.sentences] == [
        "`add` (function, shop/cart.py:3) calls 3 definitions of this repository and 0 things outside.",
        "It calls `gross` (shop/prices.py:16) at line 4.",
        "It calls `Price.total` (shop/prices.py:7) at line 5.",
        "It calls `Price.__init__` (shop/prices.py:4) at line 7.",
    ]
    assert found.warnings == ("1 call in `add` could not be told.",)
    assert graphs.said(repo, "what does Price call?")[-1] == "Outside it calls `json.dumps`."


def test_what_a_change_reaches_is_told_step_by_step_with_how_sure_that_is(graphs: Graphs, repo: Repo) -> None:
    graphs.build(repo)
    assert graphs.said(repo, "what breaks if I change Price.total?") == [
        "A change of `Price.total` (method, shop/prices.py:7) can reach 3 places in the code and 1 test, within 5 steps.",
        "`Price.text` calls it at shop/prices.py:11 (95% sure).",
        "`add` calls it at shop/cart.py:5 (90% sure).",
        "The top level of shop/cart.py is 2 steps away, through `add` at shop/cart.py:9 (90% sure).",
        "`test_add` is 2 steps away, through `add` at tests/test_cart.py:5 (90% sure).",
    ]
    assert graphs.said(repo, "what depends on Price.text") == [
        "A change of `Price.text` (method, shop/prices.py:10) reaches nothing that could be followed."
    ]


def test_a_change_of_a_class_reaches_what_uses_its_methods(graphs: Graphs, repo: Repo) -> None:
    graphs.build(repo)
    assert graphs.said(repo, "impact of Price")[1:3] == [
        "`add` calls it at shop/cart.py:7 (100% sure).",
        "The top level of shop/cart.py calls it at shop/cart.py:9 (100% sure).",
    ]


def test_before_the_graph_is_there_the_answer_says_so(graphs: Graphs, repo: Repo) -> None:
    assert graphs.said(repo, "who calls Price.total") == [
        "`Price.total` is defined in shop/prices.py:7 (method); its calls are still being followed, ask again in a moment."
    ]


def test_of_a_language_that_is_not_followed_the_answer_says_so(graphs: Graphs, repo: Repo) -> None:
    graphs.build(repo)
    assert graphs.said(repo, "who calls Start") == [
        "`Start` is defined in cmd/main.lua:3 (function); calls are not followed in lua yet."
    ]


def test_readers_get_the_graph_when_it_is_there_and_keep_it_until_the_next_generation_has_its_own(
    graphs: Graphs, repo: Repo, tmp_path: Path
) -> None:
    before = graphs.generations.published(repo.id)
    first = graphs.build(repo)
    after = graphs.generations.published(repo.id)
    assert (before.graph, after.graph and after.graph.info) == (None, first)
    assert graphs.build(repo) == first, "it is not made twice"
    commit(tmp_path / "repo", {"shop/more.py": "from shop.prices import gross\ngross(9)\n"}, "more")
    graphs.bench.index(repo)
    older = graphs.generations.published(repo.id).graph
    assert older is not None
    assert (older.info.edges, older.info.changed) == (first.edges, 1)
    assert graphs.build(repo).edges == first.edges + 1
    assert "The top level of shop/more.py calls it, at shop/more.py:2." in graphs.said(repo, "who calls gross")


def test_a_graph_that_is_damaged_costs_nothing_but_itself_and_is_made_again(graphs: Graphs, repo: Repo) -> None:
    graphs.build(repo)
    place = graphs.generations.published(repo.id).folder / GRAPH_NAME
    place.unlink()
    graphs.generations.forget(repo.id)
    assert graphs.generations.published(repo.id).graph is None
    graphs.build(repo)
    graphs.generations.forget(repo.id)
    assert graphs.generations.published(repo.id).graph is not None


def test_what_takes_too_long_is_not_learnt_and_that_is_said(bench: IndexBench, repo: Repo, graphs: Graphs) -> None:
    short = GraphBuilder(bench.registry, paths=bench.paths, limits=Index(workers=1, graph_seconds=1e-6))
    assert not short.build(repo.id, progress=silent, check=go_on).settled
    reader = GraphReader(graphs.generations, Searcher(graphs.generations, None, bench.clock), bench.clock)
    response = asyncio.run(reader.calls("gross", "callers", scope=Scope(repo.project)))
    said = "repo: there was more to learn when its graph was made: calls may be missing."
    assert said in response.warnings
    assert said in graphs.ask(repo, "who calls gross").warnings


def test_a_family_that_runs_out_of_memory_costs_only_itself(
    graphs: Graphs, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs.build(repo)
    generation = graphs.generations.published(repo.id)
    real = grapher._solved
    left: list[weakref.ref[threading.Event]] = []

    def solved(*given: object, **named: object) -> object:
        if "python" in given[2].languages:  # type: ignore[attr-defined]  # the family
            ring = threading.Event()
            vars(ring)["itself"] = ring  # only a collection frees it, as it does a solver's cells
            left.append(weakref.ref(ring))
            raise MemoryError
        assert not any(ring() for ring in left), "what ran out of memory still holds it"
        return real(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(grapher, "_solved", solved)
    db = graphs.bench.paths.project(repo.project).db
    gc.disable()  # as the program does
    try:
        info = grapher.build(generation.folder, project_db=db, seconds=60, tell=lambda _done, _total: None)
    finally:
        gc.enable()
    assert (len(left), info.refused, info.files, info.edges) == (1, ("python",), 2, 1)


def test_a_flow_that_is_damaged_fails_once_and_is_found_anew(graphs: Graphs, repo: Repo) -> None:
    graphs.build(repo)
    place = graphs.generations.published(repo.id).folder / GRAPH_NAME
    place.unlink()
    with closing(sqlite3.connect(graphs.bench.paths.project(repo.project).db)) as db:
        db.execute("UPDATE flows SET flow = x'00' WHERE rowid = (SELECT min(rowid) FROM flows)")
        db.commit()
    with pytest.raises(StoreCorrupt, match="cannot be read"):
        graphs.build(repo)
    assert graphs.build(repo).files == 6


def test_a_class_with_a_constructor_is_called_where_one_is_made_in_typescript_too(graphs: Graphs, tmp_path: Path) -> None:
    code = (
        "export class Cart {\n  constructor(readonly n: number) {}\n}\nexport function make() {\n  return new Cart(1)\n}\n"
    )
    made = graphs.bench.add(make_repo(tmp_path, {"cart.ts": code}))
    graphs.bench.index(made)
    graphs.build(made)
    assert graphs.said(made, "who calls Cart") == [
        "`Cart` (class, cart.ts:1) is called at 1 place by 1 caller.",
        "`make` calls it at cart.ts:5.",
    ]


def test_a_program_of_another_version_makes_a_graph_once(
    graphs: Graphs, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphing, "GRAPH_RECIPE", "another")
    assert graphs.build(repo).recipe == GRAPH_RECIPE


def test_one_that_is_stopped_leaves_nothing_behind(graphs: Graphs, repo: Repo) -> None:
    stopped = threading.Event()

    def check() -> None:
        stopped.set()
        raise Cancelled("Stopped.")

    with pytest.raises(Cancelled):
        graphs.builder.build(repo.id, progress=silent, check=check)
    generation = graphs.generations.published(repo.id)
    assert stopped.is_set()
    assert generation.graph is None
    assert [path.name for path in generation.folder.iterdir() if "graph" in path.name] == []


def test_the_same_bytes_under_names_of_several_languages_are_followed_as_each(graphs: Graphs, tmp_path: Path) -> None:
    both = "function one() {}\none()\n"
    files: dict[str, bytes | str | None] = {"a.js": both, "a.ts": both, "b.tsx": both, "e.py": "", "e.ts": "", "e.js": ""}
    repo = graphs.bench.add(make_repo(tmp_path, files))
    graphs.bench.index(repo)
    info = graphs.build(repo)
    assert (info.files, info.skipped, info.edges) == (6, 0, 3)


def test_what_is_not_indexed_has_no_graph(graphs: Graphs, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        graphs.build(graphs.bench.add(make_repo(tmp_path, {"a.py": "x = 1\n"})))


def test_a_generation_that_is_gone_takes_its_graph_along(graphs: Graphs, repo: Repo) -> None:
    graphs.build(repo)
    folder = graphs.generations.published(repo.id).folder.name
    with closing(CodeStore(graphs.bench.paths.project(repo.project))) as store:
        store.retire(live=())
        assert store.graph(folder) is None
