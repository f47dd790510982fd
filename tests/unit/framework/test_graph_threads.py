"""Claims about runs that are kept: interrupted, failed, cancelled, resumed, looked back at, forked."""

import asyncio
import datetime as dt
import operator
from collections.abc import Callable, Mapping
from typing import TypedDict

import pytest
from pydantic import BaseModel

from appliance.errors import Conflict, InvalidInput, NotFound, StepFailed
from appliance.framework import END, Checkpointer, CompiledGraph, MemoryCheckpointer, StateGraph
from tests.support.state_graphs import Counted, begun, failed, more, nothing, says


class Chain:
    """Nodes a, b and c in a row; each says its name, and fails while it stands in ``broken``."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.broken: set[str] = set()

    def node(self, name: str) -> Callable[[Counted], Mapping[str, object]]:
        def work(state: Counted) -> Mapping[str, object]:
            self.ran.append(name)
            if name in self.broken:
                raise OSError(f"{name} is broken")
            return {"n": state["n"] + 1, "seen": [name]}

        return work

    def graph(self) -> "StateGraph[Counted]":
        graph = StateGraph(Counted).add_state_merger("seen", operator.add).set_entry_point("a").set_finish_point("c")
        for name in "abc":
            graph.add_node(name, self.node(name))
        return graph.add_edge("a", "b").add_edge("b", "c")


@pytest.fixture
def chain() -> Chain:
    return Chain()


def test_an_interrupt_before_a_node_stops_there_and_resume_goes_on(kept: Checkpointer, chain: Chain) -> None:
    async def run() -> None:
        graph = chain.graph().compile(kept, interrupt_before=["b"])
        stopped = await graph.invoke(begun(), thread_id="t")
        assert (stopped.interrupted, stopped.success, stopped.error, stopped.next_node) == (True, False, None, "b")
        assert (stopped.state["n"], stopped.thread_id) == (1, "t")
        with pytest.raises(Conflict, match="waits before b"):
            stopped.require()
        ended = await graph.resume("t", update={"n": 10, "seen": []})
        assert ended.require() == {"n": 12, "seen": ["b", "c"]}
        assert (ended.node_history, ended.steps) == (("b", "c"), 3)

    asyncio.run(run())
    assert chain.ran == ["a", "b", "c"]


def test_an_interrupt_after_a_node_stops_behind_it_even_at_the_end(kept: Checkpointer, chain: Chain) -> None:
    async def run() -> None:
        graph = chain.graph().compile(kept, interrupt_after=["a", "c"], interrupt_before=["b"])
        nexts = []
        result = await graph.invoke(begun(), thread_id="t")
        while result.interrupted:
            nexts.append(result.next_nodes)
            result = await graph.resume("t")
        assert nexts == [("b",), ("b",), ()]  # after a, before b, after c
        assert result.require()["seen"] == ["a", "b", "c"]

    asyncio.run(run())
    assert chain.ran == ["a", "b", "c"]


def test_interrupts_without_a_checkpointer_are_refused(chain: Chain) -> None:
    for given in ({"interrupt_before": ["b"]}, {"interrupt_after": ["b"]}):
        with pytest.raises(InvalidInput, match="interrupt at 'b' needs a checkpointer"):
            chain.graph().compile(**given)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="interrupted at 'x', which is no node"):
        chain.graph().compile(MemoryCheckpointer(), interrupt_before=["x"])


def test_a_failed_step_is_tried_again_and_those_before_it_are_not(kept: Checkpointer, chain: Chain) -> None:
    async def run() -> None:
        graph, chain.broken = chain.graph().compile(kept), {"b"}
        for _ in range(2):
            first = await graph.invoke(begun(), thread_id="t") if not chain.ran else await graph.resume("t")
            failed(first, StepFailed, "'b'", "b is broken")
            state = await graph.get_state("t")
            assert state is not None
            assert (state.status, state.next_nodes) == ("failed", ("b",))
            assert "b is broken" in state.error
        chain.broken = set()
        assert (await graph.resume("t")).require() == {"n": 3, "seen": ["a", "b", "c"]}

    asyncio.run(run())
    assert chain.ran == ["a", "b", "b", "b", "c"]


def test_a_branch_that_finished_is_not_run_again_for_one_that_failed(kept: Checkpointer, chain: Chain) -> None:
    async def run() -> None:
        done = asyncio.Event()

        async def good(state: Counted) -> Mapping[str, object]:
            done.set()
            return chain.node("good")({**state, "n": -1})

        async def bad(state: Counted) -> Mapping[str, object]:
            await done.wait()
            while not await kept.writes("t", 0):  # noqa: ASYNC110 - the keeper tells nobody
                await asyncio.sleep(0)
            return {"seen": chain.node("bad")(state)["seen"]}

        graph = StateGraph(Counted).add_state_merger("seen", operator.add).add_node("good", good).add_node("bad", bad)
        for name in ("bad", "good"):
            graph.set_entry_point(name).set_finish_point(name)
        made, chain.broken = graph.compile(kept), {"bad"}
        failed(await made.invoke(begun(), thread_id="t"), StepFailed, "'bad'")
        chain.broken = set()
        assert (await made.resume("t")).require() == {"n": 0, "seen": ["bad", "good"]}

    asyncio.run(run())
    assert chain.ran == ["good", "bad", "bad"]


def test_a_condition_that_fails_does_not_cost_the_node_before_it_twice(kept: Checkpointer, chain: Chain) -> None:
    labels = iter(["nowhere", "end"])

    async def run() -> None:
        graph = StateGraph(Counted).add_node("a", chain.node("a")).set_entry_point("a")
        made = graph.add_conditional_edge("a", lambda _: next(labels), {"end": END}).compile(kept)
        failed(await made.invoke(begun(), thread_id="t"), InvalidInput, "'nowhere'")
        assert (await made.resume("t")).success

    asyncio.run(run())
    assert chain.ran == ["a"]


def test_a_condition_at_the_entry_may_fail_and_be_tried_again(kept: Checkpointer, chain: Chain) -> None:
    labels = iter(["nowhere", "on"])

    async def run() -> None:
        graph = StateGraph(Counted).add_node("a", chain.node("a")).set_finish_point("a")
        made = graph.add_conditional_edge("__start__", lambda _: next(labels), {"on": "a"}).compile(kept)
        failed(await made.invoke(begun(), thread_id="t"), InvalidInput, "'nowhere'")
        assert (await made.resume("t")).success

    asyncio.run(run())


def test_a_cancelled_run_says_so_and_goes_on_where_it_was(kept: Checkpointer, chain: Chain) -> None:
    async def run() -> None:
        running, free = asyncio.Event(), asyncio.Event()

        async def waits(state: Counted) -> Mapping[str, object]:
            running.set()
            await free.wait()
            return more(state)

        graph = chain.graph().add_node("d", waits).add_edge("b", "d").add_edge("d", "c").compile(kept)
        task = asyncio.ensure_future(graph.invoke(begun(), thread_id="t"))
        await running.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        state = await graph.get_state("t")
        assert state is not None
        assert (state.status, state.next_nodes) == ("cancelled", ("c", "d"))
        free.set()
        assert (await graph.resume("t")).require() == {"n": 4, "seen": ["a", "b", "c"]}

    asyncio.run(run())


def test_a_run_out_of_time_goes_on_where_it_was(kept: Checkpointer, chain: Chain) -> None:
    async def run() -> None:
        free = asyncio.Event()

        async def waits(state: Counted) -> None:
            del state
            await free.wait()

        graph = StateGraph(Counted).add_node("a", chain.node("a")).add_node("b", waits).set_entry_point("a")
        graph.add_edge("a", "b").set_finish_point("b")
        late = await graph.compile(kept, timeout=0.3).invoke(begun(), thread_id="t")
        assert "longer than 0.3 s" in str(late.error)
        free.set()
        assert (await graph.compile(kept).resume("t")).require()["n"] == 1
        assert len(chain.ran) == 2 - late.state["n"]  # on a busy machine its time ran out before the first node had run

    asyncio.run(run())


def test_a_thread_that_exists_is_not_begun_again_and_no_input_is_passed_over(kept: Checkpointer, chain: Chain) -> None:
    async def run() -> None:
        graph = chain.graph().compile(kept)
        first = await graph.invoke(begun(), thread_id="t")
        with pytest.raises(Conflict, match="'t' exists already and is finished"):
            await graph.invoke(begun(5), thread_id="t")
        again = await graph.resume("t")
        assert (again.require(), again.steps, again.node_history) == (first.state, 3, ())
        with pytest.raises(Conflict, match="is finished"):
            await graph.resume("t", update={"n": 1})
        await graph.delete("t")
        assert await graph.get_state("t") is None
        assert (await graph.invoke(begun(5), thread_id="t")).require()["n"] == 8

    asyncio.run(run())
    assert len(chain.ran) == 6


def test_threads_that_are_not_there_and_names_that_are_none_are_told(kept: Checkpointer, chain: Chain) -> None:
    async def run() -> None:
        graph = chain.graph().compile(kept)
        for call in (graph.resume("t"), graph.fork("t"), graph.replay_from("t", "chk_1")):
            with pytest.raises(NotFound, match=r"no .*thread 't'"):
                await call
        for name in ("", "a/b", "x" * 201, "a b", 7):
            with pytest.raises(InvalidInput, match="no thread id"):
                await graph.invoke(begun(), thread_id=name)  # type: ignore[arg-type]
        for limit in (0, -1, "x", None, 1.5):
            with pytest.raises(InvalidInput, match="The limit is"):
                await graph.get_state_history("t", limit=limit)  # type: ignore[arg-type]
        bare = chain.graph().compile()
        for call in (bare.resume("t"), bare.get_state("t"), bare.invoke(begun(), thread_id="t")):  # type: ignore[assignment]
            with pytest.raises(InvalidInput, match="checkpointer"):
                await call

    asyncio.run(run())
    assert chain.ran == []


def test_an_update_is_checked_and_changes_nothing_when_it_is_wrong(kept: Checkpointer, chain: Chain) -> None:
    async def run() -> None:
        graph = chain.graph().compile(kept, interrupt_before=["b"])
        await graph.invoke(begun(), thread_id="t")
        before = await graph.get_state_history("t")
        for update in ({"n": "x"}, {"other": 1}):
            with pytest.raises(InvalidInput, match="the update"):
                await graph.resume("t", update=update)
        assert await graph.get_state_history("t") == before

    asyncio.run(run())


def test_history_tells_every_step_and_replay_runs_from_any_of_them(kept: Checkpointer, chain: Chain) -> None:
    async def run() -> None:
        graph = chain.graph().compile(kept)
        await graph.invoke(begun(), thread_id="t")
        history = await graph.get_state_history("t")
        assert [(each.ran, each.next_nodes, each.status, each.state["n"]) for each in history] == [
            (("c",), (), "finished", 3),
            (("b",), ("c",), "running", 2),
            (("a",), ("b",), "running", 1),
            ((), ("a",), "running", 0),
        ]
        assert [each.parent for each in history] == [each.id for each in history[1:]] + [""]
        chain.ran.clear()
        again = await graph.replay_from("t", history[2].id, update={"n": 40})
        assert (again.require(), chain.ran) == ({"n": 42, "seen": ["a", "b", "c"]}, ["b", "c"])
        assert again.thread_id not in ("t", None)
        assert await graph.get_state_history("t") == history

    asyncio.run(run())


def test_a_fork_goes_its_own_way(kept: Checkpointer, chain: Chain) -> None:
    async def run() -> None:
        graph = chain.graph().compile(kept, interrupt_before=["c"])
        await graph.invoke(begun(), thread_id="t")
        name = await graph.fork("t", to="u", update={"seen": []})
        assert name == "u"
        forked = await graph.get_state("u")
        assert forked is not None
        assert (forked.status, forked.state, forked.next_nodes) == ("interrupted", {"n": 2, "seen": []}, ("c",))
        with pytest.raises(Conflict, match="'u' exists already"):
            await graph.fork("t", to="u")
        assert (await graph.resume("u")).require() == {"n": 3, "seen": ["c"]}
        assert (await graph.resume("t")).require() == {"n": 3, "seen": ["a", "b", "c"]}

    asyncio.run(run())


def test_the_limits_of_steps_hold_over_all_runs_of_a_thread(kept: Checkpointer) -> None:
    graph = StateGraph(Counted).add_node("a", more).add_node("b", nothing).set_entry_point("a").add_edge("a", "b")
    graph.add_conditional_edge("b", lambda _: True, {True: "a", False: END})

    async def run() -> None:
        made = graph.compile(kept, interrupt_before=["b"], max_iterations=3)
        result = await made.invoke(begun(), thread_id="t")
        while result.interrupted:
            result = await made.resume("t")
        assert (result.state["n"], "max_iterations" in str(result.error)) == (3, True)
        result = await graph.compile(kept, max_iterations=5).resume("t")
        assert result.state["n"] == 5

    asyncio.run(run())


def test_a_thread_of_another_graph_is_refused_and_left_alone(kept: Checkpointer, chain: Chain) -> None:
    async def run() -> None:
        graph = chain.graph().compile(kept, interrupt_before=["c"])
        await graph.invoke(begun(), thread_id="t")
        before = await graph.get_state_history("t")
        others: list[CompiledGraph[Counted]] = [
            chain.graph().add_edge("a", "c").compile(kept),
            chain.graph().add_node("d", nothing).add_edge("c", "d").set_finish_point("d").compile(kept),
        ]
        for other in others:
            for call in (other.resume("t"), other.fork("t"), other.get_state("t")):
                with pytest.raises(Conflict, match="run by another graph"):
                    await call
        assert await graph.get_state_history("t") == before
        assert (await chain.graph().compile(kept, timeout=60.0).resume("t")).success

    asyncio.run(run())


class Finding(BaseModel):
    path: str
    at: dt.datetime


class Rich(TypedDict, total=False):
    found: list[Finding]
    span: tuple[int, int]
    names: set[str]
    free: object


def test_values_that_the_schema_knows_come_back_as_they_were(kept: Checkpointer) -> None:
    given: Rich = {
        "found": [Finding(path="a.py", at=dt.datetime(2026, 1, 2, tzinfo=dt.UTC))],
        "span": (1, 2),
        "names": {"x", "y"},
        "free": {"a": [1, None, "é\ud800"]},
    }
    seen: list[Rich] = []

    async def run() -> None:
        graph = StateGraph(Rich).add_node("look", seen.append).set_entry_point("look")
        made = graph.set_finish_point("look").compile(kept, interrupt_before=["look"])
        await made.invoke(given, thread_id="t")
        assert (await made.resume("t")).require() == given

    asyncio.run(run())
    assert seen == [given]


@pytest.mark.parametrize("value", [object(), {1: 2}, (1, 2), float("nan"), float("inf"), [b"x"], {"a": {1, 2}}, [10**5000]])
def test_a_state_that_is_no_json_fails_the_step_and_names_the_key(kept: Checkpointer, value: object) -> None:
    async def run() -> None:
        graph = StateGraph(Rich).add_node("a", lambda _: {"span": (0, 1)}).add_node("odd", lambda _: {"free": value})
        made = graph.set_entry_point("a").add_edge("a", "odd").set_finish_point("odd").compile(kept)
        result = await made.invoke({}, thread_id="t")
        assert isinstance(result.failure, InvalidInput)
        assert "key 'free'" in str(result.error)
        state = await made.get_state("t")
        assert state is not None
        assert (result.state, state.state, state.status) == ({"span": (0, 1)}, {"span": [0, 1]}, "failed")

    asyncio.run(run())


def test_branches_keep_their_order_over_an_interrupt(kept: Checkpointer) -> None:
    async def run() -> None:
        graph = StateGraph(Counted).add_state_merger("seen", operator.add)
        for name in "cab":
            graph.add_node(name, says(name)).set_entry_point(name).set_finish_point(name)
        made = graph.compile(kept, interrupt_after=["a"])
        await made.invoke(begun(), thread_id="t")
        assert (await made.resume("t")).require()["seen"] == ["c", "a", "b"]

    asyncio.run(run())
