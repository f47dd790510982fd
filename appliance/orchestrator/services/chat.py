"""The chat service: a question in a session, the steps that it takes, and exactly one answer.

A turn is put into the conversation as a whole once it has its answer: whatever ends it before that, a failure or a cancel at
any moment, leaves the conversation as it was.
"""

import asyncio
import hashlib
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Final, Literal, Protocol

from appliance.contracts.chat import ChatDelta, ChatRequest
from appliance.contracts.tools import Json, ToolContext, ToolSpec
from appliance.errors import Cancelled, Conflict, ContentError, EngineUnavailable, InvalidInput
from appliance.orchestrator.approvals import Approval
from appliance.orchestrator.calls import canonical, storable
from appliance.orchestrator.fence import RULE
from appliance.orchestrator.runners.completion import Completion
from appliance.orchestrator.runners.envelope import Choice
from appliance.orchestrator.runners.probe import Abilities
from appliance.orchestrator.runners.prompts import Taken, closing, preamble, without_result
from appliance.orchestrator.services.context import ContextService
from appliance.orchestrator.services.conversation import ConversationMessage, ToolUse
from appliance.orchestrator.services.provider import TIMEOUT_S, ProviderService
from appliance.orchestrator.services.recovery import RecoveryService, Step
from appliance.orchestrator.services.session import SessionService
from appliance.orchestrator.services.telling import choosing, read_choice, useful, worth_telling
from appliance.orchestrator.services.tool import ToolOutcome, ToolService
from appliance.orchestrator.state.hosts import HostLock

SYSTEM: Final = "You help a programmer with code. Be brief and exact, and say what you do not know."
STEPS: Final = 6
NO_RESPONSE: Final = "(no response)"

_UNFOUNDED: Final = "No tool was called: the answer is the model's own, and rests on nothing that was looked up."
_TRIES: Final = 2  # at a choice that can be read
_SAID_BEFORE: Final = 2  # questions that a choice is made with
_SAID_CHARACTERS: Final = 400
_KEPT_CHARACTERS: Final = 4_000  # of a tool's result, in the conversation

ChatEventKind = Literal["tool_call", "tool_result", "tool_error", "awaiting_approval", "warning", "token", "final"]


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """How a turn is made. *system* is for a conversation that has no system message yet; *steps* bound the calls.

    *notes* are read before the question, in this turn alone; the conversation does not keep them.
    """

    system: str = SYSTEM
    steps: int = STEPS
    max_tokens: int = 512
    temperature: float = 0.0
    timeout_s: float = TIMEOUT_S  # of each completion
    notes: str = ""


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The answer of one turn. ``paused``: its steps led nowhere; the next message goes on from there."""

    content: str
    status: Literal["done", "paused"] = "done"
    outcomes: tuple[ToolOutcome, ...] = ()
    warnings: tuple[str, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ChatEvent:
    """Something that happened in a turn. The last one, and no other, is ``final`` and has the reply."""

    kind: ChatEventKind
    text: str = ""
    tool: str = ""
    arguments: Mapping[str, Json] = field(default_factory=dict)
    approval: Approval | None = None
    reply: ChatReply | None = None


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


@dataclass(slots=True)
class _Turn:
    """One turn as it grows."""

    text: str
    context: ToolContext
    options: ChatOptions
    tell: Callable[[ChatEvent], None]
    history: Sequence[ConversationMessage]
    said: list[ConversationMessage]
    taken: list[Taken] = field(default_factory=list)
    outcomes: list[ToolOutcome] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def system(self) -> str:
        """The system message of the conversation."""
        return next((each.content for each in (*self.history, *self.said) if each.role == "system"), "")

    @property
    def task(self) -> str:
        """The question, with those before it, for a choice. Answers are left out: a small model takes them up again."""
        before = [each.content[:_SAID_CHARACTERS] for each in self.history if each.role == "user"][-_SAID_BEFORE:]
        return "".join([self.text, *(f"\nAsked before: {text}" for text in before)])

    @property
    def has_it(self) -> bool:
        """Whether the last call gave what it had given before: a small model asks again for what it has, and for ever."""
        return self.outcomes[-1].ok and self.steps[-1] in self.steps[:-1]

    def warn(self, sentence: str) -> None:
        """Say *sentence* once."""
        if sentence and sentence not in self.warnings:
            self.warnings.append(sentence)
            self.tell(ChatEvent("warning", sentence))

    def count(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Add what a completion took."""
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens


