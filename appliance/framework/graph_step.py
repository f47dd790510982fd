"""One step of a run: every node that is due runs at once, each on a copy of the state that the step began with."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Final

from appliance.errors import InvalidInput, LimitExceeded
from appliance.framework.checkpoint import Due, inner_thread
from appliance.framework.graph_call import call, settle
from appliance.framework.graph_events import GraphEvent, GraphEventType, GraphResult
from appliance.framework.graph_keep import Keeper, Position
from appliance.framework.graph_plan import Plan, Subgraph
from appliance.framework.graph_shape import END, Branching, Send
from appliance.framework.graph_state import Values
from appliance.framework.graph_values import copied, differs, shown

MOST_BRANCHES: Final = 10_000  # of one condition

Tell = Callable[[GraphEvent[object]], None]


class Waits(Exception):
    """A node's subgraph was interrupted."""

    def __init__(self, nodes: tuple[str, ...]) -> None:
        super().__init__(nodes)
        self.nodes = nodes


@dataclass(slots=True)
class Teller:
    """Numbers the events of one run and hands them on; with nobody to hear them it does nothing."""

    tell: Tell | None
    seq: int = 0

    def __call__(
        self, kind: GraphEventType, *, step: int, node: str = "", update: Mapping[str, object] | None = None
    ) -> None:
        """Tell what happened to a node, or that the run started."""
        if self.tell is not None:
            self.seq += 1
            own = None if update is None else {key: copied(value) for key, value in update.items()}
            self.tell(GraphEvent(kind, self.seq, step, node=node, update=own))

    def stands(self, kind: GraphEventType, result: GraphResult[object], *, last: bool) -> None:
        """Tell where the run stands after a step, or the *last* time."""
        if self.tell is not None:
            self.seq += 1
            self.tell(
                GraphEvent(
                    kind,
                    self.seq,
                    result.steps,
                    state=result.state,
                    next_nodes=result.next_nodes,
                    error=result.error,
                    result=result if last else None,
                )
            )

    def inner(self, outer: str) -> Tell | None:
        """Return what hears the events of a subgraph: those of its nodes are told as those of *outer*."""
        if self.tell is None:
            return None

        def told(event: GraphEvent[object]) -> None:
            if event.node:
                self(event.type, step=event.step, node=f"{outer}/{event.node}", update=event.update)

        return told


