"""Claims about the events of a run: what happened, in its order, ending as invoke does."""

import asyncio
import operator
from collections.abc import Mapping

import pytest

from appliance.errors import StepFailed
from appliance.framework import CompiledGraph, GraphEvent, GraphEventType, MemoryCheckpointer, StateGraph
from tests.support.state_graphs import Counted, begun, more, says

T = GraphEventType


def chain() -> "StateGraph[Counted]":
    graph = StateGraph(Counted).add_node("a", more).add_node("b", more).set_entry_point("a")
    return graph.add_edge("a", "b").set_finish_point("b")


def events(graph: CompiledGraph[Counted], *, thread: str | None = None) -> list[GraphEvent[Counted]]:
    async def run() -> list[GraphEvent[Counted]]:
        return [event async for event in graph.stream(begun(), thread_id=thread)]

    return asyncio.run(run())


def test_events_tell_every_node_and_step_and_the_last_has_the_result() -> None:
    graph = chain().compile()
    found = events(graph)
    assert [(each.type, each.node, each.step) for each in found] == [
        (T.RUN_STARTED, "", 0),
        (T.NODE_STARTED, "a", 1),
        (T.NODE_FINISHED, "a", 1),
        (T.STEP_FINISHED, "", 1),
        (T.NODE_STARTED, "b", 2),
        (T.NODE_FINISHED, "b", 2),
        (T.STEP_FINISHED, "", 2),
        (T.FINISHED, "", 2),
    ]
    assert [each.seq for each in found] == list(range(1, 9))
    assert found[2].update == {"n": 1}
    assert (found[3].state, found[3].next_nodes) == ({"n": 1, "seen": []}, ("b",))
    assert found[-1].result is not None
    assert found[-1].result.require() == asyncio.run(graph.invoke(begun())).require()


def test_a_failure_is_the_last_event_as_it_is_the_result_of_invoke() -> None:
    def breaks(state: Counted) -> None:
        raise ValueError(f"boom at {state['n']}")

    graph = chain().add_node("c", breaks).add_edge("a", "c").set_finish_point("c").compile()
    last = events(graph)[-1]
    assert (last.type, last.error) == (T.FAILED, asyncio.run(graph.invoke(begun())).error)
    assert last.result is not None
    assert isinstance(last.result.failure, StepFailed)
    assert last.state == {"n": 1, "seen": []}


def test_an_interrupt_is_an_event_and_the_resumed_stream_goes_on() -> None:
    graph = chain().compile(MemoryCheckpointer(), interrupt_before=["b"])
    last = events(graph, thread="t")[-1]
    assert (last.type, last.next_nodes) == (T.INTERRUPTED, ("b",))
    assert last.result is not None
    assert last.result.interrupted

    async def resumed() -> list[tuple[GraphEventType, str]]:
        return [(event.type, event.node) async for event in graph.stream_resume("t", update={"n": 7})]

    found = asyncio.run(resumed())
    assert found == [
        (T.RUN_STARTED, ""),
        (T.NODE_STARTED, "b"),
        (T.NODE_FINISHED, "b"),
        (T.STEP_FINISHED, ""),
        (T.FINISHED, ""),
    ]


def test_whoever_changes_an_event_does_not_change_the_run() -> None:
    async def run() -> None:
        graph = StateGraph(Counted).add_state_merger("seen", operator.add).add_node("a", says("a")).add_node("b", says("b"))
        async for event in graph.set_entry_point("a").add_edge("a", "b").set_finish_point("b").compile().stream(begun()):
            if isinstance(event.update, dict):
                event.update["seen"].append("spoilt")
            if event.state is not None and event.type is not T.FINISHED:
                event.state["seen"].append("spoilt")
            if event.result is not None:
                assert event.result.require()["seen"] == ["a", "b"]

    asyncio.run(run())


@pytest.mark.parametrize("closes", [True, False])
def test_who_stops_listening_ends_the_run_and_it_is_kept_as_cancelled(closes: bool) -> None:  # noqa: FBT001 - a case
    ended: list[bool] = []

    async def run() -> None:
        async def waits(state: Counted) -> Mapping[str, object]:
            del state
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)
            return {}

        graph = chain().add_node("w", waits).add_edge("a", "w").set_finish_point("w").compile(MemoryCheckpointer())
        stream = graph.stream(begun(), thread_id="t")

        async def listen() -> None:
            async for event in stream:
                if event.type is T.NODE_STARTED and event.node == "w":
                    if closes:
                        break
                    task.cancel()

        task = asyncio.ensure_future(listen())
        if closes:
            await task
            await stream.aclose()
        else:
            with pytest.raises(asyncio.CancelledError):
                await task
        state = await graph.get_state("t")
        assert state is not None
        assert (state.status, state.next_nodes) == ("cancelled", ("b", "w"))

    asyncio.run(run())
    assert ended == [True]
