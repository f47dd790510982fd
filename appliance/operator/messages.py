"""A thread: the messages of one conversation, in the shape of OpenAI's chat completions."""

from collections.abc import Iterable, Iterator
from typing import Any, Self, overload

from appliance.operator.plain import copied

Message = dict[str, Any]


class Messages:
    """A thread that owns its messages: they are copied on the way in and on the way out.

    Each method that adds returns the thread, so that calls can be chained.
    """

    def __init__(self, messages: list[Message] | None = None) -> None:
        self._messages: list[Message] = [copied(dict(message)) for message in messages or []]

    def system(self, content: str) -> Self:
        """Add a system message."""
        return self.append({"role": "system", "content": content})

    def user(self, content: str) -> Self:
        """Add what a user says."""
        return self.append({"role": "user", "content": content})

    def assistant(self, content: str | None, *, tool_calls: list[dict[str, Any]] | None = None) -> Self:
        """Add what a model says; *tool_calls* stand in the message only where they are given."""
        message: Message = {"role": "assistant", "content": content}
        return self.append(message if tool_calls is None else message | {"tool_calls": tool_calls})

    def tool(self, content: str, *, tool_call_id: str) -> Self:
        """Add the answer to the tool call of that id."""
        return self.append({"role": "tool", "content": content, "tool_call_id": tool_call_id})

    def append(self, message: Message) -> Self:
        """Add one message of any shape."""
        self._messages.append(copied(dict(message)))
        return self

    def extend(self, messages: Iterable[Message]) -> Self:
        """Add several messages in their order."""
        self._messages.extend([copied(dict(message)) for message in messages])
        return self

    def replace(self, messages: Iterable[Message]) -> Self:
        """Hold these messages and no others."""
        self._messages = [copied(dict(message)) for message in messages]
        return self

    def to_list(self) -> list[Message]:
        """Return all messages; what is done to the list does not reach the thread."""
        return copied(self._messages)

    def clear(self) -> None:
        """Forget all messages."""
        self._messages = []

    def mark(self) -> tuple[Message, ...]:
        """Return the present state for `reset`, not copied, as nothing changes a message that is held: hand it to no one."""
        return tuple(self._messages)

    def reset(self, mark: tuple[Message, ...]) -> None:
        """Go back to the state that *mark* is."""
        self._messages = list(mark)

    def persona(self, skill: str) -> None:
        """Have the thread begin with *skill* as its system message."""
        begins = self._messages[:1] and self._messages[0].get("role") == "system"
        rest = self._messages[1:] if begins else self._messages
        self._messages = [{"role": "system", "content": skill}, *rest]

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.to_list())

    @overload
    def __getitem__(self, position: int) -> Message: ...

    @overload
    def __getitem__(self, position: slice) -> list[Message]: ...

    def __getitem__(self, position: int | slice) -> Message | list[Message]:
        return copied(self._messages[position])
