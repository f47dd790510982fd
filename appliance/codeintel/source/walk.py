"""From a snapshot to the files that may be read: each is kept or left out with a reason, none is lost."""

import os
from collections.abc import Iterator
from dataclasses import replace

from appliance.codeintel.source.base import Entry, LeftOut, Snapshot, Source
from appliance.codeintel.source.filters import judge
from appliance.codeintel.source.rules import Rules
from appliance.config import Index


def survey(source: Source, snapshot: Snapshot, *, limits: Index, rules: Rules) -> Iterator[Entry | LeftOut]:
    """Yield every file of *snapshot*: as an entry that may be read, or as left out by *rules* or what the tree says of it.

    A path that a forged tree names twice is read once, and left out the other times. To know that without all names in
    memory, the order is held that git gives to every tree: what stands before its time is left out.
    """
    yield from beside(source, snapshot)
    last = b""
    for entry in source.entries(snapshot):
        name = os.fsencode(entry.path)
        if name <= last:
            yield LeftOut(entry.path, "unsafe-path", "the tree names it twice, or out of git's order")
            continue
        last = name
        yield judged(entry, limits=limits, rules=rules) or entry


def beside(source: Source, snapshot: Snapshot) -> Iterator[LeftOut]:
    """Yield what *source* left out itself, marked so."""
    return (replace(item, beside=True) for item in source.left_out(snapshot))


def judged(entry: Entry, *, limits: Index, rules: Rules) -> LeftOut | None:
    """Return why *entry* is left out by *rules* or by what the tree says of it, None if it may be read."""
    left_out = rules.judge(entry.path) or judge(entry, limits=limits)
    if left_out is not None and left_out.reason == "submodule" and (address := rules.module(entry.path)):
        return replace(left_out, detail=f"{left_out.detail} of {address}")
    return left_out
