"""``skellig context``: the lines that bear on a question, within a budget."""

import click

from appliance.cli import output, texts
from appliance.cli.flags import Flags
from appliance.cli.remote import Value
from appliance.cli.scope import about


@click.command()
@click.argument("question", nargs=-1, required=True)
@click.option("--tokens", type=click.IntRange(100, 32_000), default=1600, show_default=True, help="At most so many tokens.")
@about
@output.json_option
@click.pass_obj
def command(flags: Flags, /, *, question: tuple[str, ...], as_json: bool, **wanted: Value) -> None:
    """Print the lines that bear on QUESTION, best first, each place with its path."""
    texts.show(flags, "context", {**wanted, "question": " ".join(question)}, as_json=as_json)
