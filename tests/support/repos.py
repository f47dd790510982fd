"""Small real git repositories for tests, made by git's own fast-import: no work tree, no user configuration."""

import os
import subprocess
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

Content = bytes | str
Files = Mapping[str, Content | None]
_WHO = "Test <test@example.invalid>"
_ENV = {
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "LC_ALL": "C",
}


def git(repo: Path, *arguments: str | bytes, stdin: bytes = b"") -> bytes:
    """Run git on *repo* (a work tree, a bare repository or a git directory) and return what it printed."""
    safe = ["-c", "safe.directory=*", "-c", "user.name=Test", "-c", "user.email=test@example.invalid"]
    done = subprocess.run(
        ["git", *safe, "-C", str(repo), *arguments], env=_ENV, input=stdin, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


def make_repo(
    tmp_path: Path,
    files: Files | None = None,
    *,
    bare: bool = False,
    object_format: Literal["sha1", "sha256"] = "sha1",
    name: str = "repo",
    branch: str = "main",
) -> Path:
    """Make *tmp_path*/*name* with one commit of *files* on *branch* (None: no commit at all) and return its path."""
    repo = tmp_path / name
    repo.mkdir(parents=True)
    git(repo, "init", "-q", f"--object-format={object_format}", f"--initial-branch={branch}", *(["--bare"] if bare else []))
    if files is not None:
        commit(repo, files, "first")
        if not bare:
            git(repo, "reset", "-q", "--hard", branch)
    return repo


def commit(repo: Path, files: Files, message: str = "change", *, branch: str = "main", when: int = 1_700_000_000) -> str:
    """Commit *files* (None deletes one) on top of *branch* and return the commit's id. The work tree is not touched.

    Names may hold any byte but NUL, through *surrogateescape*.
    """
    changes = [_change(os.fsencode(path), content) for path, content in files.items()]
    return forge(repo, changes, message, branch=branch, when=when)


def link(path: str, target: str) -> bytes:
    """Return the `forge` command for a symbolic link."""
    return _modify(b"120000", os.fsencode(path), os.fsencode(target))


def submodule(path: str, commit_id: str) -> bytes:
    """Return the `forge` command for a submodule entry."""
    return b"M 160000 %s %s\n" % (commit_id.encode(), _quoted(os.fsencode(path)))


def executable(path: str, content: bytes) -> bytes:
    """Return the `forge` command for an executable file."""
    return _modify(b"100755", os.fsencode(path), content)


def forge(
    repo: Path, commands: list[bytes], message: str = "forged", *, branch: str = "main", when: int = 1_700_000_000
) -> str:
    """Commit raw fast-import *commands* on top of *branch* and return the commit's id."""
    ref = f"refs/heads/{branch}"
    known = _ref_exists(repo, ref)
    head = f"commit {ref}\ncommitter {_WHO} {when} +0000\n".encode() + _data(message.encode())
    start = f"from {ref}^0\n".encode() if known else b""
    git(repo, "fast-import", "--quiet", "--force", stdin=head + start + b"".join(commands) + b"\n")
    return git(repo, "rev-parse", ref).decode().strip()


def _ref_exists(repo: Path, ref: str) -> bool:
    return bool(git(repo, "for-each-ref", ref))


def _change(path: bytes, content: Content | None) -> bytes:
    if content is None:
        return b"D " + _quoted(path) + b"\n"
    return _modify(b"100644", path, content.encode() if isinstance(content, str) else content)


def _modify(mode: bytes, path: bytes, content: bytes) -> bytes:
    return b"M %s inline %s\n" % (mode, _quoted(path)) + _data(content)


def _data(content: bytes) -> bytes:
    return b"data %d\n" % len(content) + content + b"\n"


def _quoted(path: bytes) -> bytes:
    return b'"' + b"".join(b"\\%03o" % byte for byte in path) + b'"'


def put_object(repo: Path, identity: str, content: bytes) -> None:
    """Store *content* as a loose blob under the id *identity*, whether or not that is its own."""
    folder = repo / (".git" if (repo / ".git").is_dir() else "") / "objects" / identity[:2]
    folder.mkdir(exist_ok=True)
    (folder / identity[2:]).unlink(missing_ok=True)
    (folder / identity[2:]).write_bytes(zlib.compress(b"blob %d\0" % len(content) + content))


def explode(repo: Path) -> None:
    """Turn the packs of *repo* into loose objects, so that one of them can be damaged or taken away."""
    packs = repo / ".git" / "objects" / "pack"
    aside = repo.parent / f"{repo.name}-packs"
    packs.rename(aside)
    packs.mkdir()
    for pack in aside.glob("*.pack"):
        git(repo, "unpack-objects", "-q", stdin=pack.read_bytes())