@dataclass(slots=True)
class Step:
    """Runs the nodes of one step and finds what comes next."""

    plan: Plan
    keeper: Keeper | None
    tell: Teller
    resumed_with: Values | None = None  # what a resumed run was given, for subgraphs that wait
    begun: Mapping[int, Values] = field(default_factory=dict)  # what branches returned before the process died

    def ready(self, due: Sequence[Due]) -> tuple[list[Due], list[Due]]:
        """Return which of *due* run now and which wait: a join waits for branches that can still lead to it."""
        if len(due) == 1:
            return list(due), []
        waits = [each.given is None and any(self._waits_for(each, other) for other in due) for each in due]
        if all(waits):  # each for another: all run, as if none did
            return list(due), []
        return list(compress(due, [not each for each in waits])), list(compress(due, waits))

    async def run(self, now: Sequence[Due], position: Position) -> list[tuple[str, Values]]:
        """Return who wrote what. Raise what the first node that failed raised, once the others are ended, or `Waits`."""
        if len(now) == 1:
            return [await self._branch(0, now[0], position, beside=False)]
        gate = asyncio.Semaphore(self.plan.limits.max_parallel)

        async def gated(index: int, due: Due) -> tuple[str, Values]:
            async with gate:
                return await self._branch(index, due, position, beside=True)

        tasks = [asyncio.create_task(gated(index, due)) for index, due in enumerate(now)]
        try:
            await _until_one_fails(tasks)
        finally:
            await settle([task for task in tasks if not task.done()])
        for task in tasks:
            if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, Waits):
                raise error
        waits = [node for task in tasks if isinstance(error := task.exception(), Waits) for node in error.nodes]
        if waits:
            raise Waits(tuple(waits))
        return [task.result() for task in tasks]

    async def route(self, ran: Sequence[Due], state: Values) -> list[Due]:
        """Return what is due after *ran* on the new *state*, in the order of nodes and edges."""
        found: list[Due] = [Due(each.join_at) for each in ran if each.join_at is not None]
        for node in dict.fromkeys(each.node for each in ran if each.join_at is None):
            found += [Due(target) for target in self.plan.shape.edges[node]]
            for branching in self.plan.shape.branchings[node]:
                found += await self.choose(branching, state)
        return [each for each in found if each.node != END]

    async def choose(self, branching: Branching, state: Values) -> list[Due]:
        """Return what the condition of *branching* finds to be next; raise `InvalidInput` for what has no branch."""
        who = f"The condition behind {branching.source!r}"
        timeout = self.plan.limits.node_timeout
        chosen = await call(branching.choose, self.plan.schema.shown(state), who=who, timeout_s=timeout, aside=False)
        several = chosen if isinstance(chosen, list | tuple) and chosen else [chosen]  # an empty list has no branch
        if len(several) > MOST_BRANCHES:
            raise LimitExceeded(f"{who} gave {len(several):,} branches, of {MOST_BRANCHES:,} at most.", limit=MOST_BRANCHES)
        return [
            self._sent(each, branching, state) if isinstance(each, Send) else _found(each, branching) for each in several
        ]

    def _sent(self, send: Send, branching: Branching, state: Values) -> Due:
        known = sorted({*branching.branches.values()} - {END})
        if send.node not in known:
            raise _no_branch(send.node, branching, known)
        if send.join_at is not None and send.join_at not in (*self.plan.shape.nodes, END):
            raise InvalidInput(f"A Send behind {branching.source!r} joins at {shown(send.join_at)}, which is no node.")
        who = f"the Send to {send.node!r}"
        return Due(send.node, self.plan.schema.update(send.state, given=state, who=who), send.join_at)

    def _waits_for(self, due: Due, other: Due) -> bool:
        if due is other:
            return False
        if other.join_at is not None:
            return other.join_at != due.node and self.plan.shape.waits_for(due.node, other.join_at)
        return self.plan.shape.waits_for(due.node, other.node)

    async def _branch(self, index: int, due: Due, position: Position, *, beside: bool) -> tuple[str, Values]:
        who = f"the node {due.node!r}" + (f" (branch {index + 1})" if due.given is not None else "")
        if index in self.begun:
            return who, self.begun[index]
        node, given = self.plan.nodes[due.node], {**position.state, **(due.given or {})}
        self.tell(GraphEventType.NODE_STARTED, step=position.step + 1, node=node.name)
        if isinstance(node.work, Subgraph):
            returned: object = await self._inside(node.name, node.work, index, given, position.step)
        else:
            timeout = self.plan.limits.node_timeout if node.timeout_s is None else node.timeout_s
            own = self.plan.schema.shown(given)
            returned = await call(node.work, own, who=f"The node {node.name!r}", timeout_s=timeout, aside=beside)
        update = self.plan.schema.update(returned, given=given, who=who)
        if beside or due.given is not None:
            update = {key: value for key, value in update.items() if key in self.plan.mergers or differs(given, key, value)}
        if beside and self.keeper is not None:
            await self.keeper.keep_write(position.step, index, update)
        self.tell(GraphEventType.NODE_FINISHED, step=position.step + 1, node=node.name, update=update)
        return who, update

    async def _inside(self, name: str, sub: Subgraph, index: int, given: Values, step: int) -> Values:
        begin = {inner: given[ours] for inner, ours in sub.inputs.items() if ours in given}
        thread = inner_thread(self.keeper.thread_id, step, index, name) if self.keeper else None
        ours = self.resumed_with or {}
        update = {inner: ours[key] for inner, key in sub.inputs.items() if key in ours} or None
        kept = self.keeper.checkpointer if self.keeper else None
        result = await sub.graph.run_inside(begin, thread_id=thread, kept=kept, update=update, tell=self.tell.inner(name))
        if result.failure is not None:
            raise result.failure
        if result.interrupted:
            raise Waits(tuple(f"{name}/{each}" for each in result.next_nodes) or (f"{name}/{END}",))
        ended = sub.graph.values(result.state)
        return {
            key: ended[inner] for key, inner in sub.outputs.items() if inner in ended and differs(begin, inner, ended[inner])
        }


async def _until_one_fails(tasks: Sequence["asyncio.Task[tuple[str, Values]]"]) -> None:
    waiting = set(tasks)
    while waiting:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if any(task.exception() is not None and not isinstance(task.exception(), Waits) for task in done):
            return


def _found(label: object, branching: Branching) -> Due:
    try:
        return Due(branching.branches[label])
    except (KeyError, TypeError):
        raise _no_branch(label, branching, list(branching.branches)) from None


def _no_branch(label: object, branching: Branching, known: Sequence[object]) -> InvalidInput:
    return InvalidInput(
        f"The condition behind {branching.source!r} gave {shown(label)}, and no branch is called so.",
        remedy=f"Its branches are {', '.join(map(repr, known))}. Add one, or END for those that end there.",
    )
