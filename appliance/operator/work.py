"""Work: one run of one junior on one objective, which ends settled whatever happens to it."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

from appliance.operator import arguments
from appliance.operator.agents import AgentRequest, AgentResult
from appliance.operator.arguments import BadArgument
from appliance.operator.board import Board
from appliance.operator.errors import OperatorError, SnapshotError
from appliance.operator.events import Listener, StreamingCallback
from appliance.operator.gate import Gate
from appliance.operator.limits import RunLimits
from appliance.operator.objectives import AgentHandle, ObjectiveSlot
from appliance.operator.plain import copied
from appliance.operator.refusals import Refused
from appliance.operator.runners import WorkBroke, WorkStopped, answer, supervised
from appliance.operator.turn import Errand, Frame, Turn, current, entered
from appliance.operator.usage import added

Recorder = Callable[[ObjectiveSlot], None]
Spoken = dict[str, Any]


class Acting:
    """Who of a machine acts now: whoever began last and has not ended."""

    def __init__(self) -> None:
        self.agent: str | None = None
        self._all: dict[object, str] = {}
        self._guard = threading.Lock()

    @contextmanager
    def as_agent(self, name: str) -> Iterator[None]:
        """Let *name* act for the block."""
        mine = object()
        with self._guard:
            self._all[mine] = self.agent = name
        try:
            yield
        finally:
            with self._guard:
                del self._all[mine]
                self.agent = next(reversed(self._all.values()), None)


class Work:
    """What the juniors of one machine do."""

    def __init__(self, machine: object, board: Board, acting: Acting, *, limits: RunLimits, record: Recorder) -> None:
        self._machine = machine
        self._board = board
        self._acting = acting
        self._limits = limits
        self._record = record
        self._gate = None if limits.max_parallel is None else Gate(limits.max_parallel)
        self._live: set[tuple[str, int]] = set()
        self._guard = threading.Lock()

    async def commission(
        self, turn: Turn, agent: object, objective: object, checklist: object, props: object, callback: StreamingCallback
    ) -> Spoken:
        """Run a junior on a new objective and return its report; raise `Refused` where nothing was begun."""
        try:
            wanted = arguments.text(objective, name="objective")
            if not wanted:
                raise Refused("missing_objective", "Say in `objective` what the agent is to find out or do.")
            handle = self._board.named(agent)
            items, given = arguments.checklist(checklist), arguments.props(props)
        except BadArgument as exc:
            raise Refused("bad_args", str(exc)) from exc
        self._deep()
        if sentence := turn.count_commission():
            raise Refused("budget_exhausted", sentence)
        slot = handle.create_objective(wanted, checklist=items, agent_props=given)
        with self._alone(slot):
            slot.messages.append({"role": "user", "content": _brief(slot)})
            run = _Run(handle, slot, turn.listener(callback), before=slot.messages)
            return await self._do(turn, run, announced=True)

    async def instruct(
        self, turn: Turn, agent: object, index: object, message: object, callback: StreamingCallback
    ) -> Spoken:
        """Run a junior on with one of its objectives; raise `Refused` where nothing was begun."""
        try:
            wanted = arguments.text(message, name="message")
        except BadArgument as exc:
            raise Refused("bad_args", str(exc)) from exc
        if not wanted:
            raise Refused("empty_message", "Say in `message` what the agent is to do next.")
        slot = self._board.slot(agent, index)
        with self._alone(slot):
            self._deep()
            if sentence := turn.count_instruct():
                raise Refused("budget_exhausted", sentence)
            run = _Run(self._board.handle(slot.agent), slot, turn.listener(callback), before=slot.messages)
            slot.messages = [*slot.messages, {"role": "user", "content": wanted}]
            return await self._do(turn, run, announced=False)

    def recover(self) -> list[ObjectiveSlot]:
        """Settle, and return, the objectives that say that they run though nobody works on them."""
        slots = [slot for handle in self._board.handles() for slot in handle.slots]
        left = [slot for slot in slots if slot.status == "running" and _key(slot) not in self._live]
        for slot in left:
            slot.settle("failed", "interrupted: the process ended while this ran", duration_ms=slot.duration_ms or 0.0)
            if len(slot.messages) > 2 and slot.messages[-1].get("role") == "user":
                slot.messages.pop()
            self._record(slot)
        return left

    @contextmanager
    def _alone(self, slot: ObjectiveSlot) -> Iterator[None]:
        """Let nobody else work on *slot* for the block; raise `Refused` where somebody does."""
        key = _key(slot)
        with self._guard:
            if key in self._live:
                raise Refused("busy", "The agent still works on this objective.", agent=slot.agent, index=slot.index)
            self._live.add(key)
        try:
            yield
        finally:
            self._live.discard(key)

    def _deep(self) -> None:
        frame = current()
        if frame is not None and frame.depth >= self._limits.max_depth:
            raise Refused("budget_exhausted", f"Work was handed on {frame.depth} times already: do this yourself.")

    async def _do(self, turn: Turn, run: "_Run", *, announced: bool) -> Spoken:
        slot = run.slot
        slot.status = "running"
        errand = Errand(asyncio.get_running_loop().create_future())
        turn.errands.add(errand)
        try:
            with self._acting.as_agent(slot.agent):
                self._record(slot)
                if announced:
                    await run.announce("commissioned", detail=slot.objective)
                return await self._settled(turn, run, errand)
        except OperatorError as exc:
            run.fail(f"{type(exc).__name__}: {exc}")
            await run.announce_end()
            raise
        finally:
            if slot.status == "running":
                run.fail("CancelledError: cancelled")
            turn.errands.discard(errand)
            run.listener.close()
            if not errand.settled.done():
                errand.settled.set_result(None)

    async def _settled(self, turn: Turn, run: "_Run", errand: Errand) -> Spoken:
        try:
            result = await self._seated(turn, run, errand)
            run.stage(result)
            turn.use(result.usage)
        except asyncio.CancelledError:
            run.fail("CancelledError: cancelled")
            with suppress(OperatorError):  # then it stands in the log as running, which `recover` settles
                self._record(run.slot)
            await run.announce_end()
            raise
        except Exception as exc:  # noqa: BLE001 - the outermost loop of a step: a failing junior is a result
            error = exc.error if isinstance(exc, WorkBroke) else exc
            kind = "CancelledError" if isinstance(exc, WorkStopped) else type(error).__name__
            run.fail(f"{kind}: {error}")
        try:
            self._record(run.slot)
        except SnapshotError as exc:  # the junior answered with what no log can hold
            run.fail(f"{type(exc).__name__}: {exc}")
            self._record(run.slot)
        await run.announce_end()
        return run.spoken()

    async def _seated(self, turn: Turn, run: "_Run", errand: Errand) -> AgentResult:
        above = current()
        async with _seat_of(self._machine, above) or self._gate or nullcontext():
            if errand.stopped:
                raise WorkStopped("cancelled")
            run.begin()
            await run.announce("start", detail="starting")
            depth = above.depth + 1 if above is not None else 1
            seat = None if self._gate is None else Gate(1)
            with entered(Frame(self._machine, turn, depth, seat, above)):
                work = answer(run.handle.runner, run.request(), run.listener.for_runner, timed=self._limits.timed)
                return await supervised(work, within_s=self._limits.commission_timeout_s, started=errand.begun)


class _Run:
    """One run: what it asks, what it says, and how it ends."""

    def __init__(
        self, handle: AgentHandle, slot: ObjectiveSlot, listener: Listener, *, before: list[dict[str, Any]]
    ) -> None:
        self.handle = handle
        self.slot = slot
        self.listener = listener
        self._before = list(before)
        self._usage = slot.usage
        self._began = time.perf_counter()

    def begin(self) -> None:
        """Count the time from now, not from when a seat was waited for."""
        self._began = time.perf_counter()

    def request(self) -> AgentRequest:
        """Return what the junior is asked; all of it is a copy."""
        slot, spec = self.slot, self.handle.spec
        return AgentRequest(
            agent=slot.agent,
            objective=slot.objective,
            skill=spec.skill,
            messages=copied(slot.messages),
            checklist=list(slot.checklist) or None,
            agent_props=copied(slot.agent_props) or None,
            model=slot.model,
            metadata=copied(spec.metadata),
        )

    def stage(self, result: AgentResult) -> None:
        """Keep what the junior answered."""
        report = result.content.strip() or "(empty report)"
        if result.messages:
            self.slot.messages = copied(result.messages)
        else:
            self.slot.messages.append({"role": "assistant", "content": report})
        self.slot.usage = added(self.slot.usage, copied(result.usage))
        self.slot.settle("staged", report, duration_ms=self._took())

    def fail(self, report: str) -> None:
        """Keep why it failed; the thread is what it was, so that an instruction that is given again stands in it once."""
        self.slot.messages, self.slot.usage = list(self._before), self._usage
        self.slot.settle("failed", report, duration_ms=self._took())

    def spoken(self) -> Spoken:
        """Return what the coordinator gets to read."""
        slot = self.slot
        said: Spoken = {"status": slot.status, "agent": slot.agent, "index": slot.index, "commission_id": slot.commission_id}
        if slot.status == "failed":
            said |= {"report": slot.agent_message, "summary": slot.agent_message}
        else:
            hint = f"Staged. accept_agent_result({slot.agent!r}, {slot.index}) takes it over, instruct_agent sends it on."
            said |= {"summary": slot.agent_message, "hint": hint}
        return said | {"duration_ms": slot.duration_ms, "model": slot.model}

    async def announce(self, phase: str, **more: object) -> None:
        """Tell whoever listens."""
        slot = self.slot
        await self.listener.emit(
            agent=slot.agent,
            phase=phase,
            model=slot.model or "",
            objective=slot.objective,
            commission_id=slot.commission_id,
            index=slot.index,
            **more,
        )

    async def announce_end(self) -> None:
        """Tell whoever listens how it ended."""
        slot = self.slot
        phase = "fail" if slot.status == "failed" else "done"
        await self.announce(phase, detail=slot.agent_message or "", status=slot.status, duration_ms=slot.duration_ms)

    def _took(self) -> float:
        return round((time.perf_counter() - self._began) * 1000, 3)


def _seat_of(machine: object, frame: Frame | None) -> Gate | None:
    """Return the seat of the junior of *machine* that hands work on: what it commissions runs in its place."""
    while frame is not None and not (frame.machine is machine and frame.seat is not None):
        frame = frame.above
    return None if frame is None else frame.seat


def _key(slot: ObjectiveSlot) -> tuple[str, int]:
    return slot.agent, slot.index


def _brief(slot: ObjectiveSlot) -> str:
    parts = [f"Objective:\n{slot.objective}"]
    if items := [f"- {item}" for item in slot.checklist if item.strip()]:
        parts.append("\n".join(["Checklist:", *items]))
    if slot.agent_props:
        parts.append("\n".join(["Agent props:", *(f"- {key}: {value}" for key, value in slot.agent_props.items())]))
    return "\n\n".join(parts)
