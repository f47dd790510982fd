"""Whether a record is as it was written."""

from collections.abc import Iterable, Mapping
from typing import Final

from appliance.orchestrator.missions.canonical import fitted, link
from appliance.orchestrator.missions.encoding import plain
from appliance.orchestrator.missions.model import ENDED, Entry, EntryKind, Mission, Verification

_ON_RECORD: Final[Mapping[EntryKind, tuple[tuple[str, str], ...]]] = {
    "begun": (("repos", "repo_names"), ("limits", "limits")),
    "ended": (("reason", "reason"), ("usage", "usage")),
}
"""What entries say that the row of their mission says too, each with its column."""


def verified(mission: Mission, entries: Iterable[Entry]) -> Verification:
    """Hold *entries* against their hashes, against each other, and against what the row of *mission* says of them.

    An entry that was edited, taken out, put in or moved breaks the chain where it stands; a tail that was cut off is missed
    by the row. Who can write both the record and the row, and computes all hashes anew, is not found out from the database
    alone: keep the head elsewhere, where that matters.
    """
    head, count, last = "", 0, None
    for entry in entries:
        if fault := _fault(entry, mission, seq=count + 1, prev=head):
            return _broken(mission, count + 1, fault)
        head, count, last = entry.hash, entry.seq, entry
    if count != mission.entries or head != mission.head:
        reason = f"The record ends with entry {count}; the mission wrote {mission.entries}."
        return _broken(mission, min(count, mission.entries) + 1, reason)
    if mission.state in ENDED and (last is None or last.kind != "ended" or last.data.get("state") != mission.state):
        return _broken(mission, count, f"The mission is {mission.state}, and its record does not say so.")
    return Verification(mission.id, whole=True, entries=count, head=head)


def _fault(entry: Entry, mission: Mission, *, seq: int, prev: str) -> str:
    """Return what is wrong with *entry*, which should be the one numbered *seq*, or ""."""
    if entry.seq != seq:
        return f"Entry {seq} is missing: entry {entry.seq} stands in its place."
    if entry.prev != prev:
        return f"Entry {seq} does not follow what stands before it."
    made = link(mission=mission.id, seq=seq, at=entry.at, kind=entry.kind, agent=entry.agent, data=entry.data, prev=prev)
    if made.hash != entry.hash:
        return f"Entry {seq} is not as it was written: its hash is another."
    if entry.kind == "begun" and entry.data.get("goal") != mission.goal:
        return "The goal of the mission is not the one that it began with."
    for said, column in _ON_RECORD.get(entry.kind, ()):
        if said in entry.data and fitted({said: plain(getattr(mission, column))})[said] != entry.data[said]:
            return f"The {said} of the mission is not what its record says."
    return ""


def _broken(mission: Mission, at: int, reason: str) -> Verification:
    return Verification(mission.id, whole=False, entries=mission.entries, head=mission.head, broken_at=at, reason=reason)
