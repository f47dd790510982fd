"""Snapshots of machines, as models and as JSON."""

from appliance.operator.agents import AgentRunner
from appliance.operator.events import StreamingCallback
from appliance.operator.machine import StateMachine
from appliance.operator.models import Runners, StateMachineModel, from_json


def state_machine_to_model(sm: StateMachine) -> StateMachineModel:
    """Return the snapshot of *sm*, which holds nothing that *sm* holds."""
    return sm.to_model()


def state_machine_from_model(
    model: StateMachineModel,
    *,
    runners: Runners,
    coordinator_runner: AgentRunner | None = None,
    streaming_callback: StreamingCallback = None,
) -> StateMachine:
    """Do as `StateMachine.from_model`."""
    return StateMachine.from_model(
        model, runners=runners, coordinator_runner=coordinator_runner, streaming_callback=streaming_callback
    )


def state_machine_to_json(sm: StateMachine) -> str:
    """Return the snapshot of *sm* as JSON; raise `SnapshotError` with the place of what JSON cannot hold."""
    return sm.to_json()


def state_machine_from_json(
    data: str | bytes,
    *,
    runners: Runners,
    coordinator_runner: AgentRunner | None = None,
    streaming_callback: StreamingCallback = None,
) -> StateMachine:
    """Return the machine whose snapshot *data* is.

    Raise `ValueError` for what is no snapshot of version 1, and `KeyError` where a runner is missing.
    """
    return state_machine_from_model(
        from_json(data), runners=runners, coordinator_runner=coordinator_runner, streaming_callback=streaming_callback
    )
