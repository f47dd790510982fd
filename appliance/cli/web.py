"""``skellig web``: the console and the API, in this one process. Run by the supervisor."""

import asyncio
import signal
from typing import Final

import click
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server
from litestar import Litestar

from appliance.base import log
from appliance.cli import loading
from appliance.cli.flags import Flags
from appliance.config import Web
from appliance.ops import preflight
from appliance.server import create_app
from appliance.services import build

_HEADER_MS: Final = 10_000  # a client that sends its headers more slowly is cut off
_CONNECTIONS: Final = 1024


@click.command(hidden=True)
@click.pass_obj
def command(flags: Flags) -> None:
    """Serve until SIGTERM; requests that are being answered then are finished first."""
    loaded = loading.load(flags)
    log.configure(level=loaded.settings.log.level, json=loaded.settings.log.format == "json")
    preflight.listening_address(loaded.settings.web)  # one that was killed leaves its socket, and nobody could listen there
    services = build(loaded)
    try:
        asyncio.run(serve(create_app(services), loaded.settings.web))
    finally:
        services.close()


async def serve(app: Litestar, web: Web) -> None:
    """Serve *app* where *web* says until SIGTERM or SIGINT."""
    server = Server(
        app,
        address="127.0.0.1" if web.host == "localhost" else web.host,
        port=web.port,
        uds=web.socket,
        interface=Interfaces.ASGI,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=_HEADER_MS),
        backlog=_CONNECTIONS,
        websockets=False,
        log_enabled=False,
    )

    def stop() -> None:
        for end in (app.state.leave, server.stop):
            end()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    await server.serve()
