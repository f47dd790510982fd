"""Claims about each argument of `Agent.create`: it is honoured, or refused with a sentence."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from appliance.config import load
from appliance.contracts.tools import Json
from appliance.errors import ApplianceError, Conflict, HostUnfit, InvalidInput, NotFound
from appliance.framework.agent import Agent
from appliance.framework.events import EventType
from appliance.framework.toolset import ToolSet
from tests.support.agent_house import MODEL, AgentHouse, Follows

LOOKS: tuple[str, Mapping[str, Json]] = ("search_code", {"query": "verify"})


@dataclass
class Tried:
    """An agent that was made, and what its engine is told."""

    house: AgentHouse
    agent: Agent
    script: Follows

    @property
    def answer(self) -> Any:  # noqa: ANN401 - a request
        return self.script.answers[-1]


Check = Callable[[Tried], Awaitable[None]]
HONOURED: list[tuple[str, object, Check]] = []


def honours(argument: str, value: object) -> Callable[[Check], Check]:
    def note(check: Check) -> Check:
        HONOURED.append((argument, value, check))
        return check

    return note


@honours("provider", "local")
@honours("provider", "llama_server")
@honours("model", MODEL)
async def served(tried: Tried) -> None:
    assert tried.agent.model == MODEL
    assert (await tried.agent.run("Hi")).success


@honours("temperature", 0.25)
async def temperature(tried: Tried) -> None:
    await tried.agent.run("Hi")
    assert tried.answer.temperature == 0.25


@honours("max_tokens", 17)
async def most(tried: Tried) -> None:
    await tried.agent.run("Hi")
    assert tried.answer.max_tokens == 17


@honours("tools", ["read_lines"])
@honours("tools", ToolSet.from_tools(["read_lines"]))
@honours("tools", ToolSet.minimal().exclude_tools("search_code"))
async def only_these(tried: Tried) -> None:
    script = tried.house.follow(LOOKS)
    result = await tried.agent.run("Where is verify?")
    assert "search_code" not in tried.agent.tools
    assert "search_code" not in str([request.schema for request in script.asked])
    assert not [call for call in result.tool_calls if call.success]


@honours("tools", [])
async def none(tried: Tried) -> None:
    assert (await tried.agent.run("Hi")).tool_calls == ()
    assert [request.schema for request in tried.script.asked] == [None]


@honours("thinking", True)
async def thinks(tried: Tried) -> None:
    events = [event async for event in tried.agent.stream("Why?")]
    assert "".join(event.content for event in events if event.type is EventType.THINKING) == "The answer."
    assert "Notes made before:\nThe answer." in tried.answer.messages[-1].content
    assert "Notes made before" not in str(tried.agent.history)


@honours("thinking", False)
async def thinks_not(tried: Tried) -> None:
    events = [event async for event in tried.agent.stream("Why?")]
    assert not [event for event in events if event.type is EventType.THINKING]


@honours("airgapped", True)
async def without_plugins(tried: Tried) -> None:
    assert "glossary" not in tried.agent.tools
    assert "search_code" in tried.agent.tools


@honours("airgapped", False)
async def with_plugins(tried: Tried) -> None:
    assert "glossary" in tried.agent.tools


@honours("profile", "lexicographer")
async def profile(tried: Tried) -> None:
    script = tried.house.follow(("glossary", {"word": "span"}), answer="Lines of one file.")
    result = await tried.agent.run("What is a span?")
    assert tried.agent.tools.names == {"glossary"}
    assert script.answers[-1].messages[0].content.startswith("Look each word up in the glossary.")
    assert result.tool_calls[0].result == "Lines of one file at one commit."


@honours("workspace", "vault")
async def workspace(tried: Tried) -> None:
    script = tried.house.follow(
        LOOKS, ("search_code", {"query": "open_vault"}), ("search_code", {"query": "x", "repo": "shop"})
    )
    result = await tried.agent.run("Where?")
    assert "keys.py" in result.tool_calls[1].result
    assert not [call for call in result.tool_calls[2:] if call.success]
    assert "store.py" not in str([request.messages for request in script.asked])


@honours("workspace", "default")
async def project(tried: Tried) -> None:
    tried.house.follow(LOOKS)
    assert "store.py" in (await tried.agent.run("Where?")).tool_calls[0].result


@honours("enable_observability", True)
async def observed(tried: Tried) -> None:
    await tried.agent.run("Hi")
    assert (await tried.agent.metrics()).turns == 1


@honours("enable_observability", False)
async def unobserved(tried: Tried) -> None:
    await tried.agent.run("Hi")
    assert (await tried.agent.metrics()).turns == 0


@honours("session_id", "review-7")
async def session(tried: Tried) -> None:
    await tried.agent.run("My name is Ada.")
    async with await Agent.create(config=tried.house.loaded, session_id="review-7", tools=[]) as again:
        await again.run("What is my name?")
        assert again.session_id == tried.agent.session_id == "review-7"
    assert [m.content for m in tried.answer.messages[1:]] == ["My name is Ada.", "The answer.", "What is my name?"]


@honours("session_config", {"steps": 0, "title": "Look"})
async def session_config(tried: Tried) -> None:
    tried.house.follow(LOOKS)
    assert (await tried.agent.run("Where is verify?")).tool_calls == ()


@honours("session_config", {"tool_calls": 1})
async def calls(tried: Tried) -> None:
    tried.house.follow(LOOKS, ("search_code", {"query": "other"}))
    made = (await tried.agent.run("Where?")).tool_calls
    assert [call.success for call in made] == [True, False]
    assert "budget_exhausted" in made[1].error


@honours("session_config", {"seconds": 0.2})
async def seconds(tried: Tried) -> None:
    tried.house.engine.pace = 5
    try:
        result = await tried.agent.run("Hi")
    finally:
        tried.house.engine.pace = None
    assert (result.status, result.metadata["code"]) == ("failed", "deadline_exceeded")


def test_settings_may_be_a_file(house: AgentHouse, tmp_path: Path) -> None:
    file = tmp_path / "skellig.toml"
    file.write_text(f'data = "{house.root}"\n')

    async def work() -> None:
        for config in (file, str(file), load(environ={}, file=file).settings):
            async with await Agent.create(config=config) as made:
                assert made.model == MODEL

    asyncio.run(work())


REFUSED: list[tuple[str, object, type[ApplianceError], str]] = [
    ("provider", "anthropic", InvalidInput, "There is no provider"),
    ("provider", "vllm", InvalidInput, "runs on llama_server"),
    ("provider", ["local"], InvalidInput, "no provider"),
    ("model", "gpt-9", InvalidInput, "serves qwen"),
    ("temperature", 3, InvalidInput, "0 to 2"),
    ("temperature", "hot", InvalidInput, "0 to 2"),
    ("temperature", True, InvalidInput, "0 to 2"),
    ("temperature", float("nan"), InvalidInput, "0 to 2"),
    ("max_tokens", 0, InvalidInput, "from 1 to"),
    ("max_tokens", 2.5, InvalidInput, "from 1 to"),
    ("tools", ["serch_code"], InvalidInput, "search_code"),
    ("tools", "search_code", InvalidInput, "not several names"),
    ("tools", 5, InvalidInput, "no list of names"),
    ("tools", [["search_code"]], InvalidInput, "is no name"),
    ("thinking", "no", InvalidInput, "True or False"),
    ("airgapped", 1, InvalidInput, "True or False"),
    ("profile", "lexicografer", NotFound, "lexicographer"),
    ("workspace", "/nowhere", NotFound, "repo add PATH"),
    ("workspace", "", NotFound, "repo add PATH"),
    ("config", 7, InvalidInput, "path of a configuration file"),
    ("config", "/nowhere/skellig.toml", InvalidInput, "does not exist"),
    ("vertical", "coding", InvalidInput, "no verticals"),
    ("enable_observability", "yes", InvalidInput, "True or False"),
    ("session_id", "../other", InvalidInput, "cannot be the id"),
    ("session_id", 7, InvalidInput, "It is text"),
    ("session_config", {"colour": "red"}, InvalidInput, "It takes title"),
    ("session_config", {"steps": "many"}, InvalidInput, "steps"),
    ("session_config", 7, InvalidInput, "It takes title"),
]


@pytest.mark.parametrize(
    ("argument", "value", "check"), HONOURED, ids=[f"{name}, {check.__name__}" for name, _, check in HONOURED]
)
def test_an_argument_is_honoured(house: AgentHouse, argument: str, value: Any, check: Check) -> None:  # noqa: ANN401
    script = house.follow()

    async def work() -> None:
        async with await Agent.create(**{"config": house.loaded, argument: value}) as made:
            await check(Tried(house, made, script))

    asyncio.run(work())


@pytest.mark.parametrize(("argument", "value", "error", "said"), REFUSED)
def test_an_argument_that_cannot_be_honoured_is_refused_with_a_sentence(
    house: AgentHouse,
    argument: str,
    value: Any,  # noqa: ANN401
    error: type[ApplianceError],
    said: str,
) -> None:
    with pytest.raises(error) as refused:
        asyncio.run(Agent.create(**{"config": house.loaded, argument: value}))
    assert said in str(refused.value)


def test_every_argument_is_claimed_here() -> None:
    claimed = {name for name, *_ in HONOURED} | {name for name, *_ in REFUSED}
    assert claimed == set(inspect.signature(Agent.create).parameters)
    assert claimed - {name for name, *_ in HONOURED} == {"config", "vertical"}  # the one has a test of its own


def test_tools_of_plugins_and_airgapped_contradict_each_other(house: AgentHouse) -> None:
    with pytest.raises(InvalidInput, match="glossary was asked for"):
        asyncio.run(Agent.create(config=house.loaded, airgapped=True, profile=None, tools=["glossary"]))


def test_a_session_that_is_closed_is_not_gone_on_with(house: AgentHouse) -> None:
    async def work() -> None:
        async with await Agent.create(config=house.loaded, session_id="over") as made:
            made._made.place.services.sessions.close_session("over")
        await Agent.create(config=house.loaded, session_id="over")

    with pytest.raises(Conflict):
        asyncio.run(work())


def test_where_no_appliance_is_nothing_is_made(tmp_path: Path) -> None:
    """An agent that made itself a data directory would answer from an empty index, and nobody would know why."""
    with pytest.raises(HostUnfit, match="skellig up"):
        asyncio.run(Agent.create(config=load(environ={"SKELLIG_DATA": str(tmp_path / "data")})))
    assert not (tmp_path / "data").exists()
