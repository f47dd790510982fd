"""Claims about what a graph does with its state, its nodes and its conditions."""

import asyncio
import dataclasses
import threading
import time
from collections.abc import Mapping
from typing import TypedDict

import pytest
from pydantic import BaseModel, Field

from appliance.errors import InvalidInput
from appliance.framework import END, START, MemoryCheckpointer, StateGraph
from tests.support.state_graphs import Counted, begun, failed, more, nothing


class ReviewState(TypedDict):
    query: str
    findings: list[str]


def test_the_published_example_runs_with_only_its_import_changed() -> None:
    async def inspect(state: ReviewState) -> ReviewState:
        return {**state, "findings": ["example finding"]}

    graph = StateGraph(ReviewState)
    graph.add_node("inspect", inspect)
    graph.add_edge("inspect", END)
    graph.set_entry_point("inspect")

    result = asyncio.run(graph.compile().invoke({"query": "review this module", "findings": []}))
    assert result.state["findings"] == ["example finding"]


def test_partial_mappings_are_merged_and_none_keeps_the_state() -> None:
    graph = StateGraph(Counted)
    graph.add_node("one", more).add_node("two", nothing).add_node("three", lambda _: {})
    graph.set_entry_point("one").add_edge("one", "two").add_edge("two", "three").set_finish_point("three")
    result = asyncio.run(graph.compile().invoke({"n": 4, "seen": ["before"]}))
    assert result.require() == {"n": 5, "seen": ["before"]}
    assert (result.success, result.error, result.steps, result.next_node) == (True, None, 3, None)
    assert result.node_history == ("one", "two", "three")


def test_neither_the_callers_state_nor_the_graphs_is_shared_with_a_node() -> None:
    kept: list[Counted] = []
    given = begun()

    def spoils(state: Counted) -> None:
        state["seen"].append("in place")
        state["n"] = 99

    def keeps(state: Counted) -> Mapping[str, object]:
        kept.append(state)
        return {"seen": state["seen"]}

    graph = StateGraph(Counted)
    graph.add_node("spoils", spoils).add_node("keeps", keeps).add_node("late", lambda _: kept[0]["seen"].append("late"))
    graph.set_entry_point("spoils").add_edge("spoils", "keeps").add_edge("keeps", "late").set_finish_point("late")
    result = asyncio.run(graph.compile().invoke(given))
    assert result.require() == given == begun()
    result.state["seen"].append("afterwards")
    assert given == begun()


@pytest.mark.parametrize(
    ("returned", "kind", "said"),
    [
        ({"other": 1}, InvalidInput, "a key 'other', which Counted has not"),
        ({"n": "1"}, InvalidInput, "'n' a str, which is no int"),
        ({"n": True}, InvalidInput, "'n' a bool, which is no int"),
        ({"seen": ["a", 1]}, InvalidInput, "input should be a valid string"),
        (["n"], InvalidInput, "node 'bad' returned a list"),
        ({"seen": threading.Lock()}, InvalidInput, "'seen'"),
    ],
)
def test_what_a_node_returns_is_checked_against_the_schema(returned: object, kind: type[Exception], said: str) -> None:
    graph = StateGraph(Counted)
    graph.add_node("good", lambda _: {"n": 7}).add_node("bad", lambda _: returned)  # type: ignore[arg-type, return-value]
    graph.set_entry_point("good").add_edge("good", "bad").set_finish_point("bad")
    result = asyncio.run(graph.compile().invoke(begun()))
    failed(result, kind, said, "bad")
    assert result.state == {"n": 7, "seen": []}
    assert result.next_nodes == ("bad",)
    with pytest.raises(kind):
        result.require()


@pytest.mark.parametrize(
    ("given", "said"),
    [({"m": 1}, "a key 'm'"), ({"n": "x"}, "'n' a str"), ([], "is a list"), ({1: 2}, "a key 1"), (None, "is None")],
)
def test_an_input_that_is_none_of_the_schema_is_refused_before_anything_runs(given: object, said: str) -> None:
    graph = StateGraph(Counted)
    graph.add_node("one", lambda _: pytest.fail("it ran")).set_entry_point("one").set_finish_point("one")

    async def streamed() -> None:
        async for _ in graph.compile().stream(given):  # type: ignore[arg-type]
            pytest.fail("an event")

    for run in (graph.compile().invoke(given), streamed()):  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="input") as caught:
            asyncio.run(run)
        assert said in str(caught.value)


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    graph = StateGraph(dict).add_node("one", lambda _: None).set_entry_point("one").set_finish_point("one")
    with pytest.raises(InvalidInput, match="cannot be copied"):
        asyncio.run(graph.compile().invoke({"loop": loop}))


@dataclasses.dataclass
class Point:
    x: int
    trail: list[int] = dataclasses.field(default_factory=list)


class Bounded(BaseModel):
    x: int = Field(le=3)
    trail: list[int] = []


@pytest.mark.parametrize("schema", [Point, Bounded])
def test_dataclasses_and_models_are_states_too(schema: type[Point] | type[Bounded]) -> None:
    def whole(state: Point | Bounded) -> Point | Bounded:
        assert isinstance(state, schema)
        state.x += 1
        return state

    graph = StateGraph(schema)
    graph.add_node("whole", whole).add_node("part", lambda state: {"trail": [*state.trail, state.x]})
    graph.set_entry_point("whole").add_edge("whole", "part").set_finish_point("part")
    given = schema(x=1)
    assert asyncio.run(graph.compile().invoke(given)).require() == schema(x=2, trail=[2])
    assert given == schema(x=1)
    assert asyncio.run(graph.compile().invoke({"x": 2})).require() == schema(x=3, trail=[3])
    with pytest.raises(InvalidInput):
        asyncio.run(graph.compile().invoke({"trail": []}))


