"""What tests of the framework share."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.framework import Checkpointer, MemoryCheckpointer, SqliteCheckpointer
from appliance.services import build
from tests.support.agent_house import AgentHouse, agent_house
from tests.support.listening import listening
from tests.support.plugins import install, install_example

ASKS = """
class P(Plugin):
    def register(self, context):
        context.register_tool(Deploy())

class Deploy:
    spec = ToolSpec(
        "deploy", "Deploy it.", {"type": "object", "properties": {"where": {"type": "string"}}}, approval=True
    )
    async def run(self, arguments, *, context):
        return ToolOutput("deployed")

plugin = P()
"""


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentHouse]:
    """Give an appliance whose settings enable two plugins; tests only add sessions to it."""
    folder = tmp_path_factory.mktemp("agents")
    plugins = install(install_example(folder / "plugins"), "asks", ASKS)
    with agent_house(folder) as house:
        yield replace(house, extra={"SKELLIG_PLUGINS__ENABLED": "asks, glossary", "SKELLIG_PLUGINS__FOLDER": str(plugins)})


@contextmanager
def cleaned() -> Iterator[None]:
    """Take what a loader adds to the path of modules, and what came from there, away at the end of the block."""
    path, modules = sys.path[:], set(sys.modules)
    yield
    added = tuple(each for each in sys.path if each not in path)
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if added and (getattr(sys.modules[name], "__file__", None) or "").startswith(added):
            del sys.modules[name]


@pytest.fixture(autouse=True)
def clean_path() -> Iterator[None]:
    """Take away with each test what it had loaded."""
    with cleaned():
        yield


@pytest.fixture(params=["memory", "sqlite"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Checkpointer]:
    """Give a keeper that keeps the newest 20 checkpoints of a thread, and 30 threads that are finished."""
    if request.param == "memory":
        yield MemoryCheckpointer(keep=20, finished=30)
        return
    checkpointer = SqliteCheckpointer(tmp_path / "threads.db", keep=20, finished=30)
    yield checkpointer
    checkpointer.close()


@pytest.fixture(scope="session")
def port(house: AgentHouse) -> Iterator[int]:
    """Serve that appliance, as `skellig web` does, and give the port."""
    path = sys.path[:]
    with closing(build(house.loaded)) as services, listening(services) as port:
        sys.path[:] = path  # its plugins are loaded, and no other test is to find them
        yield port
