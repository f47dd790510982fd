"""Several transitions that are applied together or not at all."""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from appliance.orchestrator.state.frozen import to_json
from appliance.orchestrator.state.transitions import Scope, StateTransition, TransitionType


@dataclass
class TransitionBatch:
    """Transitions in the order in which they are applied, all or none. Every method that adds returns the batch."""

    transitions: list[StateTransition] = field(default_factory=list)
    metadata: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.transitions, str | bytes | Mapping) or not isinstance(self.transitions, Iterable):
            raise ValueError("The transitions of a batch must be a list.")
        if not isinstance(self.metadata, Mapping):
            raise ValueError("The metadata of a batch must be a mapping.")
        given, self.transitions = tuple(self.transitions), []
        self.metadata = copy.deepcopy(dict(self.metadata))
        for each in given:
            self.add(each)

    def __len__(self) -> int:
        return len(self.transitions)

    def is_empty(self) -> bool:
        """Say whether there is nothing to apply."""
        return not self.transitions

    def add(self, transition: StateTransition) -> Self:
        """Add *transition*; raise `ValueError` unless it is a `StateTransition`."""
        if not isinstance(transition, StateTransition):
            raise ValueError(f"A batch takes transitions, not a {type(transition).__name__}.")
        self.transitions.append(transition)
        return self

    def extend(self, other: "TransitionBatch") -> Self:
        """Add all of *other*, and its metadata, which wins over what is here; raise `ValueError` for the batch itself."""
        if other is self:
            raise ValueError("A batch cannot be extended by itself.")
        if not isinstance(other, TransitionBatch):
            raise ValueError(f"A batch is extended by a batch, not by a {type(other).__name__}.")
        for each in other.transitions:
            self.add(each)
        self.metadata.update(copy.deepcopy(other.metadata))
        return self

    def add_message(self, message: object) -> Self:
        """Append *message* to the conversation."""
        return self._add(TransitionType.ADD_MESSAGE, message=message)

    def add_messages(self, messages: Iterable[object]) -> Self:
        """Append *messages* to the conversation, in order."""
        listed = messages if isinstance(messages, str | bytes | Mapping) else list(messages)
        return self._add(TransitionType.ADD_MESSAGES, messages=listed)

    def update_state(self, key: str, value: object, scope: Scope = "conversation") -> Self:
        """Set *key* in the state of the conversation, or of the session."""
        return self._add(TransitionType.UPDATE_STATE, key=key, value=value, scope=scope)

    def delete_state(self, key: str, scope: Scope = "conversation") -> Self:
        """Take *key* out of the state of that scope; it may be absent, and that of the other scope stays."""
        return self._add(TransitionType.DELETE_STATE, key=key, scope=scope)

    def execute_tool(self, tool_name: str, arguments: Mapping[str, object] | None = None) -> Self:
        """Run a tool."""
        return self._add(TransitionType.EXECUTE_TOOL, tool_name=tool_name, arguments={} if arguments is None else arguments)

    def tool_result(
        self, tool_name: str, result: object, *, tool_call_id: str | None = None, error: str | None = None
    ) -> Self:
        """Append what a tool gave, or the *error* that it ended with, to the conversation, as a message of role ``tool``."""
        optional = {"tool_call_id": tool_call_id, "error": error}
        given = {key: value for key, value in optional.items() if value is not None}
        return self._add(TransitionType.TOOL_RESULT, tool_name=tool_name, result=result, **given)

    def update_capability(self, capability: str, value: object = True) -> Self:  # noqa: FBT002 - a value like any other
        """Set what the host can do."""
        return self._add(TransitionType.UPDATE_CAPABILITY, capability=capability, value=value)

    def update_stage(self, stage: str) -> Self:
        """Set the stage of the conversation."""
        return self._add(TransitionType.UPDATE_STAGE, stage=stage)

    def create_session(self, session_id: str | None = None, **kwargs: object) -> Self:
        """Open a session; without *session_id* the host names it."""
        data: dict[str, object] = {} if session_id is None else {"session_id": session_id}
        return self._add(TransitionType.CREATE_SESSION, **data, **({"kwargs": kwargs} if kwargs else {}))

    def close_session(self, session_id: str) -> Self:
        """Close a session."""
        return self._add(TransitionType.CLOSE_SESSION, session_id=session_id)

    def add_batch(self, other: "TransitionBatch") -> Self:
        """Add *other* as one transition, as it is now; its metadata goes along."""
        if other is self or not isinstance(other, TransitionBatch):
            raise ValueError("A batch takes another batch.")
        data = {"transitions": tuple(other.transitions)}
        return self.add(StateTransition(TransitionType.BATCH, data, metadata=other.metadata))

    def to_dict(self) -> dict[str, object]:
        """Return the batch in JSON's types; raise `ValueError`, which names the value, where JSON has none for it."""
        return {
            "transitions": [each.to_dict() for each in self.transitions],
            "metadata": to_json(self.metadata, what="metadata"),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self:
        """Return the batch that `to_dict` wrote; raise `ValueError` for anything else."""
        if not isinstance(data, Mapping) or not data.keys() <= {"transitions", "metadata"}:
            raise ValueError("A batch is a mapping with transitions and metadata.")
        raw, metadata = data.get("transitions", []), data.get("metadata", {})
        if not isinstance(raw, list) or not isinstance(metadata, dict):
            raise ValueError("The transitions of a batch must be a list, its metadata a mapping.")
        return cls([StateTransition.from_dict(each) for each in raw], metadata)

    def _add(self, kind: TransitionType, **data: object) -> Self:
        return self.add(StateTransition(kind, data))