def test_a_models_own_rules_hold_at_every_write() -> None:
    graph = StateGraph(Bounded).add_node("more", lambda state: {"x": state.x + 1}).set_entry_point("more")
    graph.add_conditional_edge("more", lambda _: "again", {"again": "more", "end": END})
    result = asyncio.run(graph.compile().invoke(Bounded(x=1)))
    assert (result.success, result.state) == (False, Bounded(x=3))
    assert "less than or equal to 3" in (result.error or "")


@dataclasses.dataclass
class Picky:
    x: int

    def __post_init__(self) -> None:
        if self.x > 1:
            raise KeyError("too many")


class Shy:
    def __deepcopy__(self, memo: object) -> "Shy":
        raise RuntimeError("no copies")


def test_whatever_a_class_of_the_authors_raises_is_told_as_a_refusal() -> None:
    graph = StateGraph(Picky).add_node("once", lambda state: {"x": state.x + 1}).set_entry_point("once")
    graph.add_node("twice", lambda state: {"x": state.x + 1}).add_edge("once", "twice").set_finish_point("twice")
    result = asyncio.run(graph.compile().invoke(Picky(0)))
    assert (result.state, result.next_nodes, isinstance(result.failure, InvalidInput)) == (Picky(1), ("twice",), True)
    assert "makes no Picky: KeyError: 'too many'" in str(result.error)
    shy = StateGraph(dict).add_node("one", lambda _: {"shy": Shy()}).set_entry_point("one").set_finish_point("one")
    assert "key 'shy' a value that cannot be copied" in str(asyncio.run(shy.compile().invoke({})).error)


def test_values_nest_two_hundred_deep_and_no_deeper() -> None:
    def nested(depth: int) -> list[object]:
        made: list[object] = []
        for _ in range(depth):
            made = [made]
        return made

    graph = StateGraph(dict).add_node("one", lambda state: {"v": [state["v"]]}).set_entry_point("one")
    made = graph.set_finish_point("one").compile(MemoryCheckpointer())
    assert asyncio.run(made.invoke({"v": nested(199)})).require() == {"v": nested(200)}
    assert "no deeper than 200" in str(asyncio.run(made.invoke({"v": nested(200)})).error)


def test_five_thousand_steps_take_less_than_a_second_of_the_processor() -> None:
    graph = StateGraph(Counted).add_node("a", more).set_entry_point("a")
    graph.add_conditional_edge("a", lambda state: state["n"] < 2_500, {True: "a", False: END})
    before = time.process_time()
    assert asyncio.run(graph.compile(max_iterations=2_500, recursion_limit=2_500).invoke(begun())).success
    assert time.process_time() - before < 0.5


def test_a_compiled_graph_is_drawn() -> None:
    graph = StateGraph(Counted).add_node("a", more).add_node('b"]', nothing).set_entry_point("a").add_edge("a", 'b"]')
    chart = graph.add_conditional_edge('b"]', lambda _: True, {True: "a", False: END}).compile().render()
    assert chart.splitlines() == [
        "flowchart TD",
        '    n0(("start"))',
        '    n1["a"]',
        '    n2["b#34;#93;"]',
        '    n3(("end"))',
        "    n0 --> n1",
        "    n1 --> n2",
        '    n2 -->|"True"| n1',
        '    n2 -->|"False"| n3',
    ]


def test_a_type_that_is_no_schema_is_refused() -> None:
    for schema in (int, list, "State"):
        with pytest.raises(InvalidInput, match="no schema of a state"):
            StateGraph(schema)  # type: ignore[arg-type]


def test_conditions_are_awaited_and_choose_by_label() -> None:
    async def choose(state: Counted) -> bool:
        await asyncio.sleep(0)
        return state["n"] < 3

    graph = StateGraph(Counted).add_node("more", more).set_entry_point("more")
    graph.add_conditional_edge("more", choose, {True: "more", False: END})
    result = asyncio.run(graph.compile().invoke(begun()))
    assert (result.require()["n"], result.steps) == (3, 3)


@pytest.mark.parametrize("label", ["other", None, 7, ["good", "other"], [], (), {}, END])
def test_a_label_without_a_branch_is_an_error_that_names_those_there_are(label: object) -> None:
    """Without this rule a condition with a slip in it ends the run as if all were well."""
    graph = StateGraph(Counted).add_node("one", lambda _: {"n": 1}).add_node("good", nothing)
    graph.set_entry_point("one").set_finish_point("good").add_conditional_edge("one", lambda _: label, {"good": "good"})
    result = asyncio.run(graph.compile().invoke(begun()))
    failed(result, InvalidInput, "behind 'one'", "'good'")
    assert result.state["n"] == 0


def test_the_entry_may_be_chosen_by_a_condition() -> None:
    graph = StateGraph(Counted).add_node("low", lambda _: {"note": "low"}).add_node("high", lambda _: {"note": "high"})
    graph.add_conditional_edge(START, lambda state: "high" if state["n"] > 5 else "low", ["low", "high"])
    graph.set_finish_point("low").set_finish_point("high")
    ran = graph.compile()
    assert [asyncio.run(ran.invoke(begun(n))).require()["note"] for n in (1, 9)] == ["low", "high"]
