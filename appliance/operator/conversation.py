"""The conversation: the coordinator's thread, and the turns in it, one after the other."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from appliance.operator.agents import COORDINATOR, AgentRequest, AgentRunner, Coordinator
from appliance.operator.errors import OperatorError
from appliance.operator.events import Listener
from appliance.operator.gate import Gate
from appliance.operator.keeping import Keeping
from appliance.operator.messages import Messages
from appliance.operator.plain import copied
from appliance.operator.record import TurnRecord, TurnStatus
from appliance.operator.runners import WorkBroke, WorkStopped, answer, supervised
from appliance.operator.schemas import tool_schemas
from appliance.operator.tools import OrchestrationTool
from appliance.operator.turn import Frame, Turn, current, entered
from appliance.operator.work import Acting

NO_RESPONSE = "(no response)"
Tools = Callable[[], list[OrchestrationTool]]


class Conversation:
    """The coordinator of a *machine* and what was said with it."""

    def __init__(self, machine: object, coordinator: Coordinator, acting: Acting, keeping: Keeping) -> None:
        self.coordinator = coordinator
        self.last_turn: TurnRecord | None = None
        self._machine = machine
        self._acting = acting
        self._keeping = keeping
        self._turns = Gate(1)
        self._thread = Messages().system(coordinator.skill)
        self._skill = coordinator.skill

    @property
    def thread(self) -> Messages:
        """The thread; a skill that changed since stands in its system message."""
        if self.coordinator.skill != self._skill:
            self._skill = self.coordinator.skill
            self._thread.persona(self._skill)
        return self._thread

    def restore(self, thread: Messages) -> None:
        """Go on with *thread* as it is, whatever its system message."""
        self._skill = self.coordinator.skill
        self._thread = thread

    def runner(self) -> AgentRunner:
        """Return the coordinator's runner; raise `RuntimeError` if it has none."""
        if self.coordinator.runner is None:
            raise RuntimeError("The coordinator has no runner: make the machine with Coordinator(runner=...).")
        return self.coordinator.runner

    async def ask(self, text: str, turn: Turn, *, tools: Tools) -> str:
        """Take one turn when those before it have ended, and return the reply. *tools* makes those that it has.

        On an error, a time-out or a cancellation all that it began is settled, and the thread is as it was.
        """
        self._refuse_within_itself()
        async with self._turns:
            above = current()
            frame = Frame(self._machine, turn, 0 if above is None else above.depth, None, above)
            listener = turn.listener()
            asking = _Asking(turn, listener, text, self.coordinator.model or "")
            mark, skill = self.thread.mark(), self._skill
            try:
                with entered(frame), self._acting.as_agent(COORDINATOR):
                    return await self._turn(asking, tools)
            except BaseException as exc:
                self._thread.reset(mark)
                self._skill = skill
                if isinstance(exc, WorkBroke):
                    await self._failed(asking, exc.error)
                    raise exc.error from None
                if isinstance(exc, Exception | asyncio.CancelledError):
                    await self._failed(asking, exc)
                raise
            finally:
                turn.open, turn.over = False, True
                listener.close()

    async def _turn(self, asking: "_Asking", tools: Tools) -> str:
        turn, thread, runner = asking.turn, self._thread, self.runner()
        self._keeping.turn(asking.record(), self.coordinator, thread)
        thread.user(asking.text)
        await asking.announce("start", detail="starting")
        work = answer(runner, self._request(asking, tools()), asking.listener.for_runner, timed=turn.limits.timed)
        try:
            result = await supervised(work, within_s=turn.limits.turn_timeout_s, started=lambda _: None)
        except WorkStopped as exc:
            raise asyncio.CancelledError from exc
        if result.messages:
            self._thread.replace(result.messages)
        elif result.content:
            self._thread.assistant(result.content)
        turn.use(result.usage)
        await turn.end()
        reply = result.content.strip() or NO_RESPONSE
        self.last_turn = asking.record("done", reply=reply)
        self._keeping.turn(self.last_turn, self.coordinator, self._thread)
        await asking.announce("done", detail=reply, status="done", duration_ms=self.last_turn.duration_ms)
        return reply

    async def _failed(self, asking: "_Asking", exc: BaseException) -> None:
        await asking.turn.end(failed=True)
        said = "CancelledError: cancelled" if isinstance(exc, asyncio.CancelledError) else f"{type(exc).__name__}: {exc}"
        self.last_turn = asking.record("failed", error=said)
        with suppress(OperatorError):  # then it stands in the log as running, which `recover` settles
            self._keeping.turn(self.last_turn, self.coordinator, self._thread)
        await asking.announce(
            "fail", detail=f"Coordinator error: {said}", status="failed", duration_ms=self.last_turn.duration_ms
        )

    def _request(self, asking: "_Asking", tools: list[OrchestrationTool]) -> AgentRequest:
        coordinator = self.coordinator
        return AgentRequest(
            agent=COORDINATOR,
            objective=asking.text,
            skill=coordinator.skill,
            messages=self._thread.to_list(),
            model=coordinator.model,
            metadata={**copied(coordinator.metadata), "tools": tools, "tool_schemas": tool_schemas(tools)},
        )

    def _refuse_within_itself(self) -> None:
        frame = current()
        while frame is not None:
            if frame.machine is self._machine and frame.turn.asked and not frame.turn.over:
                raise RuntimeError(
                    "run() within a turn of the same machine would wait for itself: commission a junior instead."
                )
            frame = frame.above


class _Asking:
    """One question, from its beginning to its record."""

    def __init__(self, turn: Turn, listener: Listener, text: str, model: str) -> None:
        self.turn = turn
        self.listener = listener
        self.text = text
        self._model = model
        self._at = time.time()
        self._began = time.perf_counter()

    def record(self, status: TurnStatus = "running", *, reply: str | None = None, error: str | None = None) -> TurnRecord:
        """Return the record of the turn as it is now."""
        took = None if status == "running" else round((time.perf_counter() - self._began) * 1000, 3)
        return TurnRecord(
            turn_id=self.turn.id,
            text=self.text,
            began=self._at,
            status=status,
            reply=reply,
            error=error,
            duration_ms=took,
            commissions=self.turn.commissions,
            instructs=self.turn.instructs,
            usage=copied(self.turn.usage),
        )

    async def announce(self, phase: str, **more: object) -> None:
        """Tell whoever listens."""
        await self.listener.emit(agent=COORDINATOR, phase=phase, model=self._model, **more)