@dataclass(frozen=True, kw_only=True)
class LocalChatService:
    """Chat over the other services: a tool is chosen in one constrained step, the answer has a prompt without tools."""

    context_service: ContextService
    tool_service: ToolService
    session_service: SessionService
    provider_service: ProviderService
    recovery_service: RecoveryService
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
            turn = _Turn(asked, context, options, tell, history, said)
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

    async def _answered(self, turn: _Turn) -> ChatReply:
        specs = self.tool_service.get_tool_schemas(turn.context) if turn.context.grants.tools else ()
        paused = await self._steps(turn, specs)
        content = paused or await self._closing(turn)
        turn.said.append(ConversationMessage("assistant", content))
        status: Literal["done", "paused"] = "paused" if paused else "done"
        outcomes, warnings = tuple(turn.outcomes), tuple(turn.warnings)
        return ChatReply(content, status, outcomes, warnings, turn.prompt_tokens, turn.completion_tokens)

    async def _steps(self, turn: _Turn, specs: Sequence[ToolSpec]) -> str:
        """Take the steps of the turn; return why it is paused, "" if it is not."""
        if not specs or turn.options.steps < 1:
            return ""
        preamble(specs, turn.system)  # refuses what is too much for a small model before it is asked
        abilities = await self.provider_service.abilities()
        if not (abilities.envelope or abilities.native):
            turn.warn("No tool was used: the model did not keep to the form of a tool call when it was tried.")
            return ""
        for _ in range(turn.options.steps):
            choice = await self._choice(turn, specs, abilities)
            if choice is None or choice.ends:
                if choice is not None and not turn.taken:
                    turn.warn(_UNFOUNDED)
                return ""
            if not await self._take(turn, choice) or turn.has_it:
                return ""
            loop = self.recovery_service.detect_stuck_loop(turn.steps)
            if loop is not None:
                return f"{loop.sentence} Tell me how to go on."
        turn.warn(f"The turn used its {turn.options.steps} steps.")
        return ""

    async def _choice(self, turn: _Turn, specs: Sequence[ToolSpec], abilities: Abilities) -> Choice | None:
        """Return the next step; None to answer, also where the model twice kept to no form that can be read."""
        for attempt in range(1, _TRIES + 1):
            request = await self._choosing(turn, specs, abilities)
            if attempt > 1:
                request = replace(request, temperature=0.4, seed=attempt)
            completion = await self._completed(request, turn)
            try:
                return read_choice(completion, specs, abilities=abilities)
            except ContentError as exc:
                fault = self.recovery_service.classify_error(exc)
                if self.recovery_service.select_recovery_action(fault, attempt=attempt).action != "ask_again":
                    raise
        turn.warn("No further step could be chosen: what the model wrote could not be read.")
        return None

    async def _choosing(self, turn: _Turn, specs: Sequence[ToolSpec], abilities: Abilities) -> ChatRequest:
        """Return the request for the next step, with as many of the last results as fit the model."""
        taken = list(turn.taken)
        while True:
            request = choosing(turn.task, specs, taken, abilities=abilities, system=turn.system)
            fit = await self.context_service.check_context_overflow(request.messages, max_tokens=request.max_tokens)
            if not fit.over:
                return request
            if not taken:  # the question itself is too long: that is raised here, and no engine is asked
                whole = [ConversationMessage(each.role, each.content) for each in request.messages]
                await self.context_service.compact_context(whole, max_tokens=request.max_tokens)
                return request
            turn.warn("The model chose its next step without the oldest results: they do not fit its context.")
            del taken[0]

    async def _completed(self, request: ChatRequest, turn: _Turn) -> Completion:
        completion = await self.recovery_service.retry_with_exponential_backoff(
            lambda: self.provider_service.complete(request, timeout_s=turn.options.timeout_s),
            cancellation=turn.context.cancellation,
        )
        turn.count(completion.prompt_tokens, completion.completion_tokens)
        return completion

    async def _take(self, turn: _Turn, choice: Choice) -> bool:
        """Make the call, and say whether another may follow."""
        turn.tell(ChatEvent("tool_call", tool=choice.tool, arguments=choice.arguments))

        def asked(approval: Approval) -> None:
            turn.tell(ChatEvent("awaiting_approval", approval.why, choice.tool, choice.arguments, approval))

        outcome = await self.tool_service.execute_tool(choice.tool, choice.arguments, context=turn.context, asked=asked)
        text, number = outcome.text, len(turn.history) + len(turn.said)
        turn.outcomes.append(outcome)
        turn.taken.append(Taken(choice, text, failed=not outcome.ok))
        seen = hashlib.sha256(storable(text).encode()).hexdigest()
        turn.steps.append(Step(f"{choice.tool} {canonical(choice.arguments)}", seen))
        kept = text if len(text) <= _KEPT_CHARACTERS else f"{text[:_KEPT_CHARACTERS]}\n… (the rest is left out)"
        use = ToolUse(f"call_{number}", choice.tool, choice.arguments)
        turn.said.append(ConversationMessage("assistant", "", uses=(use,)))
        turn.said.append(ConversationMessage("tool", kept, tool=choice.tool, call=use.id, failed=not outcome.ok))
        turn.tell(ChatEvent("tool_result" if outcome.ok else "tool_error", text, choice.tool, choice.arguments))
        for warning in outcome.warnings:
            turn.warn(warning)
        if outcome.error is None:
            return True
        fault = self.recovery_service.classify_error(outcome.error)
        action = self.recovery_service.select_recovery_action(fault, attempt=1).action
        if action in {"answer_now", "stop"}:
            turn.warn(outcome.error.message)
        return action not in {"answer_now", "stop"}

    async def _closing(self, turn: _Turn) -> str:
        """Return the answer, told piece by piece; of calls that gave nothing no model makes one."""
        if turn.taken and not useful(turn.taken):
            said = without_result(turn.taken)
            turn.tell(ChatEvent("token", said))
            return said
        request = await self._answering(turn)
        deltas, first = await self.recovery_service.retry_with_exponential_backoff(
            lambda: self._opened(request, turn), cancellation=turn.context.cancellation
        )
        text, finish = "", ""
        async with aclosing(deltas):
            delta: ChatDelta | None = first
            while delta is not None:
                turn.context.cancellation.check()
                if delta.text:
                    text += delta.text
                    turn.tell(ChatEvent("token", delta.text))
                if delta.finish:
                    finish = delta.finish
                    turn.count(delta.prompt_tokens, delta.completion_tokens)
                delta = await anext(deltas, None)
        if finish == "length":
            turn.warn(f"The answer reached its limit of {request.max_tokens} tokens and ends there.")
        if finish not in {"stop", "length"}:
            raise EngineUnavailable("The answer broke off before its end.", remedy="Ask again.")
        return text.strip() or NO_RESPONSE

    async def _opened(self, request: ChatRequest, turn: _Turn) -> tuple[AsyncGenerator[ChatDelta], ChatDelta | None]:
        """Return the answer's pieces, and the first of them: until then it can be asked for again."""
        deltas = self.provider_service.stream(request, timeout_s=turn.options.timeout_s)
        try:
            return deltas, await anext(deltas, None)
        except BaseException:
            await deltas.aclose()
            raise

    async def _answering(self, turn: _Turn) -> ChatRequest:
        """Return the request for the answer: the system prompt once, what of the conversation fits, and the question."""
        if turn.taken:
            system, asked = (each.content for each in closing(turn.text, useful(turn.taken), skill=turn.system).messages)
        else:
            system, asked = turn.system, turn.text
        if turn.options.notes:
            asked = f"{turn.options.notes}\n\n{asked}"
        before = worth_telling(turn.history)
        if turn.taken or any(each.role == "tool" for each in before):
            system = f"{system}\n{RULE}".lstrip()
        head = [ConversationMessage("system", system)] if system else []
        whole = [*head, *before, ConversationMessage("user", asked)]
        fitting = await self.context_service.compact_context(whole, max_tokens=turn.options.max_tokens)
        turn.warn(fitting.said)
        return ChatRequest(
            [each.spoken() for each in fitting.messages],
            max_tokens=turn.options.max_tokens,
            temperature=turn.options.temperature,
        )
