"""Writing what a batch staged to its host in one step, and taking it back where the host refuses midway."""

from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Final

from appliance.orchestrator.state.host import CommitsStaged
from appliance.orchestrator.state.hosts import HostRecord, own_version
from appliance.orchestrator.state.staging import GONE, Staging

_ABSENT: Final = object()


@contextmanager
def committed(host: object, staging: Staging, *, record: HostRecord, at: Callable[[int], None]) -> Iterator[None]:
    """Make what was staged the state of *host* for the block, and for good once the block has ended without an error.

    *at* is told the position of the transition that is being written. When the host or the block raises, the host is as it
    was; a host that commits by itself has kept its own promise then, but cannot take back what it took: the error says so.
    """
    staged = staging.net()
    if not staged:
        yield
        return
    if isinstance(host, CommitsStaged):
        host.commit(staged)
        try:
            yield
        except BaseException as exc:
            exc.add_note("The host had taken the batch already, and keeps it.")
            raise
    else:
        writing = _Writing(host, at)
        try:
            writing.write(staging)
            yield
        except BaseException as exc:
            for trouble in writing.take_back():
                exc.add_note(f"The host could not be brought back to what it was: {trouble!r}.")
            raise
    record.version += 1


class _Writing:
    """One by one, as a host that knows nothing of batches takes it; each step leaves behind how it is taken back."""

    def __init__(self, host: object, at: Callable[[int], None]) -> None:
        self._host = host
        self._at = at
        self._undo: list[Callable[[], None]] = []

    def write(self, staging: Staging) -> None:
        """Write all; what may well be refused comes first."""
        self._messages(staging.messages)
        if staging.stage is not None:
            self._at(staging.stage[0])
            self._attribute("conversation_stage", staging.stage[1])
        self._mapping("_capabilities", staging.capabilities)
        self._mapping("conversation_state", staging.state["conversation"])
        self._mapping("session_state", staging.state["session"])
        count = own_version(self._host)
        if count is not None:
            self._attribute("state_version", count + 1)

    def take_back(self) -> list[BaseException]:
        """Undo all that was written, the last first; return what went wrong in that."""
        troubles: list[BaseException] = []
        while self._undo:
            try:
                self._undo.pop()()
            except Exception as exc:  # noqa: BLE001 - the rest must still be undone, and the caller says which failed
                troubles.append(exc)
        return troubles

    def _messages(self, messages: Iterable[tuple[int, object]]) -> None:
        staged = list(messages)
        if not staged:
            return
        before = list(getattr(self._host, "messages", ()))
        self._undo.append(lambda: self._restore_messages(before))
        together, one = (getattr(self._host, name, None) for name in ("add_messages", "add_message"))
        if callable(together) and len(staged) > 1:
            self._at(staged[0][0])
            together([message for _, message in staged])
            return
        for index, message in staged:
            self._at(index)
            if callable(one):
                one(message)
            elif callable(together):
                together([message])
            else:
                self._host.messages.append(message)  # type: ignore[attr-defined] # looked at before the batch began

    def _restore_messages(self, before: list[object]) -> None:
        now = getattr(self._host, "messages", None)
        if isinstance(now, list):
            now[:] = before
        elif now is not None:
            self._host.messages = type(now)(before)  # type: ignore[attr-defined] # it has them
        left = list(getattr(self._host, "messages", ()))
        if len(left) != len(before):
            raise RuntimeError(f"it keeps {len(left)} messages instead of {len(before)}")

    def _attribute(self, name: str, value: object) -> None:
        before = getattr(self._host, name, _ABSENT)

        def undo() -> None:
            if before is _ABSENT:
                self._host.__dict__.pop(name, None)
            elif getattr(self._host, name, _ABSENT) is not before:
                setattr(self._host, name, before)

        self._undo.append(undo)
        setattr(self._host, name, value)

    def _mapping(self, name: str, wanted: dict[str, tuple[int, object]]) -> None:
        if not wanted:
            return
        target = getattr(self._host, name, None)
        if not isinstance(target, MutableMapping):
            self._at(next(iter(wanted.values()))[0])
            target = dict(target or {})
            self._attribute(name, target)
        before = dict(target)

        def undo() -> None:
            target.clear()
            target.update(before)

        self._undo.append(undo)
        for key, (index, value) in wanted.items():
            self._at(index)
            if value is GONE:
                target.pop(key, None)
            else:
                target[key] = value
