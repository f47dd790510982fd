"""No argument of any tool reaches what was not granted: it is refused before anything of it is read."""

import pytest

from appliance.contracts.tools import Grants, Json, ToolContext
from appliance.errors import ApplianceError, Forbidden, InvalidInput, NotFound, UnsafePath
from tests.support.repos import git
from tests.unit.orchestrator.tools.conftest import CANARY, Bench, GoesOn

_NEEDED: dict[str, dict[str, Json]] = {
    "search_code": {"query": CANARY},
    "read_lines": {"path": "hidden.py"},
    "list_files": {},
    "outline": {"path": "hidden.py"},
    "definition": {"name": CANARY},
    "references": {"name": CANARY},
    "callers": {"name": CANARY},
    "callees": {"name": CANARY},
    "impact": {"name": CANARY},
    "path_between": {"start": CANARY, "end": CANARY},
    "history": {"name": CANARY},
    "git_log": {},
    "git_blame": {"path": "hidden.py"},
    "git_diff": {"commit": "HEAD"},
}
_RUN: dict[str, dict[str, Json]] = {"run_tests": {"command": ["true"]}}
_WRITE: dict[str, dict[str, Json]] = {
    "edit_file": {"path": "shop/store.py", "old": "digest", "new": "x"},
    "undo_edit": {},
}
_PATHS = {
    "absolute": "/etc/passwd",
    "up": "../hidden/hidden.py",
    "up in the middle": "shop/../../hidden/hidden.py",
    "NUL": "shop/store.py\0.txt",
    "empty part": "shop//store.py",
    "here": "./shop/store.py",
    "data directory": "/proc/self/root/etc/passwd",
}
_TAKE_PATHS = ("read_lines", "list_files", "outline", "git_log", "git_blame", "git_diff")


@pytest.mark.parametrize("name", _NEEDED)
@pytest.mark.parametrize(
    "which", ["hidden by name", "hidden by id", "of another project", "by its id", "nowhere", "hostile"]
)
def test_a_repository_that_was_not_granted_is_refused_unread(name: str, which: str, bench: Bench) -> None:
    named = {
        "hidden by name": "hidden",
        "hidden by id": bench.hidden.id,
        "of another project": "apart",
        "by its id": bench.elsewhere.id,
        "nowhere": "no-such-repository",
        "hostile": "../hidden",
    }
    bench.index.generations.opened.clear()  # threads that count commits may still look at those of other tests
    with pytest.raises(Forbidden) as refused:
        bench.call(name, {**(_NEEDED | _RUN)[name], "repo": named[which]})
    assert bench.index.generations.opened.isdisjoint({bench.hidden.id, bench.elsewhere.id})
    assert "hidden" not in refused.value.remedy


@pytest.mark.parametrize("name", _NEEDED)
def test_what_is_not_granted_is_not_there(name: str, bench: Bench) -> None:
    """Neither found, nor counted, nor named in an error."""
    bench.index.generations.opened.clear()
    try:
        said = bench.call(name, _NEEDED[name]).text
    except ApplianceError as exc:
        said = str(exc).replace(f"`{CANARY}`", "").replace(f"'{CANARY}'", "").replace("'hidden.py'", "")
    assert CANARY not in said
    assert "hidden" not in said
    assert bench.index.generations.opened.isdisjoint({bench.hidden.id, bench.elsewhere.id})


@pytest.mark.parametrize("name", _TAKE_PATHS)
@pytest.mark.parametrize("path", _PATHS.values(), ids=_PATHS)
def test_a_path_that_leaves_the_repository_is_refused_unread(name: str, path: str, bench: Bench) -> None:
    more = {"commit": bench.tip(bench.repo)} if name == "git_diff" else {}
    with pytest.raises(UnsafePath):
        bench.call(name, {"path": path, **more})


@pytest.mark.parametrize("sign", ["\0", "\ud800"], ids=["NUL", "half a sign"])
@pytest.mark.parametrize("argument", ["query", "name", "start", "commit", "repo", "path"])
def test_what_no_text_holds_is_refused_wherever_it_stands(argument: str, sign: str, bench: Bench) -> None:
    name = {"query": "search_code", "name": "definition", "start": "path_between", "commit": "git_diff"}.get(
        argument, "git_log"
    )
    with pytest.raises((InvalidInput, UnsafePath)):
        bench.call(name, {**_NEEDED[name], argument: f"a{sign}b"})


