"""``skellig config``: every setting, its value, where the value comes from, and what it means."""

from collections.abc import Iterator
from dataclasses import dataclass

import click
from pydantic import BaseModel
from rich.text import Text

from appliance.cli import loading, output
from appliance.cli.flags import Flags
from appliance.config import Loaded, Section, Settings, names


@dataclass(frozen=True, slots=True)
class Shown:
    """One setting as it is shown."""

    name: str
    value: str | int | float | bool | None
    origin: str
    description: str


@click.group()
def command() -> None:
    """Show the settings."""


@command.command()
@output.json_option
@click.pass_obj
def show(flags: Flags, *, as_json: bool) -> None:
    """Show every setting: flag > SKELLIG_* > configuration file > default.

    A name with a dot has two underscores in the environment: web.port is SKELLIG_WEB__PORT.
    """
    settings = list(shown(loading.load(flags)))
    if as_json:
        output.print_json(settings)
        return
    table = output.table("setting", "value", "from", "meaning")
    for setting in settings:
        value = Text("-", style="dim") if setting.value is None else Text(str(setting.value))
        origin = Text(setting.origin, style="dim" if setting.origin == "default" else "bold")
        table.add_row(setting.name, value, origin, Text(setting.description))
    output.screen().print(table)


def shown(loaded: Loaded) -> Iterator[Shown]:
    """Return every setting in the order of the tables."""
    for name in names():
        *table, leaf = name.split(".")
        holder: BaseModel = getattr(loaded.settings, table[0]) if table else loaded.settings
        value = getattr(holder, leaf)
        plain = value if value is None or isinstance(value, bool | int | float) else str(value)
        yield Shown(name, plain, loaded.origins[name], description(name))


def description(name: str) -> str:
    """Return what the setting called *name* means."""
    *table, leaf = name.split(".")
    fields = Settings.model_fields
    if table:
        section = fields[table[0]].annotation
        if not (isinstance(section, type) and issubclass(section, Section)):
            raise TypeError(f"{table[0]} is not a section")
        fields = section.model_fields
    return fields[leaf].description or ""
