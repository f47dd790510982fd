"""A git repository, read in place and never written: work tree, linked work tree or bare, whoever owns it."""

import difflib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast, get_args

from appliance.base import proc
from appliance.base.budget import Budget
from appliance.base.paths import display
from appliance.codeintel.source import view
from appliance.codeintel.source.base import Entry, LeftOut, Mode, Snapshot
from appliance.codeintel.source.gitchild import Child, environment
from appliance.codeintel.source.objects import Objects, is_id
from appliance.errors import DeadlineExceeded, InvalidInput, MalformedContent, NotFound
from appliance.ids import BlobId, CommitId

MOST_FILES = 2_000_000
_PATH_BYTES_A_FILE = 100  # of that many files; a tree of a dozen objects can unfold into names of gigabytes
_MOST_REFS = 10_000
_LONGEST_PATH = 4096
_BRANCH = re.compile(r"(?!-)[^\x00-\x20\x7f~^:?*\[\\]{1,1024}")
_MODES = frozenset(get_args(Mode))


class GitSource:
    """Implements `Source` on *directory*; *mirror* is a folder of ours for the view, *max_bytes* the largest blob read.

    A tree of more than *most_files* files is refused: one of a few objects can name more than there are atoms.
    """

    def __init__(self, directory: view.GitDirectory, *, mirror: Path, max_bytes: int, most_files: int = MOST_FILES) -> None:
        self._directory = directory
        self._view = view.build(directory, under=mirror)
        self._objects = Objects(self._view, max_bytes=max_bytes)
        self._most_files = most_files
        self._counts: dict[tuple[str, str], int] = {}

    def snapshot(self, branch: str | None) -> Snapshot:
        """Return the newest state of *branch*: a branch, remote branch, tag, full ref or commit id."""
        name, commit = self._resolve(branch)
        tree = self._objects.info(f"{commit}^{{tree}}")
        if tree is None or tree.type != "tree":
            raise self._incomplete(commit)
        return Snapshot(name, commit, tree.id)

    def tip(self, branch: str | None) -> tuple[str, CommitId]:
        """Return the name and the newest commit of *branch*; raise as `snapshot` does."""
        return self._resolve(branch)

    def entries(self, snapshot: Snapshot) -> Iterator[Entry]:
        """Yield every file of the tree, streaming; links and submodules too. Raise `LimitExceeded` for too many."""
        return list_tree(self._view, snapshot.tree, most_files=self._most_files)

    def left_out(self, snapshot: Snapshot) -> Iterator[LeftOut]:
        """Yield nothing: a tree holds only its entries."""
        del snapshot
        return iter(())

    def read(self, blobs: Iterable[BlobId]) -> Iterator[tuple[BlobId, bytes]]:
        """Yield the content of *blobs* in their order; leave out one that is missing, damaged or over the limit."""
        return self._objects.read(blobs)

    def blob(self, blob: BlobId) -> bytes:
        """Return one blob; raise `NotFound` if it is missing, `LimitExceeded` if it is larger than the limit."""
        return self._objects.blob(blob)

    def blobs(self, blobs: Iterable[BlobId]) -> dict[BlobId, bytes]:
        """Return those of *blobs* that are there and within the limit, asked for all at once."""
        return self._objects.blobs(blobs)

    def locate(self, *, commit: CommitId, path: str) -> BlobId | None:
        """Return the blob that stands at *path* in *commit*, or None if no file does."""
        return locate(self._objects, self._view, commit=commit, path=path)

    def behind(self, *, branch: str, commit: CommitId) -> int | None:
        """Return how many commits *branch* ("": HEAD) has that *commit* lacks; None if the repository cannot tell."""
        try:
            _, tip = self._resolve(branch or None)
        except (NotFound, MalformedContent, InvalidInput, DeadlineExceeded):
            return None
        if tip == commit:
            return 0
        if (tip, commit) not in self._counts:
            done = proc.run(
                ("git", "rev-list", "--count", f"{commit}..{tip}", "--"), timeout=20, env=environment(self._view)
            )
            if done.code:
                return None
            self._counts = {(tip, commit): int(done.stdout)}
        return self._counts[tip, commit]

    def branches(self) -> list[str]:
        """Return the short names of the branches, own ones first, at most 10,000."""
        argv = ("git", "for-each-ref", f"--count={_MOST_REFS}", "--format=%(refname)", "refs/heads", "refs/remotes")
        done = proc.run(argv, timeout=20, env=environment(self._view))
        refs = done.stdout.decode("utf-8", "surrogateescape").splitlines()
        names = [ref.removeprefix("refs/heads/").removeprefix("refs/remotes/") for ref in refs]
        return [name for name in names if not name.endswith("/HEAD")]

    def close(self) -> None:
        """End the git processes."""
        self._objects.close()

    def _resolve(self, branch: str | None) -> tuple[str, CommitId]:
        return self._head() if branch is None else (branch, self._named(branch))

    def _head(self) -> tuple[str, CommitId]:
        head = self._directory.head()
        if is_id(head):
            if detached := self._commit(head):
                return "", detached
            raise self._incomplete(head)
        ref = head.removeprefix("ref:").strip()
        branch = ref.removeprefix("refs/heads/")
        if _BRANCH.fullmatch(ref) and (commit := self._commit(ref)):
            return branch, commit
        others = self.branches()
        if branch in others:
            raise self._incomplete(branch)
        if len(others) == 1:
            return others[0], self._named(others[0])
        if others:
            raise NotFound(f"HEAD names the branch {display(branch)!r}, which does not exist.", remedy=_choose(others))
        raise NotFound("The repository has no commits yet.", remedy="Commit something, then refresh.")

    def _named(self, branch: str) -> CommitId:
        if _BRANCH.fullmatch(branch) is None or ".." in branch or "@{" in branch:
            raise InvalidInput(f"{display(branch[:100])!r} cannot be the name of a branch.")
        whole = (branch,) if branch.startswith("refs/") or is_id(branch) else ()
        for ref in (
            f"refs/heads/{branch}",
            f"refs/remotes/{branch}",
            f"refs/remotes/origin/{branch}",
            f"refs/tags/{branch}",
            *whole,
        ):
            if commit := self._commit(ref):
                return commit
        known = self.branches()
        if not known:
            raise NotFound("The repository has no commits yet.", remedy="Commit something, then refresh.")
        if branch in known:
            raise self._incomplete(branch)
        close = difflib.get_close_matches(branch, known, n=5, cutoff=0.5) or known
        raise NotFound(f"The repository has no branch {display(branch)!r}.", remedy=_choose(close), branch=display(branch))

    def _commit(self, ref: str) -> CommitId | None:
        found = self._objects.info(f"{ref}^{{commit}}")
        return CommitId(found.id) if found else None

    def _incomplete(self, name: str) -> MalformedContent:
        remedy = "Run `git fsck` in it."
        if self._directory.borrows:
            remedy = "It borrows objects from another one, which is not followed: run `git repack -ad` in it."
        return MalformedContent(f"The repository lacks what {display(name[:40])!r} names.", remedy=remedy)


