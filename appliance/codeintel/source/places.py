"""Which blob stands at which path of a commit, told from trees that are remembered: what an id names never changes.

What can change is whether the repository still has the commit: histories are rewritten, and what is lost is pruned. So each
time it is looked at whether anything came to or went from where its objects are, and if so git is asked anew.
"""

import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from appliance.codeintel.source.objects import Objects
from appliance.ids import BlobId, CommitId

_MOST_COMMITS: Final = 64
_MOST_ENTRIES: Final = 100_000  # of the trees that are remembered: about 20 MB
_LARGEST: Final = 1 << 20  # bytes of a tree; what is in a larger one is asked of git each time
_SETTLED_NS: Final = 1_000_000_000  # a folder that changed so lately may change again and look the same
_ENTRY: Final = {size: re.compile(rb"([0-7]+) ([^\0]+)\0((?s:.{%d}))" % size) for size in (20, 32)}  # by bytes of an id
_FOLDER: Final = b"40000"
_NO_FILE: Final = frozenset({b"", _FOLDER, b"160000"})
_NOTHING: Final = (b"", b"")
_Look = tuple[tuple[int, int, int], ...]
_Tree = Mapping[bytes, tuple[bytes, bytes]]  # by name the mode and the id


@dataclass(frozen=True, slots=True)
class _Root:
    """The tree of a commit, and how the folders of objects looked when git last said that the commit is there.

    ``settled``: they had looked so for a while, so that with the next change they look otherwise.
    """

    tree: bytes
    look: _Look
    settled: bool


class Places:
    """Looks into the trees that *objects* has in *git_dir*. Safe to use from many threads."""

    def __init__(self, git_dir: Path, objects: Objects) -> None:
        self._objects = objects
        self._folder = os.fsencode(git_dir / "objects")
        self._lock = threading.Lock()
        self._roots: OrderedDict[CommitId, _Root] = OrderedDict()
        self._trees: OrderedDict[bytes, _Tree] = OrderedDict()
        self._entries = 0

    def located(self, commit: CommitId, paths: Sequence[str]) -> dict[str, BlobId | None]:
        """Return the blob at each of *paths* in *commit*; None where no file stands, or the commit is not there any more.

        *commit* is a whole id, and the paths are such as stand in trees, without a line end.
        """
        found: dict[str, BlobId | None] = dict.fromkeys(paths)
        root = self._root(commit)
        ways = [] if root is None else [(path, root, path.encode("utf-8", "surrogateescape").split(b"/")) for path in found]
        unread: list[str] = []
        depth = 0
        while ways:
            trees = self._read({tree for _, tree, _ in ways})
            further = []
            for path, tree, parts in ways:
                mode, name = trees[tree].get(parts[depth], _NOTHING) if tree in trees else _NOTHING
                if tree not in trees:
                    unread.append(path)
                elif depth + 1 < len(parts):
                    further += [(path, name, parts)] if mode == _FOLDER else []
                elif mode not in _NO_FILE:
                    found[path] = BlobId(name.hex())
            ways, depth = further, depth + 1
        return found | self._asked(commit, unread)

    def _root(self, commit: CommitId) -> bytes | None:
        look = self._look(commit)
        settled = max(changed for _, _, changed in look) < time.time_ns() - _SETTLED_NS
        with self._lock:
            known = self._roots.get(commit)
        same = known is not None and known.look == look
        if known is not None and same and known.settled:
            return known.tree
        if known is not None and (settled or not same):
            self._objects.renew()
        info = self._objects.info(f"{commit}^{{tree}}")
        with self._lock:
            self._roots.pop(commit, None)
            if info is None or info.type != "tree":
                return None
            root = self._roots[commit] = _Root(bytes.fromhex(info.id), look, settled)
            while len(self._roots) > _MOST_COMMITS:
                self._roots.popitem(last=False)
        return root.tree

    def _look(self, commit: CommitId) -> _Look:
        """Return how the folders look that *commit* can be in: that of the packs, and its own."""
        return _seen(self._folder + b"/pack"), _seen(self._folder + b"/" + commit[:2].encode())

    def _read(self, wanted: Iterable[bytes]) -> dict[bytes, _Tree]:
        """Return those of the trees *wanted* that are there, and not too large."""
        with self._lock:
            known = {tree: self._trees[tree] for tree in wanted if tree in self._trees}
            for tree in known:
                self._trees.move_to_end(tree)
        missing = [tree.hex() for tree in wanted if tree not in known]
        if missing:
            contents = self._objects.trees(missing, most=_LARGEST)
            read = {bytes.fromhex(name): _entries(content, len(name) // 2) for name, content in contents.items()}
            self._keep(read)
            known |= read
        return known

    def _keep(self, read: Mapping[bytes, _Tree]) -> None:
        with self._lock:
            for tree, entries in read.items():
                if tree not in self._trees:
                    self._entries += 1 + len(entries)
                self._trees[tree] = entries
            while self._entries > _MOST_ENTRIES:
                self._entries -= 1 + len(self._trees.popitem(last=False)[1])

    def _asked(self, commit: CommitId, paths: Sequence[str]) -> dict[str, BlobId | None]:
        infos = self._objects.infos([f"{commit}:{path}" for path in paths]) if paths else []
        return {
            path: BlobId(info.id) if info and info.type == "blob" else None for path, info in zip(paths, infos, strict=True)
        }


def _entries(content: bytes, size: int) -> _Tree:
    return {entry[2]: (entry[1], entry[3]) for entry in _ENTRY[size].finditer(content)}


def _seen(folder: bytes) -> tuple[int, int, int]:
    try:
        status = os.stat(folder)  # noqa: PTH116 - a thousand times a second
    except OSError:
        return 0, 0, 0
    return status.st_dev, status.st_ino, status.st_mtime_ns
