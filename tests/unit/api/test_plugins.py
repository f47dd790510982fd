"""Plugins at the doors: how each is, at the API, on the command line's and the console's status."""

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.api.v1.plugins import PluginOut
from appliance.cli.plugin import Plugin
from appliance.services import Services
from tests.support.appliance import Client, make_services, serving
from tests.support.plugins import install, install_example
from tests.unit.console.test_pages import logged_in
from tests.unit.framework.conftest import cleaned


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Give an appliance with the example, one that cannot be loaded, and one that nobody enabled; tests change nothing."""
    root = tmp_path_factory.mktemp("plugins")
    folder = install_example(root / "plugins")
    install(folder, "broken", "raise RuntimeError('no licence <b>here</b>')")
    install(folder, "idle", "raise RuntimeError('never')")
    extra = {"SKELLIG_PLUGINS__FOLDER": str(folder), "SKELLIG_PLUGINS__ENABLED": "glossary,glossary-files,broken"}
    with cleaned(), closing(make_services(root / "data", extra=extra)) as services:
        sys.path.remove(str(folder))  # no other appliance is to find them
        yield services
        sys.path.append(str(folder))


@pytest.fixture(scope="module")
def client(services: Services) -> Iterator[Client]:
    with serving(services) as client:
        yield client


def test_every_plugin_is_listed_with_its_state_what_it_added_and_why_it_failed(client: Client) -> None:
    broken, glossary, files, idle = client.get("/api/v1/plugins").json()
    assert (broken["name"], broken["state"]) == ("broken", "failed")
    assert "no licence" in broken["reason"]
    assert (glossary["name"], glossary["state"], glossary["version"]) == ("glossary", "loaded", "1.2.0")
    assert (glossary["tools"], glossary["agents"], glossary["workflows"], glossary["safety_rules"]) == (
        ["glossary"], ["lexicographer"], ["explain-word"], ["no-lock-files"],
    )  # fmt: skip
    assert (files["name"], files["state"], files["languages"]) == ("glossary-files", "loaded", ["glossary"])
    assert (idle["name"], idle["state"], idle["reason"]) == ("idle", "off", "")


@pytest.mark.parametrize("path", ["/api/v1/plugins", "/api/v1/plugins/glossary", "/api/v1/plugins/idle/enable"])
def test_no_door_makes_changes_or_enables_one(client: Client, path: str) -> None:
    """That is the administrator's of the machine, who writes its configuration."""
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert client.request(method, path, json={"name": "idle", "enabled": True}).status_code in {404, 405}
    assert [each["state"] for each in client.get("/api/v1/plugins").json()] == ["failed", "loaded", "loaded", "off"]


def test_one_that_fails_is_shown_and_stops_nothing(client: Client, services: Services) -> None:
    health = client.get("/api/v1/health").json()
    part = next(part for part in health["parts"] if part["name"] == "plugins")
    assert (part["state"], health["state"] == "failed") == ("degraded", False)
    assert "broken: " in part["detail"]
    with logged_in(services) as browser:
        page = browser.get("/status").text
    assert "plugins: broken: " in page
    assert "<b>here</b>" not in page


def test_without_a_plugin_nothing_is_said_of_them(tmp_path: Path) -> None:
    with closing(make_services(tmp_path)) as services, serving(services) as client:
        assert client.get("/api/v1/plugins").json() == []
        assert "plugins" not in [part["name"] for part in client.get("/api/v1/health").json()["parts"]]


def test_every_field_that_the_command_line_reads_is_written() -> None:
    assert not set(Plugin.__struct_fields__) - set(PluginOut.model_fields)
