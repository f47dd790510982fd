"""The record of one whole mission, kept so that a change of what missions do is noticed.

``python -m tests.support.golden_mission`` writes it anew. Raise `procedure.RECIPE` first: missions that are on record
somewhere were made by the old one, and cannot be replayed by the new.
"""

import asyncio
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import msgspec

from appliance.orchestrator.missions import canonical
from appliance.orchestrator.missions.model import Entry, Mission
from tests.support.missioned import Field, Scripted, replies
from tests.support.missions import Going

GOLDEN = Path(__file__).parents[1] / "unit" / "orchestrator" / "missions" / "golden.json"
_GOAL = "Who calls verify? How is the digest of a model compared with the catalogue?"
_CAPTION = "`ModelStore.verify` compares the digest of the installed model with the one in the catalogue."


def golden() -> tuple[Mission, list[Entry]]:
    """Return the mission, and its record."""
    kept = json.loads(GOLDEN.read_text(encoding="ascii"))
    return msgspec.convert(kept["mission"], Mission), [Entry(**each) for each in kept["entries"]]


def main() -> None:
    """Make the mission and keep it."""
    with tempfile.TemporaryDirectory() as folder:
        field = Field(Path(folder) / "shop")
        place = field.place(Path(folder), Scripted(replies(_CAPTION, "`shorten` calls `ModelStore.verify` for the digest.")))
        mission = asyncio.run(place.runner.run(place.ask(_GOAL).id, stopping=Going()))
        entries = [json.loads(line) for line in place.desk.record(mission.id)]
        place.close()
        field.close()
    row = msgspec.to_builtins(replace(mission, answer=None))
    GOLDEN.write_text(canonical.canonical({"mission": row, "entries": entries}), encoding="ascii")
    sys.stdout.write(f"{GOLDEN}: {len(entries)} entries, {GOLDEN.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
