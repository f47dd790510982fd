"""What commands print: JSON for programs, tables and colour for people, the same facts in both."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

F = TypeVar("F", bound=Callable[..., None])

_FILE_WIDTH = 200  # columns where the output is no terminal
_STYLES = {
    "ok": "green",
    "ready": "green",
    "running": "green",
    "done": "green",
    "starting": "yellow",
    "retrying": "yellow",
    "loading": "yellow",
    "queued": "yellow",
    "degraded": "yellow",
    "failed": "red",
    "down": "red",
    "stopped": "red",
}


def json_option(function: F) -> F:
    """Give a command the option ``--json``, as the argument *as_json*."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def print_json(value: object) -> None:
    """Print *value* (structs, dataclasses, lists, plain values) as indented JSON."""
    click.echo(msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2).decode())


def screen(*, stderr: bool = False) -> Console:
    """Return the terminal; colours go away where the output is a file or NO_COLOR is set."""
    console = Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=_FILE_WIDTH)


def state(name: str) -> Text:
    """Return the name of a state in its colour; the word alone says it too."""
    return Text(name, style=_STYLES.get(name, ""))


def table(*columns: str) -> Table:
    """Return an empty table without lines, so that its rows can be copied."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def size(number: int) -> str:
    """Return *number* bytes for people: ``1.1 GB``."""
    amount = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    raise AssertionError


def counted(number: int, noun: str) -> str:
    """Return ``1 file`` or ``1,234 files``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def joined(counts: Sequence[tuple[str, int]]) -> str:
    """Return ``binary 12, oversize 3``, the largest first."""
    return ", ".join(f"{name} {number:,}" for name, number in sorted(counts, key=lambda pair: (-pair[1], pair[0])))
