"""The options that say how a repository is kept, and ``skellig repo set``, which changes them."""

from collections.abc import Callable, Mapping
from typing import Final

import click

from appliance.cli.remote import Value

_LISTS: Final = {"track": "branches", "include": "include", "exclude": "exclude"}


def kept(command: Callable[..., None]) -> Callable[..., None]:
    """Give *command* these options; what was given comes among its named parameters, the rest as None or ()."""
    for option in reversed(
        (
            click.option(
                "--track",
                multiple=True,
                help='Pattern of branches, or of tags: refs/tags/v*, indexed beside its own; may be repeated; "" for none.',
            ),
            click.option(
                "--include", multiple=True, help='Index only paths that fit such a pattern; may be repeated; "" for all.'
            ),
            click.option(
                "--exclude", multiple=True, help='Leave out paths that fit this pattern; may be repeated; "" for none.'
            ),
            click.option("--schedule", help='Index it by the clock: "every 15m", "daily", "30 2 * * 1-5"; "" for never.'),
            click.option("--quiet", help='Hours in which neither clock nor change has it indexed: "22:00-06:00".'),
            click.option(
                "--share",
                type=click.IntRange(1, 100),
                help="Most percent of the time that work on it may take before clock or change has it indexed again.",
            ),
            click.option("--key-file", help="The file with the ssh key that may read it, on the appliance's machine."),
            click.option("--known-hosts", help="The file with the host keys of its ssh server."),
            click.option("--ca-file", help="The file with the certificates of the authority of its https server."),
            click.option("--credentials-file", help="The file with the line user:token for its https server."),
            click.option("--max-mb", type=click.IntRange(1, 1_000_000), help="Most megabytes that are fetched of it."),
            click.option("--watch/--no-watch", default=None, help="Index it when its files or refs change."),
        )
    ):
        command = option(command)
    return command


def settings_of(given: Mapping[str, Value]) -> dict[str, Value]:
    """Return what was given of the options of `kept`, as the API calls it; one empty pattern stands for none."""
    found: dict[str, Value] = {}
    for name, value in given.items():
        if isinstance(value, tuple):
            if value:
                found[_LISTS[name]] = [each for each in value if each]
        elif value is not None:
            found[name] = value
    return found
