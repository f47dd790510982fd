"""A graph that is made from the one before holds what one holds that is made from nothing."""

import os
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from appliance.codeintel.build import grapher
from appliance.codeintel.build.graphing import usable
from appliance.codeintel.parse.pool import ParserPool
from appliance.codeintel.registry import Repo
from appliance.codeintel.store.graph import GRAPH_NAME
from tests.support.indexing import IndexBench
from tests.support.repos import commit, make_repo
from tests.support.whole import publish_graphs, publish_whole

FILES = {
    "shop/__init__.py": "",
    "shop/prices.py": (
        '"""Prices."""\n\nimport shop.taxes\nfrom shop.taxes import rate\n\nLIMIT = 7\n\n\nclass Price:\n'
        '    """A price."""\n\n    def __init__(self, net):\n        self.net = net\n\n    @property\n'
        "    def gross(self):\n        # All of it.\n        return self.net * rate(self.net) + LIMIT\n\n\n"
        "def cheapest(prices):\n    return min(prices, key=lambda price: price.gross)\n\n\n"
        "def all_of(nets):\n    return [Price(net) for net in nets]\n"
    ),
    "shop/taxes.py": (
        "from shop import prices\n\n\ndef rate(net):\n    if net > 100:\n        return high(net)\n    return 1\n\n\n"
        "def high(net):\n    made = prices.Price(net)\n    made.unknown()\n    return made.gross\n"
    ),
    "tests/test_prices.py": (
        "from shop.prices import Price, cheapest\n\n\ndef test_cheapest():\n    assert cheapest([Price(1), Price(2)])\n"
    ),
    "web/cart.js": (
        "import { total } from './sum.js'\n// adds\nexport function add(cart, item) {\n  cart.items.push(item)\n"
        "  return total(cart.items)\n}\n"
    ),
    "web/sum.js": "export function total(items) {\n  return items.map(one).length\n}\nfunction one(x) { return x }\n",
    "go/main.go": "package main\n\ntype Stack struct{ n int }\n\nfunc (s Stack) Push() { grow(s) }\nfunc grow(s Stack) {}\n",
    "c/list.c": '#include "list.h"\n\nint push(int x)\n{\n    return grow(x);\n}\n\nint grow(int x) { return x; }\n',
    "c/list.h": "int push(int x);\nint grow(int x);\n",
    "run.rb": "def start\n  stop\nend\n\ndef stop\nend\n",
}  # fmt: skip
COMMENTS = {"py": "# said", "js": "// said", "go": "// said", "c": "// said", "h": "// said", "rb": "# said"}
ROUNDS = int(os.environ.get("SKELLIG_TEST_EDITS", "2"))
CODE = {
    "py": "def more(x):\n    return rate(x)\n", "js": "function more(x) { return more(x) }\n", "h": "int more(int x);\n",
    "go": "func more(s Stack) { s.Push() }\n", "c": "int more(int x) { return push(x); }\n", "rb": "def more\n  stop\nend\n",
}  # fmt: skip


class Site:
    """A repository, its index and its graph, which is made anew in this process after every edit."""

    def __init__(self, root: Path, pool: ParserPool) -> None:
        self.files = dict(FILES)
        self.bench = IndexBench(root / "data")
        self.pool = pool
        self.folder = make_repo(root, FILES)
        self.repo: Repo = self.bench.add(self.folder)
        publish_whole(self.bench, self.repo, pool)
        publish_graphs(self.bench, self.repo, pool)

    def write(self, changes: dict[str, str | None]) -> None:
        """Index *changes*, without a graph."""
        self.files.update({path: text for path, text in changes.items() if text is not None})
        for path in [path for path, text in changes.items() if text is None]:
            del self.files[path]
        commit(self.folder, changes)
        self.bench.index(self.repo)

    def compare(self) -> set[str]:
        """Make the graph from the one before, and from nothing; return the first languages of families solved again."""
        solved: set[str] = set()
        real = grapher._solved

        def noted(*given: object, **named: object) -> object:
            solved.add(given[2].languages[0])  # type: ignore[attr-defined]  # the family
            return real(*given, **named)  # type: ignore[arg-type]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(grapher, "_solved", noted)
            publish_graphs(self.bench, self.repo, self.pool)
        with closing(self.bench.store(self.repo)) as store:
            folder = self.bench.generation(self.repo, "").folder
            kept, info = _content(folder), store.graph(folder.name)
            whole = grapher.build(folder, project_db=store.paths.db, seconds=60, tell=lambda _done, _total: None)
            assert info is not None
            assert msgspec.structs.replace(whole, patch=info.patch, solved=info.solved) == info
            assert {each.partition(":")[0] for each in info.solved} <= solved  # all but those that have no files
            assert kept == _content(folder)
        return solved

    def close(self) -> None:
        """Close all but the parsers."""
        self.bench.indexer._patcher._pools.clear()
        self.bench.close()


