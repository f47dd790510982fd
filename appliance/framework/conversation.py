"""One conversation of an agent: its turns as results or as events, and those of them that wait for a person."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Final, Literal

from appliance.contracts.chat import Message
from appliance.errors import Conflict, InvalidInput, NotFound
from appliance.framework.events import AgentEvent, EventType
from appliance.framework.results import Gathering, TaskResult
from appliance.ids import new_id

if TYPE_CHECKING:
    from appliance.framework.making import Made

Decision = Literal["approved", "rejected"]

_SAME: Final = {"approved": {"approved", "used"}, "rejected": {"rejected", "expired"}}
"""The states of an approval on which a decision has been made already."""


class Waiting:
    """The runs of one agent that wait for a person, by their ids."""

    def __init__(self) -> None:
        self._runs: dict[str, _Run] = {}
        self._closed = False
        self.working = 0  # turns

    @property
    def busy(self) -> bool:
        """Whether a run waits, or a turn is at work."""
        return bool(self._runs or self.working)

    def waits(self, run_id: str) -> bool:
        """Return whether *run_id* waits for a person."""
        return run_id in self._runs

    async def result(self, run: "_Run", run_id: str) -> TaskResult:
        """Return what *run* comes to, or that it waits, and keep it then."""
        self.working += 1
        try:
            result = await run.result()
        except BaseException:
            self._runs.pop(run_id, None)
            await run.cancel()
            raise
        finally:
            self.working -= 1
        if result.approval_request is not None:
            run.asked = result.approval_request.id
            self._runs[run_id] = run
        else:
            self._runs.pop(run_id, None)
        return result

    def asked(self, run_id: str) -> tuple["_Run", str]:
        """Return the run *run_id* and the id of the approval that its last result asked for; raise `NotFound`."""
        run = self._runs.get(run_id)
        if run is None:
            raise NotFound(f"The run {run_id[:80]!r} waits for nobody here.", remedy="A result that waits names its run.")
        return run, run.asked

    def unended(self, session: str) -> list[tuple[str, str]]:
        """Return the runs in *session* that waited for a person and have not ended, each with the approval it asked for."""
        return [(name, run.asked) for name, run in self._runs.items() if run.session == session and not run.ended]

    def require_open(self) -> None:
        """Raise `Conflict` once `close` was called."""
        if self._closed:
            raise Conflict("The agent is closed.", remedy="Create another, with the same `session_id` to go on.")

    async def close(self) -> None:
        """Cancel every run that waits."""
        self._closed = True
        for run in list(self._runs.values()):
            await run.cancel()
        self._runs.clear()


class Conversation:
    """The session *session*, or with None one that is begun with its first turn."""

    def __init__(self, made: "Made", waiting: Waiting, *, session: str | None = None) -> None:
        self._made = made
        self._waiting = waiting
        self._session = session
        self._beginning = asyncio.Lock()
        self._order = asyncio.Lock()  # what a turn cost is written behind it, and before the next one begins

    @property
    def session_id(self) -> str | None:
        """The session, None before it is begun."""
        return self._session

    @property
    def history(self) -> tuple[Message, ...]:
        """What was said so far, the system prompt first; calls of tools and their results are left out."""
        if self._session is None:
            return ()
        context = self._made.turns.services.facade.context_service
        said = context.get_messages(self._session)
        return tuple(Message(each.role, each.content) for each in said if each.role != "tool" and not each.uses)

    async def run(self, text: str) -> TaskResult:
        """Return what comes of *text*; raise `InvalidInput` where it says nothing, `Conflict` while another turn waits."""
        run_id = new_id("run")
        session = await self._begun(text)
        return await self._waiting.result(_Run(self._turn(session, text, run_id), session), run_id)

    async def stream(self, text: str) -> AsyncGenerator[AgentEvent, None]:
        """Give the events of the turn with *text*; raise as `run`."""
        session = await self._begun(text)
        self._waiting.working += 1
        try:
            async with aclosing(self._turn(session, text, new_id("run"))) as events:
                async for event in events:
                    yield event
        finally:
            self._waiting.working -= 1

    async def resume(self, run_id: str, decision: Decision, *, by: str, note: str) -> TaskResult:
        """Decide on what the last result of *run_id* asked for, and return what then comes of it.

        Where somebody else has decided the same, or nobody's answer in time was the same no, that is what comes of it. Raise
        `Conflict` where it was decided otherwise, `NotFound`, `InvalidInput`.
        """
        run, approval = self._waiting.asked(run_id)
        if decision not in {"approved", "rejected"}:
            raise InvalidInput(f"{str(decision)[:40]!r} is no decision.", remedy="It is `approved` or `rejected`.")
        approvals = self._made.turns.services.tools.approvals
        try:
            await asyncio.to_thread(approvals.decide, approval, decision, by=by, note=note)
        except Conflict as exc:
            if exc.context.get("state") not in _SAME[decision]:
                raise
        if run.gathered.approval is not None and run.gathered.approval.id == approval:
            run.gathered.approval = None
        return await self._waiting.result(run, run_id)

    async def _turn(self, session: str, text: str, run_id: str) -> AsyncGenerator[AgentEvent, None]:
        async with self._order, aclosing(self._made.turns.take(session, text, run_id=run_id)) as events:
            async for event in events:
                yield event

    async def _begun(self, text: str) -> str:
        self._waiting.require_open()
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput("The message says nothing.", remedy="Write what you want to know.")
        async with self._beginning:
            if self._session is None:
                sessions = self._made.turns.services.sessions
                title = self._made.turns.options.session.title or " ".join(text.split())[:80]
                made = await asyncio.to_thread(sessions.create_session, project=self._made.project, title=title)
                self._session = made.id
        for run_id, approval in self._waiting.unended(self._session):
            await self._require_decided(run_id, approval)
        return self._session

    async def _require_decided(self, run_id: str, approval: str) -> None:
        """Raise `Conflict` where the turn *run_id* waits for a person: one behind it would wait as long, unheard."""
        approvals = self._made.turns.services.tools.approvals
        pending = await asyncio.to_thread(approvals.list, state="pending", run=run_id)
        if any(each.id == approval for each in pending):
            raise Conflict(
                f"A turn of this session waits for a person: the run {run_id}.",
                remedy="Decide on what it asks, then send the message again.",
                run=run_id,
            )


class _Run:
    """A turn at work in a task of its own: it goes on while nobody waits for it."""

    def __init__(self, events: AsyncGenerator[AgentEvent, None], session: str) -> None:
        self.session = session
        self.gathered = Gathering()
        self.asked = ""  # the approval that the last result was about
        self._changed = asyncio.Event()
        self._task = asyncio.create_task(self._work(events))

    @property
    def ended(self) -> bool:
        """Whether the turn is over."""
        return self._task.done()

    async def result(self) -> TaskResult:
        """Return what the turn came to, or that it now waits for a person."""
        asked = asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait({self._task, asked}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asked.cancel()
        self._changed.clear()
        if self._task.done():
            self._task.result()
        return self.gathered.result()

    async def cancel(self) -> None:
        """End it."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait({self._task})

    async def _work(self, events: AsyncGenerator[AgentEvent, None]) -> None:
        async with aclosing(events):
            async for event in events:
                self.gathered.add(event)
                if event.type is EventType.AWAITING_APPROVAL:
                    self._changed.set()
