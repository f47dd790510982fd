"""The keeper of checkpoints in memory, as long as the process lives."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from appliance.framework.checkpoint import FINISHED, KEEP, Checkpoint, claimed, overtaken
from appliance.framework.checkpoint_json import decoded, encoded


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
