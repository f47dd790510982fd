"""``skellig graph``: definitions, and what uses what, from the graph behind the index."""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import click
import msgspec
from rich.console import Console

from appliance.cli import graph_lines, loading, output
from appliance.cli.flags import Flags
from appliance.cli.graphs import Calls, History, Impact, Listing, Meanings, Outline, References, Way
from appliance.cli.remote import Value, connect
from appliance.cli.scope import about
from appliance.errors import InvalidInput

_Found = TypeVar("_Found", bound=Listing)
_Command = Callable[..., None]


def _with(*options: Callable[..., _Command]) -> Callable[[_Command], _Command]:
    """Return what gives a command *options*, and those that every question has."""

    def given(command: _Command) -> _Command:
        every: tuple[Callable[..., _Command], ...] = (*options, about, output.json_option, click.pass_obj)
        for option in reversed(every):
            command = option(command)
        return command

    return given


_NAME: Final = click.argument("name")
_OFFSET: Final = click.option("--offset", type=click.IntRange(0, 1_000_000), default=0, help="Entries to skip.")
_LIMIT: Final = click.option("--limit", type=click.IntRange(1, 100), default=50, show_default=True, help="How many entries.")
_PAGE: Final = (_NAME, _LIMIT, _OFFSET)


@click.group()
def command() -> None:
    """Ask what is defined where and what uses what; each use says how it is known and how surely.

    NAME is a definition, such as Client.stream, or a place where a name stands: FILE:LINE:WORD, or FILE:LINE:COLUMN.
    """


@command.command()
@_with(*_PAGE)
def definition(flags: Flags, *, as_json: bool, name: str, **wanted: Value) -> None:
    """Say where NAME is defined."""
    _ask(flags, "definition", _of(name, wanted), Meanings, graph_lines.meanings, as_json=as_json)


@command.command()
@_with(*_PAGE)
def references(flags: Flags, *, as_json: bool, name: str, **wanted: Value) -> None:
    """List the uses of NAME, of whatever kind: calls, imports, types, reads."""
    _ask(flags, "references", _of(name, wanted), References, graph_lines.references, as_json=as_json)


@command.command()
@_with(*_PAGE)
def callers(flags: Flags, *, as_json: bool, name: str, **wanted: Value) -> None:
    """List the calls of NAME, such as Client.stream; of a class where one is made."""
    _ask(flags, "callers", _of(name, wanted), Calls, graph_lines.calls, as_json=as_json)


@command.command()
@_with(*_PAGE)
def callees(flags: Flags, *, as_json: bool, name: str, **wanted: Value) -> None:
    """List the calls that stand in NAME, those that lead out of the repository last."""
    _ask(flags, "callees", _of(name, wanted), Calls, graph_lines.calls, as_json=as_json)


@command.command()
@_with(
    *_PAGE,
    click.option("--steps", type=click.IntRange(1, 5), default=5, show_default=True, help="How many uses away at most."),
)
def impact(flags: Flags, *, as_json: bool, name: str, **wanted: Value) -> None:
    """List what a change of NAME can reach: what uses it, and what uses that in turn."""
    _ask(flags, "impact", _of(name, wanted), Impact, graph_lines.impact, as_json=as_json)


@command.command()
@_with(*_PAGE)
def history(flags: Flags, *, as_json: bool, name: str, **wanted: Value) -> None:
    """List who changed NAME, and when, newest first."""
    _ask(flags, "history", _of(name, wanted), History, graph_lines.history, as_json=as_json)


@command.command()
@_with(click.argument("start"), click.argument("end"))
def path(flags: Flags, *, as_json: bool, **wanted: Value) -> None:
    """Show the surest way from START to END: what uses what, each step with its line."""
    _ask(flags, "path", wanted, Way, graph_lines.way, as_json=as_json)


@command.command()
@_with(click.argument("path"), _OFFSET)
def outline(flags: Flags, *, as_json: bool, **wanted: Value) -> None:
    """List what the file at PATH defines, in the order of its lines."""
    _ask(flags, "outline", wanted, Outline, graph_lines.outline, as_json=as_json)


def _of(name: str, wanted: Mapping[str, Value]) -> dict[str, Value]:
    """Return *wanted*, and as the API has it what *name* means: a name, or a place."""
    path, _, rest = name.partition(":")
    line, _, spot = rest.partition(":")
    if not line.isdigit():
        return {**wanted, "name": name}
    if not spot:
        raise InvalidInput(f"{name} is a line, not a name.", remedy="Give FILE:LINE:WORD or FILE:LINE:COLUMN.")
    return {**wanted, "path": path, "line": int(line), ("column" if spot.isdigit() else "word"): spot}


def _ask(
    flags: Flags,
    question: str,
    wanted: Mapping[str, Value],
    shape: type[_Found],
    show: Callable[[Console, _Found, int], None],
    *,
    as_json: bool,
) -> None:
    with connect(loading.load(flags)) as remote:
        body = remote.raw("GET", f"graph/{question}", query=wanted, patient=bool(wanted["wait"]))
    if as_json:
        click.echo(msgspec.json.format(body, indent=2))
        return
    show(output.screen(), msgspec.json.decode(body, type=shape), int(str(wanted.get("offset") or 0)))
