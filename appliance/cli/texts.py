"""Texts within a budget of tokens, as commands print them: what the appliance chose, then what it rests on."""

from collections.abc import Mapping

import click
import msgspec
from rich.text import Text

from appliance.cli import graphs, loading, output
from appliance.cli.flags import Flags
from appliance.cli.remote import Value, connect
from appliance.cli.search import freshness


def show(flags: Flags, route: str, wanted: Mapping[str, Value], *, as_json: bool) -> None:
    """Ask *route* for a text and print it; its warnings and what it rests on go to the other stream."""
    with connect(loading.load(flags)) as remote:
        body = remote.raw("GET", route, query=wanted, patient=bool(wanted["wait"]))
    if as_json:
        click.echo(msgspec.json.format(body, indent=2))
        return
    found = msgspec.json.decode(body, type=graphs.Text)
    click.echo(found.text)
    screen = output.screen(stderr=True)
    for warning in found.warnings:
        screen.print(Text(f"note: {warning}", style="yellow"))
    read = "; ".join(freshness(fresh) for fresh in found.freshness)
    screen.print(Text(f"about {found.tokens:,} of {found.budget:,} tokens; {read}", style="dim"))
