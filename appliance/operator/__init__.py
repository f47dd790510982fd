"""The operator: one call, ``await sm.run(text)``, in which a coordinator commissions juniors, judges them, and replies."""

from appliance.operator.agents import (
    DEFAULT_COORDINATOR_SKILL,
    AgentRequest,
    AgentResult,
    AgentRunner,
    AgentSpec,
    Coordinator,
)
from appliance.operator.errors import LogDamaged, LogFault, LogTaken, LogVersion, OperatorError, SnapshotError
from appliance.operator.events import StreamEvent, StreamingCallback, emit_stream
from appliance.operator.limits import RunLimits
from appliance.operator.log import TurnLog
from appliance.operator.machine import StateMachine
from appliance.operator.messages import Message, Messages
from appliance.operator.models import (
    AgentHandleModel,
    AgentSpecModel,
    ChatMessage,
    CoordinatorModel,
    StateMachineModel,
    agent_handle_from_model,
    agent_handle_to_model,
    agent_spec_from_model,
    agent_spec_to_model,
    coordinator_from_model,
    coordinator_to_model,
    messages_from_model,
    messages_to_model,
)
from appliance.operator.objectives import AgentHandle, ObjectiveSlot, SlotStatus
from appliance.operator.record import TurnRecord
from appliance.operator.runners import callable_agent
from appliance.operator.schemas import openai_tool_schema, tool_schemas
from appliance.operator.snapshot import (
    state_machine_from_json,
    state_machine_from_model,
    state_machine_to_json,
    state_machine_to_model,
)

__all__ = [
    "DEFAULT_COORDINATOR_SKILL",
    "AgentHandle",
    "AgentHandleModel",
    "AgentRequest",
    "AgentResult",
    "AgentRunner",
    "AgentSpec",
    "AgentSpecModel",
    "ChatMessage",
    "Coordinator",
    "CoordinatorModel",
    "LogDamaged",
    "LogFault",
    "LogTaken",
    "LogVersion",
    "Message",
    "Messages",
    "ObjectiveSlot",
    "OperatorError",
    "RunLimits",
    "SlotStatus",
    "SnapshotError",
    "StateMachine",
    "StateMachineModel",
    "StreamEvent",
    "StreamingCallback",
    "TurnLog",
    "TurnRecord",
    "agent_handle_from_model",
    "agent_handle_to_model",
    "agent_spec_from_model",
    "agent_spec_to_model",
    "callable_agent",
    "coordinator_from_model",
    "coordinator_to_model",
    "emit_stream",
    "messages_from_model",
    "messages_to_model",
    "openai_tool_schema",
    "state_machine_from_json",
    "state_machine_from_model",
    "state_machine_to_json",
    "state_machine_to_model",
    "tool_schemas",
]
