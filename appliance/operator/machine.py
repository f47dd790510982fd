"""The machine: what a host holds of a coordinator and its juniors."""

from collections.abc import Sequence
from typing import Any, Self

from appliance.operator.agents import AgentRunner, AgentSpec, Coordinator
from appliance.operator.board import Board
from appliance.operator.conversation import Conversation
from appliance.operator.desk import Desk
from appliance.operator.encoding import encoded
from appliance.operator.errors import NotText, OperatorError
from appliance.operator.events import StreamingCallback
from appliance.operator.keeping import Keeping
from appliance.operator.limits import RunLimits
from appliance.operator.log import TurnLog
from appliance.operator.messages import Messages
from appliance.operator.models import (
    Runners,
    StateMachineModel,
    agent_handle_from_model,
    agent_handle_to_model,
    agent_spec_to_model,
    check_roles,
    coordinator_from_model,
    coordinator_to_model,
    messages_from_model,
    messages_to_model,
)
from appliance.operator.objectives import AgentHandle
from appliance.operator.record import TurnRecord
from appliance.operator.tools import OrchestrationTool, orchestration_tools
from appliance.operator.turn import Turn
from appliance.operator.work import Acting, Work

Answer = dict[str, Any]


class StateMachine:
    """A coordinator, its thread, and the juniors that it can commission. `run` is the way to use it.

    *limits* bound each turn. With a *log* the machine is written ahead into it, and `from_log` brings it back; a log that
    holds a machine already raises `LogTaken`.
    """

    def __init__(
        self,
        coordinator: Coordinator | None = None,
        agents: Sequence[AgentSpec] | None = None,
        *,
        limits: RunLimits | None = None,
        log: TurnLog | None = None,
    ) -> None:
        self._limits = limits or RunLimits()
        self._callback: StreamingCallback = None
        self._acting = Acting()
        self._board = Board()
        self._keeping = Keeping(self._board)
        self._talk = Conversation(self, coordinator or Coordinator(), self._acting, self._keeping)
        work = Work(self, self._board, self._acting, limits=self._limits, record=self._keeping.slot)
        self._desk = Desk(self, self._board, work, self._keeping.slot, self._by_hand)
        for spec in agents or ():
            self.add_agent(spec)
        if log is not None:
            self._begin(log)

    @property
    def limits(self) -> RunLimits:
        """What one turn may do."""
        return self._limits

    @property
    def coordinator(self) -> Coordinator:
        """The coordinator; another one takes over with the next turn, and the thread stays."""
        return self._talk.coordinator

    @coordinator.setter
    def coordinator(self, coordinator: Coordinator) -> None:
        self._talk.coordinator = coordinator

    @property
    def coordinator_messages(self) -> Messages:
        """The coordinator's thread. Its system message is the coordinator's skill, also after that changed."""
        return self._talk.thread

    @coordinator_messages.setter
    def coordinator_messages(self, thread: Messages) -> None:
        self._talk.restore(thread)

    @property
    def active_agent(self) -> str | None:
        """Whose runner works now: of several the last that began, and None between turns."""
        return self._acting.agent

    @active_agent.setter
    def active_agent(self, agent: str | None) -> None:
        self._acting.agent = agent

    @property
    def last_turn(self) -> TurnRecord | None:
        """How the last turn ended and what it cost, None before the first one has ended."""
        return self._talk.last_turn

    async def run(
        self, user_text: str | None, *, streaming_callback: StreamingCallback = None, orchestration_tools: bool = True
    ) -> str:
        """Take one turn: ask the coordinator's runner, keep what it answers, and return the reply.

        Blank text is answered with ``""`` and nothing else. Turns of one machine wait for each other. A turn that fails, is
        cancelled or takes too long (`TimeoutError`) leaves the thread as it was, and each objective settled. Raise
        `RuntimeError` where the coordinator has no runner, or where a turn of this machine calls from within itself, and
        `TypeError` for what is no text.
        """
        if user_text is not None and not isinstance(user_text, str):
            raise NotText(f"run() takes text, not {type(user_text).__name__}.")
        text = (user_text or "").strip()
        if not text:
            return ""
        self._talk.runner()  # a machine that cannot answer says so at once, and not after the turns before
        callback = self._callback if streaming_callback is None else streaming_callback
        turn = Turn(self._limits, callback, asked=True)
        return await self._talk.ask(text, turn, tools=self.orchestration_tools if orchestration_tools else list)

    def add_agent(self, spec: AgentSpec) -> AgentHandle:
        """Register a junior; raise `ValueError` for a name that is blank, ``"coordinator"``, or taken."""
        handle = self._board.register(spec)
        try:
            self._keeping.persona(self.coordinator)
        except OperatorError:
            self._board.forget(handle.name)
            raise
        return handle

    def agent(self, name: str) -> AgentHandle:
        """Return the junior of exactly that name; raise `KeyError` if there is none."""
        return self._board.handle(name)

    def agents(self) -> list[AgentHandle]:
        """Return all juniors in the order in which they were registered."""
        return self._board.handles()

    def set_streaming_callback(self, callback: StreamingCallback) -> None:
        """Have *callback* hear each call that brings none of its own."""
        self._callback = callback

    def orchestration_tools(self) -> list[OrchestrationTool]:
        """Return the six tools. `run` gives them to the coordinator; a machine that overrides this gives it others."""
        return orchestration_tools(self)

    async def commission(
        self,
        agent: str,
        objective: str | None,
        checklist: list[str] | str | None = None,
        agent_props: dict[str, Any] | str | None = None,
        *,
        streaming_callback: StreamingCallback = None,
    ) -> Answer:
        """Run a junior on a new objective and return its staged report, or a dict with ``error``."""
        return await self._desk.commission(agent, objective, checklist, agent_props, streaming_callback)

    async def instruct(
        self, agent: str, index: int | str, message: str, *, streaming_callback: StreamingCallback = None
    ) -> Answer:
        """Run a junior on with one of its objectives and return its staged report, or a dict with ``error``."""
        return await self._desk.instruct(agent, index, message, streaming_callback)

    async def instruct_agent(
        self, agent: str, index: int | str, message: str, *, streaming_callback: StreamingCallback = None
    ) -> Answer:
        """Do as `instruct`."""
        return await self.instruct(agent, index, message, streaming_callback=streaming_callback)

    def accept(self, agent: str, index: int | str) -> Answer:
        """Accept a staged report and return it, or a dict with ``error``; it is the runner's to put it into the thread."""
        return self.accept_agent_result(agent, index)

    def accept_agent_result(self, agent: str, index: int | str) -> Answer:
        """Do as `accept`."""
        return self._desk.accept(agent, index)

    def get_agent_message(self, agent: str, index: int | str) -> Answer:
        """Return the last report of an objective without accepting it, or a dict with ``error``."""
        return self._desk.peek(agent, index)

    def list_agents(self) -> list[Answer]:
        """Return a row for each junior."""
        return self._desk.agents()

    def list_objectives(self, agent: str | None = None) -> list[Answer] | Answer:
        """Return a row for each objective, of one junior or of all, or a dict with ``error``."""
        return self._desk.objectives(agent)

    def recover(self) -> list[str]:
        """Settle what a process that ended left as running, as failed and interrupted; return the commission ids.

        Call it on a machine that was brought back, before its first turn. What runs in this process is left alone.
        """
        self._keeping.interrupted()
        return [slot.commission_id for slot in self._desk.work.recover()]

    def to_model(self) -> StateMachineModel:
        """Return a snapshot; raise `SnapshotError` for a message without a role."""
        return StateMachineModel(
            coordinator=coordinator_to_model(self.coordinator),
            coordinator_messages=messages_to_model(self.coordinator_messages),
            active_agent=self.active_agent,
            agents=[agent_handle_to_model(handle) for handle in self._board.handles()],
        )

    def to_json(self) -> str:
        """Return the snapshot as JSON; raise `SnapshotError` with the place of the first thing that JSON cannot hold."""
        thread = self.coordinator_messages
        check_roles(thread)
        agents = [{"spec": agent_spec_to_model(handle.spec), "slots": handle.slots} for handle in self._board.handles()]
        whole = {
            "schema_version": 1,
            "coordinator": coordinator_to_model(self.coordinator),
            "coordinator_messages": thread.mark(),
            "active_agent": self.active_agent,
            "agents": agents,
        }
        return encoded(whole)  # not by way of `to_model`: what is written at once need not be copied first

    @classmethod
    def from_model(
        cls,
        model: StateMachineModel,
        *,
        runners: Runners,
        coordinator_runner: AgentRunner | None = None,
        streaming_callback: StreamingCallback = None,
        limits: RunLimits | None = None,
        log: TurnLog | None = None,
    ) -> Self:
        """Return the machine that *model* is a snapshot of, with the runners of its ids.

        Raise `KeyError` where a runner is missing and `ValueError` where the snapshot contradicts itself.
        """
        coordinator = coordinator_from_model(model.coordinator, runners=runners, coordinator_runner=coordinator_runner)
        machine = cls(coordinator, limits=limits)
        machine.coordinator_messages = messages_from_model(model.coordinator_messages)
        for each in model.agents:
            machine._board.add(agent_handle_from_model(each, runners))
        machine.active_agent = model.active_agent
        machine.set_streaming_callback(streaming_callback)
        if log is not None:
            machine._begin(log)
        return machine

    @classmethod
    def from_log(
        cls,
        log: TurnLog,
        *,
        runners: Runners,
        coordinator_runner: AgentRunner | None = None,
        streaming_callback: StreamingCallback = None,
        limits: RunLimits | None = None,
    ) -> Self:
        """Return the machine as *log* has it and go on writing there; a machine elsewhere that still writes it is refused.

        Objectives that were being worked on are ``running`` as they were: `recover` settles them.
        """
        with log.resumed() as model:
            machine = cls.from_model(
                model,
                runners=runners,
                coordinator_runner=coordinator_runner,
                streaming_callback=streaming_callback,
                limits=limits,
            )
        machine._keeping.into(log)  # noqa: SLF001 - a machine of our own
        return machine

    def _begin(self, log: TurnLog) -> None:
        with log.begun():
            self._keeping.into(log)
            self._keeping.all(self.coordinator, self.coordinator_messages)

    def _by_hand(self) -> Turn:
        return Turn(self._limits, self._callback)
