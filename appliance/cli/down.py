"""``skellig down``: stops everything that runs on a data directory."""

import click

from appliance.cli import loading, output, place
from appliance.cli.flags import Flags
from appliance.ops import launch
from appliance.ops.programs import RunFiles

_SECONDS = 60.0


@click.command()
@output.json_option
@click.pass_obj
def command(flags: Flags, *, as_json: bool) -> None:
    """Stop everything that `up` started, also what an earlier supervisor left behind."""
    paths = loading.paths(loading.load(flags))
    with output.screen(stderr=True).status("Stopping…"):
        ended = launch.stop(RunFiles(paths), seconds=_SECONDS)
    place.forget(paths)
    if as_json:
        output.print_json({"stopped": ended})
    else:
        click.echo(f"Stopped {output.counted(ended, 'program')}." if ended else "Nothing was running.")
