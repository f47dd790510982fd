"""A chat service on a real database, with a model and tools that do what a test says."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from appliance.base import sqlite
from appliance.codeintel.needs import ChatModel
from appliance.contracts.chat import ChatRequest, JsonSchema
from appliance.contracts.tools import Grants, Json
from appliance.orchestrator.runners.probe import Abilities
from appliance.orchestrator.services.chat import LocalChatService
from appliance.orchestrator.services.context import LocalContextService
from appliance.orchestrator.services.provider import LocalProviderService
from appliance.orchestrator.services.recovery import LocalRecoveryService
from appliance.orchestrator.services.session import LocalSessionService
from appliance.orchestrator.services.tool import LocalToolService
from appliance.orchestrator.services.turn import ChatOptions, ChatReply
from tests.support.calls import RUN, OneModel, ScriptedModel, ScriptedTool, Stop, context, grants, serving_tools
from tests.support.clock import FakeClock

NONE = grants()
SEARCH: JsonSchema = {"type": "object", "properties": {"query": {"type": "string", "maxLength": 80}}, "required": ["query"]}


def choice(tool: str, **arguments: Json) -> str:
    return json.dumps({"tool": tool, "arguments": arguments})


ANSWER = choice("answer")


@dataclass
class Stage:
    """A chat service with everything that it works with."""

    chat: LocalChatService
    tools: LocalToolService
    sessions: LocalSessionService
    model: ScriptedModel
    session: str

    def say(
        self, text: str, *, given: Grants = NONE, options: ChatOptions | None = None, stop: Stop | None = None
    ) -> ChatReply:
        return asyncio.run(self.chat.chat(self.session, text, context=context(given, stop=stop), options=options))

    @property
    def messages(self) -> list[tuple[str, str]]:
        return [(each.role, each.content) for each in self.sessions.content(self.session)[0].messages]


@contextmanager
def staged(
    path: Path, model: ScriptedModel, *tools: ScriptedTool, sees: Abilities | None = None, calls: int = 60
) -> Iterator[Stage]:
    async def probe(chat: ChatModel) -> Abilities:
        del chat
        return sees or Abilities(schema=True, envelope=True)

    async def at_once(seconds: float) -> None:
        del seconds

    with serving_tools(path, *tools) as service:
        service.open_run(RUN, grants=grants(*(tool.name for tool in tools)), calls=calls)
        sessions = LocalSessionService(sqlite.connect(path), clock=FakeClock())
        provider = LocalProviderService(OneModel(model), probe=probe)
        chat = LocalChatService(
            context_service=LocalContextService(sessions, provider.current),
            tool_service=service,
            session_service=sessions,
            provider_service=provider,
            recovery_service=LocalRecoveryService(sleep=at_once),
        )
        yield Stage(chat, service, sessions, model, sessions.create_session().id)
        sessions.close()


def scripted(*choices: str, answer: str = "It is main.") -> Callable[[ChatRequest], str]:
    """Say *choices* one after the other where a choice is asked for, the last for ever; and *answer* where none is."""
    left = list(choices)

    def says(request: ChatRequest) -> str:
        if request.schema is None:
            return answer
        return left.pop(0) if len(left) > 1 else left[0]

    return says
