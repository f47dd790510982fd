"""A conversation of several turns, each message of which is sent, and sent once."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from appliance.contracts.chat import Message
from appliance.framework.conversation import Conversation
from appliance.framework.events import AgentEvent
from appliance.framework.results import TaskResult


class ChatSession:
    """Made by `Agent.chat`. An *opening* is a turn of its own, which goes before whatever is sent first."""

    def __init__(self, conversation: Conversation, opening: str | None = None) -> None:
        self._conversation = conversation
        self._opening = opening

    @property
    def session_id(self) -> str | None:
        """The session, to go on with later by `Agent.create(session_id=...)`; None before the first turn."""
        return self._conversation.session_id

    @property
    def history(self) -> tuple[Message, ...]:
        """What was said so far, the system prompt once and first; calls of tools and their results are left out."""
        return self._conversation.history

    @property
    def turn_count(self) -> int:
        """How many messages have their answer."""
        return sum(message.role == "user" for message in self.history)

    async def send(self, text: str) -> TaskResult:
        """Return the answer to *text*.

        Where the opening cannot be sent its own result is returned, which failed, or waits for a person: *text* was not sent
        then, and the opening is sent with the next call unless it waits.
        """
        if self._opening is not None:
            opened = await self._conversation.run(self._opening)
            if opened.status != "failed":
                self._opening = None
            if opened.status in {"failed", "awaiting_approval"}:
                return opened
        return await self._conversation.run(text)

    async def stream(self, text: str) -> AsyncGenerator[AgentEvent, None]:
        """Give the events of the opening's turn, if there is one to be sent, and then those of the turn with *text*.

        Where the opening fails its events are all: *text* was not sent then.
        """
        if self._opening is not None:
            async with aclosing(self._conversation.stream(self._opening)) as events:
                succeeded = False
                async for event in events:
                    succeeded = event.success
                    yield event
            if not succeeded:
                return
            self._opening = None
        async with aclosing(self._conversation.stream(text)) as events:
            async for event in events:
                yield event
