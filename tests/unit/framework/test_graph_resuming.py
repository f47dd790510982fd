"""The claim that a thread which is stopped again and again ends as one that is not, and does nothing twice."""

import asyncio
import operator
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.errors import InvalidInput
from appliance.framework import END, START, CompiledGraph, GraphResult, MemoryCheckpointer, Send, StateGraph
from tests.support.state_graphs import Counted, begun

NAMES = "abcde"
Faults = dict[tuple[str, int], int]  # how often a node fails in its n-th turn


class Machine:
    """A graph of any shape whose nodes fail when they are told to, before they do anything."""

    def __init__(self, edges: list[tuple[str, str]], picks: list[int], faults: Faults) -> None:
        self.turns: Counter[str] = Counter()
        self.picks = picks
        self.faults = dict(faults)
        graph = StateGraph(Counted).add_state_merger("seen", operator.add).add_state_merger("n", operator.add)
        for name in NAMES:
            graph.add_node(name, self.node(name))
        for source, target in edges:
            graph.add_edge(source, target)
        targets = [*NAMES[2:], END]
        self.graph = graph.add_conditional_edge("b", self.choose(targets), targets)

    def node(self, name: str) -> Callable[[Counted], Awaitable[Mapping[str, object]]]:
        async def work(state: Counted) -> Mapping[str, object]:
            turn = self.turns[name]
            if self.faults.get((name, turn), 0) > 0:
                self.faults[(name, turn)] -= 1
                raise OSError(f"{name} fails in turn {turn}")
            self.turns[name] += 1
            return {"seen": [f"{name}{len(state['seen'])}"], "n": 1}

        return work

    def choose(self, targets: list[str]) -> Callable[[Counted], object]:
        def chosen(state: Counted) -> object:
            pick = self.picks[state["n"] % len(self.picks)]
            target = targets[pick % len(targets)]
            return [Send(target)] * (pick % 3 + 1) if pick % 2 and target != END else target

        return chosen


async def until_it_ends(graph: CompiledGraph[Counted]) -> GraphResult[Counted]:
    result = await graph.invoke(begun(), thread_id="t")
    for _ in range(100):
        if result.success or "recursion_limit" in str(result.error):
            return result
        assert result.interrupted or "fails in turn" in str(result.error), result.error
        result = await graph.resume("t")
    raise AssertionError("it never ends")


EDGES = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from([*NAMES, END])), max_size=8)
FAULTS = st.dictionaries(st.tuples(st.sampled_from(NAMES), st.integers(0, 3)), st.integers(1, 2), max_size=6)
STOPS = st.sets(st.sampled_from(NAMES), max_size=3)


@given(edges=EDGES, picks=st.lists(st.integers(0, 7), min_size=1, max_size=5), faults=FAULTS, before=STOPS, after=STOPS)
@settings(max_examples=60, deadline=None)
def test_a_thread_that_fails_and_stops_ends_as_one_that_does_not(
    edges: list[tuple[str, str]], picks: list[int], faults: Faults, before: set[str], after: set[str]
) -> None:
    shape = [*edges, (START, "a"), ("a", "b"), *((name, END) for name in NAMES[2:])]
    whole, broken = Machine(shape, picks, {}), Machine(shape, picks, faults)
    try:
        straight = asyncio.run(whole.graph.compile(recursion_limit=12).invoke(begun()))
    except InvalidInput:
        return  # no graph
    made = broken.graph.compile(MemoryCheckpointer(), interrupt_before=before, interrupt_after=after, recursion_limit=12)
    stopped = asyncio.run(until_it_ends(made))
    assert (stopped.state, stopped.success, stopped.steps) == (straight.state, straight.success, straight.steps)
    assert stopped.next_nodes == straight.next_nodes
    assert broken.turns == whole.turns
