"""Claims about graphs that run as a node of another."""

import asyncio
import operator
from typing import TypedDict

import pytest

from appliance.errors import DeadlineExceeded, InvalidInput, LimitExceeded, StepFailed
from appliance.framework import END, Checkpointer, GraphEventType, MemoryCheckpointer, Send, StateGraph
from tests.support.state_graphs import Counted, begun, failed, more, says


class Inner(TypedDict, total=False):
    n: int
    own: str


def inner() -> "StateGraph[Inner]":
    graph = StateGraph(Inner).add_node("first", lambda state: {"n": state["n"] + 10, "own": "kept inside"})
    graph.add_node("second", lambda state: {"n": state["n"] + len(state["own"])})
    return graph.set_entry_point("first").add_edge("first", "second").set_finish_point("second")


def outer() -> "StateGraph[Counted]":
    graph = StateGraph(Counted).add_node("before", more).add_subgraph("sub", inner()).add_node("after", more)
    return graph.set_entry_point("before").add_edge("before", "sub").add_edge("sub", "after").set_finish_point("after")


def test_a_subgraph_begins_with_the_keys_that_both_have_and_writes_those_that_it_changed() -> None:
    result = asyncio.run(outer().compile().invoke(begun()))
    assert result.require() == {"n": 1 + 10 + len("kept inside") + 1, "seen": []}
    assert result.node_history == ("before", "sub", "after")


def test_inputs_and_outputs_say_which_key_is_which() -> None:
    graph = StateGraph(Counted).add_subgraph("sub", inner().compile(), inputs={"n": "n"}, outputs={"note": "own"})
    result = asyncio.run(graph.set_entry_point("sub").set_finish_point("sub").compile().invoke(begun(4)))
    assert result.require() == {"n": 4, "seen": [], "note": "kept inside"}


@pytest.mark.parametrize(
    "given", [{"inputs": {"x": "n"}}, {"inputs": {"n": "x"}}, {"outputs": {"x": "n"}}, {"outputs": {"n": "x"}}]
)
def test_keys_that_are_not_there_are_refused(given: dict[str, dict[str, str]]) -> None:
    graph = StateGraph(Counted).add_subgraph("sub", inner(), **given).set_entry_point("sub").set_finish_point("sub")
    with pytest.raises(InvalidInput, match="'sub' is given the key 'x'"):
        graph.compile()


def test_between_two_open_states_the_keys_must_be_said() -> None:
    open_ = StateGraph(dict).add_node("a", lambda state: {"out": state["in"] * 2}).set_entry_point("a").set_finish_point("a")
    graph = StateGraph(dict).add_subgraph("sub", open_).set_entry_point("sub").set_finish_point("sub")
    with pytest.raises(InvalidInput, match="inputs= and outputs="):
        graph.compile()
    graph = StateGraph(dict).add_subgraph("sub", open_, inputs={"in": "x"}, outputs={"x": "out"}).set_entry_point("sub")
    assert asyncio.run(graph.set_finish_point("sub").compile().invoke({"x": 4})).require() == {"x": 8}


def test_a_failure_inside_is_the_graphs_with_its_place() -> None:
    def breaks(state: Inner) -> None:
        raise ValueError(f"boom {state['n']}")

    deep = inner().add_node("third", breaks).add_edge("first", "third").set_finish_point("third")
    graph = StateGraph(Counted).add_subgraph("sub", deep).set_entry_point("sub").set_finish_point("sub")
    failed(asyncio.run(graph.compile().invoke(begun())), StepFailed, "'third'", "boom 10")


def test_a_subgraph_has_its_own_limits_where_it_is_compiled_and_else_those_around_it() -> None:
    loop = (
        StateGraph(Inner)
        .add_node("x", lambda _: None)
        .set_entry_point("x")
        .add_conditional_edge("x", lambda _: 1, {1: "x", 2: END})
    )
    graph = (
        StateGraph(Counted)
        .add_subgraph("sub", loop.compile(max_iterations=4))
        .set_entry_point("sub")
        .set_finish_point("sub")
    )
    failed(asyncio.run(graph.compile().invoke(begun())), LimitExceeded, "'x'", "4 steps")
    slow = StateGraph(Inner).add_node("x", lambda _: asyncio.Event().wait()).set_entry_point("x").set_finish_point("x")  # type: ignore[arg-type, return-value]
    graph = StateGraph(Counted).add_subgraph("sub", slow).set_entry_point("sub").set_finish_point("sub")
    failed(asyncio.run(graph.compile(node_timeout=0.05).invoke(begun())), DeadlineExceeded, "'x'")


def test_events_of_a_subgraphs_nodes_carry_its_name() -> None:
    async def run() -> list[tuple[str, str]]:
        return [(event.type.value, event.node) async for event in outer().compile().stream(begun()) if event.node]

    finished = [node for kind, node in asyncio.run(run()) if kind == GraphEventType.NODE_FINISHED]
    assert finished == ["before", "sub/first", "sub/second", "sub", "after"]


def test_a_send_may_run_a_subgraph_many_times() -> None:
    graph = StateGraph(Counted).add_state_merger("n", operator.add).add_subgraph("sub", inner()).set_finish_point("sub")
    graph.add_conditional_edge("__start__", lambda _: [Send("sub", {"n": n}) for n in (100, 200)], ["sub"])
    grown = 10 + len("kept inside")
    assert asyncio.run(graph.compile().invoke(begun())).require()["n"] == 100 + grown + 200 + grown


def test_an_interrupt_inside_stops_the_whole_and_the_update_reaches_what_waits(kept: Checkpointer) -> None:
    async def run() -> None:
        deep = inner().compile(kept, interrupt_before=["second"])
        graph = StateGraph(Counted).add_state_merger("seen", operator.add).add_node("beside", says("beside"))
        graph.add_subgraph("sub", deep).set_entry_point("sub").set_entry_point("beside")
        made = graph.set_finish_point("sub").set_finish_point("beside").compile(kept)
        stopped = await made.invoke(begun(), thread_id="t")
        assert (stopped.interrupted, stopped.next_nodes, stopped.state["n"]) == (True, ("sub/second",), 0)
        state = await made.get_state("t")
        assert state is not None
        assert (state.status, state.next_nodes) == ("interrupted", ("sub/second",))
        ended = await made.resume("t", update={"n": 1000})
        assert ended.require() == {"n": 1000 + len("kept inside"), "seen": ["beside"]}

    asyncio.run(run())


def test_an_update_comes_too_late_for_a_subgraph_that_is_finished(kept: Checkpointer) -> None:
    """Its process died between its end and the step around it: what it made is not to be lost for that."""

    async def run() -> None:
        graph = inner().compile()
        ended = await graph.run_inside({"n": 1}, thread_id="t/0.0.sub", kept=kept, update=None, tell=None)
        again = await graph.run_inside({"n": 1}, thread_id="t/0.0.sub", kept=kept, update={"n": 7}, tell=None)
        assert again.require() == ended.require()

    asyncio.run(run())


def test_an_interrupt_inside_without_a_checkpointer_outside_is_refused() -> None:
    deep = inner().compile(MemoryCheckpointer(), interrupt_after=["first"])
    graph = StateGraph(Counted).add_subgraph("sub", deep).set_entry_point("sub").set_finish_point("sub")
    with pytest.raises(InvalidInput, match="'sub' has interrupts"):
        graph.compile()
