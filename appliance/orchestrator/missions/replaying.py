"""A mission run again from its record alone: no model, no index, no tool and no clock are at hand."""

from collections.abc import Sequence

from appliance.orchestrator.missions.journal import Diverged, Journal
from appliance.orchestrator.missions.model import Entry, Mission, Replay
from appliance.orchestrator.missions.procedure import RECIPE, Procedure
from appliance.orchestrator.missions.runner import conclude


async def replayed(mission: Mission, entries: Sequence[Entry], *, procedure: Procedure) -> Replay:
    """Take every step of *mission* again, write it anew in memory, and compare it byte for byte with what is stored.

    A record of another recipe takes other steps: that is said, and it is not the same.
    """
    begun = entries[0].data.get("recipe") if entries and entries[0].kind == "begun" else RECIPE
    if begun != RECIPE:
        reason = f"It was made by recipe {begun} of missions, and this version has recipe {RECIPE}: only verify can tell."
        return Replay(mission.id, same=False, entries=0, head="", differs_at=1, reason=reason)
    journal = Journal(mission.id, past=entries, tail=None)
    halted = await conclude(journal, mission, procedure)
    count, head = (0, "") if journal.last is None else (journal.last.seq, journal.last.hash)
    if isinstance(halted, Diverged):
        return Replay(mission.id, same=False, entries=count, head=head, differs_at=halted.seq, reason=str(halted))
    if count != mission.entries or head != mission.head:
        reason = f"The mission ends at entry {count}, and its record has {mission.entries}."
        return Replay(mission.id, same=False, entries=count, head=head, differs_at=count + 1, reason=reason)
    return Replay(mission.id, same=True, entries=count, head=head)
