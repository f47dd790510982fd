"""What of a machine goes into its turn log, and when; without a log, nothing."""

from appliance.operator.agents import Coordinator
from appliance.operator.board import Board
from appliance.operator.encoding import encoded
from appliance.operator.log import TurnLog
from appliance.operator.messages import Messages
from appliance.operator.models import agent_spec_to_model, check_roles, coordinator_to_model
from appliance.operator.objectives import ObjectiveSlot
from appliance.operator.record import TurnRecord


class Keeping:
    """Writes ahead: what is about to run stands in the log before it runs, what ended before anyone is told."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._log: TurnLog | None = None

    def into(self, log: TurnLog) -> None:
        """Write into *log* from now on."""
        self._log = log

    def all(self, coordinator: Coordinator, thread: Messages) -> None:
        """Write the whole machine."""
        if self._log is not None:
            check_roles(thread)
            slots = [slot for handle in self._board.handles() for slot in handle.slots]
            self._log.keep(persona=self._persona(coordinator), thread=thread.mark(), slots=slots)

    def persona(self, coordinator: Coordinator) -> None:
        """Write who takes part."""
        if self._log is not None:
            self._log.keep(persona=self._persona(coordinator))

    def turn(self, record: TurnRecord, coordinator: Coordinator, thread: Messages) -> None:
        """Write a turn as it is now, with the thread that it found or left."""
        if self._log is not None:
            check_roles(thread)
            self._log.keep(persona=self._persona(coordinator), thread=thread.mark(), turn=record)

    def slot(self, slot: ObjectiveSlot) -> None:
        """Write an objective, and those before it that a host added by itself."""
        if self._log is not None:
            known = self._log.objectives_of(slot.agent)
            added = self._board.handle(slot.agent).slots[known : slot.index - 1]
            self._log.keep(slots=[*added, slot])

    def interrupted(self) -> None:
        """Write that the turns that were running were interrupted."""
        if self._log is not None:
            self._log.interrupt()

    def _persona(self, coordinator: Coordinator) -> str:
        agents = [agent_spec_to_model(handle.spec) for handle in self._board.handles()]
        return encoded({"coordinator": coordinator_to_model(coordinator), "agents": agents})
