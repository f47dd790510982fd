"""The options that every question about code has: which project, repositories and branches, and how fresh."""

from collections.abc import Callable

import click


def about(command: Callable[..., None]) -> Callable[..., None]:
    """Give *command* these options; they come among its named parameters, called as the API calls them."""
    for option in reversed(
        (
            click.option("--project", default="default", show_default=True, help="The project to ask about."),
            click.option("--repo", multiple=True, help="A repository of it; may be repeated."),
            click.option(
                "--branch", multiple=True, help="A pattern of indexed branches; may be repeated. Without, each one's own."
            ),
            click.option(
                "--max-behind", type=click.IntRange(0, 1_000_000), help="Refuse an index that is more commits behind."
            ),
            click.option(
                "--max-lag", type=click.FloatRange(0, 1e9), help="Refuse an index last current more seconds ago than this."
            ),
            click.option("--wait", type=click.FloatRange(0, 120), help="Seconds to wait for a fresh index instead."),
        )
    ):
        command = option(command)
    return command
