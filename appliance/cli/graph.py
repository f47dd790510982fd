"""``skellig graph``: who calls what, from the graph behind the index."""

from collections.abc import Callable, Mapping, Sequence

import click
import msgspec
from rich.console import Console
from rich.text import Text

from appliance.cli import loading, output
from appliance.cli.flags import Flags
from appliance.cli.remote import Value, connect
from appliance.cli.scope import about
from appliance.cli.search import freshness
from appliance.cli.views import Call, Calls, Definition, Impact


def _options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(
        (
            click.argument("name"),
            about,
            click.option("--limit", type=click.IntRange(1, 100), default=50, show_default=True, help="How many calls."),
            click.option("--offset", type=click.IntRange(0, 1_000_000), default=0, help="Calls to skip."),
            output.json_option,
            click.pass_obj,
        )
    ):
        command = option(command)
    return command


@click.group()
def command() -> None:
    """Ask who calls what, in languages whose calls are followed; each call says how it is known and how surely."""


@command.command()
@_options
def callers(flags: Flags, *, as_json: bool, **wanted: Value) -> None:
    """List the calls of NAME, such as Client.stream; of a class where one is made."""
    _ask(flags, "callers", wanted, as_json=as_json)


@command.command()
@_options
def callees(flags: Flags, *, as_json: bool, **wanted: Value) -> None:
    """List the calls that stand in NAME, those that lead out of the repository last."""
    _ask(flags, "callees", wanted, as_json=as_json)


@command.command()
@_options
@click.option("--steps", type=click.IntRange(1, 5), default=5, show_default=True, help="How many calls away at most.")
def impact(flags: Flags, *, as_json: bool, **wanted: Value) -> None:
    """List what a change of NAME can reach: what calls it, and what calls that in turn."""
    with connect(loading.load(flags)) as remote:
        body = remote.raw("GET", "graph/impact", query=wanted, patient=bool(wanted["wait"]))
    if as_json:
        click.echo(msgspec.json.format(body, indent=2))
        return
    _show_impact(output.screen(), msgspec.json.decode(body, type=Impact), offset=int(str(wanted["offset"])))


def _show_impact(screen: Console, found: Impact, *, offset: int) -> None:
    _define(screen, found.definitions)
    for each in found.reached:
        test = "  test" if each.test else ""
        where, who = f"{each.path}:{each.start_line}", each.symbol or "top level"
        how = f"  through {each.via}{test}  {each.confidence:.2f}"
        screen.print(Text.assemble("  ", (f"{each.steps}  {where}", "bold"), "  ", (who, "cyan"), (how, "dim")))
    shown, least = len(found.reached), "at least " if found.cut else ""
    what = f"{shown} of {least}{output.counted(found.total, 'place')}, {output.counted(found.tests, 'test')} among them"
    _foot(screen, what, found, shown=shown, offset=offset)


def _ask(flags: Flags, direction: str, wanted: Mapping[str, Value], *, as_json: bool) -> None:
    with connect(loading.load(flags)) as remote:
        body = remote.raw("GET", f"graph/{direction}", query=wanted, patient=bool(wanted["wait"]))
    if as_json:
        click.echo(msgspec.json.format(body, indent=2))
        return
    _show(output.screen(), msgspec.json.decode(body, type=Calls), offset=int(str(wanted["offset"])))


def _show(screen: Console, found: Calls, *, offset: int) -> None:
    _define(screen, found.definitions)
    for call in found.calls:
        screen.print(_line(call, found.direction))
        screen.print(Text(f"      {call.text.strip()}", style="dim"))
    shown = len(found.calls)
    _foot(screen, f"{shown} of {output.counted(found.total, 'call')}", found, shown=shown, offset=offset)


def _define(screen: Console, definitions: Sequence[Definition]) -> None:
    for each in definitions:
        screen.print(Text.assemble((each.symbol, "bold"), f"  {each.kind}, {each.repo_name} {each.path}:{each.start_line}"))


def _foot(screen: Console, what: str, found: Calls | Impact, *, shown: int, offset: int) -> None:
    for warning in found.warnings:
        screen.print(Text(f"note: {warning}", style="yellow"))
    more = f" (next: --offset {offset + shown})" if found.truncated else ""
    read = "; ".join(freshness(fresh) for fresh in found.freshness)
    screen.print(Text(f"{what}{more}; {read}", style="dim"))


def _line(call: Call, direction: str) -> Text:
    other = call.caller or "top level" if direction == "callers" else call.callee
    outside = "" if call.inside else "  outside"
    sure = f"  {call.how} {call.confidence:.2f}" if call.inside else ""
    return Text.assemble("  ", (f"{call.path}:{call.start_line}", "bold"), "  ", (other, "cyan"), (outside + sure, "dim"))
