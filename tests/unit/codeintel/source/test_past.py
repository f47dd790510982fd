"""Commits of a repository: which changed what, who made a line, and what a commit descends from."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.codeintel.source.git import GitSource
from appliance.codeintel.source.view import find
from appliance.errors import ApplianceError, InvalidInput, NotFound
from appliance.ids import CommitId
from tests.support.planted import GITHUB
from tests.support.repos import commit, git, make_repo


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_repo(tmp_path_factory.mktemp("past"), {"a/one.py": "x = 1\ny = 2\n", "b.py": "z = 3\n"})
    commit(made, {"a/one.py": "x = 1\ny = 20\n", "a/ü (1).py": "ü\n"}, "Raise y\n\nBody", when=1_700_000_100)
    commit(made, {"b.py": "z = 4\n"}, f"token = {GITHUB}", when=1_700_000_200)
    commit(made, {"c.py": "c\n"}, "elsewhere", branch="other")
    return made


@pytest.fixture(scope="module")
def source(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitSource]:
    directory = find(repo)
    assert directory
    opened = GitSource(directory, mirror=tmp_path_factory.mktemp("mirror"), max_bytes=1 << 20)
    yield opened
    opened.close()


def _tip(repo: Path, branch: str = "main") -> CommitId:
    return CommitId(git(repo, "rev-parse", f"refs/heads/{branch}").decode().strip())


def test_the_log_of_a_path_has_the_commits_that_changed_it(repo: Path, source: GitSource) -> None:
    tip = _tip(repo)
    assert [each.summary for each in source.log(commit=tip, path="a", most=9)] == ["Raise y", "first"]
    assert [each.summary for each in source.log(commit=tip, path="a/ü (1).py", most=9)] == ["Raise y"]
    assert len(source.log(commit=tip, path="", most=9)) == 3
    assert len(source.log(commit=tip, path="", most=2)) == 2


def test_a_secret_in_a_message_is_masked(repo: Path, source: GitSource) -> None:
    newest = source.log(commit=_tip(repo), path="", most=1)[0]
    assert GITHUB not in newest.summary


def test_each_line_has_who_made_it(repo: Path, source: GitSource) -> None:
    found = source.blame(commit=_tip(repo), path="a/one.py", lines=(1, 2))
    assert [(each.line, each.commit.summary, each.commit.author) for each in found] == [
        (1, "first", "Test"),
        (2, "Raise y", "Test"),
    ]
    assert found[1].commit.date == "2023-11-14T22:15:00+00:00"
    assert [each.line for each in source.blame(commit=_tip(repo), path="a/ü (1).py", lines=(1, 1))] == [1]


def test_an_ancestor_is_found_by_how_its_id_begins(repo: Path, source: GitSource) -> None:
    tip = _tip(repo)
    parent = git(repo, "rev-parse", "main~1").decode().strip()
    found = source.ancestor(name=parent[:10], of=tip)
    assert (found.commit, found.tree) == (parent, git(repo, "rev-parse", "main~1^{tree}").decode().strip())
    root = source.ancestor(name=found.parent, of=tip)
    assert root.parent == ""
    assert source.ancestor(name=tip, of=tip).commit == tip


@pytest.mark.parametrize(
    "name", ["", "main", "HEAD", "--help", "refs/heads/main", "0123456", "f" * 40, "main~1", "@{1}", "\0"]
)
def test_what_is_no_commit_before_it_is_no_ancestor(name: str, repo: Path, source: GitSource) -> None:
    with pytest.raises(NotFound):
        source.ancestor(name=name, of=_tip(repo))


def test_a_commit_of_another_branch_is_no_ancestor(repo: Path, source: GitSource) -> None:
    with pytest.raises(NotFound):
        source.ancestor(name=_tip(repo, "other"), of=_tip(repo))


def test_a_path_is_nothing_that_git_expands(repo: Path, source: GitSource) -> None:
    tip = _tip(repo)
    assert source.log(commit=tip, path=":(top)*", most=9) == []
    assert source.log(commit=tip, path="*.py", most=9) == []
    with pytest.raises(InvalidInput):
        source.log(commit=tip, path="a\0b", most=9)
    with pytest.raises(ApplianceError):
        source.blame(commit=tip, path="--output=x", lines=(1, 1))
