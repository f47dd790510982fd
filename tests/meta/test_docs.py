"""Claims that the documentation is complete: what can be set, called, counted or gone wrong has an entry."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from litestar import Litestar
from litestar.di import Provide
from litestar.routes import HTTPRoute

from appliance.api.v1.routes import PREFIX, routes
from appliance.base.metrics import Metrics
from appliance.cli.config import description
from appliance.cli.exits import status_of
from appliance.cli.main import COMMANDS, skellig
from appliance.config import names
from appliance.errors import ApplianceError
from appliance.mcp import arguments
from appliance.mcp.callers import MOST_CALLS, MOST_WAITING
from appliance.mcp.catalogue import TOOLS
from appliance.mcp.pages import CHARACTERS_A_TOKEN, MOST_LINES
from appliance.mcp.sessions import MOST_IN_ALL, MOST_OF_ONE

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"


def code(kind: type[ApplianceError]) -> str:
    return kind.code


def page(name: str) -> str:
    return (REFERENCE / f"{name}.md").read_text()


def leaves() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(skellig)
    for name in COMMANDS:
        command = skellig.get_command(context, name)
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", leaf) for inner, leaf in command.commands.items())
        elif command is not None:
            yield name, command


def errors(kind: type[ApplianceError] = ApplianceError) -> Iterator[type[ApplianceError]]:
    if kind.__module__.startswith("appliance."):
        yield kind
    for child in kind.__subclasses__():
        yield from errors(child)


@pytest.mark.parametrize("name", names())
def test_every_setting_has_an_entry_with_its_meaning(name: str) -> None:
    row = next((line for line in page("config").splitlines() if line.startswith(f"| `{name}` |")), "")
    assert description(name) in row


@pytest.mark.parametrize(("name", "command"), [pytest.param(n, c, id=n) for n, c in leaves()])
def test_every_command_and_option_has_an_entry(name: str, command: click.Command) -> None:
    section = re.split(rf"^## `skellig {re.escape(name)}[ `]", page("cli"), flags=re.MULTILINE)[1].partition("\n## ")[0]
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert f"`{parameter.opts[0]}`" in section
            assert (parameter.help or "no help") in section


def test_every_metric_has_an_entry_with_its_meaning() -> None:
    rows = page("metrics")
    for family in Metrics().registry.collect():
        assert f"| `{family.name}" in rows, family.name
        assert family.documentation.rstrip(".") in rows, family.name


KINDS: list[type[ApplianceError]] = sorted(dict.fromkeys(errors()), key=code)


@pytest.mark.parametrize("kind", KINDS, ids=code)
def test_every_error_code_has_an_entry_with_its_exit_status(kind: type[ApplianceError]) -> None:
    row = next((line for line in page("errors").splitlines() if line.startswith(f"| `{kind.code}` |")), "")
    assert f"| {status_of(kind('It failed.'))} |" in row


def test_every_route_of_the_api_has_an_entry() -> None:
    rows = [line for line in page("api").splitlines() if line.startswith("| `")]
    missing = [f"{method} {path}" for method, path in calls() if not any(names_call(row, method, path) for row in rows)]
    assert not missing


def names_call(row: str, method: str, path: str) -> bool:
    return f"`{method}" in row and re.search(re.escape(path) + r"(?![\w/{-])", row) is not None


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_has_an_entry_with_its_arguments_and_limits(name: str) -> None:
    text = page("mcp")
    row = next((line for line in text.splitlines() if line.startswith(f"| `{name}` |")), "")
    everywhere = text.partition("Every tool also takes")[2].partition("\n\n")[0]
    for argument in TOOLS[name].arguments.model_fields:
        assert f"`{argument}`" in row + everywhere, argument
        assert re.search(rf"^\| [^|]*`{argument}`[^|]* \|", text, re.MULTILINE), argument
    own = re.findall(r"`(\w+)`", row.rpartition("|")[0].rpartition("|")[2])
    assert set(own) <= set(TOOLS[name].arguments.model_fields)


def test_the_limits_of_the_tools_are_those_of_the_code() -> None:
    text = page("mcp")
    tokens = f"| {arguments.DEFAULT_TOKENS:,}; {arguments.LEAST_TOKENS:,} to {arguments.MOST_TOKENS:,} |"
    steps = f"| {arguments.MOST_STEPS}; 1 to {arguments.MOST_STEPS} |"
    for said in (tokens, steps, f"{CHARACTERS_A_TOKEN} characters a token", f"{MOST_LINES:,} in one answer"):
        assert said in text, said
    for said in (
        f"has {MOST_OF_ONE} at a time",
        f"have {MOST_IN_ALL:,};",
        f"one key {MOST_CALLS} calls",
        f"and {MOST_WAITING} wait",
        f"1 to {arguments.MOST_ITEMS}",
    ):
        assert said in text, said


def test_every_dependency_has_a_line() -> None:
    text = page("dependencies")
    project = (ROOT / "pyproject.toml").read_text().partition("dependencies = [")[2].partition("\n]")[0]
    found = re.findall(r'"([a-z0-9-]+)', project)
    assert found
    assert not [name for name in found if f"`{name}`" not in text]


def test_every_page_that_the_readme_names_exists() -> None:
    text = (ROOT / "README.md").read_text()
    assert not [link for link in re.findall(r"\]\((docs/[^)#]+)\)", text) if not (ROOT / link).is_file()]


def calls() -> Iterator[tuple[str, str]]:
    """Give the method and path of every route, the path as the page has it: without prefix and types."""
    for route in create_app_routes():
        path = re.sub(r":\w+}", "}", route.path).removeprefix(PREFIX)
        yield from ((str(method), path) for method in route.methods if method not in {"OPTIONS", "HEAD"})


def create_app_routes() -> list[HTTPRoute]:
    app = Litestar(routes(), openapi_config=None, dependencies={"services": Provide(lambda: None, sync_to_thread=False)})
    return [route for route in app.routes if isinstance(route, HTTPRoute)]
