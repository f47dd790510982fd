"""A git repository, read in place and never written: work tree, linked work tree or bare, whoever owns it."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from appliance.base import proc
from appliance.base.paths import display
from appliance.codeintel.repo_settings import fits
from appliance.codeintel.source import past, view, worktree
from appliance.codeintel.source.base import Changed, LeftOut, Snapshot
from appliance.codeintel.source.gitchild import environment
from appliance.codeintel.source.objects import is_id
from appliance.codeintel.source.past import Ancestor, Blamed, Commit, Together
from appliance.codeintel.source.stored import MOST_FILES, Stored
from appliance.errors import ApplianceError, DeadlineExceeded, InvalidInput, MalformedContent, NotFound
from appliance.ids import CommitId

_MOST_REFS = 10_000
_ABBREVIATED = re.compile(r"[0-9a-f]{7,64}")
_REMEMBERED = 100  # files of which is known what changed with them
_BRANCH = re.compile(r"(?!-)[^\x00-\x20\x7f~^:?*\[\\]{1,1024}")


class GitSource(Stored):
    """Implements `Source` on *directory*; *mirror* is a folder of ours for the view."""

    def __init__(
        self, directory: view.GitDirectory, *, mirror: Path, max_bytes: int, most_files: int = MOST_FILES, mask: bool = True
    ) -> None:
        super().__init__(view.build(directory, under=mirror), max_bytes=max_bytes, most_files=most_files, mask=mask)
        self._directory = directory
        self._mirror = mirror
        self._counts: dict[tuple[str, str], int] = {}
        self._together: dict[tuple[CommitId, str, int], Together] = {}

    def snapshot(self, branch: str | None, *, hint: Changed | None = None) -> Snapshot:
        """Return the newest state of *branch*: a branch, remote branch, tag, full ref or commit id."""
        del hint  # a commit names its tree
        name, commit = self._resolve(branch)
        tree = self._objects.info(f"{commit}^{{tree}}")
        if tree is None or tree.type != "tree":
            raise self._incomplete(commit)
        return Snapshot(name, commit, tree.id)

    def stands_at(self, location: Path) -> bool:
        """Return whether this is still what stands at *location*, and as safe to read as it was."""
        try:
            directory = view.find(location, known=self._directory)
        except ApplianceError:  # who opens it anew says what is wrong
            return False
        return directory == self._directory and view.build(directory, under=self._mirror) == self._git_dir

    def tip(self, branch: str | None) -> tuple[str, CommitId]:
        """Return the name and the newest commit of *branch*; raise as `snapshot` does."""
        return self._resolve(branch)

    def left_out(self, snapshot: Snapshot) -> Iterator[LeftOut]:
        """Yield nothing: a tree holds only its entries."""
        del snapshot
        return iter(())

    def behind(self, *, branch: str, commit: CommitId) -> int | None:
        """Return how many commits *branch* ("": HEAD) has that *commit* lacks; None if the repository cannot tell.

        A branch that was taken back, so that it lacks *commit* itself, counts as one.
        """
        try:
            _, tip = self._resolve(branch or None)
        except (NotFound, MalformedContent, InvalidInput, DeadlineExceeded):
            return None
        if tip == commit:
            return 0
        if (tip, commit) not in self._counts:
            done = proc.run(
                ("git", "rev-list", "--count", f"{commit}..{tip}", "--"), timeout=20, env=environment(self._git_dir)
            )
            if done.code:
                return None
            self._counts = {(tip, commit): max(1, int(done.stdout))}
        return self._counts[tip, commit]

    def dirty(self, *, branch: str) -> bool | None:
        """Return whether the work tree that has *branch* ("": a commit alone) holds changes of files that no commit has.

        False where *branch* is not what is checked out; None where git cannot tell, or takes too long.
        """
        work_tree = self._directory.work_tree
        try:
            checked_out, tip = self._resolve(None)
            if work_tree is None or checked_out != branch:
                return False
            return worktree.differs(self._git_dir, work_tree, index=self._directory.own / "index", commit=tip)
        except (NotFound, MalformedContent, InvalidInput, DeadlineExceeded):
            return None

    def commits(self, *, commit: CommitId, path: str, lines: tuple[int, int], most: int) -> list[Commit]:
        """Return the newest *most* commits back from *commit* that changed these *lines* of *path*."""
        return list(map(self._masked, past.commits(self._git_dir, commit, path, first=lines[0], last=lines[1], most=most)))

    def log(self, *, commit: CommitId, path: str, most: int) -> list[Commit]:
        """Return the newest *most* commits back from *commit* that changed *path*."""
        return list(map(self._masked, past.log(self._git_dir, commit, path, most=most)))

    def blame(self, *, commit: CommitId, path: str, lines: tuple[int, int]) -> list[Blamed]:
        """Return who made the *lines* of *path* what they are in *commit*."""
        found = past.blame(self._git_dir, commit, path, first=lines[0], last=lines[1])
        return [replace(each, commit=self._masked(each.commit)) for each in found]

    def ancestor(self, *, name: str, of: CommitId) -> Ancestor:
        """Return the commit *name* if *of* descends from it."""
        commit = self._commit(name) if _ABBREVIATED.fullmatch(name) else None
        if commit is None or not past.is_ancestor(self._git_dir, commit, of):
            raise NotFound(
                f"The commit {display(name[:80])!r} is none that {of[:12]} descends from.", remedy="Look at the log."
            )
        tree, parent = self._objects.info(f"{commit}^{{tree}}"), self._commit(f"{commit}^1")
        if tree is None:
            raise self._incomplete(commit)
        return Ancestor(commit, tree.id, parent or "")

    def together(self, *, commit: CommitId, path: str, most: int) -> Together:
        """Return what changed in the newest *most* commits that changed *path*."""
        key = (commit, path, most)
        known = self._together.get(key)
        if known is None:
            known = past.together(self._git_dir, commit, path, most=most)
            self._together = {**dict(list(self._together.items())[-_REMEMBERED:]), key: known}
        return known

    def branches(self) -> list[str]:
        """Return the short names of the branches, own ones first, at most 10,000."""
        refs = self._refs("--sort=refname", "refs/heads", "refs/remotes").decode("utf-8", "surrogateescape").splitlines()
        names = [ref.removeprefix("refs/heads/").removeprefix("refs/remotes/") for ref in refs]
        return [name for name in names if not name.endswith("/HEAD")]

    def fitting(self, patterns: Sequence[str]) -> list[str]:
        """Return the branches whose names fit one of *patterns*, and tags as ``refs/tags/…``, the newest commit first.

        A branch of the remote ``origin`` goes by its name alone, unless there is one of our own of that name.
        """
        if not patterns:
            return []
        refs = self._refs("--sort=-creatordate:unix", "refs/heads", "refs/remotes", "refs/tags")
        names: dict[str, None] = {}
        for ref in refs.decode("utf-8", "replace").splitlines():
            name = ref.removeprefix("refs/heads/").removeprefix("refs/remotes/").removeprefix("origin/")
            if "\ufffd" not in ref and not ref.endswith("/HEAD") and fits(name, patterns):
                names[name] = None
        return list(names)

    def _refs(self, *arguments: str) -> bytes:
        argv = ("git", "for-each-ref", f"--count={_MOST_REFS}", "--format=%(refname)", *arguments)
        done = proc.run(argv, timeout=20, env=environment(self._git_dir))
        if done.code:  # no list is not an empty one: whatever it would have named would be forgotten
            raise MalformedContent("Git could not list the branches.", remedy="Run `git fsck` in the repository.")
        return done.stdout

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

    def _masked(self, commit: Commit) -> Commit:
        return replace(commit, summary=self._shown(commit.summary.encode()).decode())

    def _commit(self, ref: str) -> CommitId | None:
        found = self._objects.info(f"{ref}^{{commit}}")
        return CommitId(found.id) if found else None

    def _incomplete(self, name: str) -> MalformedContent:
        remedy = "Run `git fsck` in it."
        if self._directory.borrows:
            remedy = "It borrows objects from another one, which is not followed: run `git repack -ad` in it."
        return MalformedContent(f"The repository lacks what {display(name[:40])!r} names.", remedy=remedy)


def _choose(names: list[str]) -> str:
    shown = ", ".join(display(name) for name in names[:5])
    return f"Choose one with --branch: {shown}{', …' if len(names) > 5 else ''}."
