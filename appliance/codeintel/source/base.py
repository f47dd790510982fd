"""What the index reads code from: a repository or a folder, at one exact commit.

Paths are ``str`` decoded with *surrogateescape*; blobs are git's own object ids, also for plain folders.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntFlag
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from appliance.codeintel.source.past import Ancestor, Blamed, Commit, Together
from appliance.codeintel.source.secrets import Secret
from appliance.ids import BlobId, CommitId

Mode = Literal["100644", "100755", "120000", "160000"]
Reason = Literal[
    "excluded",  # by the repository's settings, or by its .skelligignore
    "binary",  # holds NUL bytes and is not UTF-16
    "generated",  # says so itself
    "ignored",  # by .gitignore: folders only, in git it is not in the tree at all
    "lfs-pointer",  # the content lives elsewhere
    "long-line",  # minified, or data
    "nested-repository",  # a folder that has a git directory of its own
    "oversize",
    "secret",  # a file that people keep secrets in, or a private key
    "special",  # a pipe, socket or device, or a mounted file system that the kernel makes up
    "submodule",  # a commit of another repository
    "symlink",
    "unsafe-path",  # "..", empty or endless: no name that a file can have
    "unreadable",  # missing from the object store, damaged in it, or not permitted
    "vendored",  # somebody else's code, kept in the tree
]


class FileFlags(IntFlag):
    """What a path says about a file; fits one byte."""

    NONE = 0
    TEST = 1
    EXAMPLE = 2
    VENDORED = 4
    GENERATED = 8
    DOC = 16
    LEGACY = 32  # an older version of what stands beside it; this and those below are told by `store.standing`
    INTERNAL = 64
    HEADER = 128  # whose implementation stands beside it


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One exact state. ``branch`` is "" when HEAD is detached."""

    branch: str
    commit: CommitId
    tree: str


@dataclass(frozen=True, slots=True)
class Changed:
    """Paths, as the source has them, that somebody saw change. A folder stands for all that is in it.

    It spares a look at the rest only if it is ``whole``: then who watched vouches that nothing else changed since the source
    was looked at last.
    """

    paths: frozenset[str]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a snapshot. ``size`` is -1 where the object store does not hold the blob."""

    path: str
    blob: BlobId
    size: int
    mode: Mode


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file, or with a trailing slash a folder, that the index does not hold, and why."""

    path: str
    reason: Reason
    detail: str = ""
    beside: bool = False  # it is no file of the tree: the source left it out itself


@dataclass(frozen=True, slots=True)
class Change:
    """What stands at ``path`` now, None if nothing does. ``was``: something stood there before."""

    path: str
    entry: Entry | None
    was: bool


class Examined(NamedTuple):
    """The content of a blob, and the secrets that were found in it."""

    blob: BlobId
    content: bytes
    secrets: tuple[Secret, ...]


class Source(Protocol):
    """Where code comes from. Every method may be called from any thread.

    No content leaves it with a secret in it, unless the settings have it so: there is a mask over each.
    """

    def snapshot(self, branch: str | None, *, hint: Changed | None = None) -> Snapshot:
        """Return the newest state of *branch* (None: what HEAD names). *hint* may make it faster, never different.

        Raise `NotFound` for an unknown branch or a repository without commits, `MalformedContent` for a broken one.
        """

    def tip(self, branch: str | None) -> tuple[str, CommitId]:
        """Return the branch and commit that `snapshot` found last, or would find where that is cheap; raise as it does."""

    def fitting(self, patterns: Sequence[str]) -> list[str]:
        """Return the branches whose names fit one of *patterns*, and tags as ``refs/tags/…``, the newest commit first.

        Each is what `snapshot` takes. Raise `InvalidInput` where there can be none.
        """

    def entries(self, snapshot: Snapshot) -> Iterator[Entry]:
        """Yield every file of *snapshot*, sorted by path as git sorts it; links and submodules too."""

    def changes(self, before: str, snapshot: Snapshot, *, most: int) -> list[Change]:
        """Return what *snapshot* has otherwise than the tree *before*, in the order of paths.

        Raise `LimitExceeded` for more than *most* files, `MalformedContent` where it cannot be told for sure.
        """

    def left_out(self, snapshot: Snapshot) -> Iterator[LeftOut]:
        """Yield what stands beside the entries but was not taken in. A git repository has none."""

    def read(self, blobs: Iterable[BlobId]) -> Iterator[tuple[BlobId, bytes]]:
        """Yield the content of *blobs* in their order, streaming, without those that are missing, damaged or too large."""

    def examine(self, blobs: Sequence[BlobId]) -> Iterator[Examined]:
        """Yield what `read` does of *blobs*, and with each which secrets were found in it."""

    def blob(self, blob: BlobId) -> bytes:
        """Return one blob.

        Raise `NotFound` if it is missing, `LimitExceeded` if it is over the limit, `MalformedContent` if it is damaged.
        """

    def blobs(self, blobs: Iterable[BlobId]) -> dict[BlobId, bytes]:
        """Return those of *blobs*, at most 400, that are there, whole and within the limit: faster than one by one."""

    def locate(self, *, commit: CommitId, path: str) -> BlobId | None:
        """Return the blob that stands at *path* in *commit*, or None if no file does.

        Raise `NotFound` for a file that people keep secrets in: nobody is to read it here.
        """

    def located(self, *, commit: CommitId, paths: Sequence[str]) -> dict[str, BlobId | None]:
        """Return what `locate` does for each of *paths*, asked for all at once; None for a file of secrets."""

    def behind(self, *, branch: str, commit: CommitId) -> int | None:
        """Return how many commits *branch* has that *commit* lacks; None if the repository cannot tell."""

    def dirty(self, *, branch: str) -> bool | None:
        """Return whether the work tree that has *branch* ("": a commit alone) holds changes of files that no commit has.

        None if that cannot be told. New files that git was not told of do not count.
        """

    def commits(self, *, commit: CommitId, path: str, lines: tuple[int, int], most: int) -> list[Commit]:
        """Return the newest *most* commits back from *commit* that changed the *lines*, first to last, of *path*.

        Raise `InvalidInput` where nobody's changes are kept, `DeadlineExceeded` if that takes too long.
        """

    def log(self, *, commit: CommitId, path: str, most: int) -> list[Commit]:
        """Return the newest *most* commits back from *commit* that changed *path*, be it a folder; raise as `commits`."""

    def blame(self, *, commit: CommitId, path: str, lines: tuple[int, int]) -> list[Blamed]:
        """Return who made the *lines*, first to last, of *path* what they are in *commit*; raise as `commits` does."""

    def tree(self, *, commit: CommitId) -> Snapshot:
        """Return *commit* as a state; raise `NotFound` where the source has no such commit."""

    def ancestor(self, *, name: str, of: CommitId) -> Ancestor:
        """Return the commit *name*, an id or how one begins, that *of* descends from; raise `NotFound` if it does not."""

    def together(self, *, commit: CommitId, path: str, most: int) -> Together:
        """Return what changed in the newest *most* commits that changed *path*; raise as `commits` does."""

    def stands_at(self, location: Path) -> bool:
        """Return whether this is still what stands at *location*, and as safe to read as it was."""

    def close(self) -> None:
        """End child processes. The source cannot be used afterwards."""