def _content(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(folder / GRAPH_NAME)) as graph:
        tables = ("edges", "outside", "unresolved", "families", "packed")
        return {table: sorted(map(tuple, graph.execute(f"SELECT * FROM {table}"))) for table in tables}  # noqa: S608


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, pool: ParserPool) -> Iterator[Site]:
    with closing(Site(tmp_path_factory.mktemp("site"), pool)) as shared:
        yield shared


@pytest.fixture
def site(shared: Site) -> Site:
    """Put the repository back to what it was at first, with its graph."""
    changes: dict[str, str | None] = {path: FILES.get(path) for path in shared.files.keys() | FILES.keys()}
    changes = {path: text for path, text in changes.items() if shared.files.get(path) != text}
    if changes:
        shared.write(changes)
        publish_graphs(shared.bench, shared.repo, shared.pool)
    return shared


def test_where_only_lines_move_nothing_is_solved_again(site: Site) -> None:
    text = FILES["shop/prices.py"]
    site.write({"shop/prices.py": "# New.\n\n" + text.replace("# All of it.", "# All of it,\n        # and more.")})
    assert site.compare() == set()
    site.write({"web/cart.js": FILES["web/cart.js"].replace("// adds", "// adds\n// one")})
    site.write({"c/list.c": FILES["c/list.c"].replace("int grow", "/* More. */\n\nint grow")})
    assert site.compare() == set()


def test_what_says_something_else_is_solved_again_with_its_family_alone(site: Site) -> None:
    site.write({"shop/taxes.py": FILES["shop/taxes.py"].replace("high(net)", "rate(net)")})
    assert site.compare() == {"python"}
    site.write({"go/main.go": FILES["go/main.go"] + CODE["go"]})
    assert site.compare() == {"go"}
    site.write({"web/other.js": FILES["web/sum.js"], "c/list.h": None})
    assert site.compare() == {"javascript", "c"}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"shop/taxes.py": FILES["shop/taxes.py"].replace("\n    made.", "; made.")}, id="joined lines"),
        pytest.param({"shop/prices.py": FILES["shop/prices.py"].replace("LIMIT = 7", "LIMIT = 'x'")}, id="a constant"),
        pytest.param({"shop/taxes.py": None, "shop/tax.py": FILES["shop/taxes.py"]}, id="a file that is called otherwise"),
        pytest.param({"shop/taxes.py": None, "tests/taxes.py": FILES["shop/taxes.py"]}, id="a file that is a test now"),
        pytest.param({"shop/taxes.py": "def rate(net:\n    (((\n"}, id="a file that is broken"),
        pytest.param({"package.json": '{"name": "shop"}\n'}, id="a file of settings"),
    ],
)  # fmt: skip
def test_whatever_else_changes_is_seen(site: Site, changes: dict[str, str | None]) -> None:
    site.write(changes)
    assert "python" in site.compare()


def _commented(chance: random.Random, path: str, text: str) -> str:
    lines = text.splitlines(keepends=True)
    places = [place for place in range(len(lines) + 1) if place == len(lines) or not lines[place].startswith((" ", "\t"))]
    lines.insert(chance.choice(places), COMMENTS[path.rpartition(".")[2]] + "\n" * chance.randint(1, 3))
    return "".join(lines)


def _grown(_: random.Random, path: str, text: str) -> str:
    return text + CODE[path.rpartition(".")[2]].replace("more", f"more{len(text)}")


def _shortened(chance: random.Random, _: str, text: str) -> str:
    lines = text.splitlines(keepends=True)
    del lines[chance.randrange(len(lines)) :]
    return "".join(lines) or "\n"


EDITS: list[Callable[[random.Random, str, str], str]] = [_commented, _commented, _commented, _grown, _shortened]


def test_however_files_are_edited_every_edge_is_that_of_a_whole_graph(site: Site) -> None:
    chance = random.Random(ROUNDS)  # noqa: S311 - no secret
    for _ in range(ROUNDS):
        for _ in range(chance.randint(1, 2)):
            paths = chance.sample(sorted(set(site.files) - {"shop/__init__.py"}), chance.randint(1, 3))
            site.write({path: chance.choice(EDITS)(chance, path, site.files[path]) for path in paths})
        site.compare()
        with closing(site.bench.store(site.repo)) as store:
            assert usable(store, site.bench.generation(site.repo, "").folder.name) >= 0
