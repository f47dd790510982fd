import asyncio
import gc
import threading
from collections.abc import Callable, Mapping
from typing import Final

import pytest

from appliance.errors import Conflict, InvalidInput, StaleSnapshotError
from appliance.orchestrator.state import (
    Changes,
    ContextSnapshot,
    Host,
    Staged,
    StateTransition,
    TransitionApplier,
    TransitionBatch,
    TransitionType,
    create_snapshot,
)
from appliance.orchestrator.state.hosts import _records, record_of
from tests.unit.orchestrator.state.hosts import PlainHost

T = TransitionType


def transition(kind: TransitionType, **data: object) -> StateTransition:
    return StateTransition(kind, data)


def apply(host: Host, *transitions: StateTransition) -> list[object]:
    async def main() -> list[object]:
        applier = TransitionApplier(host)
        return [await applier.apply(each) for each in transitions]

    return asyncio.run(main())


def apply_batch(host: Host, batch: TransitionBatch, *, expected: ContextSnapshot | None = None) -> list[object]:
    return asyncio.run(TransitionApplier(host).apply_batch(batch, expected=expected))


def test_a_host_is_what_the_protocol_says() -> None:
    assert isinstance(PlainHost(), Host)


def test_state_goes_where_it_should() -> None:
    host = PlainHost()
    apply(
        host,
        transition(T.ADD_MESSAGE, message={"role": "user", "content": "m"}),
        transition(T.ADD_MESSAGES, messages=["x", "y"]),
        transition(T.UPDATE_STATE, key="k", value=[1]),
        transition(T.UPDATE_STATE, key="j", value=2, scope="session"),
        transition(T.UPDATE_STAGE, stage="complete"),
        transition(T.UPDATE_CAPABILITY, capability="c"),
        transition(T.UPDATE_CAPABILITY, capability="d", value=0),
        transition(T.DELETE_STATE, key="a"),
        transition(T.DELETE_STATE, key="absent"),
    )
    assert host.messages[1:] == [{"role": "user", "content": "m"}, "x", "y"]
    assert host.conversation_state == {"nested": {"xs": [1]}, "k": [1]}
    assert host.session_state == {"s": 2, "j": 2}
    assert host._capabilities == {"planning_mode": True, "off": False, "c": True, "d": 0}
    assert host.conversation_stage == "complete"


def test_what_is_written_is_the_hosts_own_to_change() -> None:
    host = PlainHost()
    step = transition(T.UPDATE_STATE, key="k", value={"xs": [1]})
    apply(host, step, step)
    host.conversation_state["k"]["xs"].append(2)  # type: ignore[index] # a mapping again, not a view of one
    assert step.data["value"] == {"xs": [1]}


@pytest.mark.parametrize("scope", ["conversation", "session"])
def test_deleting_never_crosses_scopes(scope: str) -> None:
    host = PlainHost()
    host.conversation_state, host.session_state = {"only": 1}, {"only": 2}
    apply(host, transition(T.DELETE_STATE, key="only", scope=scope))
    left = {"conversation": ({}, {"only": 2}), "session": ({"only": 1}, {})}
    assert (host.conversation_state, host.session_state) == left[scope]


def test_tools_and_sessions_get_their_arguments_and_their_results_come_back() -> None:
    host = PlainHost()
    gave = apply(
        host,
        transition(T.EXECUTE_TOOL, tool_name="ls", arguments={"path": ["."]}),
        transition(T.CREATE_SESSION, session_id="n", kwargs={"a": 1}),
        transition(T.CREATE_SESSION),
        transition(T.CLOSE_SESSION, session_id="n"),
        transition(T.UPDATE_STAGE, stage="x"),
        transition(T.BATCH, transitions=[transition(T.EXECUTE_TOOL, tool_name="in", arguments={})]),
    )
    assert gave == [{"tool": "ls", "ok": True}, "n", "named by the host", None, None, [{"tool": "in", "ok": True}]]
    assert host.calls == [
        ("ls", {"path": ["."]}), ("create", {"session_id": "n", "a": 1}), ("create", {}), ("close", {"session_id": "n"}),
        ("in", {}),
    ]  # fmt: skip


def test_a_batch_gives_the_results_of_its_tools_in_order() -> None:
    batch = (
        TransitionBatch()
        .execute_tool("a")
        .update_state("k", 1)
        .create_session("s")
        .add_batch(TransitionBatch().execute_tool("b"))
    )
    assert apply_batch(PlainHost(), batch) == [{"tool": "a", "ok": True}, {"tool": "b", "ok": True}]
    assert apply_batch(PlainHost(), TransitionBatch()) == []


def test_a_tool_that_is_no_coroutine_runs_too() -> None:
    class Direct(PlainHost):
        def execute_tool(self, name: str, arguments: Mapping[str, object]) -> str:  # type: ignore[override] # not awaited
            return f"{name} {len(arguments)}"

    assert apply(Direct(), transition(T.EXECUTE_TOOL, tool_name="ls", arguments={"a": 1})) == ["ls 1"]


