"""Trees and blobs of one git directory: what reading a repository and reading the copy of a folder have in common."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import cast, get_args

from appliance.base import proc
from appliance.base.budget import Budget
from appliance.base.paths import display
from appliance.codeintel.source.base import Change, Entry, Examined, Mode, Snapshot
from appliance.codeintel.source.gitchild import Child, environment
from appliance.codeintel.source.objects import Objects, is_id
from appliance.codeintel.source.places import Places
from appliance.codeintel.source.secrets import is_secret_file, masked
from appliance.codeintel.source.trees import Trees
from appliance.errors import NotFound
from appliance.ids import BlobId, CommitId

MOST_FILES = 2_000_000
_PATH_BYTES_A_FILE = 100  # of that many files; a tree of a dozen objects can unfold into names of gigabytes
_LONGEST_PATH = 4096
_FEW = 300  # blobs: to start processes for so few takes longer than to read them
_AT_ONCE = 20  # of them in memory
_MODES = frozenset(get_args(Mode))


class Stored:
    """The part of `Source` that asks *git_dir* alone; *max_bytes* is the largest blob read.

    A tree of more than *most_files* files is refused: one of a few objects can name more than there are atoms.
    """

    def __init__(self, git_dir: Path, *, max_bytes: int, most_files: int = MOST_FILES, mask: bool = True) -> None:
        self._git_dir = git_dir
        self._objects = Objects(git_dir, max_bytes=max_bytes)
        self._places = Places(git_dir, self._objects)
        self._trees = Trees(git_dir)
        self._most_files = most_files
        self._mask = mask

    def tree(self, *, commit: CommitId) -> Snapshot:
        """Return *commit* as a state; raise `NotFound` where there is no such commit."""
        found = self._objects.info(f"{commit}^{{tree}}") if is_id(commit) else None
        if found is None or found.type != "tree":
            raise NotFound(
                f"There is no commit {display(commit[:80])!r}.", remedy="It may have been rewritten: index again."
            )
        return Snapshot("", commit, found.id)

    def entries(self, snapshot: Snapshot) -> Iterator[Entry]:
        """Yield every file of the tree, streaming; links and submodules too.

        Raise `LimitExceeded` for too many, or for longer names than so many can have.
        """
        budget = Budget(self._most_files, what="files in the tree")
        names = Budget(self._most_files * _PATH_BYTES_A_FILE, what="bytes of file names in the tree")
        with Child(self._git_dir, ("ls-tree", "-r", "-z", "--long", "--full-tree", snapshot.tree)) as child:
            for record in child.records(b"\0"):
                meta, _, path = record.partition(b"\t")
                mode, _, blob, size = meta.decode("ascii").split()
                budget.spend()
                names.spend(len(path))
                yield Entry(os.fsdecode(path), BlobId(blob), int(size) if size.isdigit() else -1, _mode(mode))

    def changes(self, before: str, snapshot: Snapshot, *, most: int) -> list[Change]:
        """Return what *snapshot* has otherwise than the tree *before*, in the order of paths.

        Raise `LimitExceeded` for more than *most* files, `MalformedContent` where it cannot be told for sure.
        """
        found = self._trees.differences(before, snapshot.tree, most=most)
        sizes = self._objects.sizes([BlobId(each.blob) for each in found if each.mode])
        return [
            Change(each.path, Entry(each.path, BlobId(each.blob), sizes.get(each.blob, -1), _mode(each.mode)), was=each.was)
            if each.mode
            else Change(each.path, None, was=each.was)
            for each in found
        ]

    def read(self, blobs: Iterable[BlobId]) -> Iterator[tuple[BlobId, bytes]]:
        """Yield the content of *blobs* in their order; leave out one that is missing, damaged or over the limit."""
        return ((blob, self._shown(content)) for blob, content in self._objects.read(blobs))

    def examine(self, blobs: Sequence[BlobId]) -> Iterator[Examined]:
        """Yield what `read` does, and with each which secrets were found in it; a few blobs start no processes."""
        for blob, content in self._objects.read(blobs) if len(blobs) > _FEW else self._small(blobs):
            hidden, secrets = masked(content)
            yield Examined(blob, hidden if self._mask else content, secrets)

    def _small(self, blobs: Sequence[BlobId]) -> Iterator[tuple[BlobId, bytes]]:
        for start in range(0, len(blobs), _AT_ONCE):
            yield from self._objects.blobs(blobs[start : start + _AT_ONCE]).items()

    def blob(self, blob: BlobId) -> bytes:
        """Return one blob; raise `NotFound` if it is missing, `LimitExceeded` if it is larger than the limit."""
        return self._shown(self._objects.blob(blob))

    def blobs(self, blobs: Iterable[BlobId]) -> dict[BlobId, bytes]:
        """Return those of *blobs* that are there and within the limit, asked for all at once."""
        return {blob: self._shown(content) for blob, content in self._objects.blobs(blobs).items()}

    def locate(self, *, commit: CommitId, path: str) -> BlobId | None:
        """Return the blob that stands at *path* in *commit*, or None if no file does; `NotFound` for a file of secrets."""
        if not is_id(commit) or not _is_path(path):
            return None
        if self._mask and is_secret_file(path):
            raise NotFound(
                f"{display(path)!r} is a file that people keep secrets in: it is not shown.",
                remedy="The setting index.mask_secrets decides that.",
                path=path,
            )
        name = f"{commit}:{path}"
        if "\n" in path:  # the persistent child reads lines
            argv = ("git", "rev-parse", "--verify", "--quiet", os.fsencode(name))
            done = proc.run(argv, timeout=20, env=environment(self._git_dir))
            name = done.stdout.decode("ascii", "replace").strip()
            if not is_id(name):
                return None
        found = self._objects.info(name)
        return BlobId(found.id) if found and found.type == "blob" else None

    def located(self, *, commit: CommitId, paths: Sequence[str]) -> dict[str, BlobId | None]:
        """Return what `locate` does for each of *paths*, asked for all at once; None for a file of secrets."""
        found: dict[str, BlobId | None] = dict.fromkeys(paths)
        shown = [path for path in found if _is_path(path) and not (self._mask and is_secret_file(path))]
        plain = [path for path in shown if "\n" not in path] if is_id(commit) else []
        found |= self._places.located(commit, plain) if plain else {}
        return found | {path: self.locate(commit=commit, path=path) for path in shown if "\n" in path}

    def _shown(self, content: bytes) -> bytes:
        return masked(content)[0] if self._mask else content

    def close(self) -> None:
        """End the git processes."""
        self._objects.close()
        self._trees.close()


def _is_path(path: str) -> bool:
    parts = path.split("/")
    return "\0" not in path and len(path) <= _LONGEST_PATH and not any(part in {"", ".", ".."} for part in parts)


def _mode(mode: str) -> Mode:
    return cast("Mode", mode if mode in _MODES else "100644")  # git once wrote 100664
