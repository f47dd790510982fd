"""The one place where transitions become the state of a host."""

import asyncio
import inspect
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from pathlib import Path
from typing import Final

from appliance.errors import ApplianceError, InvalidInput, StaleSnapshotError
from appliance.orchestrator.state.batch import TransitionBatch
from appliance.orchestrator.state.commit import committed
from appliance.orchestrator.state.frozen import thaw
from appliance.orchestrator.state.host import CommitsStaged, Host, Refreshes
from appliance.orchestrator.state.hosts import own_version, record_of, version_of
from appliance.orchestrator.state.journal import Effect, Journal, journal_at
from appliance.orchestrator.state.snapshot import ContextSnapshot, create_snapshot
from appliance.orchestrator.state.staging import Staging
from appliance.orchestrator.state.transitions import StateTransition, TransitionType, nested

_Step = tuple[int, StateTransition]  # with its position in the batch
_METHODS: Final = {
    TransitionType.EXECUTE_TOOL: "execute_tool",
    TransitionType.CREATE_SESSION: "create_session",
    TransitionType.CLOSE_SESSION: "close_session",
}
_MESSAGES: Final = frozenset({TransitionType.ADD_MESSAGE, TransitionType.ADD_MESSAGES, TransitionType.TOOL_RESULT})


class TransitionApplier:
    """Applies transitions to one host, each batch as a whole.

    Effects (tools, sessions) run in order while the state is staged; then all of the state is written in one step. When
    something raises, or the task is cancelled, no state is written, and *journal* has the effects that happened: they cannot
    be undone. Batches on one host follow each other, whichever applier, event loop or thread they come from.
    """

    def __init__(self, host: Host, *, journal: Journal | Path | str | None = None) -> None:
        self._host = host
        self._record = record_of(host)
        self.journal: Journal = journal_at(journal) if journal is None or isinstance(journal, Path | str) else journal

    async def apply(self, transition: StateTransition, *, expected: ContextSnapshot | None = None) -> object:
        """Apply one transition and return what its effect gave: the result of a tool, a list of them for a BATCH, or None.

        Raise as `apply_batch` does.
        """
        gave = await self._apply((transition,), expected=expected)
        if isinstance(transition, StateTransition) and transition.transition_type is TransitionType.BATCH:
            return _of_tools(gave)
        return gave[0][1] if gave else None

    async def apply_batch(self, batch: TransitionBatch, *, expected: ContextSnapshot | None = None) -> list[object]:
        """Apply all of *batch*, or nothing of its state, and return the results of its tools in order.

        With *expected*, the snapshot that the batch was decided on, raise `StaleSnapshotError` before anything happens if
        the host's state has changed since. Raise `ValueError` for what is no batch of transitions, `InvalidInput` where the
        host cannot do what it asks, `Conflict` from within a batch on the same host; and what a tool or the host raises.
        """
        if not isinstance(batch, TransitionBatch):
            raise ValueError(f"A TransitionBatch is applied, not a {type(batch).__name__}.")
        return _of_tools(await self._apply(tuple(batch.transitions), expected=expected))

    async def _apply(
        self, transitions: Sequence[StateTransition], *, expected: ContextSnapshot | None
    ) -> list[tuple[TransitionType, object]]:
        if not isinstance(expected, ContextSnapshot | None):
            raise ValueError(f"What is expected is a ContextSnapshot, not a {type(expected).__name__}.")
        steps = list(_steps(transitions))
        self._refuse_unfit(steps)
        async with self._record.lock.held():
            if expected is not None:
                self._refuse_stale(expected)
            return await self._run(steps, size=len(transitions)) if steps else []

    async def _run(self, steps: Sequence[_Step], *, size: int) -> list[tuple[TransitionType, object]]:
        journal, staging = self.journal, Staging()
        batch = journal.begin(session=str(getattr(self._host, "session_id", "") or ""), transitions=size)
        gave: list[tuple[TransitionType, object]] = []
        failing: int | None = None

        def at(index: int | None) -> None:
            nonlocal failing
            failing = index

        try:
            for index, step in steps:
                at(index)
                if not staging.take(index, step):
                    gave.append((step.transition_type, await self._effect(step)))
                    journal.happened(batch, _effect_of(index, step))
            at(None)
            with committed(self._host, staging, record=self._record, at=at):
                at(None)
                journal.settle(batch, "applied")
        except BaseException as exc:
            reason = "cancelled" if isinstance(exc, asyncio.CancelledError) else f"{type(exc).__name__}: {exc}"
            try:
                journal.settle(batch, "rolled_back", failed_index=failing, error=reason)
            except ApplianceError as trouble:  # why the batch failed matters more
                exc.add_note(f"The journal could not be told: {trouble}")
            raise
        return gave

    async def _effect(self, step: StateTransition) -> object:
        data = thaw(step.data)
        assert isinstance(data, dict)  # noqa: S101 - tells mypy what thawed data is
        method: Callable[..., object] = getattr(self._host, _METHODS[step.transition_type])
        if step.transition_type is TransitionType.EXECUTE_TOOL:
            given = method(data["tool_name"], data["arguments"])
        else:
            given = method(**{key: value for key, value in data.items() if key != "kwargs"}, **data.get("kwargs", {}))
        return await given if inspect.isawaitable(given) else given

    def _refuse_unfit(self, steps: Sequence[_Step]) -> None:
        """Raise `InvalidInput` where the host lacks what a step needs, before anything has happened."""
        for _, step in steps:
            kind, method = step.transition_type, _METHODS.get(step.transition_type)
            if method is not None and not callable(getattr(self._host, method, None)):
                self._refuse(kind, f"`{method}`")
            if kind in _MESSAGES and not self._takes_messages():
                self._refuse(kind, "`add_message`, or a list of `messages`")

    def _refuse(self, kind: TransitionType, lacks: str) -> None:
        name = type(self._host).__name__
        raise InvalidInput(
            f"A {name} cannot be asked for {kind.value}: it has no {lacks}.", remedy="Give it one.", host=name
        )

    def _takes_messages(self) -> bool:
        host = self._host
        own = isinstance(host, CommitsStaged) or isinstance(getattr(host, "messages", None), MutableSequence)
        return own or any(callable(getattr(host, name, None)) for name in ("add_message", "add_messages"))

    def _refuse_stale(self, expected: ContextSnapshot) -> None:
        if isinstance(self._host, CommitsStaged) and isinstance(self._host, Refreshes):
            self._host.refresh()
        version = version_of(self._host)
        counted = own_version(self._host) is not None and expected.session_id == self._host.session_id
        changed = () if counted else create_snapshot(self._host).changed_from(expected)
        if expected.version != version or changed:
            raise StaleSnapshotError(
                "The state has changed since the snapshot on which this was decided.",
                remedy="Take a new snapshot and decide again.",
                snapshot_version=expected.version,
                version=version,
                changed=list(changed),
            )


def _steps(transitions: Sequence[StateTransition]) -> Iterator[_Step]:
    """Yield every transition that is not a batch itself, with the position of the one that it came with."""
    for index, each in enumerate(transitions):
        if not isinstance(each, StateTransition):
            raise ValueError(
                f"Number {index} of the batch is no transition but a {type(each).__name__}: nothing was applied."
            )
        yield from ((index, leaf) for leaf in _leaves(each))


def _leaves(transition: StateTransition) -> Iterator[StateTransition]:
    if transition.transition_type is TransitionType.BATCH:
        for each in nested(transition):
            yield from _leaves(each)
    else:
        yield transition


def _effect_of(index: int, step: StateTransition) -> Effect:
    name = step.data.get("tool_name") or step.data.get("session_id") or ""
    return Effect(index, step.transition_type.value, str(name))


def _of_tools(gave: Sequence[tuple[TransitionType, object]]) -> list[object]:
    return [result for kind, result in gave if kind is TransitionType.EXECUTE_TOOL]
