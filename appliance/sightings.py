"""What the watcher saw change in plain folders, for the index that comes next.

An index may look at what was seen alone only if nothing else can have changed: all of the folder was watched since it was
looked through last, and everything that was seen since is named. In doubt it looks through all of the folder again.
"""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from appliance.base.clock import Clock
from appliance.codeintel.source.base import Changed
from appliance.ids import RepoId

MOST_PATHS: Final = 1_000  # of one repository; for more all of it is looked through
MOST_BYTES: Final = 100_000  # of their names together


@dataclass(slots=True)
class _Kept:
    root: str
    blind: frozenset[str]
    stands: tuple[int, int] | None  # which folder it is: another may come to its place with the one above, unseen
    looked: bool = False  # all of it was looked through since it is watched
    paths: set[str] = field(default_factory=set)
    size: int = 0
    seen_at: float = float("-inf")
    unconfirmed: bool = False  # an index looked at what was seen alone


class Sightings:
    """By repository, what changed since its index looked last. Safe to use from many threads.

    They are of this process alone, as is what a source knows of its folder: whatever becomes of a job, nothing is lost.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[RepoId, _Kept] = {}

    def begin(self, repo: RepoId, *, root: str, blind: Iterable[str]) -> None:
        """Note that from now on all that changes in the folder *root* is seen, but for what is in the *blind* folders."""
        kept = _Kept(root, frozenset(path[len(root) + 1 :] for path in blind), _standing(root))
        with self._lock:
            self._kept[repo] = kept

    def end(self) -> None:
        """Note that nothing is watched any more."""
        with self._lock:
            self._kept.clear()

    def saw(self, repo: RepoId, path: str) -> None:
        """Note that what is at *path*, in the folder of *repo*, changed."""
        with self._lock:
            if (kept := self._kept.get(repo)) is None:
                return
            kept.seen_at = self._clock.monotonic()
            name = path[len(kept.root) + 1 :]
            if name not in kept.paths:
                kept.paths.add(name)
                kept.size += len(name.encode("utf-8", "surrogateescape"))
            if not name or len(kept.paths) > MOST_PATHS or kept.size > MOST_BYTES:
                _doubt(kept)

    def doubt(self, repo: RepoId) -> None:
        """Let the next index of *repo* look through all of it."""
        with self._lock:
            if repo in self._kept:
                _doubt(self._kept[repo])

    @contextmanager
    def handed(self, repo: RepoId) -> Iterator[Changed | None]:
        """Hand what was seen of *repo* to the block, in which an index looks at it; None: at all of it.

        What is seen from then on, and after an error all of it, is for the next one.
        """
        with self._lock:
            kept, hint = self._kept.get(repo), None
            if kept is not None:
                if kept.looked and kept.stands == _standing(kept.root):
                    hint = Changed(frozenset(kept.paths | kept.blind), whole=True)
                kept.looked, kept.unconfirmed, kept.paths, kept.size = True, hint is not None, set(), 0
        try:
            yield hint
        except BaseException:
            self.doubt(repo)
            raise

    def unconfirmed(self, *, quiet: float) -> set[RepoId]:
        """Return, each once, what was indexed by what was seen alone, and where nothing was seen for *quiet* seconds."""
        until = self._clock.monotonic() - quiet
        with self._lock:
            found = {repo for repo, kept in self._kept.items() if kept.unconfirmed and kept.seen_at <= until}
            for repo in found:
                self._kept[repo].unconfirmed = False
        return found


def _standing(root: str) -> tuple[int, int] | None:
    try:
        status = Path(root).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _doubt(kept: _Kept) -> None:
    kept.looked, kept.paths, kept.size = False, set(), 0