def list_tree(git_dir: Path, tree: str, *, most_files: int = MOST_FILES) -> Iterator[Entry]:
    """Yield every file below *tree*; raise `LimitExceeded` for more than *most_files*, or than so many names can be."""
    budget = Budget(most_files, what="files in the tree")
    names = Budget(most_files * _PATH_BYTES_A_FILE, what="bytes of file names in the tree")
    with Child(git_dir, ("ls-tree", "-r", "-z", "--long", "--full-tree", tree)) as child:
        for record in child.records(b"\0"):
            meta, _, path = record.partition(b"\t")
            mode, _, blob, size = meta.decode("ascii").split()
            if mode not in _MODES:
                mode = "100644"  # git once wrote 100664
            budget.spend()
            names.spend(len(path))
            yield Entry(os.fsdecode(path), BlobId(blob), int(size) if size.isdigit() else -1, cast("Mode", mode))


def locate(objects: Objects, git_dir: Path, *, commit: CommitId, path: str) -> BlobId | None:
    """Return the blob that stands at *path* in *commit*, or None if no file does."""
    parts = path.split("/")
    if not is_id(commit) or "\0" in path or len(path) > _LONGEST_PATH or any(part in {"", ".", ".."} for part in parts):
        return None
    name = f"{commit}:{path}"
    if "\n" in path:  # the persistent child reads lines
        done = proc.run(("git", "rev-parse", "--verify", "--quiet", os.fsencode(name)), timeout=20, env=environment(git_dir))
        name = done.stdout.decode("ascii", "replace").strip()
        if not is_id(name):
            return None
    found = objects.info(name)
    return BlobId(found.id) if found and found.type == "blob" else None


def _choose(names: list[str]) -> str:
    shown = ", ".join(display(name) for name in names[:5])
    return f"Choose one with --branch: {shown}{', …' if len(names) > 5 else ''}."
