"""The one form in which an entry is written, hashed and compared; and what keeps an entry small and without secrets."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final

from appliance.codeintel.source.secrets import masked
from appliance.contracts.tools import Json
from appliance.errors import LimitExceeded
from appliance.ids import MissionId
from appliance.orchestrator.missions.model import Entry, EntryKind

MOST_BYTES: Final = 256_000  # of one entry's data
# Longest string and longest list, tried in this order until the entry is small enough.
_BOUNDS: Final = ((16_000, 400), (4_000, 100), (1_000, 40), (200, 10))
_MARK: Final = "… [cut]"


def canonical(data: Json) -> str:
    """Return the JSON of *data* with sorted keys, no spaces and nothing beyond ASCII; raise `ValueError` for NaN."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False, default=_plain)


def digest(text: str) -> str:
    """Return the SHA-256 of *text*, in hex."""
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def link(
    *, mission: MissionId, seq: int, at: float, kind: EntryKind, agent: str, data: Mapping[str, Json], prev: str
) -> Entry:
    """Return the entry that follows the one with the hash *prev*; the first one follows ""."""
    said = canonical({"mission": mission, "seq": seq, "at": at, "kind": kind, "agent": agent, "data": data})
    return Entry(mission, seq, at, kind, agent, data, prev, digest(prev + said))


def line(entry: Entry) -> bytes:
    """Return *entry* as one line of canonical JSON, with ``prev`` and ``hash``."""
    fields: dict[str, Json] = {
        "mission": entry.mission,
        "seq": entry.seq,
        "at": entry.at,
        "kind": entry.kind,
        "agent": entry.agent,
        "data": entry.data,
        "prev": entry.prev,
        "hash": entry.hash,
    }
    return canonical(fields).encode("ascii")


def fitted(data: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return *data* as JSON gives it back, secrets masked, and small enough for an entry.

    What was cut is said under ``cut``, one sentence each. Raise `LimitExceeded` where cutting does not help.
    """
    clean = _masked(json.loads(canonical(data)))
    for characters, items in _BOUNDS:
        said: list[Json] = []
        bounded = _bounded(clean, characters, items, "", said)
        if not isinstance(bounded, dict):  # pragma: no cover - an object stays one
            continue
        if said:
            bounded["cut"] = [*_sentences(bounded.get("cut")), *said]
        if len(canonical(bounded)) <= MOST_BYTES:
            return bounded
    raise LimitExceeded(
        "A step is too large for the record.", remedy="Ask for less at once.", limit=MOST_BYTES, size=len(canonical(clean))
    )


def _plain(value: object) -> Json:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no JSON.")


def _masked(value: Json) -> Json:
    if isinstance(value, str):
        return masked(value.encode("utf-8", "surrogatepass"))[0].decode("utf-8", "surrogatepass")
    if isinstance(value, Mapping):
        return {key: _masked(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_masked(item) for item in value]
    return value


def _bounded(value: Json, characters: int, items: int, where: str, said: list[Json]) -> Json:
    if isinstance(value, str):
        if len(value) <= characters:
            return value
        said.append(f"{where or 'text'}: {len(value) - characters + len(_MARK)} of {len(value)} characters are left out.")
        return value[: characters - len(_MARK)] + _MARK
    if isinstance(value, Mapping):
        return {key: _bounded(item, characters, items, f"{where}.{key}".strip("."), said) for key, item in value.items()}
    if isinstance(value, Sequence):
        if len(value) > items:
            said.append(f"{where or 'list'}: {len(value) - items} of {len(value)} entries are left out.")
        return [_bounded(item, characters, items, where, said) for item in value[:items]]
    return value


def _sentences(cut: Json) -> list[Json]:
    return list(cut) if isinstance(cut, Sequence) and not isinstance(cut, str) else []
