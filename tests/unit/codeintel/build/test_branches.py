"""Many branches of one repository: each has an index, and what they have in common costs nothing."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.codeintel.query.graphs import GraphReader
from appliance.codeintel.query.search import Searcher
from appliance.codeintel.registry import Repo
from appliance.codeintel.repo_settings import RepoSettings
from appliance.codeintel.results import Scope, SearchResponse
from appliance.codeintel.store.generation import Generation
from appliance.errors import NotFound
from tests.support.embedders import FakeEmbedder
from tests.support.indexing import IndexBench, QuickBench, Recorder
from tests.support.repos import commit, git, make_repo

CODE = {f"f{i:02}.py": f"def shared{i}():\n    return {i}\n" for i in range(6)}
TRACKED = RepoSettings(branches=("release/*", "refs/tags/v*"))


def made(folder: Path) -> Path:
    """Make a repository with two releases, one of them tagged, and a branch that nobody asked for."""
    source = make_repo(folder, CODE)
    for name in ("release/1", "release/2", "topic"):
        git(source, "branch", name, "main")
    commit(source, {"one.py": "from f01 import shared1\n\n\ndef only_in_one():\n    shared1()\n"}, branch="release/1")
    commit(source, {"two.py": "def only_in_two(): pass\n"}, branch="release/2", when=1_700_000_100)
    commit(source, {"topic.py": "def only_in_topic(): pass\n"}, branch="topic")
    git(source, "tag", "v1", "release/1")
    return source


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return made(tmp_path)


@pytest.fixture
def repo(bench: IndexBench, source: Path) -> Repo:
    return bench.add(source, settings=TRACKED)


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[IndexBench, Repo]]:
    """Yield an index of such a repository for tests that only read it."""
    folder = tmp_path_factory.mktemp("read")
    with closing(QuickBench(folder / "data")) as bench:
        repo = bench.add(made(folder), settings=TRACKED)
        assert bench.index(repo).branch == "main"
        yield bench, repo


def search(bench: IndexBench, query: str, *branches: str) -> SearchResponse:
    project = bench.registry.project("default").id
    searcher = Searcher(bench.generations, None, bench.clock)
    return asyncio.run(searcher.search(query, scope=Scope(project, branches=branches)))


def paths(response: SearchResponse) -> set[str]:
    return {hit.span.path for hit in response.hits}


def test_the_own_branch_and_those_that_a_pattern_fits_are_indexed(read: tuple[IndexBench, Repo]) -> None:
    bench, repo = read
    assert bench.generations.branches(repo.id) == ["", "refs/tags/v1", "release/1", "release/2"]
    assert {path for path, _ in bench.file_set(repo, "release/2")} == {*CODE, "two.py"}
    assert {path for path, _ in bench.file_set(repo)} == {*CODE}


def test_a_branch_costs_the_blobs_that_no_other_has(bench: IndexBench, repo: Repo) -> None:
    """Facts and vectors are those of blobs: 22 files in four trees are parsed and embedded once each."""
    bench.index(repo, progress=(recorder := Recorder()).progress)
    parsed = [total for phase, done, total in recorder.phases if phase == "parse" and done == 0]
    assert sum(total or 0 for total in parsed) == len(CODE) + 2
    embedder = FakeEmbedder()
    assert bench.fill(repo, embedder) == len(embedder.texts) == len(CODE) + 2
    for branch in bench.generations.branches(repo.id):
        assert bench.generation(repo, branch).info.completeness == 1.0


def test_a_pattern_of_branches_means_no_tags(bench: IndexBench, source: Path) -> None:
    every = bench.add(source, settings=RepoSettings(branches=("*",)))
    bench.index(every)
    assert bench.generations.branches(every.id) == ["", "release/1", "release/2", "topic"]


def test_equal_trees_are_one_index(read: tuple[IndexBench, Repo]) -> None:
    bench, repo = read
    assert bench.generation(repo, "refs/tags/v1").folder == bench.generation(repo, "release/1").folder
    assert len(bench.folders(repo)) == 3


def test_a_search_reads_the_own_branch_unless_it_names_another(read: tuple[IndexBench, Repo]) -> None:
    bench, _ = read
    assert paths(search(bench, "only_in_one")).isdisjoint({"one.py", "two.py"})
    found = search(bench, "only_in_one", "release/1")
    assert "one.py" in paths(found)
    assert [fresh.branch for fresh in found.freshness] == ["release/1"]
    both = search(bench, "only_in_one only_in_two shared3", "release/*")
    assert {"one.py", "two.py"} <= paths(both)
    assert len(both.hits) == len({(hit.span.path, hit.span.start_line) for hit in both.hits})
    assert all(hit.span.verified for hit in both.hits)
    assert [fresh.branch for fresh in search(bench, "shared3", "main").freshness] == ["main"]


def test_a_branch_that_is_not_indexed_is_a_clear_error(read: tuple[IndexBench, Repo]) -> None:
    bench, _ = read
    with pytest.raises(NotFound, match="topic"):
        search(bench, "shared3", "topic")


def test_each_branch_has_a_graph_of_its_own(read: tuple[IndexBench, Repo]) -> None:
    bench, repo = read
    bench.graph(repo)
    reader = GraphReader(bench.generations, Searcher(bench.generations, None, bench.clock), bench.clock)

    def callers(*branches: str) -> list[str]:
        scope = Scope(repo.project, branches=branches)
        return [call.caller for call in asyncio.run(reader.calls("shared1", "callers", scope=scope)).calls]

    assert (callers(), callers("release/1")) == ([], ["only_in_one"])


def test_one_commit_on_a_branch_is_one_new_index_and_how_far_behind_is_told_for_each(
    bench: IndexBench, repo: Repo, source: Path
) -> None:
    bench.index(repo)
    before = {branch: bench.generation(repo, branch).info.id for branch in bench.generations.branches(repo.id)}
    commit(source, {"two.py": "def again(): pass\n"}, branch="release/2", when=1_700_000_200)
    behind = {branch: bench.generations.freshness(repo.id, branch).behind for branch in before}
    assert behind == dict.fromkeys(before, 0) | {"release/2": 1}
    bench.index(repo)
    assert [branch for branch in before if bench.generation(repo, branch).info.id != before[branch]] == ["release/2"]


def test_a_deleted_branch_answers_until_the_next_index_and_then_leaves(bench: IndexBench, repo: Repo, source: Path) -> None:
    bench.index(repo)
    git(source, "branch", "-D", "release/2")
    assert "two.py" in paths(search(bench, "only_in_two", "release/2"))
    assert bench.generations.freshness(repo.id, "release/2").behind is None
    bench.index(repo)
    assert bench.generations.branches(repo.id) == ["", "refs/tags/v1", "release/1"]


def test_a_rewritten_branch_is_indexed_as_it_is_now(bench: IndexBench, repo: Repo, source: Path) -> None:
    bench.index(repo)
    git(source, "update-ref", "refs/heads/release/2", "main~0")
    commit(source, {"rewritten.py": "def instead(): pass\n"}, branch="release/2", when=1_700_000_300)
    assert bench.generations.freshness(repo.id, "release/2").behind == 1
    bench.index(repo)
    assert {path for path, _ in bench.file_set(repo, "release/2")} == {*CODE, "rewritten.py"}


def test_a_branch_that_was_taken_back_does_not_pass_for_current(bench: IndexBench, repo: Repo, source: Path) -> None:
    """It has no commit that the index lacks, and still the index is not what the branch is now."""
    bench.index(repo)
    git(source, "update-ref", "refs/heads/release/1", "main")
    assert bench.generations.freshness(repo.id, "release/1").behind == 1


def test_a_branch_that_cannot_be_indexed_keeps_none_of_the_others_back_and_says_why(
    bench: IndexBench, repo: Repo, source: Path
) -> None:
    git(source, "checkout", "-q", "--orphan", "release/0")
    git(source, "rm", "-rqf", ".")
    git(source, "commit", "-qm", "nothing", "--allow-empty")
    git(source, "symbolic-ref", "HEAD", "refs/heads/main")
    bench.index(repo)
    assert bench.generations.branches(repo.id) == ["", "refs/tags/v1", "release/1", "release/2"]
    known = bench.registry.repo(repo.id)
    assert (known.error, known.message.partition(":")[0]) == ("malformed_content", "release/0")


@pytest.mark.parametrize(
    "date", ["1 -1200", "0 +0000", "99999999999 +0000", "253402300800 -1200", "18446744073709551615 +0000"]
)
def test_a_commit_with_a_date_that_cannot_be_costs_no_branch(bench: IndexBench, repo: Repo, source: Path, date: str) -> None:
    """Git refuses to sort by such a date: one commit of a stranger's would take all tracked branches away."""
    odd = f"commit refs/heads/release/9\ncommitter T <t@x> {date}\ndata 1\nx\nM 100644 inline nine.py\ndata 6\nn = 9\n\n"
    git(source, "fast-import", "--quiet", "--date-format=raw-permissive", stdin=odd.encode())
    git(source, "tag", "-a", "-m", "two", "v2", "release/2")
    bench.index(repo)
    assert bench.registry.repo(repo.id).error == ""
    names = {"release/1", "release/2", "release/9", "refs/tags/v1", "refs/tags/v2"}
    assert set(bench.generations.branches(repo.id)) == {"", *names}


