"""Claims about branches of a graph: side by side, merged, met again."""

import asyncio
import operator
import threading
import time
from collections.abc import Awaitable, Callable, Mapping

import pytest

from appliance.errors import Conflict, InvalidInput, LimitExceeded
from appliance.framework import END, START, GraphResult, Send, StateGraph
from tests.support.state_graphs import Counted, begun, failed, more, nothing, says


def fan(*names: str, merge: bool) -> "StateGraph[Counted]":
    graph = StateGraph(Counted).add_node("split", nothing).set_entry_point("split").add_node("join", lambda _: {"n": 1})
    for name in names:
        graph.add_node(name, says(name)).add_edge("split", name).add_edge(name, "join")
    return graph.set_finish_point("join").add_state_merger("seen", operator.add) if merge else graph.set_finish_point("join")


def test_branches_run_side_by_side() -> None:
    """Each waits for all the others: one after the other they would never end."""

    def meets(name: str, gate: asyncio.Barrier) -> Callable[[Counted], Awaitable[Mapping[str, object]]]:
        async def node(state: Counted) -> Mapping[str, object]:
            del state
            await gate.wait()
            return {"seen": [name]}

        return node

    async def run() -> GraphResult[Counted]:
        gate = asyncio.Barrier(4)
        graph = StateGraph(Counted).add_state_merger("seen", operator.add)
        for name in "abcd":
            graph.add_node(name, meets(name, gate)).set_entry_point(name).set_finish_point(name)
        return await graph.compile(timeout=30.0).invoke(begun())

    assert asyncio.run(run()).require()["seen"] == ["a", "b", "c", "d"]


def test_plain_functions_that_block_run_side_by_side_too() -> None:
    gate = threading.Barrier(3)
    graph = StateGraph(Counted)
    for name in "abc":
        graph.add_node(name, lambda _: {} if gate.wait(timeout=30) >= 0 else None).set_entry_point(name).set_finish_point(
            name
        )
    assert asyncio.run(graph.compile(timeout=60.0).invoke(begun())).success


def test_writes_of_branches_go_through_the_merger_in_the_order_of_the_edges() -> None:
    assert asyncio.run(fan("b", "a", "c", merge=True).compile().invoke(begun())).require()["seen"] == ["b", "a", "c"]


def test_two_branches_that_write_one_key_without_a_merger_are_named_with_it() -> None:
    result = asyncio.run(fan("left", "right", merge=False).compile().invoke({"n": 0, "seen": ["before"]}))
    failed(result, Conflict, "'left'", "'right'", "'seen'", "add_state_merger")
    assert result.state == {"n": 0, "seen": ["before"]}


def test_branches_that_return_the_whole_state_write_only_what_they_changed() -> None:
    graph = StateGraph(Counted).add_node("a", lambda state: {**state, "n": 1}).add_node("b", lambda s: {**s, "note": "b"})
    for name in "ab":
        graph.set_entry_point(name).set_finish_point(name)
    assert asyncio.run(graph.compile().invoke(begun())).require() == {"n": 1, "note": "b", "seen": []}


def test_a_join_waits_for_the_longer_branch_and_runs_once() -> None:
    graph = StateGraph(Counted).add_state_merger("seen", operator.add)
    for name in ("split", "short", "long", "longer", "join"):
        graph.add_node(name, says(name))
    graph.set_entry_point("split").add_edge("split", "short").add_edge("split", "long").add_edge("long", "longer")
    graph.add_edge("short", "join").add_edge("longer", "join").set_finish_point("join")
    assert asyncio.run(graph.compile().invoke(begun())).require()["seen"] == ["split", "short", "long", "longer", "join"]


def test_fan_out_and_cycles_go_together() -> None:
    graph = StateGraph(Counted).add_state_merger("seen", operator.add)
    for name in ("begin", "left", "right"):
        graph.add_node(name, says(name))
    graph.add_node("join", more)
    graph.set_entry_point("begin").add_edge("begin", "left").add_edge("begin", "right")
    graph.add_edge("left", "join").add_edge("right", "join")
    graph.add_conditional_edge("join", lambda state: state["n"] < 3, {True: "begin", False: END})
    result = asyncio.run(graph.compile().invoke(begun()))
    assert result.require() == {"n": 3, "seen": ["begin", "left", "right"] * 3}


