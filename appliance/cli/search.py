"""``skellig search``: code that fits a query, best first."""

import re
from typing import Final

import click
import msgspec
from rich.console import Console
from rich.text import Text

from appliance.base.figures import percent
from appliance.cli import loading, output
from appliance.cli.flags import Flags
from appliance.cli.remote import Value, connect
from appliance.cli.scope import about
from appliance.cli.views import Fresh, Hit, Results

_LINES = 6
_OF_THE_QUERY: Final = re.compile(r"-(?:\w+:|[^\w-])")  # -path:test, -/expression/, ->: no option looks like these


class _Searching(click.Command):
    """A command whose words may begin with a minus, as filters that take away do."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse *args*; what is taken away comes last, where no option is looked for."""
        end = args.index("--") if "--" in args else len(args)
        away = [arg for arg in args[:end] if _OF_THE_QUERY.match(arg)]
        if away:
            args = [*(arg for arg in args[:end] if not _OF_THE_QUERY.match(arg)), "--", *args[end + 1 :], *away]
        return super().parse_args(ctx, args)


@click.command(cls=_Searching)
@click.argument("query", nargs=-1, required=True)
@about
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="How many results.")
@click.option("--offset", type=click.IntRange(0, 100_000), default=0, help="Results to skip.")
@output.json_option
@click.pass_obj
def command(flags: Flags, /, *, query: tuple[str, ...], limit: int, offset: int, as_json: bool, **scope: Value) -> None:
    """Search the indexed code for QUERY: words, names, /expressions/, filters such as lang:python or path:src/."""
    wanted: dict[str, Value] = {"q": " ".join(query)} | scope | {"limit": limit, "offset": offset}
    with connect(loading.load(flags)) as remote:
        body = remote.raw("GET", "search", query=wanted, patient=bool(scope["wait"]))
    if as_json:
        click.echo(msgspec.json.format(body, indent=2))
        return
    results = msgspec.json.decode(body, type=Results)
    screen = output.screen()
    for hit in results.hits:
        _show(screen, hit)
    _foot(screen, results, shown=len(results.hits), offset=offset)


def freshness(fresh: Fresh) -> str:
    """Return which state of a repo was read, in one line."""
    behind = "" if not fresh.behind else f", {output.counted(fresh.behind, 'commit')} behind"
    unknown = ", may be behind" if fresh.behind is None else ""
    dirty = ", may be dirty" if fresh.dirty is None else ", dirty" if fresh.dirty else ""
    left_out = f", {output.counted(fresh.left_out, 'file')} left out" if fresh.left_out else ""
    vectors = "" if fresh.vectors >= 1 else f", vectors {percent(fresh.vectors)}"
    return f"{fresh.repo_name} at {fresh.branch or 'HEAD'} {fresh.commit[:10]}{behind}{unknown}{dirty}{left_out}{vectors}"


def _show(screen: Console, hit: Hit) -> None:
    head = Text.assemble(
        (_place(hit), "bold"),
        f"  {hit.repo_name}",
        (f"  {hit.symbol}" if hit.symbol else "", "cyan"),
        (f"  {hit.score:.2f}" if hit.score else "", "dim"),
    )
    screen.print(head)
    if hit.why:
        screen.print(Text(f"    {'; '.join(hit.why)}", style="dim"))
    for line in excerpt(hit.text, lines=_LINES):
        screen.print(Text(f"    {line}"))
    screen.print()


def _place(hit: Hit) -> str:
    return f"{hit.path}:{hit.start_line}" + (f"-{hit.end_line}" if hit.end_line > hit.start_line else "")


def excerpt(text: str, *, lines: int) -> list[str]:
    """Return the first *lines* lines of *text* that say something, and a mark where more follow."""
    found = [line.rstrip() for line in text.splitlines() if line.strip()]
    return found if len(found) <= lines else [*found[:lines], "…"]


def _foot(screen: Console, results: Results, *, shown: int, offset: int) -> None:
    for warning in results.warnings:
        screen.print(Text(f"note: {warning}", style="yellow"))
    if not shown:
        screen.print("Nothing fits." if not offset else "Nothing more fits.")
    read = "; ".join(freshness(fresh) for fresh in results.freshness)
    more = f" (next: --offset {offset + shown})" if results.truncated else ""
    ways = ", ".join(results.signals)
    took = results.timings.get("total_ms", sum(results.timings.values()))
    screen.print(Text(f"{shown} of {results.total:,}{more}, by {ways}, in {took:.0f} ms; {read}", style="dim"))
