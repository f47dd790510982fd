"""Sources that stay open from one index to the next: to start the processes of git takes longer than to ask them."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from appliance.codeintel.source.base import Source
from appliance.ids import RepoId

_MOST: Final = 8


@dataclass(frozen=True, slots=True)
class _Kept:
    source: Source
    location: Path


class KeptSources:
    """The sources of the repositories that were read last. Used by one thread."""

    def __init__(self) -> None:
        self._kept: OrderedDict[RepoId, _Kept] = OrderedDict()

    @contextmanager
    def using(self, repo: RepoId, location: Path, opened: Callable[[], Source]) -> Iterator[Source]:
        """Hold the source of *repo* at *location*, *opened* if none is kept that is still what stands there.

        After an error it is closed: whatever was wrong with it must not last.
        """
        source = self._taken(repo, location) or opened()
        try:
            yield source
        except BaseException:
            source.close()
            raise
        self._kept[repo] = _Kept(source, location)
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)[1].source.close()

    def close(self) -> None:
        """Close all that are kept."""
        while self._kept:
            self._kept.popitem()[1].source.close()

    def _taken(self, repo: RepoId, location: Path) -> Source | None:
        kept = self._kept.pop(repo, None)
        if kept is None:
            return None
        if kept.location == location and kept.source.stands_at(location):
            return kept.source
        kept.source.close()
        return None
