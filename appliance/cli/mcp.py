"""``skellig mcp``: the tools for an editor or an agent on this machine, over standard input and output."""

import asyncio
import signal

import click

from appliance.base import log
from appliance.cli import loading, wire
from appliance.cli.flags import Flags
from appliance.cli.relay import Relay
from appliance.mcp.server import server


@click.command()
@click.pass_obj
def command(flags: Flags) -> None:
    """Serve the tools to the program that started this, until it closes standard input.

    It speaks the Model Context Protocol, and hands each call to the appliance that runs; without one it says so.
    """
    loaded = loading.load(flags)
    log.configure(level="warning", json=False)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # reading standard input cannot be interrupted in any other way
    asyncio.run(wire.serve(server(Relay(loading.paths(loaded)))))
