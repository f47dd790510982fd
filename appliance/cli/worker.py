"""``skellig worker``: works on jobs. Run by the supervisor."""

import signal
import threading

import click

from appliance.base import log
from appliance.cli import loading
from appliance.cli.flags import Flags
from appliance.services import build
from appliance.worker import work


@click.command(hidden=True)
@click.pass_obj
def command(flags: Flags) -> None:
    """Work until SIGTERM; jobs at work then go back to the queue."""
    loaded = loading.load(flags)
    log.configure(level=loaded.settings.log.level, json=loaded.settings.log.format == "json")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    services = build(loaded)
    try:
        work(services, stop)
    finally:
        services.close()