def test_branches_that_cannot_be_listed_stay_as_they_were_and_that_is_said(
    bench: IndexBench, repo: Repo, source: Path
) -> None:
    bench.index(repo)
    before = bench.generations.branches(repo.id)
    (source / ".git" / "refs" / "heads" / "release" / "3").write_text("1" * 40 + "\n")  # of an object that is not there
    bench.index(repo)
    assert bench.generations.branches(repo.id) == before
    known = bench.registry.repo(repo.id)
    assert (known.error, known.message) == ("malformed_content", "Git could not list the branches.")


def test_a_plain_folder_has_no_branches_to_track(bench: IndexBench, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.py").write_text("x = 1\n")
    folder = bench.add(tmp_path / "plain", settings=TRACKED)
    assert bench.index(folder).files == 1
    assert bench.registry.repo(folder.id).error == "invalid_input"


def held(generation: Generation) -> set[str]:
    return set(generation.files.by_path)


def test_paths_that_the_settings_leave_out_are_neither_found_nor_parsed_and_a_change_parses_nothing_again(
    bench: IndexBench, tmp_path: Path
) -> None:
    files = {"src/a.py": "alpha = 1\n", "lib/b.py": "beta = 1\n", "lib/c.min.py": "gamma = 1\n"}
    repo = bench.add(make_repo(tmp_path, files, name="globs"), settings=RepoSettings(exclude=("lib/**", "!lib/b.py")))
    bench.index(repo)
    assert held(bench.generation(repo)) == {"src/a.py", "lib/b.py"}
    assert [(item.path, item.reason) for item in bench.generation(repo).left_out()] == [("lib/c.min.py", "excluded")]
    assert not bench.generation(repo).symbols.named("gamma")
    assert (search(bench, "content:gamma").total, search(bench, "content:beta").total) == (0, 1)

    bench.registry.change_repo(repo.id, branch=None, settings=RepoSettings(include=("*.py",)))
    bench.index(repo, progress=(recorder := Recorder()).progress)
    assert (held(bench.generation(repo)), recorder.parsed()) == ({*files}, 1)

    bench.registry.change_repo(repo.id, branch=None, settings=RepoSettings(include=("/src/",)))
    bench.index(repo, progress=(recorder := Recorder()).progress)
    assert (held(bench.generation(repo)), recorder.parsed()) == ({"src/a.py"}, 0)


def test_a_repository_leaves_out_files_by_its_own_ignore_file_and_attributes(bench: IndexBench, tmp_path: Path) -> None:
    files = {
        ".skelligignore": "# not for reading\nfixtures/\n",
        ".gitattributes": "gen/** linguist-generated\nkeep.py -linguist-generated\nthird/*.py linguist-vendored=true\n",
        "fixtures/a.py": "a = 1\n",
        "gen/b.py": "b = 1\n",
        "third/c.py": "c = 1\n",
        "keep.py": "d = 1\n",
    }
    repo = bench.add(make_repo(tmp_path, files, name="own-rules"))
    bench.index(repo)
    left = {item.path: item.reason for item in bench.generation(repo).left_out()}
    assert left == {"fixtures/a.py": "excluded", "gen/b.py": "generated", "third/c.py": "vendored"}
    assert "keep.py" in held(bench.generation(repo))
