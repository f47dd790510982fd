"""What the services of the orchestrator hold of every engine, shown on the scripted one and on a real one."""

import asyncio
import json
from pathlib import Path

import pytest

from appliance.base import sqlite
from appliance.codeintel.needs import ChatModel
from appliance.contracts.chat import ChatRequest, Message
from appliance.errors import PromptTooLong
from appliance.inference.client import EngineClient
from appliance.inference.engines.base import EngineHealth
from appliance.orchestrator.runners.probe import Abilities
from appliance.orchestrator.runners.prompts import decision
from appliance.orchestrator.runtime import Orchestrator, Parts, orchestrator
from appliance.orchestrator.services.conversation import ConversationMessage
from appliance.orchestrator.services.provider import InstalledModel
from appliance.orchestrator.services.registry import ToolRegistry
from appliance.orchestrator.services.turn import ChatEvent, ChatOptions
from appliance.orchestrator.tools.catalogue import builtin_tools
from appliance.tables import MIGRATIONS
from tests.support.calls import Names, ScriptedTool, context, grants
from tests.support.clock import FakeClock

pytestmark = pytest.mark.parametrize("chat", ["scripted", "llama_server"], indirect=True)
FIND = {"type": "object", "properties": {"query": {"type": "string", "maxLength": 20}}, "required": ["query"]}


class Served:
    """The models of a machine with one engine."""

    def __init__(self, chat: EngineClient) -> None:
        self._chat = chat

    def installed(self) -> list[InstalledModel]:
        return [InstalledModel(self._chat.model, "", self._chat.context, served=True)]

    def open(self, name: str) -> ChatModel:
        assert name in {"", self._chat.model}
        return self._chat

    async def health(self, name: str) -> EngineHealth:
        del name
        return await self._chat.health()


async def _able(model: ChatModel) -> Abilities:
    del model
    return Abilities(schema=True, envelope=True)


def services(chat: EngineClient, path: Path) -> Orchestrator:
    tools = ToolRegistry()
    tools.register(ScriptedTool("search", parameters=FIND))
    return orchestrator(
        Parts(
            connect=lambda: sqlite.connect(path / "global.db", migrations=MIGRATIONS),
            clock=FakeClock(),
            models=Served(chat),
            probe=_able,
            tools=tools,
            repositories=Names(),
            patience_s=0,
        )
    )


def words(count: int, role: str = "user") -> ConversationMessage:
    return ConversationMessage(role, " ".join(f"word{number}" for number in range(count)))  # type: ignore[arg-type]


def test_what_is_counted_is_at_least_what_the_engine_reads_and_little_more(chat: EngineClient, tmp_path: Path) -> None:
    made = services(chat, tmp_path)
    request = ChatRequest([words(30, "system").spoken(), words(60).spoken()], max_tokens=1)

    async def main() -> tuple[int, int]:
        counted = await made.facade.context_service.estimate_tokens(request.messages)
        assert counted.exact
        return counted.tokens, [delta.prompt_tokens async for delta in chat.chat(request)][-1]

    counted, read = asyncio.run(main())
    made.close()
    assert read <= counted <= read + 40


def test_what_cannot_fit_is_refused_before_the_engine_is_asked(chat: EngineClient, tmp_path: Path) -> None:
    made = services(chat, tmp_path)
    with pytest.raises(PromptTooLong):
        asyncio.run(made.facade.context_service.compact_context([words(chat.context)], max_tokens=20))
    made.close()


def test_a_turn_gives_one_answer_and_keeps_the_conversation(chat: EngineClient, tmp_path: Path) -> None:
    made = services(chat, tmp_path)
    session = made.facade.session_service.create_session()
    host = made.runtime(session.id, context=context(grants("search")))

    async def main() -> list[ChatEvent]:
        turn = host.facade.chat_service.stream_chat(
            session.id, "Who calls parse?", context=host.context, options=ChatOptions(max_tokens=16, steps=2)
        )
        return [event async for event in turn]

    events = asyncio.run(main())
    assert [event.kind for event in events].count("final") == 1
    reply = events[-1].reply
    assert reply is not None
    assert "".join(event.text for event in events if event.kind == "token").strip() == reply.content
    host.refresh()
    roles = [message["role"] for message in host.messages if isinstance(message, dict)]
    assert (roles[:2], roles[-1]) == (["system", "user"], "assistant")
    assert roles.count("assistant") == 1 + len(reply.outcomes) == 1 + roles.count("tool")
    made.close()


def test_a_turn_that_is_closed_in_its_answer_leaves_the_conversation_and_the_engine_free(
    chat: EngineClient, tmp_path: Path
) -> None:
    made = services(chat, tmp_path)
    session = made.facade.session_service.create_session()
    where = context(grants())

    async def main() -> None:
        turn = made.facade.chat_service.stream_chat(session.id, "Tell me.", context=where)
        assert (await anext(turn)).kind == "token"
        await turn.aclose()
        assert await made.facade.provider_service.complete(ChatRequest([Message("user", "Hello?")], max_tokens=4))

    asyncio.run(main())
    assert made.facade.session_service.get_session(session.id) == session
    made.close()


def test_what_stands_before_a_task_is_at_most_1500_tokens_of_the_engine(chat: EngineClient, tmp_path: Path) -> None:
    """With every tool that is built in: the prompt, and the schema as it is sent."""
    specs = [tool.spec for tool in builtin_tools(None)]  # type: ignore[arg-type]  # none of them is run
    request = decision("?", specs, (), skill=ChatOptions().system)

    async def main() -> int:
        made = services(chat, tmp_path)
        counted = await made.facade.context_service.estimate_tokens(request.messages)
        made.close()
        return counted.tokens + await chat.tokens(json.dumps(request.schema, separators=(",", ":")))

    if "smol" in chat.model:
        assert asyncio.run(main()) <= 1_500
    else:
        assert asyncio.run(main()) <= 3_300, "a token for each sign: no tokenizer of a model does that"
