import asyncio
import threading
from collections.abc import Callable, Mapping

import pytest

from appliance.errors import Conflict, StaleSnapshotError
from appliance.orchestrator.state import (
    ContextSnapshot,
    TransitionApplier,
    TransitionBatch,
    TransitionType,
    create_snapshot,
)
from tests.unit.orchestrator.state.hosts import Committing, PlainHost, apply, apply_batch, transition

T = TransitionType


class Logging(PlainHost):
    async def execute_tool(self, name: str, arguments: Mapping[str, object]) -> object:
        del arguments
        self.calls.append(("in", name))
        for _ in range(3):
            await asyncio.sleep(0)
        self.calls.append(("out", name))
        return name

    @property
    def names(self) -> str:
        return "".join(name for name, _ in zip((str(n) for _, n in self.calls), self.calls, strict=True))


def twice(name: str) -> TransitionBatch:
    return TransitionBatch().execute_tool(name).execute_tool(name)


def test_batches_on_one_host_follow_each_other_whichever_applier_they_come_from() -> None:
    host = Logging()

    async def main() -> None:
        await asyncio.gather(*(TransitionApplier(host).apply_batch(twice(name)) for name in "ABC"))

    asyncio.run(main())
    assert host.names == "AAAABBBBCCCC"


def test_batches_of_several_event_loops_follow_each_other() -> None:
    """A runtime may be reached from the loop of a door and from that of a worker at once."""
    host = Logging()
    threads = [threading.Thread(target=apply_batch, args=(host, twice(name))) for name in "ABCD"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    runs = {host.names[at : at + 4] for at in range(0, 16, 4)}
    assert runs == {"AAAA", "BBBB", "CCCC", "DDDD"}


def test_who_waits_and_is_cancelled_gives_its_turn_away() -> None:
    host = Logging()

    async def main() -> None:
        first, second, third = (asyncio.create_task(TransitionApplier(host).apply_batch(twice(name))) for name in "ABC")
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(first, third)
        assert second.cancelled()

    asyncio.run(main())
    assert host.names == "AAAACCCC"


def test_a_tool_that_applies_to_its_own_host_is_told_so_instead_of_waiting_for_itself() -> None:
    class Inner(PlainHost):
        async def execute_tool(self, name: str, arguments: Mapping[str, object]) -> object:
            del name, arguments
            return await TransitionApplier(self).apply(transition(T.UPDATE_STATE, key="k", value=1))

    with pytest.raises(Conflict, match="wait for itself"):
        apply(Inner(), transition(T.EXECUTE_TOOL, tool_name="t", arguments={}))


def test_a_tool_may_apply_to_another_host_and_later_to_its_own() -> None:
    other, done = PlainHost(), asyncio.Event()
    later: list[asyncio.Task[None]] = []

    class Outer(PlainHost):
        async def execute_tool(self, name: str, arguments: Mapping[str, object]) -> object:
            del name, arguments
            later.append(asyncio.create_task(self.afterwards()))
            return await TransitionApplier(other).apply(transition(T.UPDATE_STATE, key="k", value=1))

        async def afterwards(self) -> None:
            await done.wait()
            await TransitionApplier(self).apply(transition(T.UPDATE_STATE, key="after", value=1))

    host = Outer()

    async def main() -> None:
        await TransitionApplier(host).apply_batch(TransitionBatch().execute_tool("t"))
        done.set()
        await asyncio.gather(*later)

    asyncio.run(main())
    assert other.conversation_state["k"] == 1
    assert host.conversation_state["after"] == 1


def test_a_decision_on_an_old_snapshot_is_noticed_and_nothing_happens() -> None:
    host = PlainHost()
    old = create_snapshot(host)
    apply_batch(host, TransitionBatch().update_state("k", 1))
    late = TransitionBatch().execute_tool("ls").update_state("k", 2)
    with pytest.raises(StaleSnapshotError) as caught:
        apply_batch(host, late, expected=old)
    assert caught.value.context["changed"] == ["conversation_state"]
    assert (host.conversation_state["k"], host.calls) == (1, [])
    apply_batch(host, late, expected=create_snapshot(host))
    assert host.conversation_state["k"] == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.messages.append("x"),
        lambda h: h.conversation_state["nested"]["xs"].append(2),
        lambda h: setattr(h, "model", "other"),
        lambda h: h.observed_files.append("b.py"),
    ],
)
def test_a_change_that_no_batch_made_is_noticed_too(change: Callable[[PlainHost], object]) -> None:
    host = PlainHost()
    old = create_snapshot(host)
    change(host)
    with pytest.raises(StaleSnapshotError):
        apply_batch(host, TransitionBatch().update_state("k", 1), expected=old)


def test_a_change_and_back_is_noticed_and_an_equal_snapshot_is_not_stale() -> None:
    host = PlainHost()
    old = create_snapshot(host)
    apply_batch(host, TransitionBatch().execute_tool("ls"), expected=ContextSnapshot.from_dict(old.to_dict()))
    old = create_snapshot(host)
    apply(host, transition(T.UPDATE_STATE, key="k", value=1), transition(T.DELETE_STATE, key="k"))
    with pytest.raises(StaleSnapshotError):
        asyncio.run(TransitionApplier(host).apply(transition(T.UPDATE_STAGE, stage="x"), expected=old))


def test_a_batch_that_changes_no_state_makes_nothing_stale() -> None:
    host = PlainHost()
    old = create_snapshot(host)
    for _ in range(2):
        apply_batch(host, TransitionBatch().execute_tool("ls"), expected=old)
    assert create_snapshot(host).version == 0


def test_a_host_that_counts_its_changes_is_believed() -> None:
    host = Committing()
    old = create_snapshot(host)
    assert old.version == 7
    host.state_version += 1
    with pytest.raises(StaleSnapshotError):
        apply_batch(host, TransitionBatch().update_state("k", 1), expected=old)
    apply_batch(host, TransitionBatch().update_state("k", 1), expected=create_snapshot(host))
    assert create_snapshot(host).version == 9


def test_a_plain_host_that_has_a_count_gets_it_counted() -> None:
    host = PlainHost()
    host.state_version = 0  # type: ignore[attr-defined] # what a host may have
    apply_batch(host, TransitionBatch().update_state("k", 1))
    assert create_snapshot(host).version == 1
