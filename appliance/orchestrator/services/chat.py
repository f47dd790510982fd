"""The chat service: a question in a session, the steps that it takes, and exactly one answer.

A turn is put into the conversation as a whole once it has its answer: whatever ends it before that, a failure or a cancel at
any moment, leaves the conversation as it was.
"""

import asyncio
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol

from appliance.codeintel.results import Citation
from appliance.contracts.tools import Evidence, ToolContext
from appliance.errors import Cancelled, Conflict, EngineUnavailable, InvalidInput
from appliance.orchestrator.calls import storable
from appliance.orchestrator.runners.probe import Abilities
from appliance.orchestrator.runners.prompts import preamble
from appliance.orchestrator.runners.steps import Stepper
from appliance.orchestrator.services.context import ContextService
from appliance.orchestrator.services.conversation import ConversationMessage
from appliance.orchestrator.services.provider import ProviderService
from appliance.orchestrator.services.recovery import RecoveryService
from appliance.orchestrator.services.session import SessionService
from appliance.orchestrator.services.tool import ToolService
from appliance.orchestrator.services.turn import ChatEvent, ChatOptions, ChatReply, Turn
from appliance.orchestrator.state.hosts import HostLock

NO_RESPONSE: Final = "(no response)"
Cites = Callable[[Sequence[Evidence], ToolContext], Awaitable[tuple[Citation, ...]]]


class ChatService(Protocol):
    """What answers in a session."""

    async def chat(
        self, session_id: str, text: str, *, context: ToolContext, options: ChatOptions | None = None
    ) -> ChatReply:
        """Return the answer to *text*."""

    def stream_chat(
        self, session_id: str, text: str, *, context: ToolContext, options: ChatOptions | None = None
    ) -> AsyncGenerator[ChatEvent]:
        """Stream the turn: its steps, the answer's pieces, and last the whole reply. Closing the generator cancels it."""

    def cancel_chat(self, session_id: str) -> int:
        """Cancel the turns of the session, whoever asked, and return how many there were."""


@dataclass(frozen=True, kw_only=True)
class LocalChatService:
    """Chat over the other services: a tool is chosen in one constrained step, the answer has a prompt without tools."""

    context_service: ContextService
    tool_service: ToolService
    session_service: SessionService
    provider_service: ProviderService
    recovery_service: RecoveryService
    cites: Cites | None = None  # what checks where evidence stands
    _locks: "weakref.WeakValueDictionary[str, HostLock]" = field(
        default_factory=weakref.WeakValueDictionary, init=False, repr=False
    )
    _turns: dict[str, set[asyncio.Task[None]]] = field(default_factory=dict, init=False, repr=False)

    async def chat(
        self, session_id: str, text: str, *, context: ToolContext, options: ChatOptions | None = None
    ) -> ChatReply:
        """Return the answer to *text*; raise what `stream_chat` raises."""
        async with aclosing(self.stream_chat(session_id, text, context=context, options=options)) as events:
            async for event in events:
                if event.reply is not None:
                    return event.reply
        raise EngineUnavailable("The answer broke off before its end.", remedy="Ask again.")

    async def stream_chat(
        self, session_id: str, text: str, *, context: ToolContext, options: ChatOptions | None = None
    ) -> AsyncGenerator[ChatEvent]:
        """Stream the turn: its steps, the answer's pieces, and last the whole reply. Closing the generator cancels it.

        Turns of one session follow each other. Raise `InvalidInput` for a text that says nothing, `NotFound` or `Conflict`
        for a session that is not open, `PromptTooLong` before the model is asked, `Cancelled` after `cancel_chat`, and what
        the model raises: nothing of the turn is kept then.
        """
        happened: asyncio.Queue[ChatEvent | None] = asyncio.Queue()
        task = asyncio.create_task(self._alone(session_id, text, context, options or ChatOptions(), happened.put_nowait))
        task.add_done_callback(lambda _: happened.put_nowait(None))
        turns = self._turns.setdefault(session_id, set())
        turns.add(task)
        try:
            while (event := await happened.get()) is not None:
                yield event
            if task.cancelled():
                raise Cancelled("The turn was cancelled.", remedy="Ask again: the conversation is as it was.")
            task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            turns.discard(task)
            if not turns and self._turns.get(session_id) is turns:
                del self._turns[session_id]

    def cancel_chat(self, session_id: str) -> int:
        """Cancel the turns of the session, those that wait too; return how many. Whoever asked gets `Cancelled`."""
        turns = tuple(self._turns.get(session_id, ()))
        for task in turns:
            task.get_loop().call_soon_threadsafe(task.cancel)
        return len(turns)

    async def _alone(
        self, session_id: str, text: str, context: ToolContext, options: ChatOptions, tell: Callable[[ChatEvent], None]
    ) -> None:
        asked = storable(text.strip())
        if not asked:
            raise InvalidInput("The message says nothing.", remedy="Write what you want to know.")
        async with self._in_turn(session_id):
            session = self.session_service.get_session(session_id)
            if session.state != "open":
                raise Conflict(f"The session {session_id} is closed.", remedy="Open a new one.", session=session_id)
            history = self.context_service.get_messages(session_id)
            begun = any(each.role == "system" for each in history)
            system = [] if begun or not options.system else [ConversationMessage("system", options.system)]
            said = [*system, ConversationMessage("user", asked)]
            turn = Turn(
                context_service=self.context_service,
                tool_service=self.tool_service,
                provider_service=self.provider_service,
                recovery_service=self.recovery_service,
                text=asked,
                context=context,
                options=options,
                tell=tell,
                history=history,
                said=said,
            )
            reply = await self._answered(turn)
            self.context_service.add_message(session_id, *turn.said, expected=session.version)
            tell(ChatEvent("final", reply.content, reply=reply))

    @asynccontextmanager
    async def _in_turn(self, session_id: str) -> AsyncIterator[None]:
        """Hold the session for the block, once the turns before have ended."""
        lock = self._locks.setdefault(session_id, HostLock())
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(lock.held())
            except Conflict as exc:
                raise Conflict(
                    "A tool of this session's turn asked in the same session, which would wait for itself.",
                    remedy="Ask in a session of its own.",
                    session=session_id,
                ) from exc
            yield

    async def _answered(self, turn: Turn) -> ChatReply:
        abilities = Abilities()
        if turn.options.steps > 0 and (specs := turn.specs):
            preamble(specs, turn.system)  # refuses what is too much for a small model before it is asked
            abilities = await self.provider_service.abilities()
        stepper = Stepper(
            turn, abilities=abilities, skill=turn.system, steps=turn.options.steps, recovery=self.recovery_service
        )
        work = await stepper.work(turn.task)
        content = f"{work.paused} Tell me how to go on." if work.paused else work.answer or NO_RESPONSE
        turn.said.append(ConversationMessage("assistant", content))
        return ChatReply(
            content,
            "paused" if work.paused else "done",
            tuple(turn.outcomes),
            tuple(turn.warnings),
            turn.prompt_tokens,
            turn.completion_tokens,
            () if work.paused or self.cites is None else await self.cites(work.evidence, turn.context),
        )