def test_the_result_of_a_tool_becomes_a_message() -> None:
    host = PlainHost()
    apply_batch(
        host,
        TransitionBatch()
        .tool_result("ls", {"n": 1}, tool_call_id="c1")
        .tool_result("ls", "text")
        .tool_result("ls", None, error="no"),
    )
    assert host.messages[1:] == [
        {"role": "tool", "name": "ls", "content": '{"n": 1}', "tool_call_id": "c1"},
        {"role": "tool", "name": "ls", "content": "text"},
        {"role": "tool", "name": "ls", "content": "no", "is_error": True},
    ]


def test_nested_batches_are_applied_in_order() -> None:
    host = PlainHost()
    inner = TransitionBatch().update_state("k", 2).add_message("inner")
    apply_batch(
        host, TransitionBatch().update_state("k", 1).add_batch(TransitionBatch().add_batch(inner)).add_message("outer")
    )
    assert host.conversation_state["k"] == 2
    assert host.messages[1:] == ["inner", "outer"]


def full() -> TransitionBatch:
    """Return a batch that changes everything."""
    return (
        TransitionBatch().add_message("m1").update_stage("done").update_state("k", 1).delete_state("a")
        .update_state("j", 1, scope="session").update_capability("c").add_messages(["m2", "m3"])
    )  # fmt: skip


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


class Committing(PlainHost):
    """A host that takes a batch in one step."""

    def __init__(self, *, refuses: bool = False) -> None:
        super().__init__()
        self.state_version = 7
        self.taken: list[Staged] = []
        self._refuses = refuses

    def add_message(self, message: object) -> None:
        raise AssertionError(f"a host that commits is not written to piece by piece: {message}")

    def commit(self, staged: Staged) -> None:
        if self._refuses:
            raise OSError("the disk is full")
        self.taken.append(staged)
        staged.conversation_state.write(self.conversation_state)
        self.state_version += 1


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


def test_what_is_no_batch_of_transitions_is_refused_before_anything_happens() -> None:
    host = PlainHost()
    spoilt = TransitionBatch().execute_tool("ls")
    spoilt.transitions.append("x")  # type: ignore[arg-type] # on purpose
    wrongs: list[object] = [spoilt, [], None]
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"transition|TransitionBatch"):
            apply_batch(host, wrong)  # type: ignore[arg-type] # on purpose
    with pytest.raises(ValueError, match="transition"):
        apply(host, "x")  # type: ignore[arg-type] # on purpose
    assert host.calls == []


def test_a_host_that_lacks_what_is_asked_is_refused_before_anything_happens() -> None:
    class Bare:
        def __init__(self) -> None:
            self.conversation_state: dict[str, object] = {}

    for batch in (
        TransitionBatch().update_state("k", 1).execute_tool("ls"),
        TransitionBatch().update_state("k", 1).add_message("m"),
        TransitionBatch().update_state("k", 1).create_session(),
        TransitionBatch().update_state("k", 1).close_session("s"),
    ):
        bare = Bare()
        with pytest.raises(InvalidInput, match="cannot be asked"):
            apply_batch(bare, batch)  # type: ignore[arg-type] # on purpose
        assert bare.conversation_state == {}


def test_a_host_without_a_mapping_or_a_method_is_given_what_it_lacks() -> None:
    class Bare:
        def __init__(self) -> None:
            self.messages: list[object] = []

    bare = Bare()
    apply_batch(bare, TransitionBatch().update_state("k", 1).add_message("m"))  # type: ignore[arg-type] # on purpose
    assert vars(bare) == {"messages": ["m"], "conversation_state": {"k": 1}}


def test_a_host_that_cannot_be_kept_track_of_is_refused_with_a_remedy() -> None:
    class Slotted:
        __slots__ = ("messages",)

    with pytest.raises(InvalidInput, match="__weakref__"):
        TransitionApplier(Slotted())  # type: ignore[arg-type] # on purpose
    assert create_snapshot(Slotted()).version == 0


def test_nothing_is_kept_of_a_host_that_is_gone() -> None:
    host = PlainHost()
    apply_batch(host, TransitionBatch().update_state("k", 1))
    key = id(host)
    assert key in _records
    del host
    gc.collect()
    assert key not in _records


def test_hosts_that_are_equal_keep_to_themselves() -> None:
    class Equal(PlainHost):
        def __eq__(self, other: object) -> bool:
            return isinstance(other, Equal)

        __hash__ = None  # type: ignore[assignment] # as a host with an __eq__ has it

    one, other = Equal(), Equal()
    apply_batch(one, TransitionBatch().update_state("k", 1))
    assert (create_snapshot(one).version, create_snapshot(other).version) == (1, 0)
