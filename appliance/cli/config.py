"""``skellig config``: every setting, its value, where the value comes from, and what it means."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import click
from pydantic import BaseModel
from rich.table import Table
from rich.text import Text

from appliance.base.paths import display
from appliance.cli import loading, output
from appliance.cli.flags import Flags
from appliance.config import Fault, Loaded, Section, Settings, names


@dataclass(frozen=True, slots=True)
class Shown:
    """One setting as it is shown. With *error* it is not one that can be used; *remedy* is the next step then."""

    name: str
    value: str | int | float | bool | None
    origin: str
    description: str
    error: str = ""
    remedy: str = ""


@click.group()
def command() -> None:
    """Show the settings."""


@command.command()
@output.json_option
@click.pass_obj
def show(flags: Flags, *, as_json: bool) -> None:
    """Show every setting: flag > SKELLIG_* > configuration file > default.

    A name with a dot has two underscores in the environment: web.port is SKELLIG_WEB__PORT. What cannot be used is marked,
    with the reason and the names that come close; the exit status is 2 then.
    """
    examined = loading.examine(flags)
    settings = list(shown(examined.loaded, given=examined.given, faults=examined.faults))
    if as_json:
        output.print_json(settings)
    else:
        output.screen().print(_table(settings))
    examined.require()


def shown(loaded: Loaded, *, given: Mapping[str, object] | None = None, faults: Sequence[Fault] = ()) -> Iterator[Shown]:
    """Return every setting in the order of the tables; what is wrong with the value that was *given*, or the name, with it.

    A name that does not exist comes last and without its value, which may be anything.
    """
    known = names()
    wrong = {fault.name: fault for fault in faults}
    for name in known:
        *table, leaf = name.split(".")
        holder: BaseModel = getattr(loaded.settings, table[0]) if table else loaded.settings
        fault = wrong.get(name)
        value = getattr(holder, leaf) if fault is None else (given or {}).get(name)
        shown = Shown(name, _plain(value), loaded.origins[name], description(name))
        yield shown if fault is None else replace(shown, error=fault.message, remedy=fault.remedy)
    for fault in faults:
        if fault.name not in known:
            yield Shown(fault.name, None, fault.origin, "", fault.message, fault.remedy)


def _plain(value: object) -> str | int | float | bool | None:
    if isinstance(value, tuple):
        value = ", ".join(map(str, value))
    return value if value is None or isinstance(value, bool | int | float) else display(str(value))


def _table(settings: Sequence[Shown]) -> Table:
    table = output.table("setting", "value", "from", "meaning")
    for setting in settings:
        bad = "red" if setting.error else ""
        value = Text("-", style="dim") if setting.value is None else Text(str(setting.value), style=bad)
        origin = Text(setting.origin, style="dim" if setting.origin == "default" else "bold")
        said = Text(f"not usable: {setting.error} {setting.remedy}".rstrip() if bad else setting.description, style=bad)
        table.add_row(Text(setting.name, style=bad), value, origin, said)
    return table


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
