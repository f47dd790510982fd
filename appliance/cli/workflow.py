"""``skellig workflow``: checks the file of a workflow, and draws it. Nothing is run, and no appliance is needed."""

from pathlib import Path

import click

from appliance.cli import output
from appliance.framework.workflow_check import load_workflow
from appliance.framework.workflow_render import render_workflow

_FILE = click.argument("file", type=click.Path(path_type=Path))


@click.group()
def command() -> None:
    """Check the file of a workflow, and draw it."""


@command.command()
@_FILE
@output.json_option
def validate(file: Path, *, as_json: bool) -> None:
    """Say whether FILE is a workflow; each fault is told with its line.

    Agents, tools and functions that it names are looked for when it is run.
    """
    workflow = load_workflow(file)
    if as_json:
        output.print_json({"name": workflow.name, "entry": workflow.entry, "nodes": list(workflow.nodes)})
        return
    click.echo(f"{file} is valid: the workflow {workflow.name} with {output.counted(len(workflow.nodes), 'node')}.")


@command.command("render")
@_FILE
@output.json_option
def draw(file: Path, *, as_json: bool) -> None:
    """Print the workflow in FILE as a flowchart in Mermaid's language."""
    chart = render_workflow(load_workflow(file))
    if as_json:
        output.print_json({"mermaid": chart})
        return
    click.echo(chart, nl=False)
