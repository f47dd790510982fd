"""An appliance for agents: two indexed repositories, and an engine on its socket that follows a script."""

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from appliance.base import durable
from appliance.base.paths import DataPaths
from appliance.config import Loaded, load
from appliance.contracts.chat import ChatRequest
from appliance.contracts.tools import Json
from appliance.framework.agent import Agent
from appliance.framework.events import AgentEvent
from appliance.inference.card import Card, write_card
from appliance.tables import MIGRATIONS
from tests.support.engines import ScriptedEngine, served_in_thread
from tests.support.indexed import Indexed
from tests.support.repos import make_repo
from tests.support.shop import FILES

MODEL = "qwen2.5-coder-1.5b-instruct-q4_k_m"
Step = tuple[str, Mapping[str, Json]]

_TRIED = (("find_callers", "name", r"call (\w+)\?|calls (\w+)\?"), ("read_file", "path", r"the file (\S+)\."))


@dataclass
class Follows:
    """What a model says that keeps to the form: it takes *steps*, one after the other, then gives *answer*.

    What it was asked is in ``asked``, without the short tasks by which it is found out what it can do.
    """

    steps: Sequence[Step] = ()
    native: bool = False  # it makes calls in its own form, whatever it is held to
    answer: str | Callable[[ChatRequest], str] = "The answer."
    asked: list[ChatRequest] = field(default_factory=list)

    def __call__(self, request: ChatRequest) -> str:
        system, said = request.messages[0].content, request.messages[-1].content
        if "find_callers" in system:
            return _tried(request, said, native=self.native)
        if request.schema is not None and "choice" in str(request.schema):
            return '{"choice":1}'
        self.asked.append(request)
        if self.native and "<tools>" in system:
            return self._native(said)
        if request.schema is not None:
            taken = said.count("\n\nCall: ")
            tool, arguments = self.steps[taken] if taken < len(self.steps) else ("answer", {})
            return json.dumps({"tool": tool, "arguments": dict(arguments)})
        return self.answer if isinstance(self.answer, str) else self.answer(request)

    def _native(self, said: str) -> str:
        taken = said.count("\n\nCall: ")
        return _called(*self.steps[taken]) if taken < len(self.steps) else "I have what I need."

    @property
    def answers(self) -> list[ChatRequest]:
        """The requests for answers, which have no schema."""
        return [request for request in self.asked if request.schema is None]


@dataclass
class AgentHouse:
    """A running appliance, as far as agents see it."""

    root: Path
    engine: ScriptedEngine
    repos: Mapping[str, str]  # ids by name
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def loaded(self) -> Loaded:
        """Its settings."""
        environ = {"HOME": str(self.root), "SKELLIG_DATA": str(self.root), "SKELLIG_EMBED__MODEL": "none", **self.extra}
        return load(environ=environ)

    def follow(
        self, *steps: Step, answer: str | Callable[[ChatRequest], str] = "The answer.", native: bool = False
    ) -> Follows:
        """Have the engine take *steps* and then *answer*, from now on."""
        script = Follows(steps, native, answer)
        self.engine.outputs = script
        return script


@contextmanager
def agent_house(folder: Path) -> Iterator[AgentHouse]:
    """Give an appliance in *folder* with the repositories ``shop`` and ``vault``."""
    data = folder / "data"
    data.mkdir(parents=True)
    index = Indexed(data, migrations=MIGRATIONS)
    repos = {name: index.add(make_repo(folder, files, name=name)).id for name, files in _REPOS.items()}
    for repo in index.registry.repos():
        index.graph(repo)
    index.close()
    engine = ScriptedEngine(Follows(), model=MODEL)
    socket = DataPaths(data).engine_socket("chat")
    durable.make_directory(socket.parent)
    write_card(socket, Card(engine.info))
    with served_in_thread(engine, socket):
        yield AgentHouse(data, engine, repos)


@asynccontextmanager
async def agent(house: AgentHouse, **arguments: object) -> AsyncIterator[Agent]:
    """Give an agent of *house*, closed at the end."""
    async with await Agent.create(config=house.loaded, **arguments) as made:  # type: ignore[arg-type]
        yield made


async def heard(made: Agent, prompt: str) -> list[AgentEvent]:
    """Return every event of a turn."""
    return [event async for event in made.stream(prompt)]


_REPOS: Mapping[str, Mapping[str, str]] = {
    "shop": FILES,
    "vault": {"vault/keys.py": "def open_vault():\n    return 'gold'\n"},
}


def _tried(request: ChatRequest, said: str, *, native: bool) -> str:
    """Answer one of the short tasks by which it is found out what a model can do."""
    if native != (request.schema is None):
        return "I do not know that form."
    for tool, name, form in _TRIED:
        if (found := re.search(form, said)) is not None:
            arguments = {name: next(group for group in found.groups() if group)}
            return _called(tool, arguments) if native else json.dumps({"tool": tool, "arguments": arguments})
    return json.dumps({"tool": "answer", "arguments": {}})


def _called(tool: str, arguments: Mapping[str, Json]) -> str:
    return f"<tool_call>{json.dumps({'name': tool, 'arguments': dict(arguments)})}</tool_call>"
