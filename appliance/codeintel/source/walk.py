"""From a snapshot to the files that may be read: each is kept or left out with a reason, none is lost."""

from collections.abc import Iterator

from appliance.codeintel.source.base import Entry, LeftOut, Snapshot, Source
from appliance.codeintel.source.filters import judge
from appliance.config import Index


def survey(source: Source, snapshot: Snapshot, *, limits: Index) -> Iterator[Entry | LeftOut]:
    """Yield every file of *snapshot*: as an entry that may be read, or as left out by what the tree says of it.

    A path that a forged tree names twice is read once, and left out the other times.
    """
    yield from source.left_out(snapshot)
    seen: set[str] = set()
    for entry in source.entries(snapshot):
        if entry.path in seen:
            yield LeftOut(entry.path, "unsafe-path", "the tree names it more than once")
            continue
        seen.add(entry.path)
        yield judge(entry, limits=limits) or entry
