"""``skellig``: finds the command and loads only its module, so that ``skellig --help`` answers at once."""

import importlib
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import click

from appliance import __version__
from appliance.cli.exits import guarded
from appliance.cli.flags import Flags

COMMANDS: Final = {
    "up": "Start the appliance, and print where it is and a one-time token.",
    "down": "Stop everything that `up` started.",
    "status": "Say what runs, what is indexed, and what needs a decision.",
    "doctor": "Examine this machine and the appliance; say how to mend what is wrong.",
    "config": "Show every setting, its value and where it comes from.",
    "model": "List, pull, import and verify models.",
    "repo": "Add, list, show, refresh and remove repositories.",
    "bundle": "Build, verify and apply signed bundles.",
    "search": "Search the indexed code.",
    "graph": "Say what is defined where and what uses what, from the graph behind the index.",
    "repomap": "Print what matters most in the code, within a budget of tokens.",
    "context": "Print the lines that bear on a question, within a budget of tokens.",
    "ask": "Ask about the indexed code: evidence first, then the model's reading.",
    "mission": "Have a goal worked on by agents, step by step on record, and watch, stop and check that.",
    "workflow": "Check the file of a workflow, and draw it.",
    "plugin": "Say which plugins there are, and how each is.",
    "mcp": "Serve the tools to an editor or agent that speaks the Model Context Protocol.",
}
"""The commands that people use: the module of the same name in `appliance.cli` has the attribute ``command``."""

HIDDEN: Final = {
    "web": "Serve the console and the API; run by the supervisor.",
    "worker": "Work on jobs; run by the supervisor.",
}
"""The commands that the supervisor uses."""


class Lazy(click.Group):
    """A group whose commands are imported when they are called, not when they are listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        del ctx
        return [*COMMANDS, *HIDDEN]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module and return the command, or None for an unknown name."""
        del ctx
        if cmd_name not in COMMANDS and cmd_name not in HIDDEN:
            return None
        found = importlib.import_module(f"appliance.cli.{cmd_name}").command
        if not isinstance(found, click.Command):
            raise TypeError(f"appliance.cli.{cmd_name}.command is not a command")
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that *args* name; an unknown one is told with those that come close."""
        near = get_close_matches(args[0], COMMANDS, n=1)
        if near and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"No such command '{args[0]}'. Did you mean '{near[0]}'?", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table from the sentences above, without importing anything."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--data", type=click.Path(path_type=Path), help="The data directory (SKELLIG_DATA).")
@click.option("--config", type=click.Path(path_type=Path), help="The configuration file (SKELLIG_CONFIG).")
@click.version_option(__version__, prog_name="skellig")
@click.pass_context
def skellig(ctx: click.Context, data: Path | None, config: Path | None) -> None:
    """Ask your code, with evidence: search and answers on this machine alone."""
    ctx.obj = Flags(data, config)


def main() -> None:
    """Run the command line and exit with the status that `appliance.cli.exits` gives."""
    sys.exit(guarded(skellig, sys.argv[1:]))
