"""Claims about what compile refuses, and that what it takes runs to an end."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.errors import InvalidInput, LimitExceeded
from appliance.framework import END, START, Send, StateGraph
from tests.support.state_graphs import Counted, begun, more, nothing


def chain() -> "StateGraph[Counted]":
    graph = StateGraph(Counted).add_node("a", nothing).add_node("b", nothing)
    return graph.set_entry_point("a").add_edge("a", "b").set_finish_point("b")


def within_itself() -> "StateGraph[Counted]":
    graph, outer = chain(), chain()
    outer.add_subgraph("inner", graph).add_edge("a", "inner").add_edge("inner", "b")
    return graph.add_subgraph("outer", outer).add_edge("a", "outer").add_edge("outer", "b")


FAULTS: list[tuple[str, Callable[[], object], str]] = [
    ("nothing", lambda: StateGraph(Counted).compile(), "it has no node"),
    ("entry", lambda: StateGraph(Counted).add_node("a", nothing).set_finish_point("a").compile(), "no entry point"),
    ("unreachable", lambda: chain().add_node("x", nothing).set_finish_point("x").compile(), "'x' cannot be reached"),
    ("dead end", lambda: chain().add_node("x", nothing).add_edge("a", "x").compile(), "'x' leads nowhere"),
    (
        "endless",
        lambda: chain().add_node("x", nothing).add_edge("a", "x").add_edge("x", "x").compile(),
        "from the node 'x' no way",
    ),
    ("twice", lambda: chain().add_node("b", nothing).compile(), "2 nodes called 'b'"),
    ("target", lambda: chain().add_edge("a", "x").compile(), "an edge from 'a' leads to 'x', which is no node"),
    ("source", lambda: chain().add_edge("x", "b").compile(), "an edge to 'b' comes from 'x', which is no node"),
    ("start", lambda: chain().add_edge("a", START).compile(), "leads to '__start__', which is no node"),
    ("end", lambda: chain().add_edge(END, "a").compile(), "comes from '__end__', which is no node"),
    ("own name", lambda: chain().add_node(END, nothing).compile(), "'__end__' is a name of its own"),
    ("number as name", lambda: chain().add_node(7, nothing), "7 is no name of a node"),  # type: ignore[arg-type]
    ("list as target", lambda: chain().add_edge("a", []), "[] is no name of a node"),  # type: ignore[arg-type]
    ("list as branch", lambda: chain().add_conditional_edge("a", nothing, {1: []}), "[] is no name of a node"),  # type: ignore[dict-item]
    ("in itself", lambda: within_itself().compile(), "a subgraph of itself"),
    ("no name", lambda: chain().add_node(" ", nothing).compile(), "' ' is no name of a node"),
    (
        "branch",
        lambda: chain().add_conditional_edge("a", more, {"l": "x"}).compile(),
        "the branch 'l' behind 'a' leads to 'x'",
    ),
    ("condition", lambda: chain().add_conditional_edge("x", more, ["a"]).compile(), "a condition stands behind 'x'"),
    ("no branch", lambda: chain().add_conditional_edge("a", more, {}).compile(), "the condition behind 'a' has no branches"),
    ("merger", lambda: chain().add_state_merger("x", max).compile(), "a merger is for the key 'x'"),
    ("function", lambda: chain().add_node("x", 7), "'x' is a int and no function"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "said"), [pytest.param(make, said, id=name) for name, make, said in FAULTS])
def test_a_graph_that_cannot_run_is_refused_with_a_sentence_that_names_why(make: Callable[[], object], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make()
    assert said in str(caught.value)


def test_every_fault_is_told_at_once() -> None:
    graph = chain().add_node("lost", nothing).add_node("stuck", nothing).add_edge("a", "stuck")
    with pytest.raises(InvalidInput) as caught:
        graph.compile()
    assert all(
        each in str(caught.value) for each in ("'lost' cannot be reached", "'lost' leads nowhere", "'stuck' leads nowhere")
    )


def test_a_graph_may_be_changed_after_it_was_compiled_without_changing_what_runs() -> None:
    graph = chain()
    before = graph.compile()
    graph.add_node("c", lambda _: {"n": 7}).add_edge("a", "c").set_finish_point("c")
    assert asyncio.run(before.invoke(begun())).require()["n"] == 0
    assert asyncio.run(graph.compile().invoke(begun())).require()["n"] == 7


NAMES = st.sampled_from("abcd")
EDGES = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", "d", START]), st.sampled_from(["a", "b", "c", "d", END])), max_size=10
)
CHOICES = st.lists(
    st.tuples(NAMES, st.lists(st.sampled_from(["a", "b", "c", "d", END]), min_size=1, max_size=3)), max_size=3
)


@given(edges=EDGES, choices=CHOICES, picks=st.lists(st.integers(0, 5), min_size=1, max_size=6), sends=st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_graph_of_any_shape_is_refused_or_runs_to_its_end(
    edges: list[tuple[str, str]],
    choices: list[tuple[str, list[str]]],
    picks: list[int],
    sends: bool,  # noqa: FBT001 - a case
) -> None:
    """Whatever leads where: no run hangs, ends with nodes still due, or runs a join while a branch is under way to it."""
    graph, calls = StateGraph(Counted), 0

    def choose(targets: list[str]) -> Callable[[Counted], object]:
        def chosen(state: Counted) -> object:
            nonlocal calls
            del state
            calls += 1
            target = targets[picks[calls % len(picks)] % len(targets)]
            return Send(target) if sends and target != END else target

        return chosen

    for name in "abcd":
        graph.add_node(name, nothing)
    for source, target in edges:
        graph.add_edge(source, target)
    for source, targets in choices:
        graph.add_conditional_edge(source, choose(targets), targets)
    try:
        made = graph.compile(recursion_limit=40)
    except InvalidInput:
        return
    result = asyncio.run(made.invoke(begun()))
    assert result.success == (not result.next_nodes)
    assert result.success or isinstance(result.failure, LimitExceeded)
