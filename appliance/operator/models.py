"""Snapshots as data, version 1: what a machine is without its runners and its callbacks."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, ValidationError, model_serializer

from appliance.operator.agents import COORDINATOR, AgentRunner, AgentSpec, Coordinator
from appliance.operator.errors import SnapshotError
from appliance.operator.messages import Message, Messages
from appliance.operator.objectives import AgentHandle, ObjectiveSlot
from appliance.operator.plain import copied

Runners = Mapping[str, AgentRunner]


class ChatMessage(BaseModel):
    """One message. Whatever else it holds, tool calls for one, is kept as it is."""

    model_config = ConfigDict(extra="allow")

    role: str
    content: Any = None

    @model_serializer(mode="wrap")
    def _as_it_was(self, handler: SerializerFunctionWrapHandler) -> Any:  # noqa: ANN401 - as pydantic has it
        dumped = handler(self)
        if "content" not in self.model_fields_set:
            del dumped["content"]
        return dumped


class AgentSpecModel(BaseModel):
    """A junior without its runner."""

    name: str
    description: str
    skill: str
    runner_id: str
    model: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class CoordinatorModel(BaseModel):
    """A coordinator without its runner; *runner_id* is None where it had none."""

    skill: str
    runner_id: str | None = None
    model: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class AgentHandleModel(BaseModel):
    """A junior and its objectives."""

    spec: AgentSpecModel
    slots: list[ObjectiveSlot] = Field(default_factory=list)


class StateMachineModel(BaseModel):
    """A whole machine."""

    schema_version: Literal[1] = 1
    coordinator: CoordinatorModel
    coordinator_messages: list[ChatMessage] = Field(default_factory=list)
    active_agent: str | None = None
    agents: list[AgentHandleModel] = Field(default_factory=list)


def messages_to_model(messages: Messages) -> list[ChatMessage]:
    """Return the thread as models; raise `SnapshotError` for a message without a role."""
    check_roles(messages)
    return [ChatMessage(**message) for message in messages]


def check_roles(messages: Messages) -> None:
    """Raise `SnapshotError` for a message that has no role, as a snapshot of it could not be read."""
    for number, message in enumerate(messages.mark()):
        if not isinstance(message.get("role"), str):
            raise SnapshotError(f"coordinator_messages[{number}] has no role, which a snapshot needs: give it one.")


def messages_from_model(data: list[ChatMessage]) -> Messages:
    """Return the thread that *data* holds."""
    return Messages([_message(each) for each in data])


def agent_spec_to_model(spec: AgentSpec) -> AgentSpecModel:
    """Return *spec* without its runner."""
    return AgentSpecModel(
        name=spec.name,
        description=spec.description,
        skill=spec.skill,
        runner_id=spec.runner_id or spec.name,
        model=spec.model,
        metadata=copied(spec.metadata),
    )


def agent_spec_from_model(model: AgentSpecModel, runners: Runners) -> AgentSpec:
    """Return the spec with the runner of its id; raise `KeyError` where *runners* has none."""
    return AgentSpec(
        name=model.name,
        description=model.description,
        skill=model.skill,
        runner=_runner(model.runner_id, runners),
        runner_id=model.runner_id,
        model=model.model,
        metadata=model.metadata,
    )


def coordinator_to_model(coordinator: Coordinator) -> CoordinatorModel:
    """Return *coordinator* without its runner."""
    return CoordinatorModel(
        skill=coordinator.skill,
        runner_id=coordinator.runner_id or (None if coordinator.runner is None else COORDINATOR),
        model=coordinator.model,
        metadata=copied(coordinator.metadata),
    )


def coordinator_from_model(
    model: CoordinatorModel, *, runners: Runners, coordinator_runner: AgentRunner | None = None
) -> Coordinator:
    """Return the coordinator with *coordinator_runner*, or else the runner of its id, or else that of ``"coordinator"``.

    One that had no runner needs none. Raise `KeyError` where the runner is missing.
    """
    runner = coordinator_runner
    if runner is None and model.runner_id is not None:
        found = model.runner_id if model.runner_id in runners else COORDINATOR
        runner = _runner(found, runners, wanted=model.runner_id)
    return Coordinator(
        skill=model.skill, runner=runner, runner_id=model.runner_id, model=model.model, metadata=model.metadata
    )


def agent_handle_to_model(handle: AgentHandle) -> AgentHandleModel:
    """Return *handle* without its runner."""
    slots = [slot.model_copy(update=copied(dict(slot))) for slot in handle.slots]
    return AgentHandleModel(spec=agent_spec_to_model(handle.spec), slots=slots)


def agent_handle_from_model(model: AgentHandleModel, runners: Runners) -> AgentHandle:
    """Return the handle with the runner of its id.

    Raise `KeyError` where *runners* has none, and `SnapshotError` for an objective that is not where its index says.
    """
    for number, slot in enumerate(model.slots, start=1):
        if (slot.agent, slot.index) != (model.spec.name, number):
            where = f"objective {number} of {model.spec.name!r}"
            raise SnapshotError(f"The snapshot contradicts itself: {where} calls itself {slot.index} of {slot.agent!r}.")
    slots = [slot.model_copy(update=copied(dict(slot))) for slot in model.slots]
    return AgentHandle(spec=agent_spec_from_model(model.spec, runners), slots=slots)


def from_json(data: str | bytes) -> StateMachineModel:
    """Return the snapshot that *data* is; raise `SnapshotError` or pydantic's error, both a `ValueError`, if it is none."""
    try:
        return StateMachineModel.model_validate_json(data)
    except ValidationError as exc:
        if exc.errors(include_url=False)[0]["type"] != "json_invalid":
            raise
    try:  # pydantic refuses half a surrogate pair, which `encoded` writes where a model did
        return StateMachineModel.model_validate(json.loads(data))
    except RecursionError as exc:
        raise SnapshotError("The snapshot is nested too deeply to be one of a machine.") from exc


def _runner(runner_id: str, runners: Runners, *, wanted: str | None = None) -> AgentRunner:
    if runner_id not in runners:
        raise KeyError(f"No runner is given for {wanted or runner_id!r}: add one to `runners` under that id.")
    return runners[runner_id]


def _message(model: ChatMessage) -> Message:
    message: Message = {"role": model.role}
    if "content" in model.model_fields_set:
        message["content"] = model.content
    return message | (model.model_extra or {})
