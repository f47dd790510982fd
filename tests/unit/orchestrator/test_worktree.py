"""A scratch worktree has the files of a commit and nothing that a repository could do with it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.base.paths import DataPaths
from appliance.codeintel.source.base import Source
from appliance.codeintel.source.opening import open_source
from appliance.config import Index
from appliance.errors import Forbidden, LimitExceeded, NotFound
from appliance.ids import CommitId
from appliance.orchestrator.worktree import Worktrees
from tests.support.planted import GITHUB
from tests.support.repos import commit, git, make_repo

_FILES = {
    "src/a.py": "a = 1\n",
    "run.sh": "#!/bin/sh\n",
    "key.py": f"token = '{GITHUB}'\n",
    ".env": "SECRET=1\n",
    ".gitattributes": "* filter=evil ident eol=crlf\n*.py export-subst\n",
    ".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = ext::touch ran\n',
    "id.py": "$Id$\n",
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_repo(tmp_path_factory.mktemp("git"), _FILES)
    for name in ("post-checkout", "pre-commit", "post-index-change"):
        hook = made / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {made}/ran\n")
        hook.chmod(0o755)
    with (made / ".git" / "config").open("a") as config:
        config.write(f'[filter "evil"]\n\tsmudge = touch {made}/ran; cat\n[core]\n\tfsmonitor = touch {made}/ran\n')
    return made


@pytest.fixture(scope="module")
def source(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    opened = open_source(repo, mirror=tmp_path_factory.mktemp("mirror"), limits=Index())
    yield opened
    opened.close()


@pytest.fixture
def worktrees(tmp_path: Path) -> Worktrees:
    return Worktrees(DataPaths(tmp_path / "data"))


def _tip(repo: Path, branch: str = "main") -> CommitId:
    return CommitId(git(repo, "rev-parse", branch).decode().strip())


def _blob(repo: Path, content: bytes) -> str:
    return git(repo, "hash-object", "-w", "--stdin", stdin=content).decode().strip()


def test_it_holds_the_files_of_the_commit_as_they_are(repo: Path, source: Source, worktrees: Worktrees) -> None:
    with worktrees.of(source, _tip(repo)) as tree:
        assert (tree.path / "src" / "a.py").read_text() == "a = 1\n"
        assert (tree.path / "id.py").read_text() == "$Id$\n"
        assert not (tree.path / ".git").exists()
        assert tree.path.stat().st_mode & 0o777 == 0o700
        assert repo not in tree.path.parents
    assert not tree.path.exists()
    assert not (repo / "ran").exists()


def test_no_secret_gets_into_it(repo: Path, source: Source, worktrees: Worktrees) -> None:
    with worktrees.of(source, _tip(repo)) as tree:
        assert GITHUB not in (tree.path / "key.py").read_text()
        assert not (tree.path / ".env").exists()
        assert (".env", "secret") in [(each.path, each.reason) for each in tree.left_out]


def test_links_stay_inside_or_are_left_out(repo: Path, source: Source, worktrees: Worktrees) -> None:
    """Also those that lead out only through each other."""
    links = {
        "good": "src/a.py", "src/up": "../run.sh", "abs": "/etc/passwd", "out": "../out", "deep": "src/../../x",
        "here": ".", "through": "here/here/here/../../..", "empty": "nowhere",
    }  # fmt: skip
    made = commit(repo, {"src/a.py": "a = 2\n"}, branch="links")
    entries = "".join(
        f"120000 blob {_blob(repo, target.encode())}\t{name}\n" for name, target in links.items() if "/" not in name
    )
    tree_id = git(repo, "mktree", stdin=git(repo, "ls-tree", made) + entries.encode()).decode().strip()
    tip = git(repo, "commit-tree", tree_id, "-m", "links").decode().strip()
    with worktrees.of(source, CommitId(tip)) as tree:
        there = {path.name for path in tree.path.iterdir() if path.is_symlink()}
        assert there == {"good", "here", "empty"}
        assert {each.path for each in tree.left_out if each.detail.startswith("leads out")} == {
            "abs",
            "out",
            "deep",
            "through",
        }


@pytest.mark.parametrize("name", [b"..", b".git", b".GIT", b"git~1"])
def test_a_tree_that_was_made_to_lead_out_does_not(name: bytes, repo: Path, source: Source, worktrees: Worktrees) -> None:
    inner = git(repo, "mktree", stdin=f"100644 blob {_blob(repo, b'evil')}\tconfig\n".encode()).decode().strip()
    raw = b"40000 " + name + b"\0" + bytes.fromhex(inner)
    tree_id = git(repo, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw).decode().strip()
    tip = git(repo, "commit-tree", tree_id, "-m", "evil").decode().strip()
    with worktrees.of(source, CommitId(tip)) as tree:
        assert list(tree.path.iterdir()) == []
        assert [each.reason for each in tree.left_out] == ["unsafe-path"]
    assert not (tree.path.parent / "config").exists()


def test_a_tree_with_one_name_twice_leaves_one_out(repo: Path, source: Source, worktrees: Worktrees) -> None:
    link, file = _blob(repo, b"/tmp"), _blob(repo, b"x")
    inner = git(repo, "mktree", stdin=f"100644 blob {file}\tx\n".encode()).decode().strip()
    raw = b"120000 a\0" + bytes.fromhex(link) + b"40000 a\0" + bytes.fromhex(inner)
    tree_id = git(repo, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw).decode().strip()
    tip = git(repo, "commit-tree", tree_id, "-m", "twice").decode().strip()
    with worktrees.of(source, CommitId(tip)) as tree:
        assert (tree.path / "a").is_dir()
        assert len(tree.left_out) == 1


def test_a_submodule_is_left_out_and_said(repo: Path, source: Source, worktrees: Worktrees) -> None:
    tree_id = git(repo, "mktree", stdin=f"160000 commit {_tip(repo)}\tsub\n".encode()).decode().strip()
    tip = git(repo, "commit-tree", tree_id, "-m", "sub").decode().strip()
    with worktrees.of(source, CommitId(tip)) as tree:
        assert [(each.path, each.reason) for each in tree.left_out] == [("sub", "submodule")]


def test_too_many_files_or_bytes_are_refused_and_nothing_stays(repo: Path, source: Source, tmp_path: Path) -> None:
    for limits in ({"most_files": 3}, {"most_bytes": 20}):
        small = Worktrees(DataPaths(tmp_path), **limits)
        with pytest.raises(LimitExceeded), small.of(source, _tip(repo)):
            pass
        assert [path.name for path in (tmp_path / "scratch").iterdir()] == []


def test_an_unknown_commit_is_said(source: Source, worktrees: Worktrees) -> None:
    with pytest.raises(NotFound), worktrees.of(source, CommitId("f" * 40)):
        pass


def test_a_plain_folder_has_worktrees_too(tmp_path: Path, worktrees: Worktrees) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    opened = open_source(folder, mirror=tmp_path / "mirror", limits=Index())
    with worktrees.of(opened, opened.snapshot(None).commit) as tree:
        assert (tree.path / "a.txt").read_text() == "a\n"
    opened.close()


def test_whatever_a_command_left_in_it_goes_away(repo: Path, source: Source, worktrees: Worktrees, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("kept")
    with worktrees.of(source, _tip(repo)) as tree:
        (tree.path / "locked").mkdir(mode=0)
        (tree.path / "out").symlink_to(kept)
        os.mkfifo(tree.path / "pipe")
    assert not tree.path.exists()
    assert (kept / "file").read_text() == "kept"


def test_what_a_killed_process_left_is_swept_and_what_lives_is_not(
    repo: Path, source: Source, worktrees: Worktrees, tmp_path: Path
) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from appliance.base.paths import DataPaths;"
        "from appliance.codeintel.source.opening import open_source; from appliance.config import Index;"
        "from appliance.orchestrator.worktree import Worktrees;"
        "source = open_source(Path(sys.argv[1]), mirror=Path(sys.argv[2]), limits=Index());"
        "held = Worktrees(DataPaths(Path(sys.argv[3]))).of(source, sys.argv[4]);"
        "print(held.__enter__().path, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    argv = [sys.executable, "-c", code, str(repo), str(tmp_path / "mirror"), str(tmp_path / "data"), _tip(repo)]
    left = Path(subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip())
    assert left.is_dir()
    with worktrees.of(source, _tip(repo)) as tree:
        assert worktrees.sweep() == 1
        assert not left.exists()
        assert tree.path.is_dir()
    assert worktrees.sweep() == 0


def test_only_worktrees_are_taken_for_worktrees(repo: Path, source: Source, worktrees: Worktrees, tmp_path: Path) -> None:
    with worktrees.of(source, _tip(repo)) as tree:
        assert worktrees.owned(tree.path) == tree.path
        link = tree.path.with_name("worktree-link")
        link.symlink_to(repo)
        for other in (repo, tmp_path, tree.path / "src", link, tree.path / ".." / tree.path.name, Path("/")):
            with pytest.raises(Forbidden):
                worktrees.owned(other)
        link.unlink()
