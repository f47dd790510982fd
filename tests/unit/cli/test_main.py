"""Claims about the command line as a whole."""

import json
import resource
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from appliance.cli.main import COMMANDS, HIDDEN, skellig
from tests.unit.cli.conftest import Line

LIGHT = {
    "appliance",
    "appliance.cli",
    "appliance.cli.main",
    "appliance.cli.exits",
    "appliance.cli.flags",
    "appliance.errors",
}


def leaves() -> Iterator[tuple[str, click.Command]]:
    """Give every command that does something, with its whole name."""
    context = click.Context(skellig)
    for name in COMMANDS:
        command = skellig.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", leaf) for inner, leaf in command.commands.items())
        else:
            yield name, command


def test_help_loads_nothing_but_the_frame() -> None:
    """Loading what the commands use takes a second; help must not."""
    script = (
        "import sys, json, appliance.cli.main as m\n"
        "try: m.skellig(['--help'])\n"
        "except SystemExit: pass\n"
        "print(json.dumps([n for n in sys.modules if n.startswith('appliance')]), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(json.loads(ended.stderr)) == LIGHT
    assert all(f"  {name} " in ended.stdout for name in COMMANDS)


def test_a_command_that_computes_nothing_itself_loads_nothing_to_compute_with() -> None:
    """NumPy alone would be a third of what such a command takes to start."""
    names = sorted({*COMMANDS} - {"mcp", "web", "worker"})
    script = (
        f"import sys, importlib; [importlib.import_module('appliance.cli.' + name) for name in {names}]\n"
        "print(sorted({'numpy', 'scipy', 'pyarrow', 'lancedb'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_help_costs_less_than_a_third_of_a_second() -> None:
    """Processor time, the least of three: what else runs on the machine is not the claim."""
    spent = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "appliance", "--help"], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(spent) <= 0.3


def test_commands_of_the_supervisor_are_not_shown(line: Line) -> None:
    shown = line("--help").out
    assert not [name for name in HIDDEN if f"  {name} " in shown]


@pytest.mark.parametrize(("name", "command"), [pytest.param(n, c, id=n) for n, c in leaves()])
def test_every_command_speaks_json_and_says_what_it_does(name: str, command: click.Command) -> None:
    """But `mcp`: what it speaks is a protocol of its own."""
    assert name == "mcp" or "--json" in {option for parameter in command.params for option in parameter.opts}, name
    assert command.help


def test_an_unknown_command_is_a_usage_error(line: Line) -> None:
    ran = line("fly")
    assert ran.status == 2
    assert "No such command 'fly'" in ran.err
    assert "Did you mean" not in ran.err


def test_a_misspelt_command_is_told_with_the_one_that_comes_close(line: Line) -> None:
    assert "No such command 'missoin'. Did you mean 'mission'?" in line("missoin", "list").err


def test_help_of_every_command_touches_nothing(line: Line) -> None:
    """Asking for help once pulled an image."""
    for name in COMMANDS:
        assert line(name, "--help").status == 0
    assert [path.name for path in line.data.iterdir()] == ["skellig.toml"]
