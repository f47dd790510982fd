"""Checkpoints: where a run stands after a step, kept so that it can go on from there.

Two keepers have one contract: `MemoryCheckpointer` here, and `appliance.framework.checkpoint_sqlite`.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, fields
from typing import Final, Literal, Protocol

from appliance.errors import Conflict, HostUnfit, StoreCorrupt

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


def encoded(checkpoint: Checkpoint) -> str:
    """Return *checkpoint* as JSON."""
    body = {each.name: getattr(checkpoint, each.name) for each in fields(Checkpoint)}
    due = [[each.node, each.given, each.join_at] for each in checkpoint.due]
    return json.dumps({**body, "due": due}, allow_nan=False)


def decoded(body: str, *, thread_id: str, format_: int) -> Checkpoint:
    """Return the checkpoint in *body*; raise `HostUnfit` for one of another *format_*, `StoreCorrupt` for what is none."""
    if format_ != FORMAT:
        raise HostUnfit(
            f"The checkpoint of the thread {thread_id!r} has the format {format_}, and this version reads {FORMAT}.",
            remedy="Go on with the version that wrote it, or begin under another thread id. It was left as it is.",
            thread=thread_id,
        )
    try:
        found = json.loads(body)
        due = tuple(Due(node, given, join_at) for node, given, join_at in found["due"])
        return Checkpoint(**{**found, "due": due, "ran": tuple(found["ran"]), "waits": tuple(found["waits"])})
    except (ValueError, KeyError, TypeError) as exc:
        raise StoreCorrupt(f"A checkpoint of the thread {thread_id!r} cannot be read: {exc}.", thread=thread_id) from exc


def inner_thread(thread_id: str, step: int, index: int, node: str) -> str:
    """Return the thread of the subgraph that *node* runs as the branch *index* of a *step*."""
    return f"{thread_id}/{step}.{index}.{node}"


@dataclass(slots=True)
class _Thread:
    kept: list[tuple[Checkpoint, str]] = field(default_factory=list)  # the second is what is read: nobody shares its state
    writes: dict[int, dict[int, str]] = field(default_factory=dict)


class MemoryCheckpointer:
    """Keeps the newest *keep* checkpoints of each thread while the process lives.

    Of threads that are finished the newest *finished* are kept, of others all.
    """

    def __init__(self, *, keep: int = KEEP, finished: int = FINISHED) -> None:
        self._keep = keep
        self._finished = finished
        self._threads: dict[str, _Thread] = {}
        self._claimed: set[str] = set()

    @asynccontextmanager
    async def claim(self, thread_id: str) -> AsyncIterator[None]:
        """Hold the thread for one run."""
        if thread_id in self._claimed:
            raise claimed(thread_id)
        self._claimed.add(thread_id)
        try:
            yield
        finally:
            self._claimed.discard(thread_id)

    async def put(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint."""
        thread = self._threads.setdefault(checkpoint.thread_id, _Thread())
        if thread.kept and thread.kept[-1][0].seq >= checkpoint.seq:
            raise overtaken(checkpoint.thread_id)
        thread.kept.append((checkpoint, encoded(checkpoint)))
        del thread.kept[: -self._keep]
        for step in [step for step in thread.writes if step < checkpoint.step]:
            del thread.writes[step]
        if checkpoint.status == "finished":
            self._threads[checkpoint.thread_id] = self._threads.pop(checkpoint.thread_id)  # the newest is the last
            await self._forget_long_finished()

    async def latest(self, thread_id: str) -> Checkpoint | None:
        """Return the newest checkpoint of a thread, or None."""
        return next(iter(await self.history(thread_id, limit=1)), None)

    async def get(self, thread_id: str, checkpoint_id: str) -> Checkpoint | None:
        """Return one checkpoint, or None."""
        return next((each for each in await self.history(thread_id, limit=self._keep) if each.id == checkpoint_id), None)

    async def history(self, thread_id: str, *, limit: int = 100) -> Sequence[Checkpoint]:
        """Return the newest checkpoints of a thread, the newest first."""
        kept = self._threads.get(thread_id, _Thread()).kept
        return [decoded(body, thread_id=thread_id, format_=each.format) for each, body in kept[: -limit - 1 : -1]]

    async def put_write(self, thread_id: str, step: int, index: int, update: Mapping[str, object]) -> None:
        """Keep what one branch of a step returned."""
        thread = self._threads.setdefault(thread_id, _Thread())
        thread.writes.setdefault(step, {})[index] = json.dumps(update, allow_nan=False)

    async def writes(self, thread_id: str, step: int) -> Mapping[int, Mapping[str, object]]:
        """Return what the branches of a step returned, by index."""
        kept = self._threads.get(thread_id, _Thread()).writes.get(step, {})
        return {index: json.loads(body) for index, body in kept.items()}

    async def _forget_long_finished(self) -> None:
        ended = [
            name
            for name, each in self._threads.items()
            if "/" not in name and each.kept and each.kept[-1][0].status == "finished"
        ]
        for name in ended[: max(0, len(ended) - self._finished)]:
            await self.delete(name)

    async def delete(self, thread_id: str) -> None:
        """Forget a thread and those of its subgraphs."""
        for name in [name for name in self._threads if name == thread_id or name.startswith(f"{thread_id}/")]:
            del self._threads[name]


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
