"""Missions, line by line on a terminal."""

import time

from rich.console import Console
from rich.table import Table
from rich.text import Text

from appliance.cli import output
from appliance.cli.missions import Approval, Entry, Mission

_GOAL = 72  # characters of a goal in a list
_PASSING = frozenset({"asked_model", "called_tool", "evidence", "sentence", "struck"})  # what comes of it is told or shown


def listing(missions: list[Mission]) -> Table:
    """Return the table of *missions*."""
    table = output.table("mission", "state", "age", "repositories", "goal")
    for each in missions:
        goal = " ".join(each.goal.split())
        goal = goal if len(goal) <= _GOAL else f"{goal[: _GOAL - 2]} …"
        table.add_row(each.id, output.state(each.state), age(each.created_at), ", ".join(each.repo_names), Text(goal))
    return table


def age(at: float) -> str:
    """Return how long ago the moment *at* was."""
    seconds = max(0.0, time.time() - at)
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} s"


def head(screen: Console, mission: Mission) -> None:
    """Show what *mission* is and how it stands."""
    screen.print(Text.assemble((mission.id, "bold"), "  ", output.state(mission.state), f"  {mission.reason}".rstrip()))
    screen.print(Text(f"  goal          {mission.goal}"))
    screen.print(Text(f"  repositories  {', '.join(mission.repo_names)}"))
    screen.print(Text(f"  asked         {age(mission.created_at)} ago by {mission.asked_by}"))
    screen.print(Text(f"  used          {used(mission)}"))
    screen.print(Text(f"  record        {mission.entries:,} entries, head {mission.head[:16] or 'none'}"))


def used(mission: Mission) -> str:
    """Return what *mission* used, in one line."""
    spent = mission.usage
    tokens = spent.prompt_tokens + spent.completion_tokens
    calls = f"{output.counted(spent.model_calls, 'model call')}, {output.counted(spent.tool_calls, 'tool call')}"
    return f"{calls}, {output.counted(tokens, 'token')}, {spent.seconds:.1f} s" + (
        f", {mission.model}" if mission.model else ""
    )


def is_passing(entry: Entry) -> bool:
    """Return whether what comes of *entry* is told, or shown, anyway."""
    return entry.kind in _PASSING


def step(entry: Entry, *, begun_at: float) -> Text:
    """Return *entry* as a line; the mission began at *begun_at*."""
    style = {"ended": "bold", "paused": "yellow", "asked_approval": "yellow", "interrupted": "yellow"}.get(entry.kind, "")
    when, who = f"{entry.at - begun_at:>7.1f} s  ", f"{entry.agent or 'mission':<11}  "
    return Text.assemble((when, "dim"), (who, "cyan"), (entry.line, style))


def question(approval: Approval) -> str:
    """Return what *approval* asks, in one line."""
    why = f" ({approval.why})" if approval.why else ""
    return f"{approval.what} {approval.arguments}{why}"


def waiting(approval: Approval) -> Text:
    """Return the line that says what *approval* asks and how it is answered."""
    how = f"`skellig mission approve {approval.id}` lets it, `skellig mission reject {approval.id}` does not."
    return Text(f"{approval.run} waits for a yes to {question(approval)}: {how}", style="yellow")
