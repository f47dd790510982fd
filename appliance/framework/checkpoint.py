"""Checkpoints: where a run stands after a step, kept so that it can go on from there.

Two keepers have one contract: `checkpoint_memory` and `checkpoint_sqlite`.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from appliance.errors import Conflict

FORMAT: Final = 1
"""The form of what is kept. One of another form is refused and left alone."""

KEEP: Final = 1000  # checkpoints of one thread
FINISHED: Final = 1000  # threads

Status = Literal["running", "interrupted", "finished", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class Due:
    """A node that runs next: on the whole state, or as `Send` has it with *given* over it and on to *join_at*."""

    node: str
    given: Mapping[str, object] | None = None
    join_at: str | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a thread stood: its state as JSON values, and what was due. ``seq`` counts within the thread, from 1.

    ``graph`` is the fingerprint of the graph that ran; ``ran`` names the nodes of the step before; ``visits`` counts in how
    many steps each node ran; ``stopped`` says what an interrupted run waits for.
    """

    id: str
    thread_id: str
    seq: int
    graph: str
    at: float
    step: int
    status: Status
    state: Mapping[str, object]
    due: tuple[Due, ...] = ()
    ran: tuple[str, ...] = ()
    visits: Mapping[str, int] = field(default_factory=dict)
    stopped: Literal["", "before", "after", "inside"] = ""
    waits: tuple[str, ...] = ()
    error: str = ""
    parent: str = ""
    format: int = FORMAT

    @property
    def next_nodes(self) -> tuple[str, ...]:
        """The nodes that run next; within a subgraph that waits, the one inside."""
        return self.waits or tuple(dict.fromkeys(each.node for each in self.due))


class Checkpointer(Protocol):
    """Keeps the checkpoints of threads. On return of `put` and `put_write` what they were given outlives the process."""

    def claim(self, thread_id: str) -> AbstractAsyncContextManager[None]:
        """Hold the thread for one run; raise `Conflict` where another has it. A process that dies holds nothing."""

    async def put(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint, and forget the writes of steps before it; raise `Conflict` where its ``seq`` is taken."""

    async def latest(self, thread_id: str) -> Checkpoint | None:
        """Return the newest checkpoint of a thread, or None; raise `HostUnfit` for one of another format."""

    async def get(self, thread_id: str, checkpoint_id: str) -> Checkpoint | None:
        """Return one checkpoint, or None; raise `HostUnfit` for one of another format."""

    async def history(self, thread_id: str, *, limit: int = 100) -> Sequence[Checkpoint]:
        """Return the newest checkpoints of a thread, the newest first."""

    async def put_write(self, thread_id: str, step: int, index: int, update: Mapping[str, object]) -> None:
        """Keep what one of the branches of a *step* returned while others still run."""

    async def writes(self, thread_id: str, step: int) -> Mapping[int, Mapping[str, object]]:
        """Return what `put_write` kept of a *step*, by index."""

    async def delete(self, thread_id: str) -> None:
        """Forget a thread and those of its subgraphs."""


def inner_thread(thread_id: str, step: int, index: int, node: str) -> str:
    """Return the thread of the subgraph that *node* runs as the branch *index* of a *step*."""
    return f"{thread_id}/{step}.{index}.{node}"


def claimed(thread_id: str) -> Conflict:
    """Return the error that a second run of one thread gets."""
    return Conflict(
        f"Another run holds the thread {thread_id!r}.",
        remedy="Wait until it ends, or begin under another thread id.",
        thread=thread_id,
    )


def overtaken(thread_id: str) -> Conflict:
    """Return the error of a run under which another moved its thread."""
    return Conflict(
        f"Another run moved the thread {thread_id!r} on.", remedy="Look at its state, then resume.", thread=thread_id
    )
