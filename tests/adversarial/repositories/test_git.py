"""Repositories that try to run something, to read elsewhere, or never to end."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.codeintel.source import view
from appliance.codeintel.source.base import LeftOut, Source
from appliance.codeintel.source.git import GitSource
from appliance.errors import LimitExceeded, MalformedContent, NotFound
from appliance.ids import CommitId
from tests.adversarial.repositories.conftest import Taken
from tests.support.repos import commit, git, make_repo

Opener = Callable[[Path], Source]


def read_all(source: Source) -> dict[str, bytes]:
    snapshot = source.snapshot(None)
    return {entry.path: source.blob(entry.blob) for entry in source.entries(snapshot)}


def raw_tree(repo: Path, entries: list[tuple[bytes, bytes, str]]) -> str:
    """Write a tree as given, also one that git itself would refuse to make."""
    body = b"".join(mode + b" " + name + b"\0" + bytes.fromhex(blob) for mode, name, blob in entries)
    return git(repo, "hash-object", "-w", "-t", "tree", "--literally", "--stdin", stdin=body).decode().strip()


def commit_tree(repo: Path, tree: str) -> None:
    made = git(repo, "commit-tree", "-m", "forged", tree).decode().strip()
    git(repo, "update-ref", "refs/heads/main", made)


def test_nothing_that_a_repository_configures_is_run(tmp_path: Path, source_at: Opener) -> None:
    """Hooks, filters, a file system monitor, text conversion, aliases, credential helpers, a promisor remote, includes."""
    canary = tmp_path / "canary"
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\necho ran >> {canary}\ncat\n")
    trap.chmod(0o755)
    repo = make_repo(tmp_path, {"a.py": "x = 1\n", ".gitattributes": "* filter=evil diff=evil text eol=crlf ident\n"})
    settings = {
        "filter.evil.smudge": trap, "filter.evil.clean": trap, "filter.evil.process": trap, "diff.evil.textconv": trap,
        "filter.evil.required": "true", "diff.evil.command": trap, "core.untrackedCache": "true",
        "diff.external": trap, "core.fsmonitor": trap, "core.sshCommand": trap, "core.pager": trap, "core.editor": trap,
        "core.alternateRefsCommand": trap, "core.hooksPath": tmp_path, "alias.cat-file": f"!{trap}",
        "alias.ls-tree": f"!{trap}",
        "credential.helper": f"!{trap}", "remote.origin.promisor": "true", "remote.origin.url": f"ext::{trap}",
        "remote.origin.partialclonefilter": "blob:none", "protocol.ext.allow": "always", "uploadpack.packObjectsHook": trap,
        "core.gitProxy": trap, "gpg.program": trap, "log.showSignature": "true", "include.path": "/dev/zero",
    }  # fmt: skip
    with (repo / ".git" / "config").open("a") as config:
        for name, value in settings.items():
            section, _, key = name.rpartition(".")
            first, _, second = section.partition(".")
            config.write(f'[{first}{f" {chr(34)}{second}{chr(34)}" if second else ""}]\n\t{key} = "{value}"\n')
    for hook in ("post-checkout", "pre-auto-gc", "reference-transaction", "post-index-change", "fsmonitor-watchman"):
        for folder in (tmp_path, repo / ".git" / "hooks"):
            (folder / hook).symlink_to(trap)
    source = source_at(repo)
    assert read_all(source)["a.py"] == b"x = 1\n"
    (repo / "a.py").write_text("x = 2, in the work tree\n")
    assert source.dirty(branch="main") is True
    blob = next(iter(source.entries(source.snapshot(None)))).blob
    (repo / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(NotFound):
        source_at(repo).blob(blob)
    assert source.behind(branch="main", commit=CommitId("1" * 40)) is None
    assert not canary.exists()


def test_a_plain_folder_runs_nothing_either(tmp_path: Path, source_at: Opener) -> None:
    canary = tmp_path / "canary"
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    (folder / ".gitattributes").write_text("* filter=evil\n")
    (folder / ".gitconfig").write_text(f'[filter "evil"]\n\tclean = touch {canary}\n[core]\n\tfsmonitor = touch {canary}\n')
    (folder / ".gitmodules").write_text('[submodule "x"]\n\tpath = x\n\turl = ext::touch canary\n\tupdate = !touch canary\n')
    assert read_all(source_at(folder))["a.py"] == b"x = 1\n"
    assert not canary.exists()


def test_replacement_refs_do_not_change_what_is_read(tmp_path: Path, source_at: Opener) -> None:
    """Else a citation would name one blob and show another."""
    repo = make_repo(tmp_path, {"a.py": "true\n", "b.py": "false\n"})
    blobs = [git(repo, "rev-parse", f"main:{name}").decode().strip() for name in ("a.py", "b.py")]
    git(repo, "replace", *blobs)
    assert read_all(source_at(repo)) == {"a.py": b"true\n", "b.py": b"false\n"}


def test_names_that_leave_the_tree_are_refused_and_listed(
    tmp_path: Path, take_in: Callable[[Path], Taken], source_at: Opener
) -> None:
    repo = make_repo(tmp_path, {"good.py": "x = 1\n"})
    blob = git(repo, "rev-parse", "main:good.py").decode().strip()
    inner = raw_tree(repo, [(b"100644", b"passwd", blob)])
    tree = raw_tree(
        repo,
        [
            (b"40000", b"..", inner),
            (b"100644", b"good.py", blob),
            (b"100644", b"good.py", blob),
            (b"100644", b"/etc/x", blob),
        ],
    )
    commit_tree(repo, tree)
    taken = take_in(repo)
    refused = {path for path, found in taken.items() if isinstance(found, LeftOut) and found.reason == "unsafe-path"}
    assert refused == {"../passwd", "/etc/x"}
    assert set(taken) == refused | {"good.py"}
    source = source_at(repo)
    assert source.locate(commit=source.snapshot(None).commit, path="../passwd") is None


@pytest.mark.parametrize(("levels", "name", "what"), [(8, b"%d", "files"), (3, b"%d" + b"n" * 200, "bytes of file names")])
def test_a_tree_that_unfolds_without_end_is_refused(tmp_path: Path, levels: int, name: bytes, what: str) -> None:
    """Eight levels of ten: a hundred million files out of nine objects."""
    repo = make_repo(tmp_path, {"f": "x"})
    inner = git(repo, "rev-parse", "main:f").decode().strip()
    mode = b"100644"
    for _ in range(levels):
        inner = raw_tree(repo, [(mode, name % number, inner) for number in range(10)])
        mode = b"40000"
    commit_tree(repo, inner)
    directory = view.find(repo)
    assert directory is not None
    source = GitSource(directory, mirror=tmp_path / "mirror", max_bytes=1000, most_files=3000)
    try:
        with pytest.raises(LimitExceeded, match=what):
            list(source.entries(source.snapshot(None)))
    finally:
        source.close()


def test_a_tree_that_is_damaged_is_an_error_and_not_a_short_list(tmp_path: Path, source_at: Opener) -> None:
    repo = make_repo(tmp_path, {"a/x.py": "x", "b/y.py": "y"})
    tree = git(repo, "rev-parse", "main:b").decode().strip()
    (repo / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    source = source_at(repo)
    with pytest.raises(MalformedContent):
        list(source.entries(source.snapshot(None)))


def test_a_pipe_that_poses_as_a_part_of_git_does_not_hang_us(tmp_path: Path, source_at: Opener) -> None:
    repo = make_repo(tmp_path, {"a.py": "x"})
    for name in ("config", "shallow", "description"):
        (repo / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(repo / ".git" / "config")
    assert read_all(source_at(repo)) == {"a.py": b"x"}
    (repo / ".git" / "HEAD").unlink()
    os.mkfifo(repo / ".git" / "HEAD")
    with pytest.raises(MalformedContent):
        source_at(repo)


@pytest.mark.parametrize(
    "head", [b"", b"\0" * 100, b"ref: refs/heads/../../../etc/passwd\n", b"ref: --upload-pack=x\n", b"ref: refs/heads/a b\n"]
)
def test_a_head_that_is_none_is_answered_with_the_branches_there_are(tmp_path: Path, source_at: Opener, head: bytes) -> None:
    repo = make_repo(tmp_path, {"a.py": "x"})
    commit(repo, {"b": "b"}, branch="other")
    (repo / ".git" / "HEAD").write_bytes(head)
    with pytest.raises(NotFound, match="main, other"):
        source_at(repo).snapshot(None)


def test_git_of_the_user_is_left_as_it_was(tmp_path: Path, source_at: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """No safe.directory is written anywhere, and what stands in the user's own configuration is not used."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[core]\n\tbroken here\n[alias]\n\tcat-file = !false\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", "/nonexistent")
    repo = tmp_path / "repo"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "HOME"))}
    subprocess.run(["git", "init", "-q", str(repo)], env=clean, check=True)
    commit(repo, {"a.py": "x"})
    (repo / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    before = (home / ".gitconfig").read_bytes()
    assert read_all(source_at(repo)) == {"a.py": b"x"}
    assert (home / ".gitconfig").read_bytes() == before
    assert [path.name for path in home.iterdir()] == [".gitconfig"]
