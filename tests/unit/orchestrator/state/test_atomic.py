import asyncio
from collections.abc import Callable
from typing import Final

import pytest

from appliance.orchestrator.state import (
    Changes,
    TransitionApplier,
    TransitionBatch,
    TransitionType,
)
from appliance.orchestrator.state.hosts import record_of
from tests.unit.orchestrator.state.hosts import Committing, PlainHost, apply_batch, full

T = TransitionType


@pytest.mark.parametrize("first", [True, False])
def test_a_batch_whose_tool_fails_changes_no_state(first: bool) -> None:  # noqa: FBT001 - a case
    host = PlainHost()
    before = host.state()
    failing = TransitionBatch().execute_tool("explode")
    batch = failing.extend(full()) if first else full().extend(failing)
    with pytest.raises(RuntimeError, match="tool failed"):
        apply_batch(host, batch)
    assert host.state() == before


def test_a_batch_that_is_cancelled_changes_no_state() -> None:
    host = PlainHost()
    before = host.state()

    async def main() -> None:
        task = asyncio.create_task(TransitionApplier(host).apply_batch(full().execute_tool("hang").update_state("late", 1)))
        await host.called.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await TransitionApplier(host).apply_batch(TransitionBatch().update_state("after", 1))

    asyncio.run(main())
    assert host.conversation_state.pop("after") == 1
    assert host.state() == before


class RefusesMessages(PlainHost):
    def add_message(self, message: object) -> None:
        super().add_message(message)
        if message == "m2":
            raise OSError("no room")


class RefusesManyMessages(PlainHost):
    def add_messages(self, messages: list[object]) -> None:
        self.messages += messages[:1]
        raise OSError("no room")


class RefusesStage(PlainHost):
    @property
    def conversation_stage(self) -> str:
        return "initial"

    @conversation_stage.setter
    def conversation_stage(self, stage: str) -> None:
        if stage != "initial":
            raise OSError("no such stage")


class Picky(dict[str, object]):
    """A mapping that refuses one key."""

    def __setitem__(self, key: str, value: object) -> None:
        if key in {"k", "j", "c"}:
            raise OSError("not this key")
        super().__setitem__(key, value)


class RefusesState(PlainHost):
    def __init__(self, name: str) -> None:
        super().__init__()
        setattr(self, name, Picky(getattr(self, name)))


class RefusesCount(PlainHost):
    @property
    def state_version(self) -> int:
        return 3

    @state_version.setter
    def state_version(self, count: int) -> None:
        raise OSError(f"not counted: {count}")


REFUSING: Final[list[Callable[[], PlainHost]]] = [
    RefusesMessages,
    RefusesManyMessages,
    RefusesStage,
    lambda: RefusesState("conversation_state"),
    lambda: RefusesState("session_state"),
    lambda: RefusesState("_capabilities"),
    RefusesCount,
]


@pytest.mark.parametrize("made", REFUSING)
def test_a_host_that_refuses_midway_is_left_as_it_was(made: Callable[[], PlainHost]) -> None:
    host = made()
    before = host.state()
    applier = TransitionApplier(host)
    with pytest.raises(OSError, match=r"no room|no such|not"):
        asyncio.run(applier.apply_batch(full().execute_tool("ls")))
    assert host.state() == before
    assert [entry.status for entry in applier.journal.entries()] == ["rolled_back"]
    assert record_of(host).version == 0


def test_a_host_that_cannot_be_brought_back_says_so() -> None:
    class Keeps(RefusesMessages):
        """Its messages are a copy, so that what was added stays."""

        def __init__(self) -> None:
            super().__init__()
            self._kept = list(self.messages)

        def add_message(self, message: object) -> None:
            self._kept.append(message)
            self.__dict__["messages"] = tuple(self._kept)
            if message == "m2":
                raise OSError("no room")

        def __setattr__(self, name: str, value: object) -> None:
            if name == "messages" and "messages" in self.__dict__:
                raise OSError("read-only")
            super().__setattr__(name, value)

    with pytest.raises(OSError, match="no room") as caught:
        apply_batch(Keeps(), full())
    assert any("could not be brought back" in note for note in caught.value.__notes__)


def test_a_host_that_commits_gets_the_net_change_once() -> None:
    host = Committing()
    batch = full().execute_tool("ls").update_state("k", 2).delete_state("j", scope="session")
    apply_batch(host, batch)
    (staged,) = host.taken
    assert staged.messages == ("m1", "m2", "m3")
    assert staged.conversation_state == Changes({"k": 2}, frozenset({"a"}))
    assert staged.session_state == Changes({}, frozenset({"j"}))
    assert (staged.capabilities, staged.stage) == ({"c": True}, "done")
    assert host.conversation_state == {"nested": {"xs": [1]}, "k": 2}
    apply_batch(host, TransitionBatch().execute_tool("ls"))
    assert len(host.taken) == 1, "nothing changed, so that there was nothing to commit"


def test_a_host_whose_commit_fails_is_left_as_it_was() -> None:
    host = Committing(refuses=True)
    before = host.state()
    applier = TransitionApplier(host)
    with pytest.raises(OSError, match="disk"):
        asyncio.run(applier.apply_batch(full().execute_tool("ls")))
    assert host.state() == before
    (entry,) = applier.journal.entries()
    assert (entry.status, entry.failed_index, [effect.name for effect in entry.effects]) == ("rolled_back", None, ["ls"])


def test_nobody_sees_half_a_batch() -> None:
    host = PlainHost()
    seen: set[tuple[bool, ...]] = set()

    async def main() -> None:
        batch = (
            TransitionBatch().update_state("k", 1).execute_tool("a").update_state("k2", 1).execute_tool("b").add_message("m")
        )
        task = asyncio.create_task(TransitionApplier(host).apply_batch(batch))
        while not task.done():
            seen.add(("k" in host.conversation_state, "k2" in host.conversation_state, "m" in host.messages))
            await asyncio.sleep(0)
        seen.add(("k" in host.conversation_state, "k2" in host.conversation_state, "m" in host.messages))

    asyncio.run(main())
    assert seen == {(False, False, False), (True, True, True)}
