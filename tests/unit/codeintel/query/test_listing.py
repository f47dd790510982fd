"""Text and regular expressions, looked for in real repositories that the real pipeline indexed."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.codeintel.query.patterns import MOST_LISTED
from appliance.codeintel.results import SearchResponse
from appliance.errors import InvalidInput, NotFound
from tests.support.indexed import Indexed
from tests.support.repos import commit, make_repo

_MANY = 5_000
_CLIENT = """import os


class Client:
    def __init__(self, token):
        self.token = token  # Token of the CLIENT

    def open(self):
        return os.path.join(self.token, "a" + str(1))
"""
_FILES: dict[str, str | bytes] = {
    "src/client.py": _CLIENT,
    "src/latin.py": "# caf\xe9 cr\xe8me\nname = 1\n".encode("latin-1"),
    "src/crlf.py": "first = 1\r\nlast = 2\r\n",
    "src/signs.c": "int main() { return a->b->c; }\n",
    "zcopy/client.py": _CLIENT,
    "tests/test_client.py": "from client import Client\n\n\ndef test_open():\n    assert Client('t').open()\n",
    "data/many.txt": "".join(f"needle {n}\n" for n in range(_MANY)),
    "data/sand.txt": "grain\n" * (MOST_LISTED + 1),
    "data/long.txt": "x" * 700 + " farneedle " + "y" * 3_000 + "\n",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    root = tmp_path_factory.mktemp("site")
    (root / "data").mkdir()
    indexed = Indexed(root / "data")
    indexed.add(make_repo(root, _FILES, name="web"))
    indexed.add(make_repo(root, {"vendor_of/readme.md": "nothing\n", "examples/client.py": _CLIENT}, name="a-first"))
    yield indexed
    indexed.close()


def search(site: Indexed, query: str, *, limit: int = 100, offset: int = 0) -> SearchResponse:
    return asyncio.run(site.searcher().search(query, scope=site.scope, limit=limit, offset=offset))


def places(response: SearchResponse) -> list[tuple[str, int]]:
    return [(hit.span.path, hit.span.start_line) for hit in response.hits]


def test_every_line_that_matches_comes_back_in_order_with_its_place_verified(site: Indexed) -> None:
    found = search(site, r"/def \w+/")
    assert places(found) == [
        ("src/client.py", 5),
        ("src/client.py", 8),
        ("tests/test_client.py", 4),
    ]
    assert all(hit.span.verified and hit.span.end_line == hit.span.start_line for hit in found.hits)
    assert (found.total, found.truncated, found.signals) == (3, False, ("text",))
    assert found.hits[1].symbol == "Client.open"
    assert found.hits[1].text[found.hits[1].columns[0][0] - 1 : found.hits[1].columns[0][1] - 1] == "def open"


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("content:a->b", [("src/signs.c", 1)]),
        ('content:"{ return"', [("src/signs.c", 1)]),
        ("content:'\"a\" +'", [("src/client.py", 9)]),
        (r'content:"\"a\" +"', [("src/client.py", 9)]),
        ("content:café", [("src/latin.py", 1)]),
        ("/^last = 2$/", [("src/crlf.py", 2)]),
        ("content:CLIENT", [("src/client.py", 6)]),
        ("content:client case:yes path:tests", [("tests/test_client.py", 1)]),
        ("content:CLIENT case:no path:tests", [("tests/test_client.py", n) for n in (1, 5)]),
        ("content:client path:tests", [("tests/test_client.py", n) for n in (1, 5)]),
        (r"/\Wclient/ path:tests", [("tests/test_client.py", n) for n in (1, 5)]),
        (r"/client/ /import/", [("tests/test_client.py", 1)]),
        (r"/client/ -/import/ path:tests", [("tests/test_client.py", 5)]),
        (r"content:Client -content:CLIENT -path:tests", [("src/client.py", 4)]),
        ("symbol:Client.open /self/", [("src/client.py", n) for n in (8, 9)]),
        ("/self/ lang:c", []),
        ("/return/ -lang:python", [("src/signs.c", 1)]),
        ("/class/ repo:web", [("src/client.py", 4)]),
        ("/a..b/ path:signs", [("src/signs.c", 1)]),
        ("/class/ branch:main", [("src/client.py", 4)]),
        ("/class/ -branch:dev*", [("src/client.py", 4)]),
    ],
)
def test_patterns_and_filters(site: Indexed, query: str, lines: list[tuple[str, int]]) -> None:
    assert places(search(site, query)) == lines


def test_a_walk_through_five_thousand_hits_gives_each_of_them_once(site: Indexed) -> None:
    """An agent that stops at a limit without a word concludes that it has seen everything."""
    searcher, offset, truncated = site.searcher(), 0, True
    seen: list[str] = []

    async def walk() -> None:
        nonlocal offset, truncated
        while truncated:
            page = await searcher.search("/^needle/", scope=site.scope, limit=60, offset=offset)
            assert page.total == _MANY
            seen.extend(hit.text for hit in page.hits)
            offset += len(page.hits)
            truncated = page.truncated

    asyncio.run(walk())
    assert seen == [f"needle {n}" for n in range(_MANY)]


def test_of_what_is_everywhere_only_so_many_lines_are_listed_and_that_is_said(site: Indexed) -> None:
    """To list all that has a very common text took half a second, and nobody goes through it."""
    found = search(site, "content:grain")
    assert (found.total, found.truncated) == (MOST_LISTED, True)
    assert any(f"{MOST_LISTED:,} lines" in warning for warning in found.warnings)
    end = search(site, "content:grain", offset=MOST_LISTED - 1)
    assert places(end) == [("data/sand.txt", MOST_LISTED)]
    assert end.truncated


def test_copies_are_one_line_shown_where_people_work_and_say_how_many_they_are(site: Indexed) -> None:
    """The repository that comes first has it among its examples, and the other copy comes last."""
    found = search(site, "/class Client/")
    assert [(hit.span.repo_name, hit.span.path) for hit in found.hits] == [("web", "src/client.py")]
    assert "also in 2 places" in found.hits[0].why
    alone = search(site, "/class Client/ repo:a-first")
    assert places(alone) == [("examples/client.py", 4)]


def test_a_long_line_is_shown_around_its_match(site: Indexed) -> None:
    (hit,) = search(site, "content:farneedle").hits
    assert "farneedle" in hit.text
    assert len(hit.text) <= 502
    assert "only a part of the line is shown" in hit.why
    assert hit.columns == ((702, 711),)


@pytest.mark.parametrize("query", ["Client.nowhere", "tokenNowhere", "nowhere_token open", "Client::nowhere"])
def test_a_hit_names_no_word_and_no_part_of_one_that_does_not_stand_in_it(site: Indexed, query: str) -> None:
    """A mistyped name would look as if its very lines had been found."""
    said = [reason for hit in search(site, query).hits for reason in hit.why if reason.startswith("words: ")]
    assert said
    assert not [reason for reason in said if "nowhere" in reason.lower()]


def test_words_beside_a_pattern_rank_what_has_it(site: Indexed) -> None:
    found = search(site, r"token /os\.path/ path:src")
    assert [hit.span.path for hit in found.hits] == ["src/client.py"]
    assert "os.path" in found.hits[0].text
    assert "lexical" in found.signals
    assert search(site, r"token /nowhere\.path/").hits == ()


def test_with_case_yes_words_stand_as_they_are_written(site: Indexed) -> None:
    assert [hit.span.path for hit in search(site, "Client case:yes path:src").hits] == ["src/client.py"]
    assert search(site, "cLient case:yes").hits == ()
    assert search(site, "cLient path:src").hits


@pytest.mark.parametrize(
    ("query", "said", "position"),
    [("/foo(/", r"position 4: missing \)", 4), ("x path:src /a**/", "position 13", 13), ('content:"abc', "not closed", 8)],
)
def test_what_is_wrong_in_a_pattern_is_said_at_its_place_in_the_query(
    site: Indexed, query: str, said: str, position: int
) -> None:
    with pytest.raises(InvalidInput, match=said) as raised:
        search(site, query)
    assert raised.value.context["position"] == position


@pytest.mark.parametrize("query", ["-/foo/", "-content:foo", "content:", "-> =="])
def test_a_query_that_asks_nothing_is_refused(site: Indexed, query: str) -> None:
    with pytest.raises(InvalidInput):
        search(site, query)


def test_a_branch_that_is_not_published_is_refused_with_those_that_are(site: Indexed) -> None:
    with pytest.raises(NotFound, match=r"No branch dev is indexed.*main"):
        search(site, "/class/ branch:dev repo:web")


def test_a_list_is_looked_for_anew_once_something_was_published(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    indexed = Indexed(tmp_path / "data")
    try:
        source = make_repo(tmp_path, {"a.py": "needle = 1\n", "b.py": "x = 1\n"})
        repo = indexed.add(source)
        searcher = indexed.searcher()
        first = asyncio.run(searcher.search("content:needle", scope=indexed.scope))
        commit(source, {"b.py": "needle = 2\n"}, when=1_700_000_100)
        indexed.index(repo)
        second = asyncio.run(searcher.search("content:needle", scope=indexed.scope))
        assert (first.total, second.total) == (1, 2)
    finally:
        indexed.close()


def test_files_whose_text_is_lacking_are_named(tmp_path: Path) -> None:
    """An empty list of lines must not be taken for a fact where nobody could look."""
    (tmp_path / "data").mkdir()
    indexed = Indexed(tmp_path / "data")
    try:
        repo = indexed.add(make_repo(tmp_path, {"a.py": "needle = 1\n"}, name="web"))
        folder = indexed.generations.published(repo.id).folder
        (folder / "text-0").unlink()
        indexed.generations.forget(repo.id)
        found = asyncio.run(indexed.searcher().search("content:needle", scope=indexed.scope))
        assert any("1 file has no text in the index" in warning for warning in found.warnings)
    finally:
        indexed.close()
