"""The desk: where calls of a model or a host arrive, and get a value to read whatever they ask."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
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
    """The desk of a *machine*, or of one *turn* of it. *by_hand* makes the turn of a call that belongs to none."""

    machine: object
    board: Board
    work: Work
    record: Callable[[ObjectiveSlot], None]
    by_hand: Callable[[], Turn]
    turn: Turn | None = None

    def of(self, turn: Turn) -> "Desk":
        """Return the desk of *turn*."""
        return replace(self, turn=turn)

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
        turn = self._turn_now()
        try:
            if turn is not None:
                return await call(turn)
            async with self.by_hand() as alone:
                return await call(alone)
        except Refused as refused:
            return refused.answer

    def _turn_now(self) -> Turn | None:
        """Return the turn that a call belongs to: that of its tools, while it lasts, or the one around whoever calls.

        What a turn left behind belongs to it also when it is over, and begins nothing.
        """
        if self.turn is not None and (self.turn.open or self.turn.failed):
            return self.turn
        frame = within(self.machine)
        return None if frame is None else frame.turn
