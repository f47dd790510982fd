"""What runners promise with any model: a scripted one, and, where ``SKELLIG_TEST_MODELS`` names a store, real ones."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest

from appliance.codeintel.needs import ChatModel
from appliance.contracts.chat import ChatDelta, ChatRequest
from appliance.contracts.tools import Json, ToolSpec
from appliance.operator import AgentRequest, AgentSpec, Coordinator, StateMachine, callable_agent
from appliance.orchestrator.runners.completion import complete
from appliance.orchestrator.runners.local import LocalCoordinatorRunner, LocalJuniorRunner
from appliance.orchestrator.runners.probe import Abilities, probe
from appliance.orchestrator.runners.steps import Given
from tests.support.engines import program
from tests.support.models import ANSWERS, SMALL, needed

pytestmark = pytest.mark.timeout(600)  # on a machine that does other things, too
_ABLE = Abilities(schema=True, envelope=True)
_QUERY = {
    "type": "object",
    "properties": {"query": {"type": "string", "maxLength": 80}},
    "required": ["query"],
    "additionalProperties": False,
}
_TOOLS = (
    ToolSpec("search_code", "Find lines of code by words.", _QUERY, category="search"),
    ToolSpec("list_commits", "List the newest commits that touch something.", _QUERY, category="git"),
)
_FOUND = "store.py:24: def verify(self, name): compares the digest of the file with the one in the catalogue"


class Obliging:
    """A model that searches once, then answers; it fails each trial but that of the envelope."""

    model = "scripted"
    context = 4096

    async def tokens(self, text: str) -> int:
        """Return a token for each four characters."""
        return len(text) // 4

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """Say it."""
        asked = request.messages[-1].content
        if request.schema is None:
            said = "The digest is compared in store.py."
        elif "researcher" in asked or "commission" in request.messages[0].content:
            call = {"tool": "commission", "arguments": {"agent": "researcher", "objective": "Find where it is compared."}}
            said = json.dumps({"tool": "answer", "arguments": {}} if "Result:" in asked else call)
        elif "Result:" in asked:
            said = '{"tool":"answer","arguments":{}}'
        else:
            said = '{"tool":"search_code","arguments":{"query":"digest"}}'
        yield ChatDelta(said)
        yield ChatDelta("", finish="stop", prompt_tokens=50, completion_tokens=9)


class Tools:
    """The two tools; they remember how they were called."""

    specs: Sequence[ToolSpec] = _TOOLS

    def __init__(self) -> None:
        self.calls: list[tuple[str, Mapping[str, Json]]] = []

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Given:
        """Give the same each time."""
        self.calls.append((tool, arguments))
        return Given(_FOUND)


@pytest.fixture(scope="module", params=["scripted", SMALL, ANSWERS])
def chat(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChatModel]:
    """Give each model; a real one runs in the engine's own program."""
    if request.param == "scripted":
        yield Obliging()
        return
    if "SKELLIG_TEST_MODELS" not in os.environ:
        pytest.skip("SKELLIG_TEST_MODELS names no store of models: real ones take a minute")
    folder: Path = tmp_path_factory.mktemp("engine")
    options = ("--context", "4096")
    files = needed(request.param)
    with program("llama_server", name=request.param, files=files, socket=folder / "chat.sock", options=options) as client:
        yield client


def test_a_junior_calls_what_it_was_given_and_answers_from_it(chat: ChatModel) -> None:
    tools = Tools()
    runner = LocalJuniorRunner(partial(complete, chat), tools, abilities=_ABLE)
    request = AgentRequest(
        agent="researcher", objective="Where is a digest compared?", skill="You search code.", messages=[]
    )
    result = asyncio.run(runner.run(request))
    assert tools.calls[0][0] == "search_code"
    assert len(tools.calls) <= 6
    assert len({json.dumps(call) for call in tools.calls}) == len(tools.calls), "No call is made twice"
    assert all(set(arguments) == {"query"} for _, arguments in tools.calls)
    assert any(word in result.content for word in ("store.py", "verify")), result.content
    assert result.usage is not None
    assert result.usage["total_tokens"] > 0


def test_a_coordinator_comes_back_with_what_its_junior_found(chat: ChatModel) -> None:
    specs = [
        AgentSpec(name="researcher", description="Finds code.", skill="Find.", runner=callable_agent(lambda _: _FOUND)),
    ]
    coordinator = Coordinator(runner=LocalCoordinatorRunner(partial(complete, chat), abilities=_ABLE))
    machine = StateMachine(coordinator, specs)
    reply = asyncio.run(machine.run("Have the researcher find out where a digest is compared, then tell me the file."))
    assert reply
    assert all(slot.status in {"staged", "accepted"} for handle in machine.agents() for slot in handle.slots)
    assert machine.active_agent is None


def test_a_model_is_known_by_what_it_does(chat: ChatModel) -> None:
    found = asyncio.run(probe(chat))
    assert len(found.said) == 4
    expected = {"scripted": (False, False), SMALL: (True, False), ANSWERS: (True, True)}[chat.model]
    assert (found.choice, found.reading) == expected
    assert not found.native
