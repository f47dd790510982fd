"""What the state-passed core needs of the runtime that it snapshots and changes."""

from collections.abc import Awaitable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable


@runtime_checkable
class Host(Protocol):
    """A runtime: what a snapshot reads, and what transitions change. Lists and mappings are changed where they stand.

    A host may also have ``state_version: int``, which grows with every change of its state, whoever makes it: then a stale
    snapshot is noticed whatever happened in between, and else by the batches applied and by comparing the state itself. A
    host may have ``add_messages(messages)`` for several at once, and `CommitsStaged`.
    """

    @property
    def messages(self) -> Sequence[object]:
        """The conversation, oldest first."""

    @property
    def conversation_state(self) -> Mapping[str, object]:
        """The state of this conversation; written in place where it can be."""

    @property
    def session_state(self) -> Mapping[str, object]:
        """The state of the session around it."""

    @property
    def _capabilities(self) -> Mapping[str, object]:
        """What the host can do, and settings of it."""

    @property
    def observed_files(self) -> Sequence[str]:
        """The files that were looked at."""

    @property
    def session_id(self) -> str:
        """The session's name."""

    @property
    def conversation_stage(self) -> str:
        """How far the conversation is; ``complete`` at its end."""

    @property
    def settings(self) -> object:
        """Whatever settings it has; a snapshot shows them without secrets."""

    @property
    def model(self) -> str:
        """The model's name."""

    @property
    def provider_name(self) -> str:
        """Who serves the model."""

    @property
    def max_tokens(self) -> int:
        """The most tokens of an answer."""

    @property
    def temperature(self) -> float:
        """How freely is sampled."""

    def add_message(self, message: object) -> None:
        """Append *message* to the conversation."""

    def execute_tool(self, name: str, arguments: Mapping[str, object]) -> Awaitable[object] | object:
        """Run a tool and return its result; may be a coroutine function."""

    def create_session(self, **kwargs: object) -> Awaitable[object] | object:
        """Open a session; may be a coroutine function."""

    def close_session(self, **kwargs: object) -> Awaitable[object] | object:
        """Close a session; may be a coroutine function."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What becomes of one mapping: keys that get a value, and keys that go. No key is in both."""

    values: Mapping[str, object] = field(default_factory=dict)
    deleted: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.values or self.deleted)

    def write(self, target: MutableMapping[str, object]) -> None:
        """Make these changes in *target*; a deleted key may be absent."""
        for key in self.deleted:
            target.pop(key, None)
        target.update(self.values)


@dataclass(frozen=True, slots=True)
class Staged:
    """The net change of a whole batch, once all of its effects have happened. The values are the host's own to keep."""

    messages: tuple[object, ...] = ()  # to append, in this order
    conversation_state: Changes = field(default_factory=Changes)
    session_state: Changes = field(default_factory=Changes)
    capabilities: Mapping[str, object] = field(default_factory=dict)
    stage: str | None = None  # None: as it is

    def __bool__(self) -> bool:
        changes = (self.messages, self.conversation_state, self.session_state, self.capabilities)
        return any(map(bool, changes)) or self.stage is not None


@runtime_checkable
class Refreshes(Protocol):
    """A host whose state may be changed by others, in a database for instance, while it has an older one in hand."""

    def refresh(self) -> None:
        """Look at the state again. Called before a snapshot that is expected is compared with it."""


@runtime_checkable
class CommitsStaged(Protocol):
    """A host that can take a whole batch in one step, for instance in one transaction of its database."""

    def commit(self, staged: Staged) -> None:
        """Make all of *staged* the host's state, or raise and change nothing.

        Called once for a batch, with no effect outstanding, and not when nothing changed; it must not wait for anything of
        the event loop. A host that has ``state_version`` counts it up here.
        """
