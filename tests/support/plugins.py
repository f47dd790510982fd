"""Distributions with plugins, put into a folder as an installer would."""

import shutil
import tomllib
from pathlib import Path
from typing import Final

_COMPILED: Final = shutil.ignore_patterns("__pycache__")
EXAMPLE: Final = Path(__file__).parent / "example_plugin"

PREFACE: Final = """
from appliance.contracts.agents import AgentDefinition
from appliance.contracts.languages import LanguageDefinition
from appliance.contracts.plugin import Manifest
from appliance.contracts.safety import SafetyVerdict
from appliance.contracts.tools import ToolOutput, ToolSpec
from appliance.contracts.workflows import WorkflowDefinition

class Tool:
    def __init__(self, name="own", effect="read", parameters=None):
        self.spec = ToolSpec(name, "A tool.", {"type": "object"} if parameters is None else parameters, effect=effect)
    async def run(self, arguments, *, context):
        return ToolOutput("ran")

class Rule:
    def __init__(self, name="rule"):
        self.name = name
    def judge(self, tool, arguments):
        return SafetyVerdict("allow")

class Plugin:
    manifest = Manifest(NAME, "1.0", ">=0.1", permissions=("read",))
    def register(self, context):
        raise AssertionError("a test says what it registers")
"""


def install_example(folder: Path) -> Path:
    """Install the example into *folder* and return that."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    folder.mkdir(exist_ok=True, parents=True)
    shutil.copytree(EXAMPLE / "skellig_glossary", folder / "skellig_glossary", ignore=_COMPILED)
    points = project["entry-points"]["skellig.plugins"]
    _describe(folder, project["name"], project["version"], points)
    return folder


def install(
    folder: Path, name: str, source: str, *, module: str = "", preface: str = PREFACE, point: str = "plugin"
) -> Path:
    """Install a distribution ``dist-NAME`` of one module with *source* after the preface, and return *folder*.

    Modules of two tests must not have the same name: Python keeps what it has imported.
    """
    module = module or f"{folder.parent.name.replace('-', '_')}_{folder.name}_{name.replace('-', '_')}"
    folder.mkdir(exist_ok=True, parents=True)
    (folder / f"{module}.py").write_text(f"NAME = {name!r}\n{preface}\n{source}\n")
    _describe(folder, f"dist-{name}-{module}", "1.0", {name: f"{module}:{point}"})
    return folder


def _describe(folder: Path, name: str, version: str, points: dict[str, str]) -> None:
    described = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = "".join(f"{point} = {target}\n" for point, target in points.items())
    (described / "entry_points.txt").write_text(f"[skellig.plugins]\n{lines}")
