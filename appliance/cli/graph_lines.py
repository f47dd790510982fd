"""What the graph says, line by line on a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from appliance.cli import output
from appliance.cli.graphs import (
    Call,
    Calls,
    Definition,
    History,
    Hop,
    Impact,
    Listing,
    Meanings,
    Outline,
    Reached,
    Reference,
    References,
    Way,
)
from appliance.cli.search import freshness


def meanings(screen: Console, found: Meanings, offset: int) -> None:
    """Show definitions, each with its head."""
    for each in found.definitions:
        sure = "" if each.confidence >= 1 else f"  {each.how} {each.confidence:.2f}"
        what = f"  {each.kind}, {each.repo_name} {each.path}:{each.start_line}"
        screen.print(Text.assemble((each.symbol, "bold"), what, (sure, "dim")))
        if each.signature:
            screen.print(Text(f"    {each.signature}", style="dim"))
    shown = len(found.definitions)
    foot(screen, f"{shown} of {output.counted(found.total, 'definition')}", found, shown=shown, offset=offset)


def references(screen: Console, found: References, offset: int) -> None:
    """Show uses, each with its line."""
    _define(screen, found.definitions)
    for each in found.references:
        how = f"  {each.kind}  {each.how} {each.confidence:.2f}"
        where, inside = _place(each, found), each.inside or "top level"
        screen.print(Text.assemble("  ", (where, "bold"), "  ", (inside, "cyan"), (how, "dim")))
        screen.print(Text(f"      {each.text.strip()}", style="dim"))
    shown, kinds = len(found.references), output.joined(list(found.kinds.items()))
    what = f"{shown} of {output.counted(found.total, 'use')}{f' ({kinds})' if kinds else ''}"
    foot(screen, what, found, shown=shown, offset=offset)


def calls(screen: Console, found: Calls, offset: int) -> None:
    """Show calls, each with its line."""
    _define(screen, found.definitions)
    for call in found.calls:
        screen.print(_line(call, found))
        screen.print(Text(f"      {call.text.strip()}", style="dim"))
    shown = len(found.calls)
    foot(screen, f"{shown} of {output.counted(found.total, 'call')}", found, shown=shown, offset=offset)


def impact(screen: Console, found: Impact, offset: int) -> None:
    """Show what a change reaches, the nearest first, and what changed with it before."""
    _define(screen, found.definitions)
    for each in found.reached:
        test = "  test" if each.test else ""
        where, who = _place(each, found), each.symbol or "top level"
        how = f"  through {each.via}{test}  {each.confidence:.2f}"
        screen.print(Text.assemble("  ", (f"{each.steps}  {where}", "bold"), "  ", (who, "cyan"), (how, "dim")))
    for other in found.together:
        screen.print(Text(f"  changed with it {other.times} of {other.commits} times: {other.path}", style="dim"))
    shown, least = len(found.reached), "at least " if found.cut else ""
    what = f"{shown} of {least}{output.counted(found.total, 'place')}, {output.counted(found.tests, 'test')} among them"
    foot(screen, f"{what}, {found.unresolved:.0%} of all calls untold", found, shown=shown, offset=offset)


def way(screen: Console, found: Way, offset: int) -> None:
    """Show a way step by step."""
    for hop in found.hops:
        how = f"  {hop.kind}  {hop.how} {hop.confidence:.2f}"
        names = f"{hop.source or 'top level'} -> {hop.target}"
        screen.print(Text.assemble("  ", (_place(hop, found), "bold"), "  ", (names, "cyan"), (how, "dim")))
        screen.print(Text(f"      {hop.text.strip()}", style="dim"))
    shown = len(found.hops)
    what = f"{output.counted(shown, 'step')}, {found.confidence:.0%} sure" if shown else "no way"
    foot(screen, what, found, shown=shown, offset=offset)


def outline(screen: Console, found: Outline, offset: int) -> None:
    """Show definitions as they nest."""
    for each in found.entries:
        head = f"{'  ' * each.depth}{each.signature or each.symbol}"
        screen.print(Text.assemble((f"{each.start_line:>6}", "dim"), f"  {head}", (f"  {each.kind}", "dim")))
    shown = len(found.entries)
    foot(screen, f"{shown} of {output.counted(found.total, 'definition')}", found, shown=shown, offset=offset)


def history(screen: Console, found: History, offset: int) -> None:
    """Show commits, the newest first."""
    _define(screen, found.definitions)
    for each in found.changes:
        when = f"  {each.date[:10]}  "
        line = Text.assemble("  ", (each.commit[:10], "bold"), when, (each.author, "cyan"), f"  {each.summary}")
        screen.print(line)
    shown = len(found.changes)
    foot(screen, f"{shown} of {output.counted(found.total, 'commit')}", found, shown=shown, offset=offset)


def foot(screen: Console, what: str, found: Listing, *, shown: int, offset: int) -> None:
    """Show what a list lacks, how much of it is shown, and what it rests on."""
    for warning in found.warnings:
        screen.print(Text(f"note: {warning}", style="yellow"))
    more = f" (next: --offset {offset + shown})" if found.truncated else ""
    read = "; ".join(freshness(fresh) for fresh in found.freshness)
    screen.print(Text(f"{what}{more}; {read}", style="dim"))


def _define(screen: Console, definitions: Sequence[Definition]) -> None:
    for each in definitions:
        screen.print(Text.assemble((each.symbol, "bold"), f"  {each.kind}, {each.repo_name} {each.path}:{each.start_line}"))


def _line(call: Call, found: Calls) -> Text:
    other = call.caller or "top level" if found.direction == "callers" else call.callee
    outside = "" if call.inside else "  outside"
    sure = f"  {call.how} {call.confidence:.2f}" if call.inside else ""
    return Text.assemble("  ", (_place(call, found), "bold"), "  ", (other, "cyan"), (outside + sure, "dim"))


def _place(use: Call | Reference | Reached | Hop, found: Listing) -> str:
    """Return where *use* stands: with its repository, where several were looked at."""
    repo = f"{use.repo_name} " if len(found.freshness) > 1 else ""
    return f"{repo}{use.path}:{use.start_line}"
