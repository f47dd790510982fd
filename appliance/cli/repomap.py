"""``skellig repomap``: what matters most in the code, within a budget."""

import click

from appliance.cli import output, texts
from appliance.cli.flags import Flags
from appliance.cli.remote import Value
from appliance.cli.scope import about


@click.command()
@click.option("--tokens", type=click.IntRange(100, 32_000), default=1000, show_default=True, help="About how many tokens.")
@click.option(
    "--focus",
    multiple=True,
    help="A definition, file or folder to begin at; may be repeated. Repositories without come last.",
)
@about
@output.json_option
@click.pass_obj
def command(flags: Flags, /, *, as_json: bool, **wanted: Value) -> None:
    """Print a map of the code: the files and definitions that most of it leans on."""
    texts.show(flags, "repomap", wanted, as_json=as_json)
