"""The desk: where calls of a model or a host arrive, and get a value to read whatever they ask."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from appliance.operator.board import Board, accepted
from appliance.operator.events import StreamingCallback
from appliance.operator.objectives import ObjectiveSlot
from appliance.operator.refusals import Refused
from appliance.operator.turn import Turn, within
from appliance.operator.work import Work

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Desk:
    """The desk of a *machine*. *by_hand* makes the turn of a call that belongs to none."""

    machine: object
    board: Board
    work: Work
    record: Callable[[ObjectiveSlot], None]
    by_hand: Callable[[], Turn]

    async def commission(
        self, agent: object, objective: object, checklist: object, agent_props: object, callback: StreamingCallback = None
    ) -> Answer:
        """Run a junior on a new objective."""
        return await self._in_turn(
            lambda turn: self.work.commission(turn, agent, objective, checklist, agent_props, callback)
        )

    async def instruct(self, agent: object, index: object, message: object, callback: StreamingCallback = None) -> Answer:
        """Run a junior on with one of its objectives."""
        return await self._in_turn(lambda turn: self.work.instruct(turn, agent, index, message, callback))

    def accept(self, agent: object, index: object) -> Answer:
        """Accept a staged report."""
        try:
            slot = self.board.accept(agent, index)
        except Refused as refused:
            return refused.answer
        self.record(slot)
        return accepted(slot)

    def peek(self, agent: object, index: object) -> Answer:
        """Show a report."""
        try:
            return self.board.peek(agent, index)
        except Refused as refused:
            return refused.answer

    def agents(self) -> list[Answer]:
        """List the juniors."""
        return self.board.agents()

    def objectives(self, agent: object) -> list[Answer] | Answer:
        """List the objectives."""
        try:
            return self.board.objectives(agent)
        except Refused as refused:
            return refused.answer

    async def _in_turn(self, call: Callable[[Turn], Awaitable[Answer]]) -> Answer:
        """Make *call* in the turn around it; what a turn left behind still belongs to it when it is over, and is refused."""
        frame = within(self.machine)
        try:
            if frame is not None:
                return await call(frame.turn)
            async with self.by_hand() as alone:
                return await call(alone)
        except Refused as refused:
            return refused.answer
