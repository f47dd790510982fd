"""One turn of a conversation: what is said to the model, what its calls give, and what whoever listens hears of it."""

import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final, Literal

from appliance.codeintel.results import Citation
from appliance.contracts.chat import ChatDelta, ChatRequest
from appliance.contracts.tools import Json, ToolContext, ToolSpec
from appliance.errors import EngineUnavailable
from appliance.orchestrator.approvals import Approval
from appliance.orchestrator.fence import RULE
from appliance.orchestrator.runners.completion import Completion
from appliance.orchestrator.runners.prompts import Taken, closing
from appliance.orchestrator.runners.steps import Given, Hear
from appliance.orchestrator.services.context import ContextService
from appliance.orchestrator.services.conversation import ConversationMessage, ToolUse, worth_telling
from appliance.orchestrator.services.provider import TIMEOUT_S, ProviderService
from appliance.orchestrator.services.recovery import RecoveryService
from appliance.orchestrator.services.tool import ToolOutcome, ToolService

SYSTEM: Final = "You help a programmer with code. Be brief and exact, and say what you do not know."
STEPS: Final = 6

_SAID_BEFORE: Final = 2  # questions that a choice is made with
_SAID_CHARACTERS: Final = 400
_POINTS_BACK: Final = re.compile(
    r"^\W*(?:and|but|or|so|then|also)\b|^\W*(?:\w+\W+){0,2}(?:its?|that|they|them|their)\b|\b(?:this|these|those)\b"
    r"|\b(?:it|that|they|them|there)\W*$",
    re.IGNORECASE,
)
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
    """The answer of one turn. ``paused``: its steps led nowhere; the next message goes on from there.

    *citations* are the lines that were read for this answer, each checked to stand where it says; no model chose them.
    """

    content: str
    status: Literal["done", "paused"] = "done"
    outcomes: tuple[ToolOutcome, ...] = ()
    warnings: tuple[str, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatEvent:
    """Something that happened in a turn. The last one, and no other, is ``final`` and has the reply."""

    kind: ChatEventKind
    text: str = ""
    tool: str = ""
    arguments: Mapping[str, Json] = field(default_factory=dict)
    approval: Approval | None = None
    reply: ChatReply | None = None


@dataclass(slots=True, kw_only=True)
class Turn:
    """The turn with *text*, as it grows. Satisfies `steps.Agent`."""

    context_service: ContextService
    tool_service: ToolService
    provider_service: ProviderService
    recovery_service: RecoveryService
    text: str
    context: ToolContext
    options: ChatOptions
    tell: Callable[[ChatEvent], None]
    history: Sequence[ConversationMessage]
    said: list[ConversationMessage]
    outcomes: list[ToolOutcome] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def system(self) -> str:
        """The system message of the conversation."""
        return next((each.content for each in (*self.history, *self.said) if each.role == "system"), "")

    @property
    def task(self) -> str:
        """The question for a choice; where it points back, behind those before it. Answers are left out.

        A small model takes up again whatever it reads: with an earlier question in sight it made that one's calls anew.
        """
        if _POINTS_BACK.search(self.text) is None:
            return self.text
        before = [each.content[:_SAID_CHARACTERS] for each in self.history if each.role == "user"][-_SAID_BEFORE:]
        return "\n".join([*(f"(asked and answered before: {text})" for text in before), self.text])

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """What may be called."""
        return self.tool_service.get_tool_schemas(self.context) if self.context.grants.tools else ()

    def say(self, piece: str) -> None:
        """Tell a piece of the answer."""
        self.tell(ChatEvent("token", piece))

    def warn(self, sentence: str) -> None:
        """Say *sentence* once."""
        if sentence and sentence not in self.warnings:
            self.warnings.append(sentence)
            self.tell(ChatEvent("warning", sentence))

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Given:
        """Make the call, and put it into the conversation."""
        self.tell(ChatEvent("tool_call", tool=tool, arguments=arguments))

        def asked(approval: Approval) -> None:
            self.tell(ChatEvent("awaiting_approval", approval.why, tool, arguments, approval))

        outcome = await self.tool_service.execute_tool(tool, arguments, context=self.context, asked=asked)
        self.outcomes.append(outcome)
        text, number = outcome.text, len(self.history) + len(self.said)
        kept = text if len(text) <= _KEPT_CHARACTERS else f"{text[:_KEPT_CHARACTERS]}\n… (the rest is left out)"
        use = ToolUse(f"call_{number}", tool, arguments)
        self.said.append(ConversationMessage("assistant", "", uses=(use,)))
        self.said.append(ConversationMessage("tool", kept, tool=tool, call=use.id, failed=not outcome.ok))
        self.tell(ChatEvent("tool_result" if outcome.ok else "tool_error", text, tool, arguments))
        for warning in outcome.warnings:
            self.warn(warning)
        given = given_by(outcome, recovery=self.recovery_service)
        if given.ends and outcome.error is not None:
            self.warn(outcome.error.message)
        return given

    async def choose(self, request: ChatRequest) -> Completion:
        """Return the model's choice, asked for again while faults may pass; refuse what is too long before it is asked."""
        whole = [ConversationMessage(each.role, each.content) for each in request.messages]
        await self.context_service.compact_context(whole, max_tokens=request.max_tokens)
        completion = await self.recovery_service.retry_with_exponential_backoff(
            lambda: self.provider_service.complete(request, timeout_s=self.options.timeout_s),
            cancellation=self.context.cancellation,
        )
        self.prompt_tokens += completion.prompt_tokens
        self.completion_tokens += completion.completion_tokens
        return completion

    async def closing(self, read: Sequence[Taken], *, share: float) -> ChatRequest:
        """Return the request for the answer: the system prompt once, what of the conversation fits, and the question."""
        system, asked = self.system, self.text
        if read:
            system, asked = (each.content for each in closing(asked, read, skill=system, share=share).messages)
        if self.options.notes:
            asked = f"{self.options.notes}\n\n{asked}"
        before = worth_telling(self.history)
        if not read and any(each.role == "tool" for each in before):
            system = f"{system}\n{RULE}".lstrip()
        head = [ConversationMessage("system", system)] if system else []
        whole = [*head, *before, ConversationMessage("user", asked)]
        fitting = await self.context_service.compact_context(whole, max_tokens=self.options.max_tokens)
        self.warn(fitting.said)
        return ChatRequest(
            [each.spoken() for each in fitting.messages],
            max_tokens=self.options.max_tokens,
            temperature=self.options.temperature,
        )

    async def answer(self, request: ChatRequest, hear: Hear) -> Completion:
        """Return the answer, heard piece by piece; until its first piece it is asked for again while its faults may pass."""
        deltas, first = await self.recovery_service.retry_with_exponential_backoff(
            lambda: self._opened(request), cancellation=self.context.cancellation
        )
        text, last = "", ChatDelta("")
        async with aclosing(deltas):
            delta: ChatDelta | None = first
            while delta is not None:
                self.context.cancellation.check()
                text += delta.text
                hear(delta.text)
                last = delta if delta.finish else last
                delta = await anext(deltas, None)
        self.prompt_tokens += last.prompt_tokens
        self.completion_tokens += last.completion_tokens
        if last.finish == "length":
            self.warn(f"The answer reached its limit of {request.max_tokens} tokens and ends there.")
        if last.finish not in {"stop", "length"}:
            raise EngineUnavailable("The answer broke off before its end.", remedy="Ask again.")
        return Completion(text, last.finish, last.prompt_tokens, last.completion_tokens)

    async def _opened(self, request: ChatRequest) -> tuple[AsyncGenerator[ChatDelta], ChatDelta | None]:
        """Return the answer's pieces, and the first of them."""
        deltas = self.provider_service.stream(request, timeout_s=self.options.timeout_s)
        try:
            return deltas, await anext(deltas, None)
        except BaseException:
            await deltas.aclose()
            raise


def given_by(outcome: ToolOutcome, *, recovery: RecoveryService) -> Given:
    """Return what a model is told of *outcome*, and whether another call may follow it."""
    if outcome.error is None:
        return Given(outcome.text, evidence=outcome.unwrap().evidence)
    action = recovery.select_recovery_action(recovery.classify_error(outcome.error), attempt=1).action
    return Given(outcome.text, failed=True, ends=action in {"answer_now", "stop"})
