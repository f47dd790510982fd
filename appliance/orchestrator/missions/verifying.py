"""Whether a record is as it was written."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from appliance.contracts.tools import Json
from appliance.orchestrator.missions.canonical import fitted, link
from appliance.orchestrator.missions.encoding import plain
from appliance.orchestrator.missions.facts import FIRST_RECIPE, KEY, NAMES, facts
from appliance.orchestrator.missions.model import ENDED, Entry, EntryKind, Mission, MissionState, Verification

_ON_RECORD: Final[Mapping[EntryKind, tuple[tuple[str, str], ...]]] = {
    "begun": (("goal", "goal"), ("repos", "repo_names"), ("limits", "limits")),
    "ended": (("reason", "reason"), ("usage", "usage")),
}
"""What entries of any recipe say that the row of their mission says too, each with its column."""
_LAST: Final[Mapping[MissionState, frozenset[EntryKind]]] = {
    "paused": frozenset({"paused"}),
    "waiting": frozenset({"asked_approval"}),
    **dict.fromkeys(ENDED, frozenset[EntryKind]({"ended"})),
}
"""Which entry a record ends with whose mission stands still."""


def verified(mission: Mission, entries: Iterable[Entry]) -> Verification:
    """Hold *entries* against their hashes, against each other, and against what the row of *mission* says.

    An entry that was edited, taken out, put in or moved breaks the chain where it stands; a tail that was cut off is missed
    by the row. Who can write both the record and the row, and computes all hashes anew, is not found out from the database
    alone: keep the head elsewhere, where that matters.
    """
    head, last = "", list[Entry]()
    for entry in entries:
        seq = len(last) + 1
        if fault := _fault(entry, mission, seq=seq, prev=head):
            return _broken(mission, seq, fault)
        head = entry.hash
        last.append(entry)
    count = len(last)
    if count != mission.entries or head != mission.head:
        reason = f"The record ends with entry {count}; the mission wrote {mission.entries}."
        return _broken(mission, min(count, mission.entries) + 1, reason)
    if reason := _misstated(mission, last[-1] if last else None):
        return _broken(mission, count, reason)
    return Verification(mission.id, whole=True, entries=count, head=head, uncovered=_uncovered(last))


def _fault(entry: Entry, mission: Mission, *, seq: int, prev: str) -> str:
    """Return what is wrong with *entry*, which should be the one numbered *seq*, or ""."""
    if entry.seq != seq:
        return f"Entry {seq} is missing: entry {entry.seq} stands in its place."
    if entry.prev != prev:
        return f"Entry {seq} does not follow what stands before it."
    made = link(mission=mission.id, seq=seq, at=entry.at, kind=entry.kind, agent=entry.agent, data=entry.data, prev=prev)
    if made.hash != entry.hash:
        return f"Entry {seq} is not as it was written: its hash is another."
    return _contradiction(entry, mission) if entry.kind in _ON_RECORD else ""


def _contradiction(entry: Entry, mission: Mission) -> str:
    """Return what *entry*, one of `_ON_RECORD`, says of *mission* that its row does not, or ""."""
    for said, column in _ON_RECORD[entry.kind]:
        if said in entry.data and _kept(said, plain(getattr(mission, column))) != entry.data[said]:
            return _differs(said)
    row, stated = fitted(facts(mission))[KEY], entry.data.get(KEY)
    if isinstance(stated, Mapping) and isinstance(row, Mapping):
        return next((_differs(name) for name in NAMES if stated.get(name) != row[name]), "")
    recipe = entry.data.get("recipe")
    holds = KEY in entry.data or (isinstance(recipe, int) and recipe >= FIRST_RECIPE)
    return f"Entry {entry.seq} does not hold what the mission was asked for, as its recipe has it." if holds else ""


def _misstated(mission: Mission, last: Entry | None) -> str:
    """Return what the row of *mission* says of how it stands that its *last* entry does not, or ""."""
    kind, state = last.kind if last is not None else "", mission.state
    if kind not in _LAST.get(state, {kind}) or (kind in {"paused", "ended"} and state not in _LAST):
        return f"The mission is {state}, and its record does not say so."
    if last is None or state not in _LAST:
        return _differs("reason") if mission.reason else _differs("ended_at") if mission.ended_at is not None else ""
    if state in ENDED and last.data.get("state") != state:
        return f"The mission is {state}, and its record does not say so."
    if _kept("reason", mission.reason) != last.data.get("reason"):
        return _differs("reason")
    return "" if mission.ended_at == (last.at if state in ENDED else None) else _differs("ended_at")


def _uncovered(entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return what the row says and none of *entries* holds."""
    if any(KEY in entry.data for entry in entries if entry.kind in _ON_RECORD):
        return ()
    held = {column for entry in entries for said, column in _ON_RECORD.get(entry.kind, ()) if said in entry.data}
    return tuple(name for name in NAMES if name not in held)


def _kept(name: str, value: Json) -> Json:
    """Return *value* as an entry keeps it under *name*."""
    return fitted({name: value})[name]


def _differs(name: str) -> str:
    return f"The {name} of the mission is not what its record says."


def _broken(mission: Mission, at: int, reason: str) -> Verification:
    return Verification(mission.id, whole=False, entries=mission.entries, head=mission.head, broken_at=at, reason=reason)
