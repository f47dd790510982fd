"""A command line on a data directory of its own, and an appliance that answers from a script."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from appliance.base.paths import DataPaths
from appliance.cli import place
from appliance.cli.exits import guarded
from appliance.cli.main import skellig
from appliance.config import Web
from tests.support.scripted_http import ScriptedServer, scripted_server


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    status: int
    out: str
    err: str

    def json(self) -> object:
        return json.loads(self.out)


class Line:
    """A command line whose data directory is *data*."""

    def __init__(self, data: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.data = data
        self._capture = capture

    def __call__(self, *argv: str) -> Ran:
        self._capture.readouterr()
        status = guarded(skellig, ["--data", str(self.data), "--config", str(self.data / "skellig.toml"), *argv])
        out, err = self._capture.readouterr()
        return Ran(status, out, err)


@pytest.fixture
def line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Line:
    """Run commands on an empty data directory, with settings from a file and never from this machine's environment."""
    for name in [name for name in os.environ if name.startswith("SKELLIG_")]:
        monkeypatch.delenv(name)
    (tmp_path / "skellig.toml").touch()
    return Line(tmp_path, capsys)


@pytest.fixture
def appliance(line: Line) -> Iterator[ScriptedServer]:
    """Answer from a script where the command line believes the appliance to be."""
    paths = DataPaths(line.data)
    paths.run.mkdir()
    (paths.run / "cli.key").write_text("the-key\n")
    with scripted_server() as script:
        script.key = "the-key"
        place.write(place.of(Web(port=script.port), chat="none", embed="none"), paths=paths)
        yield script
