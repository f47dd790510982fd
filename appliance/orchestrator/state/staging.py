"""The state that a batch would leave, kept apart from the host until all of the batch's effects have happened."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from appliance.orchestrator.state.frozen import thaw
from appliance.orchestrator.state.host import Changes, Staged
from appliance.orchestrator.state.transitions import Scope, StateTransition, TransitionType, scope_of

GONE: Final = object()


@dataclass(slots=True)
class Staging:
    """What a batch has asked of the state so far, each with the position of the transition that asked for it."""

    messages: list[tuple[int, object]] = field(default_factory=list)
    state: dict[Scope, dict[str, tuple[int, object]]] = field(default_factory=lambda: {"conversation": {}, "session": {}})
    capabilities: dict[str, tuple[int, object]] = field(default_factory=dict)
    stage: tuple[int, str] | None = None

    def take(self, index: int, transition: StateTransition) -> bool:
        """Stage *transition*; False says that it changes no state but has an effect."""
        data = transition.data
        match transition.transition_type:
            case TransitionType.ADD_MESSAGE:
                self.messages.append((index, thaw(data["message"])))
            case TransitionType.ADD_MESSAGES:
                self.messages += [(index, message) for message in _list(data["messages"])]
            case TransitionType.TOOL_RESULT:
                self.messages.append((index, tool_message(data)))
            case TransitionType.UPDATE_STATE:
                self.state[scope_of(transition)][str(data["key"])] = (index, thaw(data["value"]))
            case TransitionType.DELETE_STATE:
                self.state[scope_of(transition)][str(data["key"])] = (index, GONE)
            case TransitionType.UPDATE_CAPABILITY:
                self.capabilities[str(data["capability"])] = (index, thaw(data.get("value", True)))
            case TransitionType.UPDATE_STAGE:
                self.stage = (index, str(data["stage"]))
            case _:
                return False
        return True

    def net(self) -> Staged:
        """Return the change of the whole batch."""
        return Staged(
            messages=tuple(message for _, message in self.messages),
            conversation_state=_changes(self.state["conversation"]),
            session_state=_changes(self.state["session"]),
            capabilities={name: value for name, (_, value) in self.capabilities.items()},
            stage=self.stage[1] if self.stage is not None else None,
        )


def tool_message(data: Mapping[str, object]) -> dict[str, object]:
    """Return the message of role ``tool`` that the data of a TOOL_RESULT stands for."""
    error, result = data.get("error"), thaw(data["result"])
    content = error or (result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str))
    message: dict[str, object] = {"role": "tool", "name": data["tool_name"], "content": content}
    if data.get("tool_call_id") is not None:
        message["tool_call_id"] = data["tool_call_id"]
    if error or data.get("success") is False:
        message["is_error"] = True
    return message


def _list(frozen: object) -> list[object]:
    thawed = thaw(frozen)
    return list(thawed) if isinstance(thawed, list | tuple) else []


def _changes(wanted: Mapping[str, tuple[int, object]]) -> Changes:
    return Changes(
        values={key: value for key, (_, value) in wanted.items() if value is not GONE},
        deleted=frozenset(key for key, (_, value) in wanted.items() if value is GONE),
    )
