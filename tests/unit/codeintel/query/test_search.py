"""Searches over real repositories, indexed by the real pipeline; only the embedding model is made up."""

import asyncio
import shutil
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from appliance.codeintel.query.gather import Patience
from appliance.codeintel.query.search import Searcher
from appliance.codeintel.registry import Repo
from appliance.codeintel.results import Hit, Scope, SearchResponse
from appliance.codeintel.source.base import Source
from appliance.codeintel.store.generations import Generations
from appliance.errors import InvalidInput, NotFound, StoreCorrupt
from appliance.ids import RepoId
from tests.support.indexed import DeadEmbedder, Indexed, WordEmbedder
from tests.support.repos import commit, make_repo

_CLIENT = '''"""Talks to the server."""


class Client:
    """Opens connections and keeps them."""

    def stream(self, path):
        """Yield the body of *path* piece by piece."""
        for attempt in range(self.retries):
            yield from self.connect(path)


def default_client():
    return Client()
'''
_RETRY = '''"""Waiting between attempts."""


def backoff(attempt):
    """Return how long to wait before the next attempt, in seconds."""
    return min(60, 2 ** attempt)
'''
_TEST = """from client import Client


def test_client_streams():
    client = Client()
    assert list(client.stream("/"))
"""
_GO = """package server

// Serve accepts connections until the listener closes.
func Serve(address string) error {
    return listen(address)
}
"""
_FILES = {
    "src/client.py": _CLIENT,
    "src/retry.py": _RETRY,
    "tests/test_client.py": _TEST,
    "server/serve.go": _GO,
    "copy/retry.py": _RETRY,
    "README.md": "# Client\n\nA client that streams, with retries.\n",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    root = tmp_path_factory.mktemp("site")
    (root / "data").mkdir()
    indexed = Indexed(root / "data")
    indexed.add(make_repo(root, _FILES, name="web"), embedder=WordEmbedder())
    indexed.add(make_repo(root, {"lib/pool.py": "class Pool:\n    def take(self):\n        return 1\n"}, name="pool"))
    yield indexed
    indexed.close()


def _search(site: Indexed, query: str, *, limit: int = 20, offset: int = 0) -> SearchResponse:
    searcher = site.searcher(WordEmbedder())
    return asyncio.run(searcher.search(query, scope=site.scope, limit=limit, offset=offset))


def _paths(response: SearchResponse) -> list[str]:
    return [hit.span.path for hit in response.hits]


def _first(response: SearchResponse) -> Hit:
    return response.hits[0]


def test_a_hit_has_its_lines_symbol_blob_and_commit(site: Indexed) -> None:
    hit = _first(_search(site, "backoff"))
    lines = _RETRY.splitlines()
    assert hit.text == "\n".join(lines[hit.span.start_line - 1 : hit.span.end_line])
    assert (hit.symbol, hit.kind, hit.language) == ("backoff", "function", "python")
    repo = site.registry.repo("web")
    assert site.generations.source(repo.id).locate(commit=hit.span.commit, path=hit.span.path) == hit.span.blob
    assert hit.span.verified


def test_the_definition_of_a_symbol_comes_first_and_says_so(site: Indexed) -> None:
    hit = _first(_search(site, "Client"))
    assert hit.span.path == "src/client.py"
    assert "defines Client" in hit.why


def test_a_qualified_name_finds_its_definition(site: Indexed) -> None:
    assert (
        "class Client" in _first(_search(site, "Client.stream")).text
        or "def stream" in _first(_search(site, "Client.stream")).text
    )


def test_prose_finds_what_it_describes(site: Indexed) -> None:
    hit = _first(_search(site, "how long to wait before the next attempt"))
    assert hit.span.path.endswith("retry.py")
    assert any(reason.startswith("words: ") for reason in hit.why)
    assert any(reason.startswith("meaning ") for reason in hit.why)


def test_identical_files_are_one_hit_that_says_where_else(site: Indexed) -> None:
    response = _search(site, "backoff")
    assert len([path for path in _paths(response) if path.endswith("retry.py")]) == 1
    assert "also in 1 place" in _first(response).why


def test_a_test_file_says_that_it_was_lowered(site: Indexed) -> None:
    hits = {hit.span.path: hit for hit in _search(site, "Client").hits}
    assert "test file, lowered" in hits["tests/test_client.py"].why


@pytest.mark.parametrize(
    ("query", "suffixes"),
    [
        ("client path:src/", {"src/client.py", "src/retry.py"}),
        ("client -path:tests -path:copy", {"src/client.py", "src/retry.py", "server/serve.go", "README.md", "lib/pool.py"}),
        ("connections lang:go", {"server/serve.go"}),
        ("connections -lang:python", {"server/serve.go", "README.md"}),
        ("attempt symbol:backoff", {"src/retry.py", "copy/retry.py"}),
        ("take repo:pool", {"lib/pool.py"}),
        ('"yield the body"', {"src/client.py"}),
    ],
)
def test_a_filter_lets_through_nothing_else(site: Indexed, query: str, suffixes: set[str]) -> None:
    found = set(_paths(_search(site, query)))
    assert found
    assert found <= suffixes


def test_repos_of_a_project_are_searched_together(site: Indexed) -> None:
    response = _search(site, "Pool")
    assert _first(response).span.repo_name == "pool"
    assert {fresh.repo_name for fresh in response.freshness} == {"web", "pool"}


def test_a_scope_of_one_repo_leaves_the_others_out(site: Indexed) -> None:
    scope = Scope(site.project, (site.registry.repo("pool").id,))
    response = asyncio.run(site.searcher().search("client", scope=scope))
    assert {hit.span.repo_name for hit in response.hits} <= {"pool"}
    assert len(response.freshness) == 1


def test_pages_join_to_the_whole(site: Indexed) -> None:
    whole = _search(site, "client attempt")
    pages = [_search(site, "client attempt", limit=2, offset=offset) for offset in range(0, whole.total, 2)]
    assert [hit for page in pages for hit in page.hits] == list(whole.hits)
    assert [page.truncated for page in pages] == [True] * (len(pages) - 1) + [False]


def test_a_page_past_the_end_is_empty_and_not_truncated(site: Indexed) -> None:
    response = _search(site, "client", offset=1000)
    assert (response.hits, response.truncated) == ((), False)


@pytest.mark.parametrize(("limit", "offset"), [(0, 0), (101, 0), (10, -1)])
def test_a_page_that_cannot_be_is_refused(site: Indexed, limit: int, offset: int) -> None:
    with pytest.raises(InvalidInput):
        _search(site, "client", limit=limit, offset=offset)


def test_a_repo_filter_that_fits_nothing_names_what_there_is(site: Indexed) -> None:
    with pytest.raises(InvalidInput, match=r"repo:nowhere fits no repository.*pool, web"):
        _search(site, "client repo:nowhere")


@pytest.mark.parametrize(
    ("query", "warning"),
    [
        ("qqqqzzzz", "No file holds these words; the hits are by meaning alone."),
        ("backoff path:server", "No file that the filters let through holds these words; the hits are by meaning alone."),
    ],
)
def test_words_that_stand_nowhere_are_said_beside_what_is_found_by_meaning(site: Indexed, query: str, warning: str) -> None:
    response = _search(site, query)
    assert response.hits
    assert warning in response.warnings


@pytest.mark.parametrize("query", ["backoff", "backoff qqqqzzzz", '"qqqqzzzz"'])
def test_hits_are_not_said_to_be_by_meaning_where_words_stand_or_nothing_is_found(site: Indexed, query: str) -> None:
    assert not any("by meaning alone" in warning for warning in _search(site, query).warnings)


def test_a_language_that_no_file_has_is_said_with_those_that_there_are(site: Indexed) -> None:
    warning = "No file is of the language klingon: the languages of the index are go, markdown, python."
    response = _search(site, "client lang:klingon")
    assert (response.hits, warning in response.warnings) == ((), True)
    assert warning in _search(site, "client -lang:klingon").warnings
    assert not any("language" in each for each in _search(site, "client lang:py").warnings)


def test_a_dead_engine_is_said_and_words_still_answer(site: Indexed) -> None:
    response = asyncio.run(site.searcher(DeadEmbedder()).search("backoff", scope=site.scope))
    assert "vector" not in response.signals
    assert any("embedding engine is not available" in warning for warning in response.warnings)
    assert _first(response).symbol == "backoff"


def test_a_slow_engine_is_not_waited_for(site: Indexed) -> None:
    class Stuck(WordEmbedder):
        async def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            await asyncio.Event().wait()
            return np.zeros((len(texts), self.dimensions), dtype=np.float32)

    response = asyncio.run(site.searcher(Stuck(), patience=Patience(vector=0.01)).search("backoff", scope=site.scope))
    assert any("did not answer within 10 ms" in warning for warning in response.warnings)
    assert response.hits


def test_nothing_is_amiss_without_an_engine_where_none_is_meant_to_be(site: Indexed) -> None:
    response = asyncio.run(site.searcher(None).search("backoff", scope=site.scope))
    assert response.hits
    assert response.warnings == ()


def test_vectors_of_another_model_are_not_used_and_it_is_said(site: Indexed) -> None:
    class Other(WordEmbedder):
        model = "other"

    response = asyncio.run(site.searcher(Other()).search("backoff", scope=site.scope))
    assert "vector" not in response.signals
    assert any("of another model" in warning for warning in response.warnings)


def test_missing_vectors_are_said(site: Indexed) -> None:
    assert any(warning.startswith("pool: 0% of the vectors") for warning in _search(site, "take").warnings)


def test_one_query_is_embedded_once(site: Indexed) -> None:
    class Counting(WordEmbedder):
        asked = 0

        async def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            self.asked += 1
            return await super().embed(texts)

    embedder = Counting()
    searcher = site.searcher(embedder)
    for offset in (0, 2, 4):
        asyncio.run(searcher.search("client attempt", scope=site.scope, limit=2, offset=offset))
    assert embedder.asked == 1


def test_commits_that_are_not_indexed_yet_are_counted(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    indexed = Indexed(tmp_path / "data")
    repo = make_repo(tmp_path, {"a.py": "def alpha():\n    return 1\n"})
    indexed.add(repo)
    commit(repo, {"b.py": "def beta():\n    return 2\n"})
    response = asyncio.run(indexed.searcher().search("alpha", scope=indexed.scope))
    indexed.close()
    assert response.freshness[0].behind == 1
    assert any("1 commit is on main but not in the index" in warning for warning in response.warnings)


def test_a_repository_that_is_slow_to_say_what_is_new_is_not_waited_for(site: Indexed) -> None:
    release = threading.Event()

    class Slow(Generations):
        def source(self, repo: RepoId | Repo) -> Source:
            if threading.current_thread().name.startswith("behind"):
                release.wait(60)
            return super().source(repo)

    slow = Slow(site.registry, paths=site.paths, clock=site.clock)

    async def scenario() -> SearchResponse:
        for _ in range(20):
            response = await Searcher(slow, None, site.clock).search("backoff", scope=site.scope)
        return response

    before = set(threading.enumerate())
    response = asyncio.run(scenario())
    waiting = set(threading.enumerate()) - before
    release.set()
    slow.close()
    assert len(waiting) == len(site.registry.repos()), "one a repository, however many ask"
    assert response.hits
    assert {fresh.behind for fresh in response.freshness} == {None}


def test_a_project_without_repos_has_nothing_to_search(tmp_path: Path) -> None:
    indexed = Indexed(tmp_path)
    with pytest.raises(NotFound, match="no repository to search"):
        asyncio.run(indexed.searcher().search("alpha", scope=indexed.scope))
    indexed.close()


def test_a_repo_that_is_not_indexed_yet_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    indexed = Indexed(tmp_path / "data")
    indexed.add(make_repo(tmp_path, {"a.py": "def alpha():\n    return 1\n"}, name="ready"))
    indexed.registry.add_repo(indexed.project, make_repo(tmp_path, {"b.py": "b = 1\n"}, name="waiting"))
    response = asyncio.run(indexed.searcher().search("alpha", scope=indexed.scope))
    indexed.close()
    assert any("waiting is not indexed yet" in warning for warning in response.warnings)


def test_a_repository_that_vanished_gives_hits_without_text_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    indexed = Indexed(tmp_path / "data")
    repo = make_repo(tmp_path, {"a.py": "def alpha():\n    return 1\n"})
    indexed.add(repo)
    repo.rename(tmp_path / "elsewhere")
    response = asyncio.run(indexed.searcher().search("alpha", scope=indexed.scope))
    indexed.close()
    assert (_first(response).text, _first(response).span.verified) == ("", False)
    assert response.freshness[0].behind is None
    assert any("cannot be read now" in warning for warning in response.warnings)


def test_a_repository_that_lost_the_indexed_commit_gives_unverified_hits_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    indexed = Indexed(tmp_path / "data")
    repo = make_repo(tmp_path, {"a.py": "def alpha():\n    return 1\n"})
    indexed.add(repo)
    shutil.rmtree(repo)
    make_repo(tmp_path, {"b.py": "def beta():\n    return 2\n"})
    response = asyncio.run(indexed.searcher().search("alpha", scope=indexed.scope))
    indexed.close()
    assert (_first(response).text, _first(response).span.verified) == ("", False)
    assert any("1 hit of this page could not be verified" in warning for warning in response.warnings)


@pytest.mark.parametrize("damaged", ["generation.db", "chunk_file.npy", "lexical/words-0"])
def test_a_damaged_index_is_said_the_other_repos_answer_and_indexing_again_mends_it(tmp_path: Path, damaged: str) -> None:
    (tmp_path / "data").mkdir()
    indexed = Indexed(tmp_path / "data")
    well = indexed.add(make_repo(tmp_path, {"a.py": "def alpha():\n    return 1\n"}, name="well"))
    ill = indexed.add(make_repo(tmp_path, {"b.py": "def alpha():\n    return 2\n"}, name="ill"))
    _damage(indexed, ill, damaged)
    response = asyncio.run(indexed.searcher().search("alpha", scope=indexed.scope))
    assert {hit.span.repo for hit in response.hits} == {well.id}
    assert any("ill cannot be searched now" in warning and "Index" in warning for warning in response.warnings)
    with pytest.raises(StoreCorrupt):
        asyncio.run(indexed.searcher().search("alpha", scope=Scope(indexed.project, (ill.id,))))
    indexed.index(ill)
    response = asyncio.run(indexed.searcher().search("alpha", scope=indexed.scope))
    assert {hit.span.repo for hit in response.hits} == {well.id, ill.id}
    indexed.close()


def test_damaged_vectors_are_mended_by_indexing_again(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    indexed = Indexed(tmp_path / "data")
    repo = indexed.add(make_repo(tmp_path, {"b.py": "def alpha():\n    return 2\n"}), embedder=WordEmbedder())
    _damage(indexed, repo, "vectors-2/rows.npy")
    with pytest.raises(StoreCorrupt):
        asyncio.run(indexed.searcher(WordEmbedder()).search("alpha", scope=indexed.scope))
    indexed.index(repo)
    assert asyncio.run(indexed.searcher(WordEmbedder()).search("alpha", scope=indexed.scope)).hits
    assert indexed.embed(repo, WordEmbedder()) == 0, "what was embedded is stored elsewhere, too"
    assert "vector" in asyncio.run(indexed.searcher(WordEmbedder()).search("alpha", scope=indexed.scope)).signals
    indexed.close()


def _damage(indexed: Indexed, repo: Repo, name: str) -> None:
    folder = indexed.paths.project(repo.project).generations / indexed.generations.published(repo.id).info.id
    indexed.generations.forget(repo.id)
    assert (folder / name).is_file()
    (folder / name).write_bytes(b"not what was written")


def test_a_name_is_found_where_its_definition_begins_with_a_sign(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    indexed = Indexed(tmp_path / "data")
    files = {"use.js": "// Parcel, Parcel, Parcel\nsend(Parcel)\n", "core.js": "export class $Parcel {\n  pack() {}\n}\n"}
    try:
        indexed.add(make_repo(tmp_path, files))
        response = asyncio.run(indexed.searcher().search("Parcel", scope=indexed.scope))
    finally:
        indexed.close()
    assert _paths(response)[0] == "core.js"
