"""One turn of an agent as events: a message in a session, the steps that it takes, and exactly one answer."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

from appliance.base import log
from appliance.contracts.chat import ChatDelta, ChatRequest, Message
from appliance.contracts.tools import Grants, Json, ToolContext
from appliance.errors import ApplianceError, Cancelled, DeadlineExceeded
from appliance.framework.events import AgentEvent, Emitter, EventType
from appliance.framework.ledger import Ledger
from appliance.framework.options import Options
from appliance.framework.results import FoundLines, TurnCost
from appliance.orchestrator.runtime import Orchestrator
from appliance.orchestrator.services.turn import SYSTEM, ChatEvent, ChatOptions, ChatReply

THINKING_TOKENS: Final = 256

_THINK: Final = (
    "Think before a programmer's question is answered. Note in a few short lines what has to be known, and what could be"
    " misunderstood. Do not answer it."
)
_NOTES: Final = "Notes made before:\n"
_T = TypeVar("_T")
_log = log.get("agent")


class Stopping:
    """Satisfies `Cancellation`."""

    def __init__(self) -> None:
        self._stopped = False

    def stop(self) -> None:
        """Have the run end at its next look."""
        self._stopped = True

    def check(self) -> None:
        """Raise `Cancelled` once `stop` was called."""
        if self._stopped:
            raise Cancelled("The run was asked to stop.")


@dataclass(frozen=True, slots=True)
class Turns:
    """Makes turns with *services*, within *grants*, as *options* say; *agent* is the name that records have.

    *workspace* is the scratch worktree that tools may write to, None where none may.
    """

    services: Orchestrator
    ledger: Ledger
    grants: Grants
    options: Options
    agent: str = "agent"
    workspace: Path | None = None

    async def take(self, session_id: str, text: str, *, run_id: str) -> AsyncGenerator[AgentEvent, None]:
        """Give the events of the turn, the last of them ``stream_end``. Closing the generator cancels it.

        What goes wrong is an ``error`` event. The conversation keeps a turn whole, once it has its answer, or nothing of it.
        """
        emit, now = Emitter(run_id), asyncio.get_running_loop().time
        telling, began, stopping = _Telling(emit), now(), Stopping()
        context = ToolContext(
            run_id,
            self.grants,
            stopping,
            workspace=self.workspace,
            branches=self.options.session.branches,
            agent=self.agent,
        )
        self.services.tools.open_run(run_id, grants=self.grants, calls=self.options.session.tool_calls)
        failure: ApplianceError | None = None
        try:
            yield emit(AgentEvent(EventType.STREAM_START, metadata={"session": session_id, "model": self.options.model}))
            async with aclosing(self._happening(session_id, text, context)) as happening:
                while (event := await _next(happening, until=began + self.options.session.seconds)) is not None:
                    for told in telling.of(event):
                        yield told
        except ApplianceError as exc:
            failure = exc
            yield emit(_failed(exc))
        finally:
            stopping.stop()
            self.services.tools.close_run(run_id)
        cost = telling.cost(now() - began)
        if self.options.observed:
            await asyncio.to_thread(self.ledger.enter, session_id, cost, failed=failure is not None)
            _log.info("agent.turn", run=run_id, session=session_id, code=failure.code if failure else "ok")
        yield emit(AgentEvent(EventType.STREAM_END, success=failure is None, metadata=telling.summary(cost, failure)))

    async def _happening(
        self, session_id: str, text: str, context: ToolContext
    ) -> AsyncGenerator[ChatEvent | ChatDelta, None]:
        """Give what the model thinks, as it writes it, then what happens in the turn."""
        notes = ""
        if self.options.thinking:
            request = ChatRequest((Message("system", _THINK), Message("user", text)), max_tokens=THINKING_TOKENS)
            async with aclosing(self.services.facade.provider_service.stream(request)) as thoughts:
                async for thought in thoughts:
                    notes += thought.text
                    yield thought
        chat = self.services.facade.chat_service
        async with aclosing(chat.stream_chat(session_id, text, context=context, options=self._how(notes))) as events:
            async for event in events:
                yield event

    def _how(self, notes: str) -> ChatOptions:
        """Return how the answer is made. At most a half of the model's context is for it: the prompt needs the other."""
        context = self.services.facade.provider_service.current().context
        most = min(self.options.max_tokens, context // 2) if context > 0 else self.options.max_tokens
        return ChatOptions(
            system=self.options.profile.skill if self.options.profile else SYSTEM,
            steps=self.options.session.steps,
            max_tokens=most,
            temperature=self.options.temperature,
            notes=f"{_NOTES}{notes.strip()}" if notes.strip() else "",
        )


class _Telling:
    """Says what happens in a turn as numbered events, and sums it up."""

    def __init__(self, emit: Emitter) -> None:
        self._emit = emit
        self._call = 0
        self._calls = 0
        self._answering = False
        self._thought = (0, 0)  # tokens
        self._reply: ChatReply | None = None

    def of(self, event: ChatEvent | ChatDelta) -> Iterator[AgentEvent]:
        """Yield *event* as those that a listener hears."""
        if isinstance(event, ChatDelta):
            if event.text:
                yield self._emit(AgentEvent(EventType.THINKING, content=event.text))
            if event.finish:
                self._thought = (event.prompt_tokens, event.completion_tokens)
        elif event.kind in {"token", "final"}:
            yield from self._answer(event)
        elif event.kind == "warning":
            yield self._emit(AgentEvent(EventType.RECOVERY, content=event.text))
        else:
            yield self._tool(event)

    def _answer(self, event: ChatEvent) -> Iterator[AgentEvent]:
        told = self._answering
        if event.reply is not None:
            self._reply = event.reply
        if not told:
            self._answering = True
            yield self._emit(AgentEvent(EventType.STAGE_CHANGE, old_stage="working", new_stage="answering"))
        if event.kind == "token" or not told:  # the whole answer is told only where none of it was
            yield self._emit(AgentEvent(EventType.CONTENT, content=event.text))

    def _tool(self, event: ChatEvent) -> AgentEvent:
        if event.kind == "tool_call":
            self._calls += 1
        made = AgentEvent(
            EventType(event.kind), tool_name=event.tool, tool_id=f"call_{self._calls}", arguments=event.arguments
        )
        if event.kind == "tool_call":
            made = self._emit(made)
            self._call = made.sequence_id
            return made
        made = replace(made, parent_event_id=self._call)
        if event.approval is not None:
            asks: dict[str, Json] = {"approval": event.approval.id, "expires_at": event.approval.expires_at}
            return self._emit(replace(made, content=event.approval.why, metadata=asks))
        if event.kind == "tool_error":
            return self._emit(replace(made, error=event.text, success=False))
        return self._emit(replace(made, result=event.text))

    def cost(self, seconds: float) -> TurnCost:
        """Return what the turn took."""
        reply, (read, written) = self._reply or ChatReply(""), self._thought
        return TurnCost(reply.prompt_tokens + read, reply.completion_tokens + written, self._calls, round(seconds, 3))

    def summary(self, cost: TurnCost, failure: ApplianceError | None) -> dict[str, Json]:
        """Return what the last event tells of the turn."""
        reply = self._reply or ChatReply("")
        status = "failed" if failure is not None else reply.status
        told: dict[str, Json] = {
            "status": status,
            "prompt_tokens": cost.prompt_tokens,
            "completion_tokens": cost.completion_tokens,
            "tool_calls": cost.tool_calls,
            "seconds": cost.seconds,
            "warnings": list(reply.warnings),
            "citations": [asdict(FoundLines.of(each)) for each in reply.citations],
        }
        return told if failure is None else {**told, "code": failure.code, "remedy": failure.remedy}


async def _next(events: AsyncGenerator[_T, None], *, until: float) -> _T | None:
    """Return the next of *events*, None after the last; raise `DeadlineExceeded` at *until*, by the loop's clock."""
    limit = asyncio.timeout_at(until)
    try:
        async with limit:
            return await anext(events, None)
    except TimeoutError as exc:
        if not limit.expired():
            raise
        raise DeadlineExceeded(
            "The turn took longer than it may.", remedy="Ask for less at once, or raise `seconds` of the session."
        ) from exc


def _failed(error: ApplianceError) -> AgentEvent:
    return AgentEvent(
        EventType.ERROR,
        error=str(error),
        success=False,
        recoverable=error.retryable,
        metadata={"code": error.code, "remedy": error.remedy},
    )
