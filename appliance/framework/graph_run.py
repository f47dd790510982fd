"""One run of a graph: step after step until nothing is due, each kept before the next begins."""

import asyncio
import contextlib
import time
from typing import Final

from appliance.errors import ApplianceError, DeadlineExceeded, LimitExceeded
from appliance.framework.checkpoint import Checkpoint, Due
from appliance.framework.graph_events import GraphEventType, GraphResult
from appliance.framework.graph_keep import Keeper, Mark, Position
from appliance.framework.graph_plan import Plan
from appliance.framework.graph_shape import START
from appliance.framework.graph_state import Values
from appliance.framework.graph_step import Step, Tell, Teller, Waits

ENTERING: Final = (Due(START),)
"""What is due in a run whose entry point is not found yet."""


class Run:
    """Runs a graph from a position to its end, an interrupt, or a failure. Used once."""

    def __init__(self, plan: Plan, position: Position, *, keeper: Keeper | None, tell: Tell | None) -> None:
        self._plan = plan
        self._at = position
        self._keeper = keeper
        self._tell = Teller(tell)
        self._step = Step(plan, keeper, self._tell)
        self._history: list[str] = []
        self._began = time.perf_counter()

    async def begin(self) -> GraphResult[object]:
        """Run from the entry point."""
        return await self._bounded(None)

    async def go_on(self, last: Checkpoint, *, update: Values) -> GraphResult[object]:
        """Run from where *last* stood; *update* is what a subgraph that waits there is given."""
        self._step.resumed_with = update
        return await self._bounded(last)

    async def _bounded(self, last: Checkpoint | None) -> GraphResult[object]:
        """Run within the time; turn what goes wrong into a result, and an end from outside into a mark."""
        self._tell(GraphEventType.RUN_STARTED, step=self._at.step)
        seconds = self._plan.limits.timeout
        try:
            async with asyncio.timeout(seconds):
                mark = await (self._enter() if last is None else self._return_to(last))
                while mark.status == "running":
                    await asyncio.sleep(0)  # plain nodes let nobody else run, nor any time run out
                    mark = await self._one()
                return self._ended(mark)
        except TimeoutError:
            told = f"The run took longer than {seconds:g} s."
            return await self._failed(DeadlineExceeded(told, remedy="Give it more time, then resume."))
        except asyncio.CancelledError:
            await self._mark(Mark("cancelled"))
            raise
        except ApplianceError as exc:
            return await self._failed(exc)

    async def _enter(self) -> Mark:
        self._at.due = tuple(_once(await self._step.route(self._at.due, self._at.state)))
        mark = self._mark_after(())
        await self._keep(mark)
        return mark

    async def _return_to(self, last: Checkpoint) -> Mark:
        """Return how the thread stands now that it goes on: what it waited for is past, what comes next may stop it."""
        if last.status == "finished":
            return Mark("finished")
        if self._at.due == ENTERING:
            return await self._enter()
        mark = self._mark_after(()) if last.stopped == "after" else Mark()
        if mark.status != "running":
            await self._keep(mark)
        elif self._keeper is not None:
            self._step.begun = await self._keeper.writes(self._at.step)
        return mark

    async def _one(self) -> Mark:
        """Run one step and keep what it made."""
        now, later = self._step.ready(self._at.due)
        names = tuple(dict.fromkeys(each.node for each in now))
        self._check_limits(names)
        try:
            writes = await self._step.run(now, self._at)
        except Waits as exc:
            mark = Mark("interrupted", "inside", exc.nodes)
            await self._keep(mark)
            return mark
        state = self._plan.schema.merged(self._at.state, writes, self._plan.mergers)
        due = _once([*later, *await self._routed(now, state, writes)])
        visits = {**self._at.visits, **{name: self._at.visits.get(name, 0) + 1 for name in names}}
        before, self._at = self._at, Position(state, tuple(due), self._at.step + 1, visits)
        mark = self._mark_after(names)
        try:
            await self._keep(mark, ran=names)
        except ApplianceError:
            self._at = before  # what is not kept did not happen
            raise
        self._history += names
        self._step.begun, self._step.resumed_with = {}, None
        if self._tell.tell is not None:
            self._tell.stands(GraphEventType.STEP_FINISHED, self._result(mark), last=False)
        return mark

    async def _routed(self, now: list[Due], state: Values, writes: list[tuple[str, Values]]) -> list[Due]:
        """Return what comes next; where a condition fails, keep what a lone node returned: it need not run again."""
        try:
            return await self._step.route(now, state)
        except (ApplianceError, asyncio.CancelledError):
            if self._keeper is not None and len(writes) == 1:
                await self._keeper.keep_write(self._at.step, 0, writes[0][1])
            raise

    def _mark_after(self, ran: tuple[str, ...]) -> Mark:
        """Return how the thread stands after *ran*: ended, stopped, or running on."""
        if self._plan.after.intersection(ran):
            return Mark("interrupted", "after")
        if not self._at.due:
            return Mark("finished")
        if self._plan.before and self._plan.before.intersection(each.node for each in self._step.ready(self._at.due)[0]):
            return Mark("interrupted", "before")
        return Mark()

    def _check_limits(self, names: tuple[str, ...]) -> None:
        limits = self._plan.limits
        if self._at.step >= limits.recursion_limit:
            raise LimitExceeded(
                f"The run has taken {limits.recursion_limit} steps and is not at its end; {names[0]!r} would be next.",
                remedy="If that is right, compile with a larger recursion_limit.",
                limit=limits.recursion_limit,
            )
        for name in names:
            if self._at.visits.get(name, 0) >= limits.max_iterations:
                raise LimitExceeded(
                    f"The node {name!r} has run in {limits.max_iterations} steps.",
                    remedy="If its cycle is right, compile with a larger max_iterations.",
                    limit=limits.max_iterations,
                )

    async def _keep(self, mark: Mark, *, ran: tuple[str, ...] = ()) -> None:
        if self._keeper is not None:
            await self._keeper.keep(self._at, mark, ran=ran)

    async def _mark(self, mark: Mark) -> None:
        """Keep how the run ended. Where even that cannot be kept, the checkpoint before stands and says where to go on."""
        with contextlib.suppress(ApplianceError):
            await asyncio.shield(asyncio.ensure_future(self._keep(mark)))

    async def _failed(self, failure: ApplianceError) -> GraphResult[object]:
        mark = Mark("failed", error=str(failure))
        await self._mark(mark)
        return self._ended(mark, failure)

    def _ended(self, mark: Mark, failure: ApplianceError | None = None) -> GraphResult[object]:
        result = self._result(mark, failure)
        kinds = {"interrupted": GraphEventType.INTERRUPTED, "failed": GraphEventType.FAILED}
        self._tell.stands(kinds.get(mark.status, GraphEventType.FINISHED), result, last=True)
        return result

    def _result(self, mark: Mark, failure: ApplianceError | None = None) -> GraphResult[object]:
        return GraphResult(
            state=self._plan.schema.shown(self._at.state),
            success=mark.status == "finished",
            error=None if failure is None else str(failure),
            failure=failure,
            interrupted=mark.status == "interrupted",
            next_nodes=mark.waits or tuple(dict.fromkeys(each.node for each in self._at.due)),
            steps=self._at.step,
            node_history=tuple(self._history),
            duration_s=time.perf_counter() - self._began,
            thread_id=self._keeper.thread_id if self._keeper else None,
            checkpoint_id=self._keeper.last.id if self._keeper and self._keeper.last else None,
        )


def _once(due: list[Due]) -> list[Due]:
    """Return *due* with each node once that runs on the whole state, in the order of their first mention."""
    seen: set[str] = set()
    kept = []
    for each in due:
        if each.given is None and each.node in seen:
            continue
        if each.given is None:
            seen.add(each.node)
        kept.append(each)
    return kept
