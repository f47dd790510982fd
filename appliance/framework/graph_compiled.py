"""A compiled graph: run it, watch it, resume it, look back, go on from where it once stood."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Generic, cast

from appliance.base.clock import Clock
from appliance.errors import Conflict, InvalidInput, NotFound
from appliance.framework.checkpoint import Checkpoint, Checkpointer
from appliance.framework.graph_events import GraphEvent, GraphResult, S
from appliance.framework.graph_keep import Keeper, Mark, Position, admit, position_of
from appliance.framework.graph_plan import Plan, Subgraph, check_limit
from appliance.framework.graph_run import ENTERING, Run
from appliance.framework.graph_shape import END, START
from appliance.framework.graph_state import Values
from appliance.framework.graph_step import Tell
from appliance.framework.graph_values import shown
from appliance.framework.mermaid import Form, flowchart
from appliance.ids import new_id

MOST_HISTORY: Final = 1_000_000  # checkpoints that are told at once
_THREAD: Final = re.compile(r"[\w.:@-]{1,200}")


class CompiledGraph(Generic[S]):
    """A graph that passed every check. Any number of runs may go on at once, one of each thread."""

    def __init__(self, plan: Plan, *, checkpointer: Checkpointer | None, clock: Clock) -> None:
        self.plan = plan
        self.checkpointer = checkpointer
        self._clock = clock

    @property
    def interrupts(self) -> bool:
        """Whether a run may stop and wait, here or in a subgraph."""
        inner = (each.work for each in self.plan.nodes.values())
        return bool(self.plan.before or self.plan.after) or any(
            isinstance(work, Subgraph) and work.graph.interrupts for work in inner
        )

    async def invoke(self, state: S | Mapping[str, object], *, thread_id: str | None = None) -> GraphResult[S]:
        """Run from the entry point on a copy of *state* and return how it ended; what fails on the way is in the result.

        With a checkpointer the run is kept as *thread_id*, or a new one. Raise `InvalidInput` for a state that is none of
        the schema, and `Conflict` for a thread that exists or that another run holds: `resume` goes on with one.
        """
        return await self._new(state, thread_id, None)

    def stream(
        self, state: S | Mapping[str, object], *, thread_id: str | None = None
    ) -> AsyncGenerator[GraphEvent[S], None]:
        """Run as `invoke` does and give events; the last has the result. Who stops listening cancels the run."""
        return _streamed(lambda tell: self._new(state, thread_id, tell))

    async def resume(self, thread_id: str, *, update: Mapping[str, object] | None = None) -> GraphResult[S]:
        """Go on with a thread that was interrupted, failed, was cancelled, or whose process died.

        *update* replaces values of its state first. Finished steps and finished branches of a step are not run again. A
        thread that is finished gives its result once more. Raise `NotFound`, `InvalidInput`, or `Conflict` where another
        graph began it, another run holds it, or an update comes after its end.
        """
        return await self._again(thread_id, update, None)

    def stream_resume(
        self, thread_id: str, *, update: Mapping[str, object] | None = None
    ) -> AsyncGenerator[GraphEvent[S], None]:
        """Go on as `resume` does and give events; the last has the result."""
        return _streamed(lambda tell: self._again(thread_id, update, tell))

    async def get_state(self, thread_id: str) -> Checkpoint | None:
        """Return where a thread stands, its state as JSON values; None where there is no such thread."""
        found = await self._kept().latest(_named(thread_id))
        if found is not None:
            admit(found, plan=self.plan)
        return found

    async def get_state_history(self, thread_id: str, *, limit: int = 100) -> Sequence[Checkpoint]:
        """Return the newest *limit* checkpoints of a thread, the newest first."""
        check_limit("The limit", limit, whole=True)
        return await self._kept().history(_named(thread_id), limit=min(limit, MOST_HISTORY))

    async def fork(
        self,
        thread_id: str,
        *,
        checkpoint_id: str | None = None,
        to: str | None = None,
        update: Mapping[str, object] | None = None,
    ) -> str:
        """Begin a thread *to*, or a new one, where *thread_id* stands or stood at *checkpoint_id*, and return its id.

        *update* replaces values of its state. The old thread stays as it is; `resume` runs the new one. Raise `NotFound`,
        `InvalidInput`, or `Conflict` where *to* exists.
        """
        kept, source = self._kept(), _named(thread_id)
        found = await (kept.latest(source) if checkpoint_id is None else kept.get(source, checkpoint_id))
        if found is None:
            what = f"checkpoint {checkpoint_id!r} in the thread" if checkpoint_id else "thread"
            raise NotFound(f"There is no {what} {thread_id!r}.", remedy="get_state_history lists what is kept.")
        admit(found, plan=self.plan)
        position = position_of(found, plan=self.plan)
        position.state = self._updated(position.state, update)
        target = _named(new_id("thr") if to is None else to)
        async with kept.claim(target):
            keeper = await self._fresh(kept, target)
            keeper.last = replace(found, seq=0)  # the first checkpoint's parent
            status, stopped = ("interrupted", found.stopped) if found.status == "interrupted" else ("running", "")
            await keeper.keep(position, Mark(status if found.due or stopped else "finished", stopped), ran=found.ran)
        return target

    async def replay_from(
        self, thread_id: str, checkpoint_id: str, *, update: Mapping[str, object] | None = None
    ) -> GraphResult[S]:
        """Run again from *checkpoint_id* as a new thread, which the result names; the old one stays as it is."""
        return await self.resume(await self.fork(thread_id, checkpoint_id=checkpoint_id, update=update))

    async def delete(self, thread_id: str) -> None:
        """Forget a thread; raise `Conflict` while a run holds it."""
        kept = self._kept()
        async with kept.claim(_named(thread_id)):
            await kept.delete(thread_id)

    def render(self) -> str:
        """Return the graph as a flowchart in Mermaid's language."""
        shape = self.plan.shape
        nodes: list[tuple[str, str, Form]] = [(START, "start", "stop"), *((name, name, "box") for name in shape.nodes)]
        edges = [(source, target, "") for source, targets in shape.edges.items() for target in targets]
        for several in shape.branchings.values():
            edges += [(each.source, target, str(label)) for each in several for label, target in each.branches.items()]
        return flowchart([*nodes, (END, "end", "stop")], edges)

    async def run_inside(
        self, begin: Values, *, thread_id: str | None, kept: Checkpointer | None, update: Values | None, tell: Tell | None
    ) -> GraphResult[object]:
        """Run as a node of another graph, or go on with what that began: its keeper keeps the thread."""
        if kept is None or thread_id is None:
            return await self._begun(begin, None, tell)
        async with kept.claim(thread_id):
            keeper = Keeper(kept, thread_id, plan=self.plan, clock=self._clock)
            last = await keeper.open()
            if last is None:
                return await self._begun(begin, keeper, tell)
            return await self._gone_on(keeper, None if last.status == "finished" else update, tell)

    def values(self, state: object) -> Values:
        """Return the keys and values of a *state* in the form of the schema."""
        return self.plan.schema.begin(state)

    async def _new(self, state: object, thread_id: str | None, tell: Tell | None) -> GraphResult[S]:
        if self.checkpointer is None:
            if thread_id is not None:
                raise InvalidInput("A thread_id needs a checkpointer.", remedy="Give compile one, or leave the id away.")
            return _typed(await self._begun(state, None, tell))
        target = _named(new_id("thr") if thread_id is None else thread_id)
        async with self.checkpointer.claim(target):
            keeper = await self._fresh(self.checkpointer, target)
            return _typed(await self._begun(state, keeper, tell))

    async def _again(self, thread_id: str, update: Mapping[str, object] | None, tell: Tell | None) -> GraphResult[S]:
        kept = self._kept()
        async with kept.claim(_named(thread_id)):
            keeper = Keeper(kept, thread_id, plan=self.plan, clock=self._clock)
            return _typed(await self._gone_on(keeper, update, tell))

    async def _begun(self, state: object, keeper: Keeper | None, tell: Tell | None) -> GraphResult[object]:
        position = Position(self.plan.schema.begin(state), ENTERING)
        return await Run(self.plan, position, keeper=keeper, tell=tell).begin()

    async def _gone_on(self, keeper: Keeper, update: Mapping[str, object] | None, tell: Tell | None) -> GraphResult[object]:
        last = await keeper.require()
        position = position_of(last, plan=self.plan)
        if update and last.status == "finished":
            raise Conflict(
                f"The thread {keeper.thread_id!r} is finished.", remedy="Fork it with the update, and resume that."
            )
        given = self.plan.schema.update(update, given=position.state, who="the update")
        if given:
            position.state = self._updated(position.state, given)
            await keeper.keep(position, Mark(last.status, last.stopped, last.waits, last.error))
        return await Run(self.plan, position, keeper=keeper, tell=tell).go_on(last, update=given)

    async def _fresh(self, kept: Checkpointer, thread_id: str) -> Keeper:
        keeper = Keeper(kept, thread_id, plan=self.plan, clock=self._clock)
        if (last := await keeper.open()) is not None:
            raise Conflict(
                f"The thread {thread_id!r} exists already and is {last.status}.",
                remedy="Go on with resume, begin under another thread id, or delete it.",
                thread=thread_id,
            )
        return keeper

    def _updated(self, state: Values, update: Mapping[str, object] | None) -> Values:
        given = self.plan.schema.update(update, given=state, who="the update")
        return self.plan.schema.merged(state, [("the update", given)], {})

    def _kept(self) -> Checkpointer:
        if self.checkpointer is None:
            raise InvalidInput("The graph has no checkpointer.", remedy="Give compile one: threads are kept there.")
        return self.checkpointer


async def _streamed(start: Callable[[Tell], Awaitable[GraphResult[S]]]) -> AsyncGenerator[GraphEvent[S], None]:
    queue: asyncio.Queue[GraphEvent[object] | None] = asyncio.Queue()
    run = asyncio.ensure_future(start(queue.put_nowait))
    run.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield cast("GraphEvent[S]", event)
        await run
    finally:
        run.cancel()
        await asyncio.wait({run})
        if not run.cancelled():
            run.exception()  # it was told by the last event, or nobody listens


def _typed(result: GraphResult[object]) -> GraphResult[S]:
    return cast("GraphResult[S]", result)


def _named(thread_id: str) -> str:
    if not isinstance(thread_id, str) or _THREAD.fullmatch(thread_id) is None:
        raise InvalidInput(f"{shown(thread_id)} is no thread id.", remedy="Take up to 200 letters, digits and . _ : - @.")
    return thread_id