@pytest.mark.parametrize(
    "query",
    [
        f"{CANARY} branch:side",
        f"{CANARY} branch:*",
        f"{CANARY} -branch:main",
        f"{CANARY} repo:hidden",
        f"{CANARY} -repo:hidden",
    ],
)
def test_a_query_does_not_widen_what_was_granted(query: str, bench: Bench) -> None:
    with pytest.raises(Forbidden):
        bench.call("search_code", {"query": query})


def test_a_pattern_of_repositories_is_one_of_those_granted(bench: Bench) -> None:
    said = bench.call("search_code", {"query": 'content:"def " repo:*'})
    assert CANARY not in said.text
    assert said.data["total"]


def test_a_commit_of_another_branch_is_refused(bench: Bench) -> None:
    """It is in the same repository, and git would show it."""
    side = git(bench.shop.folder / "shop", "rev-parse", "side").decode().strip()
    for commit in (side, "f" * 40, "side", "HEAD~1", "--output=x"):
        with pytest.raises(Forbidden):
            bench.call("git_diff", {"commit": commit})
    with pytest.raises(Forbidden):
        bench.call("git_diff", {"commit": bench.tip(bench.repo), "base": side})


@pytest.mark.parametrize("name", _NEEDED)
def test_a_branch_that_was_not_granted_is_not_read(name: str, bench: Bench) -> None:
    """What was granted is the branch that is indexed; no other is, so a run for it finds nothing."""
    with pytest.raises(NotFound):
        bench.call(name, _NEEDED[name], bench.context(branches=("side",)))


@pytest.mark.parametrize("name", [*_NEEDED, *_RUN])
def test_no_grant_is_no_repository_and_not_all_of_them(name: str, bench: Bench) -> None:
    for granted in (Grants(bench.shop.project), Grants("", (bench.repo.id,)), Grants("elsewhere", (bench.repo.id,))):
        with pytest.raises(Forbidden):
            bench.call(name, (_NEEDED | _RUN)[name], ToolContext("run_1", granted, GoesOn()))


@pytest.mark.parametrize("name", [*_NEEDED, *_RUN, *_WRITE])
def test_an_effect_that_was_not_granted_is_refused(name: str, bench: Bench) -> None:
    granted = Grants(bench.shop.project, (bench.repo.id,), effects=frozenset())
    with pytest.raises(Forbidden):
        bench.call(name, (_NEEDED | _RUN | _WRITE)[name], ToolContext("run_1", granted, GoesOn()))


def test_every_tool_has_its_place_in_these_tests(bench: Bench) -> None:
    assert set(bench.tools) == {*_NEEDED, *_RUN, *_WRITE}


@pytest.mark.parametrize("path", _PATHS.values(), ids=_PATHS)
def test_an_edit_that_leaves_the_worktree_is_refused(path: str, bench: Bench) -> None:
    with bench.worktree() as workspace, pytest.raises(UnsafePath):
        bench.call("edit_file", {"path": path, "old": "", "new": "x"}, bench.context(workspace=workspace))


@pytest.mark.parametrize("path", [".git/config", ".GIT/hooks/post-checkout", "deep/.git/config", "git~1/config"])
def test_an_edit_makes_no_repository_of_a_worktree(path: str, bench: Bench) -> None:
    with bench.worktree() as workspace, pytest.raises(UnsafePath):
        bench.call("edit_file", {"path": path, "old": "", "new": "x"}, bench.context(workspace=workspace))


@pytest.mark.parametrize("name", _WRITE)
def test_nothing_but_a_scratch_worktree_is_written_to(name: str, bench: Bench) -> None:
    """Not even where the run says that the repository itself is its worktree."""
    made = bench.shop.folder / "shop"
    before = (made / "shop" / "store.py").read_bytes()
    for workspace in (None, made, bench.shop.folder, made / ".git"):
        with pytest.raises(Forbidden):
            bench.call(name, _WRITE[name], bench.context(workspace=workspace))
    assert (made / "shop" / "store.py").read_bytes() == before
