"""``skellig plugin``: code of others in the appliance, and how each is."""

import click
import msgspec
from rich.text import Text

from appliance.cli import loading, output
from appliance.cli.flags import Flags
from appliance.cli.remote import connect


class Plugin(msgspec.Struct):
    """A plugin, and what it added."""

    name: str
    state: str
    reason: str
    remedy: str
    version: str
    description: str
    tools: list[str]
    agents: list[str]
    workflows: list[str]
    safety_rules: list[str]
    languages: list[str]


@click.group()
def command() -> None:
    """Say which plugins there are, and how each is."""


@command.command("list")
@output.json_option
@click.pass_obj
def list_plugins(flags: Flags, *, as_json: bool) -> None:
    """List the plugins that are installed or enabled, what each added, and why one failed."""
    with connect(loading.load(flags)) as remote:
        body = remote.raw("GET", "plugins")
    if as_json:
        click.echo(msgspec.json.format(body, indent=2))
        return
    plugins = msgspec.json.decode(body, type=list[Plugin])
    screen = output.screen()
    if not plugins:
        screen.print("No plugin is installed; `plugins.enabled` names those that are to be loaded.")
        return
    table = output.table("plugin", "version", "state", "adds")
    for plugin in plugins:
        table.add_row(plugin.name, plugin.version, output.state(plugin.state), Text(_added(plugin)))
    screen.print(table)
    for plugin in plugins:
        if plugin.reason:
            screen.print(Text(f"{plugin.name}: {plugin.reason} {plugin.remedy}".rstrip(), style="red"))


def _added(plugin: Plugin) -> str:
    kinds = (
        ("tool", plugin.tools),
        ("agent", plugin.agents),
        ("workflow", plugin.workflows),
        ("rule", plugin.safety_rules),
        ("language", plugin.languages),
    )
    return "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds if names)
