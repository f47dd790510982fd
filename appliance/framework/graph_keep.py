"""Where a run stands, and how it is kept: the state as JSON, and what is due."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from appliance.base.clock import Clock
from appliance.errors import Conflict, NotFound
from appliance.framework.checkpoint import Checkpoint, Checkpointer, Due
from appliance.framework.checkpoint_json import damaged
from appliance.framework.graph_plan import Plan
from appliance.framework.graph_shape import END, START
from appliance.framework.graph_state import Values
from appliance.ids import new_id


@dataclass(slots=True)
class Position:
    """Where a run stands: its state, what is due, how many steps are done, and in how many of them each node ran."""

    state: Values
    due: tuple[Due, ...]
    step: int = 0
    visits: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mark:
    """How a thread stands after a step, apart from where."""

    status: str = "running"
    stopped: str = ""
    waits: tuple[str, ...] = ()
    error: str = ""


class Keeper:
    """Keeps one thread of one graph."""

    def __init__(self, kept: Checkpointer, thread_id: str, *, plan: Plan, clock: Clock) -> None:
        self.checkpointer = kept
        self.thread_id = thread_id
        self.last: Checkpoint | None = None
        self._plan = plan
        self._clock = clock

    async def open(self) -> Checkpoint | None:
        """Return where the thread stands, or None; raise `Conflict` where another graph ran it."""
        self.last = await self.checkpointer.latest(self.thread_id)
        if self.last is not None:
            admit(self.last, plan=self._plan)
        return self.last

    async def require(self) -> Checkpoint:
        """Return where the thread stands; raise `NotFound`."""
        found = await self.open()
        if found is None:
            raise NotFound(f"There is no thread {self.thread_id!r}.", remedy="Begin it with invoke.", thread=self.thread_id)
        return found

    async def keep(self, position: Position, mark: Mark, *, ran: tuple[str, ...] = ()) -> None:
        """Keep where the thread stands now; raise `InvalidInput` naming a key that is no JSON."""
        due = tuple(
            each if each.given is None else replace(each, given=self._plan.schema.dumped(each.given))
            for each in position.due
        )
        made = Checkpoint(
            id=new_id("chk"),
            thread_id=self.thread_id,
            seq=self.last.seq + 1 if self.last else 1,
            graph=self._plan.fingerprint,
            at=self._clock.now(),
            step=position.step,
            status=mark.status,  # type: ignore[arg-type]
            state=self._plan.schema.dumped(position.state),
            due=due,
            ran=ran,
            visits=dict(position.visits),
            stopped=mark.stopped,  # type: ignore[arg-type]
            waits=mark.waits,
            error=mark.error,
            parent=self.last.id if self.last else "",
        )
        await self._put(made)

    async def keep_write(self, step: int, index: int, update: Mapping[str, object]) -> None:
        """Keep what one branch of a step returned."""
        await self.checkpointer.put_write(self.thread_id, step, index, self._plan.schema.dumped(update))

    async def writes(self, step: int) -> Mapping[int, Values]:
        """Return what the branches of a step returned before this run."""
        kept = await self.checkpointer.writes(self.thread_id, step)
        return {index: self._plan.schema.loaded(update) for index, update in kept.items()}

    async def _put(self, made: Checkpoint) -> None:
        """Keep *made*; whoever cancels this learns of it once it is decided whether it is kept."""
        putting = asyncio.ensure_future(self.checkpointer.put(made))
        try:
            await asyncio.shield(putting)
        finally:
            await asyncio.wait({putting})
            if putting.exception() is None:
                self.last = made


def position_of(checkpoint: Checkpoint, *, plan: Plan) -> Position:
    """Return where *checkpoint* stood; raise `InvalidInput` for a state of another schema, `StoreCorrupt` for odd nodes."""
    places = {START, *plan.nodes}
    for each in checkpoint.due:
        if each.node not in places or each.join_at not in (None, END, *plan.nodes):
            raise damaged(checkpoint.thread_id, f"what is due, {each.node!r}, is no node")
    due = tuple(
        each if each.given is None else replace(each, given=plan.schema.loaded(each.given)) for each in checkpoint.due
    )
    return Position(plan.schema.loaded(checkpoint.state), due, checkpoint.step, dict(checkpoint.visits))


def admit(checkpoint: Checkpoint, *, plan: Plan) -> None:
    """Raise `Conflict` where *checkpoint* is of another graph; it is left as it is."""
    if checkpoint.graph != plan.fingerprint:
        raise Conflict(
            f"The thread {checkpoint.thread_id!r} was run by another graph: its nodes, edges or keys are others.",
            remedy="Run it with the graph that began it, or begin under another thread id. It was left as it is.",
            thread=checkpoint.thread_id,
        )