def test_a_branch_that_circles_is_waited_for_at_the_join() -> None:
    graph = StateGraph(Counted).add_state_merger("seen", operator.add)
    graph.add_node("quick", lambda _: {"seen": ["quick"]}).add_node("join", lambda _: {"seen": ["join"]})
    graph.add_node("round", more).set_entry_point("quick").set_entry_point("round")
    graph.add_conditional_edge("round", lambda state: state["n"] < 4, {True: "round", False: "join"})
    graph.add_edge("quick", "join").set_finish_point("join")
    assert asyncio.run(graph.compile().invoke(begun())).require() == {"n": 4, "seen": ["quick", "join"]}


def test_sends_run_one_node_on_many_states_and_meet_where_they_say() -> None:
    graph = StateGraph(dict).add_state_merger("found", operator.add)
    graph.add_node("plan", lambda _: {"files": ["a", "b", "c"]}).set_entry_point("plan")
    graph.add_node("read", lambda state: {"found": [state["file"].upper()]}).add_node("lost", lambda _: {"found": ["lost"]})
    graph.add_node("sum", lambda state: {"count": len(state["found"])}).set_finish_point("sum")
    graph.add_edge("read", "lost").add_edge("lost", "sum")
    graph.add_conditional_edge(
        "plan", lambda state: [Send("read", {"file": each}, "sum") for each in state["files"]], ["read", "sum"]
    )
    result = asyncio.run(graph.compile().invoke({}))
    assert result.require() == {"files": ["a", "b", "c"], "found": ["A", "B", "C"], "count": 3}
    assert result.node_history == ("plan", "read", "sum")


def test_sends_without_a_place_to_meet_go_on_along_the_edges() -> None:
    graph = StateGraph(dict).add_state_merger("found", operator.add)
    graph.add_node("read", lambda state: {"found": [state["file"]]}).add_node("sum", lambda s: {"count": len(s["found"])})
    graph.add_conditional_edge(START, lambda _: [Send("read", {"file": n}) for n in range(3)], ["read"])
    graph.add_edge("read", "sum").set_finish_point("sum")
    assert asyncio.run(graph.compile().invoke({})).require() == {"found": [0, 1, 2], "count": 3}


def test_sends_that_write_one_key_without_a_merger_are_told_apart() -> None:
    graph = StateGraph(dict).add_node("read", lambda state: {**state, "found": state["file"]}).set_finish_point("read")
    graph.add_conditional_edge(START, lambda _: [Send("read", {"file": n}) for n in range(2)], ["read"])
    result = asyncio.run(graph.compile().invoke({}))
    assert isinstance(result.failure, Conflict)
    assert "'read' (branch 1) and the node 'read' (branch 2) both wrote the key 'found'" in str(result.error)


def test_a_thousand_sends_cost_a_thousand_times_one_and_no_more() -> None:
    graph = StateGraph(Counted).add_state_merger("n", operator.add).add_node("one", more).set_finish_point("one")
    graph.add_conditional_edge(START, lambda state: [Send("one", {"n": 1})] * state["n"], ["one"])
    before = time.process_time()
    assert asyncio.run(graph.compile().invoke(begun(1_000))).require()["n"] == 1_000 + 2_000
    assert time.process_time() - before < 3.0
    failed(asyncio.run(graph.compile().invoke(begun(10_001))), LimitExceeded, "10,001 branches, of 10,000 at most")


@pytest.mark.parametrize(
    ("send", "said"),
    [
        (Send("elsewhere"), "'elsewhere'"),
        (Send("one", {}, "elsewhere"), "joins at 'elsewhere'"),
        (Send("one", {"m": 1}), "a key 'm'"),
        (Send(END), END),
    ],
)
def test_a_send_to_what_is_not_there_is_an_error(send: Send, said: str) -> None:
    graph = StateGraph(Counted).add_node("one", nothing).set_finish_point("one")
    graph.add_conditional_edge(START, lambda _: send, ["one"])
    result = asyncio.run(graph.compile().invoke(begun()))
    failed(result, InvalidInput, said)


def test_a_merger_that_makes_what_the_schema_has_not_fails_the_step() -> None:
    graph = StateGraph(Counted).add_state_merger("n", lambda old, new: f"{old}{new}")
    graph.add_node("one", lambda _: {"n": 1}).set_entry_point("one").set_finish_point("one")
    failed(asyncio.run(graph.compile().invoke(begun())), InvalidInput, "merger", "'n'")
