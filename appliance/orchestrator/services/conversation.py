"""A message of a conversation: who said what, which tools were asked for, and what they gave."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

from appliance.contracts.chat import Message
from appliance.contracts.tools import Json
from appliance.errors import InvalidInput, LimitExceeded
from appliance.orchestrator.calls import canonical

Speaker = Literal["system", "user", "assistant", "tool"]

MOST_CHARACTERS: Final = 1_000_000  # of one message
_SPEAKERS: Final = ("system", "user", "assistant", "tool")
_REMEDY: Final = (
    'A message is an object as {"role": "user", "content": "…"}; a role is one of system, user, assistant, tool.'
)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call that a message of the assistant asks for."""

    id: str
    tool: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ConversationMessage:
    """One message. Of one by a tool, ``tool`` is its name, and ``call`` the id of the use that it answers, if known."""

    role: Speaker
    content: str
    uses: tuple[ToolUse, ...] = ()
    tool: str = ""
    call: str = ""
    failed: bool = False

    def to_json(self) -> dict[str, Json]:
        """Return the message in the shape that every engine's API has."""
        found: dict[str, Json] = {"role": self.role, "content": self.content}
        if self.uses:
            found["tool_calls"] = [_use_to_json(use) for use in self.uses]
        if self.tool:
            found["name"] = self.tool
        if self.call:
            found["tool_call_id"] = self.call
        if self.failed:
            found["is_error"] = True
        return found

    def spoken(self) -> Message:
        """Return the message as a model is told of it, whose templates know no tools."""
        if self.role == "tool":
            return Message("user", f"Result of {self.tool or 'a tool'}:\n{self.content}")
        calls = [f"(I used {use.tool} with {canonical(use.arguments)}.)" for use in self.uses]
        return Message(self.role, "\n".join([*([self.content] if self.content else []), *calls]))


def worth_telling(history: Sequence[ConversationMessage]) -> list[ConversationMessage]:
    """Return what of *history* a later turn is told: neither the system message, which it has, nor calls that failed."""
    failed = {each.call for each in history if each.failed}
    return [
        each
        for each in history
        if each.role != "system" and not each.failed and not any(use.id in failed for use in each.uses)
    ]


def message_of(given: object) -> ConversationMessage:
    """Return the message that *given* is, in the shape that `ConversationMessage.to_json` writes.

    Raise `InvalidInput` for anything else, and `LimitExceeded` for one that is too long.
    """
    if isinstance(given, ConversationMessage):
        return given
    if not isinstance(given, Mapping) or given.get("role") not in _SPEAKERS:
        raise InvalidInput(f"A {type(given).__name__} is no message of a conversation.", remedy=_REMEDY)
    content = given.get("content")
    if not isinstance(content, str | None):
        raise InvalidInput("The content of a message is no text.", remedy=_REMEDY)
    if content is not None and len(content) > MOST_CHARACTERS:
        raise LimitExceeded(
            f"A message of {len(content):,} characters is too long.", limit=MOST_CHARACTERS, size=len(content)
        )
    uses = given.get("tool_calls") or ()
    if not isinstance(uses, Sequence) or isinstance(uses, str):
        raise InvalidInput("The calls of a message are no list.", remedy=_REMEDY)
    return ConversationMessage(
        cast("Speaker", given["role"]),
        content or "",
        tuple(_use(use) for use in uses),
        str(given.get("name") or ""),
        str(given.get("tool_call_id") or ""),
        failed=bool(given.get("is_error")),
    )


def _use_to_json(use: ToolUse) -> dict[str, Json]:
    return {"id": use.id, "type": "function", "function": {"name": use.tool, "arguments": canonical(use.arguments)}}


def _use(given: object) -> ToolUse:
    function = given.get("function") if isinstance(given, Mapping) else None
    if not isinstance(given, Mapping) or not isinstance(function, Mapping):
        raise InvalidInput("A call in a message names no function.", remedy=_REMEDY)
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError) as exc:
            raise InvalidInput("The arguments of a call in a message are no JSON.", remedy=_REMEDY) from exc
    if not isinstance(arguments, Mapping):
        raise InvalidInput("The arguments of a call in a message are no object.", remedy=_REMEDY)
    return ToolUse(str(given.get("id") or ""), str(function.get("name") or ""), arguments)
